"""How past conversations look on a terminal: one whole, and what a search found in many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tray.claude.speech import Role
from tray.cli.table import age, console
from tray.history.export import facts, local
from tray.untrusted import one_line, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tray.claude.speech import Piece
    from tray.history.past import Past
    from tray.history.search import Found, Hit

_FOLDED_LINES = 1
"""Lines shown of what a tool said, unless all is asked for."""
_ROLES = {
    Role.USER: ("You", "bold cyan"),
    Role.ASSISTANT: ("Claude", "bold"),
    Role.SUMMARY: ("Summary of what came before", "bold magenta"),
    Role.NOTICE: ("Notice", "bold yellow"),
    Role.COMMAND: ("Command", "bold cyan"),
}


def show(lines: Iterable[Text], *, color: bool) -> None:
    """Print lines, each cut to the width unless it may wrap."""
    out = console(color=color)
    for line in lines:
        out.print(line, soft_wrap=False)


def has_color(*, color: bool) -> bool:
    """Whether what is printed has colours, if it may."""
    return console(color=color).color_system is not None


def hits(results: Sequence[Found], now: float, *, signs: bool) -> Iterator[Text]:
    """Yield each session in which something was found, and its lines with the hits marked.

    `signs` marks them by signs, for where there are no colours.
    """
    for result in results:
        past = result.session
        changed = age(now - past.modified if past.modified is not None else None)
        number = f"{result.count} match{'es' if result.count != 1 else ''}"
        line = Text.assemble(
            (past.session_id[:8], "dim"),
            "  ",
            (one_line(past.project or "?"), "cyan"),
            "  ",
            (f"{changed}, {number}", "dim"),
            "  ",
            (one_line(past.title or ""), "bold"),
        )
        yield _cut(line)
        for hit in result.hits:
            yield _cut(Text.assemble("    ", (f"{hit.role}: ", "dim"), _marked(hit, signs=signs)))


def hits_summary(results: Sequence[Found], shown: int) -> Iterator[Text]:
    """Yield how much was found in all."""
    matches = sum(result.count for result in results)
    sessions = len(results)
    if not sessions:
        yield Text("Nothing found.", style="dim")
        return
    words = f"{matches} match{'es' if matches != 1 else ''} in {sessions} session"
    words += "s" if sessions != 1 else ""
    if shown < sessions:
        words += f"; {sessions - shown} not shown, --limit 0 shows all"
    yield Text(words, style="dim")


def conversation(session: Past, pieces: Iterable[Piece], *, full: bool) -> Iterator[Text]:
    """Yield one session's facts and all that was said, as it is read."""
    yield Text(one_line(session.title or session.session_id), style="bold underline")
    for name, value in facts(session):
        yield Text.assemble((f"{name}: ", "dim"), value)
    for piece in pieces:
        yield from _piece(piece, full=full)


def _piece(piece: Piece, *, full: bool) -> Iterator[Text]:
    role = piece.role
    if role is Role.TOOL:
        yield _cut(Text.assemble(("  ⚙ ", "green"), one_line(piece.text), _at(piece)))
        if full and piece.more:
            yield _indented(piece.more)
    elif role is Role.RESULT:
        mark, style = ("  ✗ ", "red") if piece.failed else ("  → ", "dim")
        lines = verbatim(piece.text).strip().splitlines()
        if full:
            yield Text(mark, style=style)
            yield _indented(piece.text)
        elif lines:
            rest = len(lines) - _FOLDED_LINES
            first = Text.assemble((mark, style), (one_line(lines[0]), "dim"))
            yield _cut(first.append(f" (+{rest} lines)" if rest > 0 else "", "dim"))
    elif role is Role.THINKING:
        if full:
            yield Text.assemble(("\nThinking", "bold dim"), _at(piece))
            yield Text(verbatim(piece.text), style="dim italic")
        else:
            number = len(piece.text.splitlines())
            yield Text(f"  ∴ thinking, {number} line{'s' if number != 1 else ''}", style="dim")
    else:
        name, style = _ROLES[role]
        yield Text.assemble("\n", (name, style), _at(piece))
        yield Text(verbatim(piece.text))


def _at(piece: Piece) -> Text:
    at = local(piece.at)
    return Text(f"  {at}" if at else "", style="dim")


def _indented(text: str) -> Text:
    return Text("\n".join(f"    {line}" for line in verbatim(text).splitlines()), style="dim")


def _marked(hit: Hit, *, signs: bool) -> Text:
    opening, closing = ("»", "«") if signs else ("", "")
    text = Text()
    at = 0
    for begin, end in hit.spans:
        text.append(_inline(hit.line[at:begin]))
        found = f"{opening}{_inline(hit.line[begin:end])}{closing}"
        text.append(found, "bold black on yellow")
        at = end
    return text.append(_inline(hit.line[at:]))


def _inline(part: str) -> str:
    """Clean a part of a line; blanks at its ends stay, for words go on there."""
    return verbatim(f"{part}.")[:-1] if part.strip() else " " * bool(part)


def _cut(line: Text) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    return line

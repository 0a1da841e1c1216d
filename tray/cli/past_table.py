"""How past sessions look on a terminal: a table, what a search found, and one conversation."""

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
    from tray.history.forks import Forks
    from tray.history.past import Past
    from tray.history.search import Found, Hit

_AGE_CELLS = 4
_TURNS_CELLS = 5
_SOURCE_CELLS = 10
_PROJECT_CELLS = 24
_ID_CELLS = 5
_FOLDED_LINES = 1
"""Lines shown of what a tool said, unless all is asked for."""
_ROLES = {
    Role.USER: ("You", "bold cyan"),
    Role.ASSISTANT: ("Claude", "bold"),
    Role.SUMMARY: ("Summary of what came before", "bold magenta"),
    Role.NOTICE: ("Notice", "bold yellow"),
    Role.COMMAND: ("Command", "bold cyan"),
}


def show(lines: Iterable[Text], *, color: bool, more: int = 0) -> None:
    """Print lines, each cut to the width unless it may wrap; and that there are `more`."""
    out = console(color=color)
    for line in lines:
        out.print(line, soft_wrap=False)
    if more > 0:
        out.print(Text(f"… {more} more; --limit 0 shows all", style="dim"))


def listing(
    sessions: Sequence[Past],
    now: float,
    *,
    family: Forks,
    depths: Sequence[int] = (),
    debug: bool = False,
) -> Iterator[Text]:
    """Yield a heading and a line a session; `depths` indents the titles as a tree."""
    if not sessions:
        yield Text("No past sessions.", style="dim")
        return
    source = min(max(len("SOURCE"), *(len(past.source) for past in sessions)), _SOURCE_CELLS)
    names = [Text(one_line(past.project or "")).cell_len for past in sessions]
    project = min(max(len("PROJECT"), *names), _PROJECT_CELLS)
    head = [_right("CRE", _AGE_CELLS), _right("MOD", _AGE_CELLS), _right("TURNS", _TURNS_CELLS)]
    head += [_left("SOURCE", source), _left("PROJECT", project), Text("TITLE")]
    if debug:
        head = [_left("ID", _ID_CELLS), _right("BAD", _ID_CELLS), *head]
    yield _joined(head, "dim")
    for place, past in enumerate(sessions):
        cells = [
            _right(age(now - past.created if past.created is not None else None), _AGE_CELLS),
            _right(age(now - past.modified if past.modified is not None else None), _AGE_CELLS),
            _right(str(past.turns), _TURNS_CELLS),
            _left(one_line(past.source), source, "dim"),
            _left(one_line(past.project or ""), project, "cyan"),
            _title(past, family, depths[place] if depths else 0),
        ]
        if debug:
            bad = str(past.malformed_lines or "")
            cells = [_left(past.session_id[:5], _ID_CELLS, "dim"), _right(bad, _ID_CELLS), *cells]
        yield _joined(cells)


def hits(results: Sequence[Found], now: float) -> Iterator[Text]:
    """Yield each session in which something was found, and its lines with the hits marked."""
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
            yield _cut(Text.assemble("    ", (f"{hit.role}: ", "dim"), _marked(hit)))


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


def _title(past: Past, family: Forks, depth: int) -> Text:
    text = Text()
    if depth:
        text.append("   " * (depth - 1) + "└─ ", "dim")
    if past.live:
        text.append("● ", "green")
    if past.name is not None:
        text.append("★ ", "yellow")
    if not depth and family.has_family(past):
        text.append("⑂ ", "magenta")
    text.append(one_line(past.title or past.session_id), "" if past.title else "dim")
    if past.tag:
        text.append(f" #{one_line(past.tag, 40)}", "magenta")
    if past.live and past.state is not None:
        text.append(f" ({past.state.replace('_', ' ')})", "green")
    if past.skipped is not None:
        text.append(f" ({past.skipped})", "dim")
    return text


def _marked(hit: Hit) -> Text:
    """Return the line with its hits marked, in words where there is no colour."""
    text = Text()
    at = 0
    for begin, end in hit.spans:
        text.append(_inline(hit.line[at:begin]))
        text.append(_inline(hit.line[begin:end]), "bold black on yellow")
        at = end
    return text.append(_inline(hit.line[at:]))


def _inline(part: str) -> str:
    """Clean a part of a line; blanks at its ends stay, for words go on there."""
    return verbatim(f"{part}.")[:-1] if part.strip() else " " * bool(part)


def _joined(cells: Sequence[Text], style: str = "") -> Text:
    line = Text(" ").join(cells)
    line.stylize_before(style)
    return _cut(line)


def _cut(line: Text) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _left(text: str, cells: int, style: str = "") -> Text:
    fitted = Text(text, style)
    fitted.truncate(cells, overflow="ellipsis", pad=True)
    return fitted


def _right(text: str, cells: int) -> Text:
    return Text(text.rjust(cells))

"""One conversation as a document: Markdown, HTML, or plain data for scripts. Pure.

Whatever was said is other people's text: in HTML it is escaped, and nothing in it can run or be
loaded; in Markdown, code stands in fences that it cannot close.
"""

from __future__ import annotations

import datetime as dt
import html
import re
from typing import TYPE_CHECKING

from tray.claude.speech import Role
from tray.untrusted import one_line, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tray.claude.speech import Piece
    from tray.history.past import Past

_FENCES = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_HEADINGS = {
    Role.USER: "User",
    Role.ASSISTANT: "Claude",
    Role.THINKING: "Thinking",
    Role.SUMMARY: "Summary of what came before",
    Role.NOTICE: "Notice",
    Role.COMMAND: "Command",
}
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;
color-scheme:light dark}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:0}
section{border-left:3px solid #8886;padding:.2rem 0 .2rem 1rem;margin:1rem 0}
.user{border-color:#4a8fe7}.assistant{border-color:#d97757}.failed{border-color:#d33}
.tool pre,.result pre,.command pre{font:14px/1.4 ui-monospace,monospace}
header,time,summary{color:#888}time{font-size:.8em;margin-left:.5em}h2{font-size:1em;margin:0}
"""


def markdown(session: Past, pieces: Iterable[Piece], *, full: bool = True) -> Iterator[str]:
    """Yield the lines of a Markdown document; without `full` tools are one line each."""
    yield f"# {_escaped(_title(session))}"
    yield ""
    for name, value in facts(session):
        yield f"- **{name}**: {_escaped(value)}"
    for piece in pieces:
        yield from _markdown_piece(piece, full=full)


def _markdown_piece(piece: Piece, *, full: bool) -> Iterator[str]:
    role = piece.role
    if role is Role.TOOL:
        yield from ("", f"- `{one_line(piece.text).replace('`', chr(39))}`")
        if full and piece.more:
            yield from _fenced(piece.more)
    elif role is Role.RESULT:
        if full and piece.text.strip():
            yield from ("", "Failed:" if piece.failed else "Result:")
            yield from _fenced(piece.text)
    elif role is Role.THINKING and not full:
        return
    else:
        at = local(piece.at)
        yield from ("", f"## {_HEADINGS[role]}" + (f" ({at})" if at else ""), "")
        yield verbatim(piece.text)


def _fenced(text: str) -> Iterator[str]:
    clean = verbatim(text)
    longest = max((len(fence) for fence in _FENCES.findall(clean)), default=2)
    fence = "`" * (longest + 1)
    yield from ("", fence, clean, fence)


def as_html(session: Past, pieces: Iterable[Piece], *, full: bool = True) -> Iterator[str]:
    """Yield the lines of an HTML page that needs nothing else; what tools said is folded."""
    title = html.escape(_title(session))
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    yield (
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{title}</h1><header><dl>"
    for name, value in facts(session):
        yield f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>"
    yield "</dl></header>"
    for piece in pieces:
        yield from _html_piece(piece, full=full)
    yield "</body></html>"


def _html_piece(piece: Piece, *, full: bool) -> Iterator[str]:
    role = piece.role
    if not full and role in (Role.RESULT, Role.THINKING):
        return
    at = local(piece.at)
    time = f"<time>{at}</time>" if at else ""
    kind = f"{role}{' failed' if piece.failed else ''}"
    yield f'<section class="{kind}">'
    text = html.escape(verbatim(piece.text))
    if role is Role.TOOL:
        more = html.escape(verbatim(piece.more or "")) if full else ""
        label = html.escape(one_line(piece.text))
        yield f"<details><summary>{label}{time}</summary><pre>{more}</pre></details>"
    elif role in (Role.RESULT, Role.THINKING):
        label = "Thinking" if role is Role.THINKING else "Failed" if piece.failed else "Result"
        yield f"<details><summary>{label}{time}</summary><pre>{text}</pre></details>"
    else:
        yield f"<h2>{_HEADINGS[role]}{time}</h2><pre>{text}</pre>"
    yield "</section>"


def facts(session: Past) -> Iterator[tuple[str, str]]:
    """Yield what is known of a session, each with its name, cleaned and in one line."""
    known: tuple[tuple[str, str | int | None], ...] = (
        ("project", session.project),
        ("directory", session.cwd),
        ("branch", session.branch),
        ("tag", session.tag),
        ("begun", local(session.first_timestamp)),
        ("last message", local(session.last_timestamp)),
        ("turns", session.turns),
        ("messages", session.messages),
        ("malformed lines", session.malformed_lines or None),
        ("forked from", session.forked_from),
        ("continued in", session.continued_in),
        ("client", session.version),
        ("session id", session.session_id),
        ("source", session.source),
        ("transcript", session.transcript),
    )
    for name, value in known:
        if value is not None and value != "":
            yield name, one_line(str(value), 4096)


def local(seconds: float | None) -> str | None:
    """Return a moment as the person's clock shows it; `None` if unknown or no such date."""
    if seconds is None:
        return None
    try:
        return dt.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return None


def _title(session: Past) -> str:
    return one_line(session.title or session.session_id)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)

"""The table of past sessions on a terminal.

It is made without rich, whose import and drawing would take half of the command's time.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from tray.history.past import KEPT
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from tray.history.past import Past

_SOURCE_CELLS = 10
_PROJECT_CELLS = 24
_MINIMUM = 20
"""Cells of the title at least, however narrow the terminal is."""
_LEAST = 10
"""Cells of a title that are left of it by what stands around it."""
_NARROW = frozenset({"● ", "★ ", "⑂ "})
_RESET = "\x1b[0m"
_STYLES = {"dim": "\x1b[2m", "cyan": "\x1b[36m", "green": "\x1b[32m", "yellow": "\x1b[33m"} | {
    "magenta": "\x1b[35m",
    "": "",
}
_Words = list[tuple[str, str]]
"""Texts with their styles."""


def listing(
    sessions: Sequence[Past],
    now: float,
    *,
    forked: Container[str | None] = (),
    depths: Sequence[int] = (),
    expiring: Mapping[str, float] | None = None,
    debug: bool = False,
    more: int = 0,
    color: bool = True,
) -> str:
    """Return the table, as wide as the terminal is if it is printed on one.

    `forked` are the ids of sessions that have forks, `depths` indents the titles as a tree,
    `expiring` tells by path when sessions will be deleted (Unix seconds), `more` is how many are
    left out. A title is cut before what is said of it.
    """
    terminal = sys.stdout.isatty()
    styled = terminal and color and _has_colors()
    if not sessions:
        return _drawn([("No past sessions.", "dim")], None, styled=styled) + "\n"
    width = shutil.get_terminal_size().columns if terminal or "COLUMNS" in os.environ else None
    source = min(max(6, *(len(past.source) for past in sessions)), _SOURCE_CELLS)
    project = min(max(7, *(_cells(past.project or "") for past in sessions)), _PROJECT_CELLS)
    head = f" CRE  MOD TURNS {'SOURCE':{source}} {'PROJECT':{project}} TITLE"
    room = None
    if width is not None:
        room = (
            max(width, _MINIMUM) - len(head) + len("TITLE") - (len("ID      BAD ") if debug else 0)
        )
    rows: list[_Words] = [[(f"ID      BAD {head}" if debug else head, "dim")]]
    for place, past in enumerate(sessions):
        row: _Words = [
            (f"{_age(now, past.created):>4} {_age(now, past.modified):>4} {past.turns:>5} ", ""),
            (_fitted(one_line(past.source), source), "dim"),
            (" ", ""),
            (_fitted(one_line(past.project or ""), project), "cyan"),
            (" ", ""),
            *_title(
                past,
                _before(past, past.session_id in forked, depths[place] if depths else 0),
                _behind(past, now, (expiring or {}).get(past.transcript)),
                room,
            ),
        ]
        if debug:
            row.insert(0, (f"{past.session_id[:5]} {past.malformed_lines or '':>5} ", "dim"))
        rows.append(row)
    if more > 0:
        rows.append([(f"… {more} more; --limit 0 shows all", "dim")])
    return "".join(_drawn(row, width, styled=styled) + "\n" for row in rows)


def _has_colors() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in (
        "dumb",
        "unknown",
    )


def _title(past: Past, before: _Words, behind: _Words, room: int | None) -> _Words:
    """Return the title with what stands around it, in `room` cells if that is possible."""
    title = one_line(past.title or "")
    style = "" if title else "dim"
    title = title or past.session_id
    if room is not None:
        left = room - sum(_cells(text) for text, _ in (*before, *behind))
        if _cells(title) > left:
            title = _fitted(title, max(left, _LEAST)).rstrip()
    return [*before, (title, style), *behind]


def _before(past: Past, forked: bool, depth: int) -> _Words:  # noqa: FBT001 - one of the row's facts
    words: _Words = []
    if depth:
        words.append(("   " * (depth - 1) + "└─ ", "dim"))
    if past.live:
        words.append(("● ", "green"))
    if past.name is not None:
        words.append(("★ ", "yellow"))
    if not depth and (forked or past.forked_from is not None):
        words.append(("⑂ ", "magenta"))
    return words


def _behind(past: Past, now: float, expires_at: float | None) -> _Words:
    words: _Words = []
    if past.tag:
        words.append((f" #{one_line(past.tag, 40)}", "magenta"))
    if past.live and past.state is not None:
        words.append((f" ({past.state.replace('_', ' ')})", "green"))
    if past.kept and past.source != KEPT:
        words.append((" (kept)", "dim"))
    if expires_at is not None:
        days = int((expires_at - now) // 86_400)
        when = f"in {days}d" if days > 0 else "within a day" if expires_at > now else "soon"
        words.append((f" (deleted {when})", "yellow"))
    if past.skipped is not None:
        words.append((f" ({past.skipped})", "dim"))
    return words


def _drawn(words: _Words, width: int | None, *, styled: bool) -> str:
    """Return a line of at most `width` cells, without blanks at its end."""
    room = max(width, _MINIMUM) if width is not None else None
    drawn = []
    for text, style in words:
        if room is not None:
            cells = _cells(text)
            if cells > room:
                text = _fitted(text, room)
            room -= min(cells, room)
        if text:
            drawn.append(f"{_STYLES[style]}{text}{_RESET}" if styled and style else text)
        if room == 0:
            break
    return "".join(drawn).rstrip()


def _cells(text: str) -> int:
    """Return how wide `text` is; rich, which knows that, is not needed for most of it."""
    if text.isascii() or text in _NARROW:
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fitted(text: str, cells: int) -> str:
    """Return `text` with exactly so many cells, cut with an ellipsis or filled up."""
    if text.isascii():
        return text.ljust(cells) if len(text) <= cells else f"{text[: cells - 1]}…" if cells else ""
    from rich.cells import set_cell_size

    if _cells(text) <= cells:
        return set_cell_size(text, cells)
    return set_cell_size(text, cells - 1) + "…" if cells > 0 else ""


def _age(now: float, at: float | None) -> str:
    """Return how long ago that was, in at most four characters."""
    if at is None:
        return ""
    seconds = max(int(now - at), 0)
    for unit, size, limit in (("s", 1, 60), ("m", 60, 3600), ("h", 3600, 86_400)):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{min(seconds // 86_400, 999)}d"

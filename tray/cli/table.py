"""How sessions look on a terminal: a compact table, and one session in detail.

The state is told by a word and a mark as well as by colour. Everything shown is cut to the
width in terminal cells, so wide characters never break a line.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.text import Text

from tray.session import Reason, State
from tray.untrusted import block, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from rich.console import RenderableType

    from tray.session import Observation

NARROW = 60
"""Terminal cells below which what is asked gets a line of its own and the branch is left out."""
_UNLIMITED = 100_000
"""Cells to print on where nobody looks: a pipe or file gets whole lines."""


@dataclass(frozen=True, slots=True)
class Look:
    """How one state is shown: its mark and word, and their style."""

    mark: str
    word: str
    style: str


_BY_REASON = {
    Reason.PERMISSION: Look("!", "permission", "bold red"),
    Reason.QUESTION: Look("!", "question", "bold red"),
    Reason.PLAN: Look("!", "plan", "bold red"),
    Reason.INPUT: Look("!", "input", "bold red"),
    Reason.TURN_OVER: Look("✓", "finished", "yellow"),
    Reason.ERROR: Look("▲", "error", "yellow"),
}
_BY_STATE = {
    State.NEEDS_INPUT: Look("!", "needs input", "bold red"),
    State.WORKING: Look("●", "working", "green"),
    State.IDLE: Look("○", "idle", "bright_black"),
    State.UNKNOWN: Look("?", "unknown", "magenta"),
    State.ENDED: Look("✗", "ended", "bright_black"),
}
_UNSEEN_IDLE = Look("✓", "idle", "yellow")
"""Idle for a while, but nobody has looked at what it finished."""
_STATE_CELLS = 2 + max(len(shown.word) for shown in (*_BY_REASON.values(), *_BY_STATE.values()))
_AGE_CELLS = 4


def console(*, color: bool, file: TextIO | None = None) -> Console:
    """Return a console on `file` (standard output).

    Without `color`, with NO_COLOR set, or on a pipe not one escape sequence is printed. A pipe
    has no width, so nothing is cut there unless COLUMNS says so.
    """
    out = file or sys.stdout
    terminal = out.isatty()
    plain = not color or bool(os.environ.get("NO_COLOR"))
    made = Console(
        file=out,
        color_system=None if plain or not terminal else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    if not terminal and not os.environ.get("COLUMNS", "").isdigit():
        made.width = _UNLIMITED
    return made


def age(seconds: float | None) -> str:
    """Return a duration in at most four characters: `12s`, `5m`, `3h`, `2d`; empty if unknown."""
    if seconds is None:
        return ""
    whole = max(int(seconds), 0)
    for unit, size, limit in (("s", 1, 60), ("m", 60, 3600), ("h", 3600, 86400)):
        if whole < limit:
            return f"{whole // size}{unit}"
    return f"{min(whole // 86400, 999)}d"


def look(session: Observation) -> Look:
    """Return how the session's state is shown."""
    if session.state is State.NEEDS_INPUT and session.reason is not None:
        return _BY_REASON[session.reason]
    if session.state is State.IDLE and session.unseen:
        return _UNSEEN_IDLE
    return _BY_STATE[session.state]


def saying(session: Observation) -> Text:
    """Return what is asked, failed or unknown; else, dimmed, what the session is about."""
    # Nothing else may pass for what is asked.
    if session.detail or session.blocking:
        return Text(one_line(session.detail or ""))
    if session.background:
        more = f" (+{len(session.background) - 1} more)" if len(session.background) > 1 else ""
        return Text(one_line(f"running: {session.background[0]}") + more, style="dim")
    return Text(one_line(session.preview or session.title or ""), style="dim")


def listing(
    sessions: Sequence[Observation], now: float, width: int, height: int | None = None
) -> RenderableType:
    """Return the table of `sessions` for `width` cells, at most `height` lines of it."""
    if not sessions:
        return Text("No live Claude Code sessions.", style="dim")
    rows = [_Row.of(session, now) for session in sessions]
    if width < NARROW:
        head, groups = [], [_narrow(row, width) for row in rows]
    else:
        columns = _columns(rows, width)
        head, groups = [_wide(_HEADINGS, columns)], [[_wide(row, columns)] for row in rows]
    if height is not None and len(head) + sum(map(len, groups)) > height:
        ends = accumulate(map(len, groups), initial=len(head) + 1)
        room = max(sum(end <= height for end in ends) - 1, 1)
        groups = [*groups[:room], [Text(f"… {len(groups) - room} more", style="dim")]]
    lines = head + [line for group in groups for line in group]
    for line in lines:
        line.rstrip()
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def details(session: Observation, now: float, console: Console) -> RenderableType:
    """Return all that is known of one session, one fact a line, with the whole ask."""
    shown = look(session)
    state = Text.assemble((f"{shown.mark} {shown.word}", shown.style))
    if session.since is not None:
        state.append(f" for {age(now - session.since)}")
    asked = session.ask.text if session.ask is not None else None
    facts: tuple[tuple[str, str | Text | None], ...] = (
        ("state", state),
        ("asks" if session.blocking else "detail", asked or session.detail),
        ("unseen", "yes: nobody has looked since its turn ended" if session.unseen else None),
        ("running", "\n".join(session.background)),
        ("last said", session.preview),
        ("project", session.project),
        ("name", session.name),
        ("title", session.title),
        ("directory", session.cwd),
        ("branch", session.branch),
        ("worktree", session.worktree),
        ("started", _local(session.started)),
        ("session id", session.session_id),
        ("process", None if session.pid is None else _process(session)),
        ("terminal", session.tty),
        ("kind", " ".join(word for word in (session.kind, session.entrypoint) if word)),
        ("version", session.version),
        ("known from", session.source),
        ("transcript", session.transcript),
        ("config root", session.config_root),
    )
    indent = 2 + max(len(name) for name, _ in facts)
    lines = []
    for name, value in facts:
        if not value:
            continue
        text = value if isinstance(value, Text) else Text(block(value))
        wrapped = text.wrap(console, max(console.width - indent, 1), overflow="fold")
        for number, part in enumerate(wrapped):
            part.rstrip()
            lines.append(Text((name if number == 0 else "").ljust(indent), "dim") + part)
    return Group(*lines)


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one line of the table."""

    state: Text
    project: Text
    branch: Text
    age: Text
    saying: Text

    @classmethod
    def of(cls, session: Observation, now: float) -> _Row:
        shown = look(session)
        return cls(
            state=Text(f"{shown.mark} {shown.word}", shown.style),
            project=Text(one_line(session.project or ""), "bold" if session.blocking else ""),
            branch=Text(one_line(session.branch or ""), "cyan"),
            age=Text(age(None if session.since is None else now - session.since), "dim"),
            saying=saying(session),
        )


_HEADINGS = _Row(
    *(Text(word, "dim") for word in ("STATE", "PROJECT", "BRANCH", "AGE", "WHAT IS ASKED"))
)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The cells that the columns of changing width get."""

    project: int
    branch: int
    saying: int


def _columns(rows: Sequence[_Row], width: int) -> _Columns:
    """Share out `width`: three fifths of what is free go to what is asked, and three fifths of
    the rest to the project, in so far as they need it.
    """
    every = (_HEADINGS, *rows)
    project = max(row.project.cell_len for row in every)
    branch = max(row.branch.cell_len for row in every)
    asked = max(row.saying.cell_len for row in every)
    free = width - _STATE_CELLS - _AGE_CELLS - 4
    names = free - min(asked, free * 3 // 5)
    project = min(project, max(names * 3 // 5, names - branch))
    branch = min(branch, names - project)
    return _Columns(project, branch, free - project - branch)


def _wide(row: _Row, columns: _Columns) -> Text:
    return Text(" ").join(
        (
            _fit(row.state, _STATE_CELLS),
            _fit(row.project, columns.project),
            _fit(row.branch, columns.branch),
            _right(row.age),
            _fit(row.saying, columns.saying, pad=False),
        )
    )


def _narrow(row: _Row, width: int) -> list[Text]:
    project = max(width - _STATE_CELLS - _AGE_CELLS - 2, 1)
    first = Text(" ").join(
        (_fit(row.state, _STATE_CELLS), _fit(row.project, project), _right(row.age))
    )
    second = Text("  ").append_text(_fit(row.saying, max(width - 2, 1), pad=False))
    return [first, second] if row.saying else [first]


def _fit(text: Text, cells: int, *, pad: bool = True) -> Text:
    fitted = text.copy()
    fitted.truncate(cells, overflow="ellipsis", pad=pad)
    return fitted


def _right(text: Text) -> Text:
    fitted = text.copy()
    fitted.pad_left(max(_AGE_CELLS - text.cell_len, 0))
    return fitted


def _process(session: Observation) -> str:
    return f"{session.pid}" if session.verified else f"{session.pid} (not visible from here)"


def _local(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        return dt.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return None

"""How sessions look on a terminal: a compact table, and one session in detail.

The state is told by a word and a mark as well as by colour. Everything shown is cut to the
width in terminal cells, so wide characters never break a line.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from tray.session import Reason, State
from tray.untrusted import block, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from rich.console import RenderableType

    from tray.session import Observation

NARROW = 60
"""Terminal cells below which what is asked gets a line of its own and the branch is left out."""
_UNLIMITED = 100_000
"""Cells to print on where nobody looks: a pipe or file gets whole lines."""
_NAME_CELLS = 24
"""Cells at most for a project or a branch, where both stand in the table."""


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
_STATE_CELLS = 2 + max(len(look.word) for look in (*_BY_REASON.values(), *_BY_STATE.values()))
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
    if session.detail:
        return Text(one_line(session.detail))
    if session.background:
        more = f" (+{len(session.background) - 1} more)" if len(session.background) > 1 else ""
        return Text(one_line(f"running: {session.background[0]}") + more, style="dim")
    return Text(one_line(session.preview or session.title or ""), style="dim")


def listing(
    sessions: Sequence[Observation], now: float, width: int, height: int | None = None
) -> RenderableType:
    """Return the table of `sessions`, at most `height` lines of it, for `width` cells."""
    if not sessions:
        return Text("No live Claude Code sessions.", style="dim")
    lines_each, head = (2, 0) if width < NARROW else (1, 1)
    shown = sessions
    if height is not None and head + lines_each * len(sessions) > height:
        shown = sessions[: max((height - head - 1) // lines_each, 1)]
    table = _narrow(shown, now, width) if width < NARROW else _wide(shown, now, width)
    if len(shown) == len(sessions):
        return table
    return Group(table, Text(f"… {len(sessions) - len(shown)} more", style="dim"))


def details(session: Observation, now: float) -> RenderableType:
    """Return all that is known of one session, one fact a line, with the whole ask."""
    shown = look(session)
    state = Text.assemble((f"{shown.mark} {shown.word}", shown.style))
    if session.since is not None:
        state.append(f" for {age(now - session.since)}")
    asked = session.ask.text if session.ask is not None else None
    facts: Iterable[tuple[str, str | Text | None]] = (
        ("state", state),
        ("asks" if session.blocking else "detail", asked or session.detail),
        ("answers", "\n".join(session.ask.options) if session.ask is not None else None),
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
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value:
            table.add_row(name, value if isinstance(value, Text) else Text(block(value)))
    return table


def _wide(sessions: Sequence[Observation], now: float, width: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    # Half of what state and age leave is kept for what is asked.
    names = min(_NAME_CELLS, (width - _STATE_CELLS - _AGE_CELLS - 4) // 4)
    projects = [one_line(session.project or "") for session in sessions]
    branches = [one_line(session.branch or "") for session in sessions]
    table.add_column("STATE", no_wrap=True, min_width=_STATE_CELLS, max_width=_STATE_CELLS)
    table.add_column("PROJECT", no_wrap=True, overflow="ellipsis", max_width=names)
    table.add_column("BRANCH", no_wrap=True, overflow="ellipsis", max_width=names)
    table.add_column("AGE", no_wrap=True, justify="right", min_width=_AGE_CELLS)
    table.add_column("WHAT IS ASKED", no_wrap=True, overflow="ellipsis")
    for session, project, branch in zip(sessions, projects, branches, strict=True):
        table.add_row(
            _state(session),
            Text(project, style="bold" if session.blocking else ""),
            Text(branch, style="cyan"),
            _age(session, now),
            saying(session),
        )
    return table


def _narrow(sessions: Sequence[Observation], now: float, width: int) -> Group:
    lines: list[Text] = []
    project_cells = max(width - _STATE_CELLS - _AGE_CELLS - 2, 4)
    for session in sessions:
        project = Text(one_line(session.project or ""), style="bold" if session.blocking else "")
        project.truncate(project_cells, overflow="ellipsis", pad=True)
        state = _state(session)
        state.truncate(_STATE_CELLS, pad=True)
        age_text = _age(session, now)
        age_text.align("right", _AGE_CELLS)
        lines.append(Text(" ").join((state, project, age_text)))
        said = Text.assemble("  ", saying(session))
        said.truncate(width, overflow="ellipsis")
        lines.append(said)
    for text in lines:
        text.no_wrap, text.overflow = True, "ellipsis"
    return Group(*lines)


def _state(session: Observation) -> Text:
    shown = look(session)
    return Text(f"{shown.mark} {shown.word}", style=shown.style)


def _age(session: Observation, now: float) -> Text:
    return Text(age(None if session.since is None else now - session.since), style="dim")


def _process(session: Observation) -> str:
    return f"{session.pid}" if session.verified else f"{session.pid} (not visible from here)"


def _local(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        return dt.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return None

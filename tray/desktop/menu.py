"""What the tray's menu and tooltip say: sessions and problems in, rows out. Pure."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tray.desktop.icon import Look, look_of
from tray.session import Kind, Observation, Reason, State
from tray.session import order as listed
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tray.session import Problem

ROWS = 12
"""Sessions that stand in the menu itself; the others are in a submenu."""
_WIDTH = 76
"""Characters a line of prose may have; menus do not wrap."""
_WHERE, _WHAT = 48, 72
_TOLD_IN_TOOLTIP = 5
_LINES_OF_PROBLEMS = 9
_CALLING = frozenset({Look.BLOCKED, Look.FAILED, Look.FINISHED})
_FINISHED_RANK = listed(Observation("", State.NEEDS_INPUT, reason=Reason.TURN_OVER))[0]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the menu."""

    key: str
    """Its identity: as long as it stays, the line is the same to the host and to the pointer."""
    label: str = ""
    enabled: bool = True
    look: Look | None = None
    """The look whose icon stands before the label."""
    default: bool = False
    """What a click on the icon does where that cannot open the menu."""
    separator: bool = False
    action: str | None = None
    """`row` (go to `session`) or `quit`."""
    session: str | None = None
    """The session's key, for a row."""
    children: tuple[Entry, ...] = ()


def build(
    sessions: Sequence[Observation],
    problems: Sequence[Problem],
    now: float,
    *,
    message: str | None = None,
) -> tuple[Entry, ...]:
    """Return the menu's lines; `message` is shown below the head line, whole."""
    ranked = sorted(sessions, key=order)
    rows = _rows(ranked, now)
    entries = [Entry("head", headline(ranked), enabled=False)]
    if message:
        entries += _prose("message", one_line(message, 6 * _WIDTH))
    if rows:
        entries.append(Entry("above-rows", separator=True))
        entries += rows[:ROWS]
    if rows[ROWS:]:
        left_out = _by_project(ranked[ROWS:], rows[ROWS:])
        entries.append(Entry("more", f"{len(rows) - ROWS} more", children=left_out))
    if problems:
        entries.append(Entry("above-problems", separator=True))
        lines = [line for problem in problems for line in _problem(problem)]
        entries += lines[:_LINES_OF_PROBLEMS]
    entries.append(Entry("above-quit", separator=True))
    entries.append(Entry("quit", "Quit sessionbell", action="quit"))
    return tuple(entries)


def order(session: Observation) -> tuple[int, float, str]:
    """Sort key of the rows: as in every list, but what finished unseen stays with the finished."""
    rank, since, key = listed(session)
    if session.state is State.IDLE and look_of(session) is Look.FINISHED:
        rank = _FINISHED_RANK
    return rank, since, key


def headline(sessions: Sequence[Observation]) -> str:
    """Count the sessions in one line: `2 blocked, 1 finished, 3 working`."""
    count = Counter(map(_counted_as, sessions))
    told = [f"{count[word]} {word}" for word in _COUNTED if count[word]]
    return ", ".join(told) or "No Claude Code session"


def tooltip(sessions: Sequence[Observation], problems: Sequence[Problem], now: float) -> str:
    """Return the head line, and below it the sessions that call for their person."""
    ranked = sorted(sessions, key=order)
    calling = [s for s in ranked if look_of(s) in _CALLING]
    lines = [left_to_right(f"{_where(s)} — {_what(s, now)}") for s in calling]
    if len(lines) > _TOLD_IN_TOOLTIP:
        lines[_TOLD_IN_TOOLTIP:] = [f"{len(lines) - _TOLD_IN_TOOLTIP} more"]
    lines += [one_line(problem.message, 2 * _WIDTH) for problem in problems[:2]]
    return "\n".join((headline(ranked), *lines))


_COUNTED = (
    "blocked", "failed", "finished", "working", "idle", "unknown", "headless", "ended",
)  # fmt: skip


def _counted_as(session: Observation) -> str:
    if session.state is State.ENDED:
        return "ended"
    if session.kind is Kind.HEADLESS:
        return "headless"
    return look_of(session).value


def _rows(ranked: Sequence[Observation], now: float) -> list[Entry]:
    places = [_where(session) for session in ranked]
    count = Counter(places)
    default = _calls_first(ranked)
    rows = []
    for session, place in zip(ranked, places, strict=True):
        what = _what(session, now)
        where = _apart(place, session, what) if count[place] > 1 else place
        rows.append(
            Entry(
                key=f"session:{session.key}",
                label=left_to_right(f"{where} — {what}"),
                look=look_of(session),
                default=session is default,
                action="row",
                session=session.key,
            )
        )
    return rows


def _calls_first(ranked: Sequence[Observation]) -> Observation | None:
    """Return the session that waits the longest, else the one that finished or failed last."""
    blocked = [session for session in ranked if look_of(session) is Look.BLOCKED]
    if blocked:
        return blocked[0]
    finished = [session for session in ranked if look_of(session) in _CALLING]
    return max(finished, key=lambda session: session.since or 0.0, default=None)


def _by_project(sessions: Sequence[Observation], rows: Sequence[Entry]) -> tuple[Entry, ...]:
    """Group `rows` by project, in the order in which the projects come."""
    groups: dict[str, list[Entry]] = {}
    for session, row in zip(sessions, rows, strict=True):
        groups.setdefault(_project(session), []).append(row)
    if len(groups) == 1:
        return tuple(rows)
    return tuple(
        Entry(f"project:{name}", f"{name} ({len(group)})", children=tuple(group))
        if len(group) > 1
        else group[0]
        for name, group in groups.items()
    )


def _project(session: Observation) -> str:
    return one_line(session.project or "", _WHERE) or "no project"


def _where(session: Observation) -> str:
    """Say which session it is: project, branch or worktree, and the name a person gave it."""
    parts = (session.project, session.branch or session.worktree, session.name)
    told = [text for part in parts if part and (text := one_line(part, _WHERE))]
    return one_line(" · ".join(told), _WHERE) or "no project"


def _apart(place: str, session: Observation, what: str) -> str:
    """Tell a session from another in the same place, unless `what` it does tells it already."""
    mark = one_line(session.title or "", 32)
    if not mark and session.pid is not None:
        mark = f"process {session.pid}"
    return f"{place} · {mark}" if mark and mark not in what else place


def _what(session: Observation, now: float) -> str:
    """Say what the session does or asks, marks what kind it is, and since when it does so."""
    said = one_line(_says(session), _WHAT)
    marks = [] if session.kind is Kind.INTERACTIVE else [session.kind.value]
    if not session.verified:
        marks.append("out of sight")
    if session.since is not None and (age := _age(now - session.since)):
        marks.append(age)
    return f"{said} ({', '.join(marks)})" if marks else said


_ASKS = {
    Reason.PERMISSION: "permission",
    Reason.QUESTION: "question",
    Reason.PLAN: "plan",
    Reason.INPUT: "input",
    Reason.ERROR: "failed",
}


def _says(session: Observation) -> str:
    if session.state is State.NEEDS_INPUT and session.reason in _ASKS:
        return _joined(_ASKS[session.reason], session.detail)
    if session.unseen or session.state is State.NEEDS_INPUT:
        return _joined("finished", session.preview)
    if session.background:
        running = session.background[0]
        more = f" and {len(session.background) - 1} more" if session.background[1:] else ""
        return f"{session.state.value}, still running: {one_line(running, 48)}{more}"
    return _joined(session.state.value, session.detail or session.title)


def _joined(word: str, text: str | None) -> str:
    return f"{word}: {text}" if text else word


def _age(seconds: float) -> str:
    """Return a duration in whole minutes, hours or days: a menu must not change each second."""
    minutes = int(seconds) // 60
    if minutes < 1:
        return ""
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} d"


def _problem(problem: Problem) -> Iterator[Entry]:
    yield from _prose(f"problem:{problem.code}", f"⚠ {one_line(problem.message, 3 * _WIDTH)}")


def _prose(key: str, text: str) -> Iterator[Entry]:
    """Break `text` into lines that cannot be clicked."""
    for number, line in enumerate(textwrap.wrap(text, _WIDTH)):
        yield Entry(f"{key}:{number}", line, enabled=False)

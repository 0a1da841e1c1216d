"""The sessions in the menu and the tooltip: their order, counts and rows. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tray.desktop.entry import Action, Entry
from tray.desktop.looks import Look, look_of, waiting
from tray.desktop.prose import WIDTH, age
from tray.mutes import Mutes, muted
from tray.session import Kind, Observation, Reason, State
from tray.session import order as listed
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.session import Problem

ROWS = 12
"""Sessions that stand in the menu itself; the others are in a submenu."""
_WHERE, _WHAT = 48, 72
_TOLD_IN_TOOLTIP = 5
_CALLING = frozenset({Look.BLOCKED, Look.FAILED, Look.FINISHED})
_FINISHED_RANK = listed(Observation("", State.NEEDS_INPUT, reason=Reason.TURN_OVER))[0]
NOTHING_MUTED = Mutes()


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
    lines += [one_line(problem.message, 2 * WIDTH) for problem in problems[:2]]
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


def rows(
    ranked: Sequence[Observation],
    named: Sequence[str],
    now: float,
    mutes: Mutes = NOTHING_MUTED,
) -> tuple[Entry, ...]:
    """Return the rows of the sessions, in their order: `ROWS` of them, then `N more`.

    `named` are the sessions' `names`.
    """
    found = _rows(ranked, named, now, mutes)
    if len(found) <= ROWS:
        return tuple(found)
    left_out = _by_project(ranked[ROWS:], found[ROWS:])
    more = Entry("more", f"{len(found) - ROWS} more", children=left_out)
    return (*found[:ROWS], more)


def names(ranked: Sequence[Observation], now: float) -> list[str]:
    """Return a name for each session that tells it from the others."""
    places = [_where(session) for session in ranked]
    count = Counter(places)
    return [
        _apart(place, session, _what(session, now)) if count[place] > 1 else place
        for session, place in zip(ranked, places, strict=True)
    ]


def _rows(
    ranked: Sequence[Observation], named: Sequence[str], now: float, mutes: Mutes
) -> list[Entry]:
    default = next(iter(waiting(ranked)), None)
    return [
        Entry(
            key=f"session:{session.key}",
            label=left_to_right(
                f"{name} — {_what(session, now, muted=muted(mutes, session, now))}"
            ),
            look=look_of(session),
            default=session is default,
            action=Action.ROW,
            session=session.key,
        )
        for session, name in zip(ranked, named, strict=True)
    ]


def _by_project(sessions: Sequence[Observation], found: Sequence[Entry]) -> tuple[Entry, ...]:
    """Group rows by project, in the order in which the projects come."""
    groups: dict[str, list[Entry]] = {}
    for session, row in zip(sessions, found, strict=True):
        groups.setdefault(project_name(session.project), []).append(row)
    if len(groups) == 1:
        return tuple(found)
    return tuple(
        Entry(f"project:{name}", f"{name} ({len(group)})", children=tuple(group))
        if len(group) > 1
        else group[0]
        for name, group in groups.items()
    )


def project_name(project: str | None) -> str:
    """Return a project's name as it is shown."""
    return one_line(project or "", _WHERE) or "no project"


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


def _what(session: Observation, now: float, *, muted: bool = False) -> str:
    """Say what the session does or asks, marks what kind it is, and since when it does so."""
    said = one_line(_says(session), _WHAT)
    marks = [] if session.kind is Kind.INTERACTIVE else [session.kind.value]
    if not session.verified:
        marks.append("out of sight")
    if session.since is not None and (lasted := age(now - session.since)):
        marks.append(lasted)
    if muted:
        marks.append("muted")
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

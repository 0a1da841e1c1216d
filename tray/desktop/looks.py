"""Which look a session has, and which the icon has over all of them. Pure; draws nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.desktop.glyphs import Look
from tray.session import Kind, Reason, State, order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tray.config import Sessions
    from tray.session import Observation

__all__ = ["Look", "badge", "counted", "counts", "look", "look_of", "waiting"]

_BY_URGENCY = (
    Look.BLOCKED, Look.FAILED, Look.FINISHED, Look.WORKING, Look.IDLE, Look.UNKNOWN, Look.NONE,
)  # fmt: skip


def look_of(session: Observation) -> Look:
    """Return how one session is shown; a headless one never has a colour."""
    if session.kind is Kind.HEADLESS or session.state is State.ENDED:
        return Look.NONE
    if session.blocking:
        return Look.BLOCKED
    if session.unseen:
        return Look.FAILED if session.reason is Reason.ERROR else Look.FINISHED
    if session.state is State.WORKING:
        return Look.WORKING
    return Look.UNKNOWN if session.state is State.UNKNOWN else Look.IDLE


def look(sessions: Iterable[Observation], *, healthy: bool) -> Look:
    """Return what the icon says about all `sessions`: that of the one that calls loudest.

    Not `healthy`: nobody has looked at the sessions for too long.
    """
    if not healthy:
        return Look.UNKNOWN
    return min(map(look_of, sessions), key=_BY_URGENCY.index, default=Look.NONE)


def badge(sessions: Iterable[Observation]) -> int:
    """Return how many sessions stand still until their person acts."""
    return sum(look_of(session) is Look.BLOCKED for session in sessions)


def counted(sessions: Iterable[Observation], kinds: Sessions) -> tuple[Observation, ...]:
    """Return the sessions that colour the icon and are counted.

    A headless one that is to count does so like one in a terminal.
    """
    found = []
    for session in sessions:
        if session.kind is Kind.HEADLESS and kinds.headless:
            found.append(replace(session, kind=Kind.INTERACTIVE))
        elif session.kind is not Kind.BACKGROUND or kinds.background:
            found.append(session)
    return tuple(found)


def waiting(sessions: Sequence[Observation]) -> list[Observation]:
    """Return the sessions to go to one after the other: asks by longest wait, then turns.

    Pure. Failed and finished turns that nobody has looked at come last, the newest first.
    """
    ranked = sorted(sessions, key=order)
    blocked = [one for one in ranked if look_of(one) is Look.BLOCKED]
    turns = [one for one in ranked if look_of(one) in (Look.FAILED, Look.FINISHED)]
    return [*blocked, *sorted(turns, key=lambda one: -(one.since or 0.0))]


def counts(sessions: Iterable[Observation]) -> dict[str, int]:
    """Count the sessions that have a colour by their look; `unseen` is failed and finished."""
    found = [look_of(session) for session in sessions]
    count = {name.value: found.count(name) for name in _BY_URGENCY if name is not Look.NONE}
    count["unseen"] = count["failed"] + count["finished"]
    count["total"] = len(found) - found.count(Look.NONE)
    return count

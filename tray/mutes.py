"""What a person has muted, snoozed or marked as seen. Plain data and pure functions.

Times follow the wall clock: an end is a moment, not a length, so a clock that is set does what
the person reads off it.

A mute outlives the process it was meant for: a session is muted by its session id, which a
resumed session keeps; `carried` follows it over /clear and into the background.
"""

from __future__ import annotations

import datetime as dt
import enum
import os
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tray.session import Observation

_End = TypeVar("_End", float, float | None)

TOMORROW = 7
"""The hour, local time, at which a mute "until tomorrow" ends: before a day's work begins, and
not at midnight, which would wake whoever muted for the night."""
NIGHT_ENDS = 4
"""The hour before which the coming morning is still "tomorrow"."""


SEEN_FOR = 30 * 24 * 3600.0
"""Seconds for which it is remembered that a finished turn was taken note of."""


class Scope(enum.StrEnum):
    """What a mute is about. The values are part of the scripts' contract."""

    EVERYTHING = "all"
    PROJECT = "project"
    SESSION = "session"
    ASK = "ask"
    """A single ask, snoozed."""


class Mutes(msgspec.Struct, frozen=True):
    """Everything that is muted. Each value is when it ends, Unix seconds; `None` is never."""

    everything: tuple[float | None, ...] = ()
    """Empty: not muted. Else one value, its end."""
    projects: dict[str, float | None] = {}
    """By the project's directory (`project_of`) or, where that is unknown, its name."""
    sessions: dict[str, float | None] = {}
    """By session id (`id_of`)."""
    snoozed: dict[str, float] = {}
    """Single asks (`<session id>/<ask id>`) that come back then."""
    seen: dict[str, float] = {}
    """By session id: the person took note of the turn that ended then."""


class Mute(msgspec.Struct, frozen=True):
    """One line of all that is muted."""

    scope: Scope
    what: str
    """The directory, session id or ask; empty for everything."""
    until: float | None
    """Unix seconds; `None`: until unmuted."""


def id_of(session: Observation) -> str:
    """Return what `session` is muted by: its id, else its key."""
    return session.session_id or session.key


def project_of(session: Observation) -> str | None:
    """Return what the project of `session` is muted by; `None` if nothing is known of it.

    The topmost part of its directory that bears the project's name: in `/src/shop/api` of the
    repository `shop` that is `/src/shop`. In a worktree elsewhere it is the worktree.
    """
    if session.cwd is None:
        return session.project
    found = folder = session.cwd
    while folder not in ("", "/"):
        if os.path.basename(folder) == session.project:
            found = folder
        folder = os.path.dirname(folder)
    return found


def ask_of(session: Observation) -> str | None:
    """Return what the open ask of `session` is snoozed by; `None` if there is none."""
    return None if session.ask is None else f"{id_of(session)}/{session.ask.id}"


def mute(mutes: Mutes, scope: Scope, what: str, until: float | None) -> Mutes:
    """Mute `what` until then, whatever was said of it before.

    Raises `ValueError` for an ask without an end: a snoozed ask comes back.
    """
    match scope:
        case Scope.EVERYTHING:
            return replace(mutes, everything=(until,))
        case Scope.PROJECT:
            return replace(mutes, projects={**mutes.projects, what: until})
        case Scope.SESSION:
            return replace(mutes, sessions={**mutes.sessions, what: until})
        case Scope.ASK:
            if until is None:
                raise ValueError("a snoozed ask needs a time at which it comes back")
            return replace(mutes, snoozed={**mutes.snoozed, what: until})


def unmute(mutes: Mutes, scope: Scope, what: str) -> Mutes:
    """Undo `mute`; nothing happens if it was not muted."""
    match scope:
        case Scope.EVERYTHING:
            return replace(mutes, everything=())
        case Scope.PROJECT:
            return replace(mutes, projects=_without(mutes.projects, what))
        case Scope.SESSION:
            return replace(mutes, sessions=_without(mutes.sessions, what))
        case Scope.ASK:
            return replace(mutes, snoozed=_without(mutes.snoozed, what))


def expired(mutes: Mutes, wall: float) -> Mutes:
    """Return `mutes` without those that have ended by `wall`, Unix seconds."""
    return Mutes(
        everything=tuple(end for end in mutes.everything if _lasts(end, wall)),
        projects={key: end for key, end in mutes.projects.items() if _lasts(end, wall)},
        sessions={key: end for key, end in mutes.sessions.items() if _lasts(end, wall)},
        snoozed={key: end for key, end in mutes.snoozed.items() if _lasts(end, wall)},
        seen={key: end for key, end in mutes.seen.items() if end > wall - SEEN_FOR},
    )


def next_end(mutes: Mutes, wall: float) -> float | None:
    """Return the first moment after `wall` at which something ends; `None` if nothing does."""
    ends = (entry.until for entry in entries(mutes))
    return min((end for end in ends if end is not None and end > wall), default=None)


def everything_muted(mutes: Mutes, wall: float) -> bool:
    """Whether everything is muted at `wall`."""
    return any(_lasts(end, wall) for end in mutes.everything)


def muted(mutes: Mutes, session: Observation, wall: float) -> bool:
    """Whether `session` is muted at `wall`: by itself, by its project, or with everything."""
    if everything_muted(mutes, wall):
        return True
    own = mutes.sessions.get(id_of(session), 0.0)
    return _lasts(own, wall) or any(
        _lasts(end, wall) and in_project(session, project)
        for project, end in mutes.projects.items()
    )


def in_project(session: Observation, project: str) -> bool:
    """Whether `session` belongs to the muted `project`.

    It does in that very directory; below it, if the directory bears the project's name (a mute
    of the home directory is not one of all below it); and in a worktree of that project,
    wherever that lies. Where only a name was known, the name decides.
    """
    if not os.path.isabs(project):
        return session.project == project
    if session.cwd == project:
        return True
    if session.cwd is None or session.project != os.path.basename(project):
        return False
    return session.worktree is not None or session.cwd.startswith(f"{project}/")


def snoozed(mutes: Mutes, session: Observation, wall: float) -> bool:
    """Whether the open ask of `session` is snoozed at `wall`."""
    ask = ask_of(session)
    return ask is not None and _lasts(mutes.snoozed.get(ask, 0.0), wall)


def mark_seen(mutes: Mutes, sessions: Iterable[Observation]) -> Mutes:
    """Take it that the person has seen how the last turn of `sessions` ended.

    The very same object comes back if there is nothing new.
    """
    ends = {
        id_of(session): session.turn_ended_at
        for session in sessions
        if session.unseen and session.turn_ended_at is not None
    }
    if all(mutes.seen.get(key) == end for key, end in ends.items()):
        return mutes
    return replace(mutes, seen={**mutes.seen, **ends})


def looked_at(mutes: Mutes, session: Observation) -> Observation:
    """Return `session` as it is for a person who has marked turns as seen."""
    if not session.unseen or session.turn_ended_at is None:
        return session
    # Not what ended before the mark: a clock that was set back is behind it for a while.
    if mutes.seen.get(id_of(session)) != session.turn_ended_at:
        return session
    return replace(session, unseen=False)


def carried(mutes: Mutes, before: Iterable[Observation], now: Iterable[Observation]) -> Mutes:
    """Return `mutes` for the sessions of `now`, which were those of `before` a moment ago.

    The same process after /clear, or the background job a session has become, has another id:
    its mute goes along. The very same object comes back if there is nothing to carry.
    """
    if not mutes.sessions and not mutes.snoozed:
        return mutes
    now = tuple(now)
    old = {key: id_of(session) for session in before for key in (session.key, *session.aliases)}
    present = {id_of(session) for session in now}
    for session in now:
        new_id = id_of(session)
        for key in (session.key, *session.aliases):
            old_id = old.get(key)
            if old_id is not None and old_id != new_id:
                mutes = _renamed(mutes, old_id, new_id, keep=old_id in present)
    return mutes


def _renamed(mutes: Mutes, old: str, new: str, *, keep: bool) -> Mutes:
    """Give `new` what `old` had (and leave it that too), unless it has its own."""
    prefix = f"{old}/"
    asks = {
        f"{new}/{key.removeprefix(prefix)}": end
        for key, end in mutes.snoozed.items()
        if key.startswith(prefix)
    }
    own = {new: mutes.sessions[old]} if old in mutes.sessions else {}
    if not own and not asks:
        return mutes
    sessions = mutes.sessions if keep else _without(mutes.sessions, old)
    rest = {key: end for key, end in mutes.snoozed.items() if keep or not key.startswith(prefix)}
    return replace(mutes, sessions={**own, **sessions}, snoozed={**asks, **rest})


def entries(mutes: Mutes) -> Iterator[Mute]:
    """Go through all that is muted, the widest first."""
    for end in mutes.everything:
        yield Mute(Scope.EVERYTHING, "", end)
    for scope, named in (
        (Scope.PROJECT, mutes.projects),
        (Scope.SESSION, mutes.sessions),
        (Scope.ASK, mutes.snoozed),
    ):
        for what, end in named.items():
            yield Mute(scope, what, end)


def published(mutes: Mutes) -> list[dict[str, object]]:
    """Return all that is muted as scripts see it: names and values are promises, as elsewhere.

    `until` is ISO 8601 in UTC with milliseconds; null is until unmuted.
    """
    return [
        {"scope": entry.scope.value, "what": entry.what, "until": _iso(entry.until)}
        for entry in entries(mutes)
    ]


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):  # no such date: as good as never
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def until_tomorrow(wall: float) -> float:
    """Return when "until tomorrow" ends: the next day at `TOMORROW` o'clock, local time.

    In the small hours, before `NIGHT_ENDS`, that is this very morning.
    """
    here = dt.datetime.fromtimestamp(wall).astimezone()
    day = here.date() if here.hour < NIGHT_ENDS else here.date() + dt.timedelta(days=1)
    # Made from local time without an offset: the night may be an hour longer or shorter.
    return dt.datetime.combine(day, dt.time(TOMORROW)).timestamp()


def _lasts(end: float | None, wall: float) -> bool:
    return end is None or end > wall


def _without(named: dict[str, _End], key: str) -> dict[str, _End]:
    return {name: value for name, value in named.items() if name != key}

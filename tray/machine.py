"""The state machine: snapshots in, transitions and alerts out. Pure.

A snapshot says what is true now; only what to *tell* has memory, and all of that memory is
the `Tracked` value passed in and returned. Icon and lists follow a snapshot at once; an alert
first waits out its hold, and one whose cause goes away before that is never told.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.config import Holds
from tray.session import (
    PUBLISHED,
    EventKind,
    How,
    Kind,
    Observation,
    Reason,
    Source,
    State,
    Transition,
    TurnEnd,
    order,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.session import Snapshot

INFERRED_HOLD = 1.0
"""Seconds that a permission prompt must last that no client has told of: a tool's result may be
written 0.3 s after its process has ended (seen on 2.1.81)."""
ANSWER_LAG = 0.7
"""Seconds for the client to take in what a hook decided, after the hook's process has ended
(0.05 to 0.2 s seen on 2.1.332, more on a busy machine)."""
DEATH_HOLD = 1.0
"""Seconds for a client that exits by itself to remove its record."""
EXIT_LAG = 0.5
"""Seconds for which a client may live on after it has removed its record (0.36 s seen)."""
ACT_LEEWAY = 1.0
"""Seconds by which an act may seem to come after the snapshot that has it."""
ENDED_FOR = 600.0
"""Seconds for which a session that ended uncleanly stays listed."""


_HOLDS = Holds()
ASK_HOLD, DECIDING_HOLD, TURN_HOLD = _HOLDS.ask, _HOLDS.hook, _HOLDS.turn_over
"""The holds where nothing else is set, seconds."""


class AlertKind(enum.StrEnum):
    """What there is to tell a person about a session."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    INPUT = "input"
    TURN_OVER = "turn_over"
    ERROR = "error"
    DIED = "died"
    JOB_DONE = "job_done"
    JOB_FAILED = "job_failed"


BLOCKING_ALERTS = frozenset(
    {AlertKind.PERMISSION, AlertKind.QUESTION, AlertKind.PLAN, AlertKind.INPUT}
)
"""The alerts about a session that stands still until its person acts."""


class Alert(msgspec.Struct, frozen=True):
    """One thing to tell about a session, for as long as it holds true."""

    id: str
    """Identity within the session: the ask's, `turn:<end>`, or `died`."""
    kind: AlertKind
    ripe: bool
    """Whether its hold is over."""
    at: float
    """When its cause began, Unix seconds."""
    first: bool = False
    """Already there in the first snapshot: silent but for the one summary."""


class Track(msgspec.Struct, frozen=True):
    """One session and what is remembered of it between snapshots."""

    session: Observation
    alert: Alert | None = None
    alert_seen: float | None = None
    """When the hold of `alert` began, monotonic seconds."""
    due: float | None = None
    """When an unripe alert's hold is over, monotonic seconds."""
    last_act: float | None = None
    """The person's last prompt, answer or keystroke known of, Unix seconds."""
    gone: float | None = None
    """When the process was first found dead, monotonic seconds."""
    exiting: float | None = None
    """When it was first found to live on without its record, monotonic seconds."""


class Tracked(msgspec.Struct, frozen=True):
    """All sessions, in the order of every list, and when to step again without an event."""

    tracks: tuple[Track, ...] = ()
    leaving: tuple[Track, ...] = ()
    """Those found dead of which nothing is listed, until it is certain how they ended."""
    wake_at: float | None = None
    """Monotonic seconds at which time alone changes something here."""

    @property
    def sessions(self) -> tuple[Observation, ...]:
        """The sessions, in the order of every list."""
        return tuple(track.session for track in self.tracks)


def step(
    tracked: Tracked | None, snapshot: Snapshot, now: float, holds: Holds = _HOLDS
) -> tuple[Tracked, tuple[Transition, ...]]:
    """Take in one snapshot at `now` (monotonic seconds); `None` before the first one."""
    first = tracked is None
    former = _Former((*tracked.tracks, *tracked.leaving) if tracked else ())
    tracks: list[Track] = []
    leaving: list[Track] = []
    told: list[Transition] = []
    ended_rows: list[Observation] = []
    for session in snapshot.sessions:
        if session.state is State.ENDED:
            ended_rows.append(session)
            continue
        before = former.take(session)
        leaver = _exiting(before, session, now)
        if leaver is not None:
            tracks.append(leaver)
            continue
        tracks.append(_follow(before, session, snapshot.at, now, holds, first=first))
        told.extend(_changes(before, session, snapshot.at, first=first))
    for session in ended_rows:
        before = former.take(session)
        if before is None and not first:
            told.append(Transition(EventKind.APPEARED, snapshot.at, session))
        track, transition = _died(before, session, snapshot.at, now)
        tracks.append(track)
        if transition is not None:
            told.append(transition)
    for before in former.rest():
        kept, transition = _missing(before, snapshot, now)
        if kept is not None:
            (leaving if kept.alert is None else tracks).append(kept)
        if transition is not None:
            told.append(transition)
    tracks.sort(key=lambda track: order(track.session))
    wake_at = _wake_at((*tracks, *leaving), now)
    return Tracked(tuple(tracks), tuple(leaving), wake_at), tuple(told)


def restart_holds(tracked: Tracked, now: float) -> Tracked:
    """Return `tracked` with the hold of every unripe alert begun anew: the machine has slept."""
    tracks = tuple(
        replace(track, alert_seen=now, due=now + (track.due - track.alert_seen))
        if track.due is not None
        and track.alert is not None
        and track.alert_seen is not None
        and track.gone is None
        and not track.alert.ripe
        else track
        for track in tracked.tracks
    )
    return replace(tracked, tracks=tracks, wake_at=_wake_at((*tracks, *tracked.leaving), now))


class _Former:
    """The tracks of the step before, each handed out once, by key or by an alias."""

    def __init__(self, tracks: Iterable[Track]) -> None:
        self._by_key = {track.session.key: track for track in tracks}

    def take(self, session: Observation) -> Track | None:
        for key in (session.key, *session.aliases):
            track = self._by_key.pop(key, None)
            if track is not None:
                return track
        # What an old client leaves behind does not say when its process started.
        if session.state is State.ENDED:
            for key, track in self._by_key.items():
                if track.session.record is not None and track.session.record == session.record:
                    return self._by_key.pop(key)
        return None

    def rest(self) -> Iterable[Track]:
        return self._by_key.values()


def _follow(
    before: Track | None, session: Observation, at: float, now: float, holds: Holds, *, first: bool
) -> Track:
    acts = (session.last_act, before.last_act if before else None)
    # What is to come was noted before the clock was set back, and says nothing about the present.
    last_act = _latest(*(act for act in acts if act is not None and act <= at + ACT_LEEWAY))
    if before is not None and before.session.blocking and not session.blocking:
        last_act = _latest(last_act, at)
    kept = before.alert if before is not None else None
    kind_and_id = _cause(session, kept)
    if kind_and_id is None:
        return Track(session, last_act=last_act)
    kind, alert_id = kind_and_id
    if before is not None and kept is not None and _same(kept, kind, alert_id):
        seen = before.alert_seen if before.alert_seen is not None else now
        if _deciding(before.session) and not _deciding(session):
            seen = now + ANSWER_LAG
        since, was_first, was_ripe = kept.at, kept.first, kept.ripe
    else:
        seen, since, was_first, was_ripe = now, session.since or at, first, False
    due = seen + _hold(kind, session, holds)
    ripe = was_ripe or now >= due
    return Track(
        session,
        alert=Alert(alert_id, kind, ripe=ripe, at=since, first=was_first),
        alert_seen=seen,
        due=None if ripe else due,
        last_act=last_act,
    )


def _exiting(before: Track | None, session: Observation, now: float) -> Track | None:
    """Return the track of a client that seems about to exit: as it was, for it is no news."""
    if before is None or before.session.record is None or session.record is not None:
        return None
    since = before.exiting if before.exiting is not None else now
    if session.state is not State.UNKNOWN or now >= since + EXIT_LAG:
        return None
    return replace(before, due=None, exiting=since)


def _same(kept: Alert, kind: AlertKind, alert_id: str) -> bool:
    # What an ask is about may be learnt after it was seen: an input turns out a question.
    both_asks = kept.kind in BLOCKING_ALERTS and kind in BLOCKING_ALERTS
    return kept.id == alert_id and (both_asks or kept.kind is kind)


def _cause(session: Observation, kept: Alert | None) -> tuple[AlertKind, str] | None:
    """Return the kind and identity of the alert that a live session gives cause for."""
    background = session.kind is Kind.BACKGROUND
    turn = f"turn:{session.turn_ended_at}"
    if session.state is State.NEEDS_INPUT and session.reason is not None:
        if session.reason is Reason.TURN_OVER:
            if session.outcome == "failed":
                return AlertKind.JOB_FAILED, turn
            return (AlertKind.JOB_DONE if background else AlertKind.TURN_OVER), turn
        if session.reason is Reason.ERROR:
            return (AlertKind.JOB_FAILED if background else AlertKind.ERROR), turn
        ask = session.ask.id if session.ask is not None else f"since:{session.since}"
        return AlertKind(session.reason.value), ask
    # A finished turn decays to idle, but is told for as long as nobody has looked at it.
    still_unseen = (
        session.state is State.IDLE and session.unseen and session.turn_end is TurnEnd.COMPLETED
    )
    if still_unseen and kept is not None and kept.id == turn:
        return kept.kind, turn
    return None


def _deciding(session: Observation) -> bool:
    """Whether a hook may be answering in the person's place."""
    return session.ask is not None and session.ask.deciding


def _hold(kind: AlertKind, session: Observation, holds: Holds) -> float:
    if kind in (AlertKind.TURN_OVER, AlertKind.JOB_DONE):
        return holds.turn_over
    if kind is AlertKind.PERMISSION and _deciding(session):
        return holds.hook
    if kind is AlertKind.PERMISSION and session.source is Source.TRANSCRIPT:
        return max(INFERRED_HOLD, holds.ask)
    return holds.ask


def _died(
    before: Track | None, session: Observation, at: float, now: float
) -> tuple[Track, Transition | None]:
    """Follow a session whose process is gone with its work open; its end is told when certain.

    One that was never seen to live is listed, no more: it may have died before, or live on where
    its process cannot be seen.
    """
    if before is None or _found_dead(before):
        return Track(session), None
    gone, was_ripe = now, False
    if before.gone is not None and before.alert is not None:
        gone, was_ripe = before.gone, before.alert.ripe
    ripe = was_ripe or now >= gone + DEATH_HOLD
    track = Track(
        session,
        alert=Alert("died", AlertKind.DIED, ripe=ripe, at=session.since or at),
        alert_seen=gone,
        due=None if ripe else gone + DEATH_HOLD,
        last_act=before.last_act,
        gone=gone,
    )
    return track, _ended(session, at, How.KILLED) if ripe and not was_ripe else None


def _found_dead(track: Track) -> bool:
    return track.session.state is State.ENDED and track.gone is None


def _missing(
    before: Track, snapshot: Snapshot, now: float
) -> tuple[Track | None, Transition | None]:
    """Decide about a session that the snapshot no longer has."""
    session = before.session
    leftover = session.record is not None and session.record in snapshot.leftover
    if _found_dead(before):
        return None, None
    pending = before.gone is None or before.due is not None
    if session.key in snapshot.ignored:
        return None, _ended(session, snapshot.at, How.IGNORED) if pending else None
    if not leftover and pending:
        # One whose record went within the hold came to its end by itself after all.
        return None, _ended(session, snapshot.at, How.EXIT)
    if _lives_on(session, snapshot):
        return _leave(before, snapshot.at, now)
    if session.state is State.ENDED:
        if before.gone is not None and now - before.gone >= ENDED_FOR:
            return None, None
        return _died(before, session, snapshot.at, now)
    if before.gone is None and (session.state is State.WORKING or session.blocking):
        row = replace(
            session,
            state=State.ENDED,
            reason=None,
            ask=None,
            detail=_last_words(session),
            since=snapshot.at,
        )
        return _died(before, row, snapshot.at, now)
    return _leave(before, snapshot.at, now)


def _lives_on(session: Observation, snapshot: Snapshot) -> bool:
    """Whether the same session goes on in another process: it was resumed."""
    return session.session_id is not None and any(
        other.session_id == session.session_id
        for other in snapshot.sessions
        if other.state is not State.ENDED
    )


def _leave(before: Track, at: float, now: float) -> tuple[Track | None, Transition | None]:
    """Follow a dead session of which there is nothing to list; its end is told when certain."""
    if before.gone is not None and before.due is None:
        return None, None
    gone = before.gone if before.gone is not None else now
    if now >= gone + DEATH_HOLD:
        return None, _ended(before.session, at, How.KILLED)
    return Track(before.session, due=gone + DEATH_HOLD, gone=gone), None


def _last_words(session: Observation) -> str:
    if session.state is State.WORKING:
        return "died while working"
    return f"died while waiting: {session.detail or session.reason}"


def _ended(session: Observation, at: float, how: How) -> Transition:
    return Transition(EventKind.ENDED, at, session, how=how)


def _changes(
    before: Track | None, session: Observation, at: float, *, first: bool
) -> Iterable[Transition]:
    """Tell what a live session's new observation changes for `watch`."""
    if before is None:
        if not first:
            yield Transition(EventKind.APPEARED, at, session)
        return
    old = before.session
    if old.session_id and session.session_id and old.session_id != session.session_id:
        yield _ended(old, at, How.CLEARED)
        yield Transition(EventKind.APPEARED, at, session)
        return
    fields = tuple(name for name in PUBLISHED if getattr(old, name) != getattr(session, name))
    old_ask = old.ask.id if old.ask is not None else None
    ask = session.ask.id if session.ask is not None else None
    if (old.state, old.reason, old_ask) != (session.state, session.reason, ask):
        yield Transition(
            EventKind.TRANSITION,
            at,
            session,
            from_state=old.state,
            from_reason=old.reason,
            fields=fields,
        )
    elif fields:
        yield Transition(EventKind.CHANGED, at, session, fields=fields)


def _latest(*times: float | None) -> float | None:
    return max((time for time in times if time is not None), default=None)


def _wake_at(tracks: Iterable[Track], now: float) -> float | None:
    times = []
    for track in tracks:
        if track.due is not None:
            times.append(track.due)
        if track.exiting is not None:
            times.append(track.exiting + EXIT_LAG)
        # The survey may list one for longer: then nothing is waited for.
        if track.gone is not None and track.gone + ENDED_FOR > now:
            times.append(track.gone + ENDED_FOR)
    return min(times, default=None)

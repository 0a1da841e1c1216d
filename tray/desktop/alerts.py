"""What to tell a person, and how often: alerts in, the bubbles that should be on screen out.

Pure policy. `plan` names the whole set of bubbles wanted at this moment; whoever shows them
compares that set with the screen. All that the policy remembers is the `Memory` passed in and
returned.

- Blocking (permission, question, plan, input): one bubble an ask, stays until answered. More
  than three within ten seconds become one summary.
- Turn over: quiet, and once until the person acts in that session again.
- Error: stays; the same error in several sessions is one bubble.
- Died, background job done or failed: told once.
- What was there in the first snapshot: silent, but for one quiet summary of what is blocked.
- Muted, snoozed, in quiet hours: nothing; what still waits at the end is told then.
- The person is at that very session: held for a while.
- The person comes back: one bubble with all that still waits.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

from tray.config import Settings
from tray.desktop.bubbles import (
    FIRST,
    MUTE,
    SHOW,
    SNOOZE,
    Action,
    Bubble,
    Entry,
    Urgency,
    compose,
    kind_of,
    settings_of,
    text,
)
from tray.desktop.circumstances import Circumstances
from tray.desktop.event_commands import Told, event_of
from tray.desktop.quiet import next_change
from tray.machine import BLOCKING_ALERTS, AlertKind
from tray.mutes import muted, next_end, snoozed
from tray.projects import matches
from tray.session import Kind, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tray.machine import Alert, Track, Tracked

__all__ = [
    "AWAY_AFTER", "MUTE", "SHOW", "SNOOZE", "Action", "Bubble", "Memory", "Plan", "Urgency",
    "dismissed", "plan",
]  # fmt: skip

AWAY_AFTER = Settings().turn_over_after
"""Seconds since the person's last act after which the end of a turn is told, by default."""
BURST = 10.0
"""Seconds within which a fourth ask turns the bubbles of the others into one summary."""
BURST_SIZE = 3
"""Asks shown in bubbles of their own within `BURST` seconds."""
_FAILED = frozenset({AlertKind.ERROR, AlertKind.JOB_FAILED})
_TURNS = frozenset({AlertKind.TURN_OVER, AlertKind.JOB_DONE})


@dataclass(frozen=True, slots=True)
class Memory:
    """What was told and is still to be remembered; opaque to everybody else."""

    told: tuple[Entry, ...] = ()
    away: bool = False
    returns: int = 0
    """How often the person came back."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be told at one moment."""

    memory: Memory
    bubbles: tuple[Bubble, ...]
    wake_at: float | None = None
    """Monotonic seconds at which time alone changes something here."""
    told: tuple[Told, ...] = ()
    """What is told for the first time."""
    watching: frozenset[str] = frozenset()
    """Keys of the sessions for which it matters whether the person is there."""


@overload
def plan(memory: Memory, tracked: Tracked, now: float) -> tuple[Memory, tuple[Bubble, ...]]: ...


@overload
def plan(memory: Memory, tracked: Tracked, now: float, circumstances: Circumstances) -> Plan: ...


def plan(
    memory: Memory, tracked: Tracked, now: float, circumstances: Circumstances | None = None
) -> Plan | tuple[Memory, tuple[Bubble, ...]]:
    """Return what is to be told at `now` (monotonic seconds), and what to remember of it.

    Without circumstances: the memory and the bubbles alone, with a single button each.
    """
    if circumstances is not None:
        return _plan(memory, tracked, now, circumstances)
    made = _plan(memory, tracked, now, Circumstances(wall=0.0))
    return made.memory, tuple(replace(bubble, actions=(SHOW,)) for bubble in made.bubbles)


def _plan(memory: Memory, tracked: Tracked, now: float, around: Circumstances) -> Plan:
    tracks = {
        key: track
        for track in tracked.tracks
        for key in (*track.session.aliases, track.session.key)
    }
    recalled = (_recalled(entry, tracks.get(entry.session)) for entry in memory.told)
    told = [
        _hushed(entry, tracks[entry.session], around) for entry in recalled if entry is not None
    ]
    known = {entry.ask for entry in told}
    for track in tracked.tracks:
        told = _again(told, track, tracks, now, around)
        if not _hush(track, around):
            told = _tell(told, track, tracks, now, around)
    returns = memory.returns
    if memory.away and not around.away:
        returns += 1
        told = _gathered(told, tracks, now, around, f"back/{returns}")
    shown: dict[str, list[tuple[Entry, Track]]] = {}
    ranks = {key: rank for rank, key in enumerate(tracks)}
    for entry in sorted(told, key=lambda entry: ranks[entry.session]):
        track = tracks[entry.session]
        if entry.on_screen and not entry.hidden and _holds(entry, track):
            shown.setdefault(entry.bubble, []).append((entry, track))
    discreet = around.locked or around.inhibited

    def made(name: str, parts: list[tuple[Entry, Track]]) -> Bubble:
        return compose(name, parts, around.settings, discreet=discreet)

    news = []
    for entry in told:
        # What was there before the tray is no news, as its one quiet bubble is no alarm.
        if entry.ask not in known and entry.on_screen and not entry.alert.first:
            track = tracks[entry.session]
            alone = made(entry.bubble, [(entry, track)])
            event = event_of(kind_of(entry, track))
            news.append(Told(event, track.session, alone.title, alone.body))
    return Plan(
        Memory(tuple(told), away=around.away, returns=returns),
        tuple(made(name, parts) for name, parts in shown.items()),
        _wake_at(told, tracks, now, around),
        tuple(news),
        _watching(told, tracked, tracks, now, around),
    )


def _hush(track: Track, around: Circumstances) -> bool:
    """Whether nothing of this session is to be told for now."""
    return _hush_for_a_time(track, around) or _unwanted(track, around.settings)


def _hush_for_a_time(track: Track, around: Circumstances) -> bool:
    session, mutes, wall = track.session, around.mutes, around.wall
    return around.quiet or muted(mutes, session, wall) or snoozed(mutes, session, wall)


def _unwanted(track: Track, settings: Settings) -> bool:
    session = track.session
    return (
        not settings.notifications
        or (session.kind is Kind.HEADLESS and not settings.sessions.headless)
        or (session.kind is Kind.BACKGROUND and not settings.sessions.background)
        or (track.alert is not None and not settings_of(track.alert.kind, settings).enabled)
        or matches(session, (*settings.projects.mute, *settings.projects.ignore))
    )


def _hushed(entry: Entry, track: Track, around: Circumstances) -> Entry:
    """Return `entry` off the screen where it is not to be seen for now."""
    if entry.alert.kind in _TURNS and track.session.key in _present(around):
        return replace(entry, on_screen=False)
    # The button that mutes or snoozes an ask has its bubble dismissed too: it comes back.
    if _hush_for_a_time(track, around) and entry.blocking:
        return replace(entry, on_screen=True, hidden=True)
    return replace(entry, hidden=entry.hidden or (entry.on_screen and _hush(track, around)))


def _present(around: Circumstances) -> frozenset[str]:
    return around.present if around.settings.holds.presence > 0 else frozenset()


def _presence_ends(track: Track, now: float, around: Circumstances) -> float | None:
    """Return until when the alert is held for the person's presence; `None` if it is not."""
    if track.alert is None or track.session.key not in _present(around):
        return None
    seen = track.alert_seen if track.alert_seen is not None else now
    end = seen + around.settings.holds.presence
    return end if now < end else None


def _reminder_at(entry: Entry, track: Track, around: Circumstances) -> float | None:
    after = around.settings.remind_after * 60
    if after <= 0 or not entry.blocking or entry.hidden or not _holds(entry, track):
        return None
    return entry.at + after


def _again(
    told: list[Entry],
    track: Track,
    tracks: Mapping[str, Track],
    now: float,
    around: Circumstances,
) -> list[Entry]:
    """Return `told` with what of `track` is told again: after a mute, or as a reminder."""
    if _hush(track, around):
        return told
    for entry in [entry for entry in told if tracks[entry.session] is track]:
        reminder = _reminder_at(entry, track, around)
        due = reminder is not None and now >= reminder
        here = track.session.key in _present(around)
        late = _presence_ends(track, now, around) is None
        if not _holds(entry, track) or not ((entry.hidden and late) or (due and not here)):
            continue
        if track.alert is None:  # Its session works on by itself: not the time to tell of an end.
            continue
        others = [other for other in told if other is not entry]
        times = entry.times + 1
        bubble = f"{entry.session}/{entry.alert.id}/{times}"
        if entry.blocking:
            others, bubble = _crowd(others, bubble, tracks, now)
        elif entry.bubble.startswith("error/"):
            bubble = entry.bubble
        waited = around.wall - entry.alert.at if entry.blocking else None
        again = replace(
            entry, bubble=bubble, at=now, on_screen=True, hidden=False, times=times, waited=waited
        )
        told = [*others, again]
    return told


def _gathered(
    told: list[Entry],
    tracks: Mapping[str, Track],
    now: float,
    around: Circumstances,
    bubble: str,
) -> list[Entry]:
    """Return `told` with all that still waits in one new bubble, for who comes back."""
    here = _present(around)
    return [
        replace(entry, bubble=bubble, at=now, on_screen=True)
        if not entry.hidden
        and (entry.blocking or entry.on_screen)
        and _holds(entry, tracks[entry.session])
        and tracks[entry.session].session.key not in here
        else entry
        for entry in told
    ]


def _wake_at(
    told: Iterable[Entry], tracks: Mapping[str, Track], now: float, around: Circumstances
) -> float | None:
    times = [_presence_ends(track, now, around) for track in tracks.values()]
    times += [_reminder_at(entry, tracks[entry.session], around) for entry in told]
    wall_ends = [next_end(around.mutes, around.wall)]
    local = dt.datetime.fromtimestamp(around.wall)  # noqa: DTZ006  (quiet hours are local)
    change = next_change(around.settings.quiet_hours, local)
    wall_ends.append(None if change is None else change.timestamp())
    # A moment late: what is asked again too early would be asked at once again.
    times += [now + (end - around.wall) + 0.01 for end in wall_ends if end is not None]
    return min((time for time in times if time is not None and time > now), default=None)


def _watching(
    told: Iterable[Entry],
    tracked: Tracked,
    tracks: Mapping[str, Track],
    now: float,
    around: Circumstances,
) -> frozenset[str]:
    if around.settings.holds.presence <= 0:
        return frozenset()
    keys = {
        track.session.key
        for track in tracked.tracks
        if track.alert is not None
        and not _hush(track, around)
        and (not track.alert.ripe or _presence_ends(track, now, around) is not None)
    }
    for entry in told:
        track = tracks[entry.session]
        reminder = _reminder_at(entry, track, around)
        if (entry.alert.kind in _TURNS and entry.on_screen) or (
            reminder is not None and now >= reminder
        ):
            keys.add(track.session.key)
    return frozenset(keys)


def dismissed(memory: Memory, bubble: Bubble) -> Memory:
    """Take in that `bubble` left the screen, by the person's hand or the server's.

    What it told is not told again; what joined it since is.
    """
    return replace(
        memory,
        told=tuple(
            replace(entry, on_screen=False)
            if entry.bubble == bubble.id and entry.ask in bubble.asks
            else entry
            for entry in memory.told
        ),
    )


def _recalled(entry: Entry, track: Track | None) -> Entry | None:
    """Return `entry` as far as it still says something about the present or the future."""
    if track is None:
        return None
    if entry.alert.kind is AlertKind.TURN_OVER:
        return entry if not _acted(track, entry.alert.at) else None
    if track.alert is not None:
        return entry if _same(entry.alert, track.alert) else None
    # The very same ask may turn up again: not to be told again once it was dismissed, or once its
    # person was there and suspended the session.
    if track.session.state is State.IDLE:
        return replace(entry, on_screen=False)
    return entry if not entry.on_screen else None


def _holds(entry: Entry, track: Track) -> bool:
    """Whether what `entry` told is still so."""
    if entry.alert.kind is AlertKind.TURN_OVER:
        if track.session.state is State.WORKING:
            return True
        return (
            track.alert is not None
            and track.alert.kind is AlertKind.TURN_OVER
            and not _seen(track, track.alert)
        )
    return (
        track.alert is not None
        and _same(entry.alert, track.alert)
        and not _seen(track, track.alert)
    )


def _same(told: Alert, present: Alert) -> bool:
    # What an ask is about may be learnt after it was told: an input turns out a question.
    asks = told.kind in BLOCKING_ALERTS and present.kind in BLOCKING_ALERTS
    return told.id == present.id and (asks or told.kind is present.kind)


def _acted(track: Track, since: float) -> bool:
    return track.last_act is not None and track.last_act > since


def _seen(track: Track, alert: Alert) -> bool:
    """Whether the person has been in the session since `alert` arose; asks want an answer."""
    if alert.kind in BLOCKING_ALERTS or alert.kind is AlertKind.DIED:
        return False
    return not track.session.unseen or _acted(track, alert.at)


def _tell(
    told: list[Entry],
    track: Track,
    tracks: Mapping[str, Track],
    now: float,
    around: Circumstances,
) -> list[Entry]:
    """Return `told` with the alert of `track`, if it is one to tell now."""
    alert, session = track.alert, track.session
    if alert is None or not alert.ripe:
        return told
    own = [entry for entry in told if tracks[entry.session] is track]
    if alert.kind is AlertKind.TURN_OVER:
        return _tell_turn(told, own, track, alert, now, around)
    if any(_same(entry.alert, alert) for entry in own) or _seen(track, alert):
        return told
    bubble = f"{session.key}/{alert.id}"
    if alert.kind is AlertKind.JOB_DONE and session.key in _present(around):
        return [*told, Entry(session.key, alert, bubble, now, on_screen=False)]
    if _presence_ends(track, now, around) is not None:
        return told
    if alert.first:
        if alert.kind not in BLOCKING_ALERTS:
            return told
        bubble = FIRST
    elif alert.kind in BLOCKING_ALERTS:
        told, bubble = _crowd(told, bubble, tracks, now)
    elif session.error is not None and alert.kind in _FAILED:
        bubble = f"error/{session.error}"
    return [*told, Entry(session.key, alert, bubble, now)]


def _tell_turn(
    told: list[Entry],
    own: Sequence[Entry],
    track: Track,
    alert: Alert,
    now: float,
    around: Circumstances,
) -> list[Entry]:
    said = text(track.session.preview)
    for entry in own:
        if entry.alert.kind is AlertKind.TURN_OVER:
            return [replace(other, said=said) if other is entry else other for other in told]
    quick = (
        track.last_act is not None and alert.at - track.last_act < around.settings.turn_over_after
    )
    if alert.first or quick or _seen(track, alert):
        return told
    here = track.session.key in _present(around)
    bubble = f"{track.session.key}/turn"
    return [*told, Entry(track.session.key, alert, bubble, now, on_screen=not here, said=said)]


def _crowd(
    told: list[Entry], bubble: str, tracks: Mapping[str, Track], now: float
) -> tuple[list[Entry], str]:
    """Return `told` and the bubble for one more ask: `bubble`, or a summary with the others."""
    standing = [
        entry
        for entry in told
        if entry.blocking
        and entry.on_screen
        and not entry.hidden
        and entry.bubble != FIRST
        and _holds(entry, tracks[entry.session])
    ]
    recent = [entry for entry in standing if now - entry.at <= BURST]
    sizes = Counter(entry.bubble for entry in standing)
    for entry in recent:
        if sizes[entry.bubble] > 1:
            return told, entry.bubble
    if len(recent) < BURST_SIZE:
        return told, bubble
    summary = f"summary/{bubble}"
    return [replace(e, bubble=summary) if e in recent else e for e in told], summary

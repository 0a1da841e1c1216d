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
- Muted, snoozed, in quiet hours: nothing; what still waits at the end is told then, in one bubble.
- The person is at that very session: held for a while.
- The person comes back: one bubble with all that still waits, and with what has ended meanwhile.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tray.config import Settings
from tray.desktop.bubbles import (
    MUTE,
    SHOW,
    SNOOZE,
    Action,
    Bubble,
    Entry,
    Urgency,
    compose,
    kind_of,
)
from tray.desktop.event_commands import Told, event_of
from tray.desktop.hush import hushed, hushed_for_a_time, presence_ends, present
from tray.desktop.moment import Memory, Moment, ask_of, ripe
from tray.desktop.quiet import next_change
from tray.desktop.recall import holds, recalled
from tray.desktop.telling import again, gathered, tell
from tray.machine import AlertKind
from tray.mutes import next_end

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.desktop.circumstances import Circumstances
    from tray.machine import Track, Tracked

__all__ = [
    "AWAY_AFTER", "MUTE", "SHOW", "SNOOZE", "Action", "Bubble", "Memory", "Plan", "Urgency",
    "dismissed", "plan",
]  # fmt: skip

AWAY_AFTER = Settings().turn_over_after
"""Seconds since the person's last act after which the end of a turn is told, by default."""
LEFT_BEFORE = 600.0
"""Seconds for which nobody has been there when the missing of input is taken for absence."""
_TURNS = frozenset({AlertKind.TURN_OVER, AlertKind.JOB_DONE})


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


def plan(memory: Memory, tracked: Tracked, now: float, around: Circumstances) -> Plan:
    """Return what is to be told at `now` (monotonic seconds), and what to remember of it."""
    tracks = {
        key: track
        for track in tracked.tracks
        for key in (*track.session.aliases, track.session.key)
    }
    memory, came_back = _comings_and_goings(memory, now, around)
    ripe_now = [track for track in tracked.tracks if ripe(track)]
    kept_back = frozenset(ask_of(track) for track in ripe_now if hushed(track, around))
    freed = memory.kept_back.intersection(map(ask_of, ripe_now)) - kept_back
    several = len(freed) > 1
    if several:
        memory = replace(memory, joint=memory.joint + 1)
    freed_bubble = f"joint/{memory.joint}" if several else None
    moment = Moment(now, around, tracks, memory, freed_bubble)
    still = [recalled(entry, tracks.get(entry.session)) for entry in memory.told]
    told = [_hidden(entry, moment) for entry in still if entry is not None]
    known = {entry.ask for entry in told}
    for track in tracked.tracks:
        if not hushed(track, around):
            told = again(told, track, moment)
            told = tell(told, track, moment)
    if came_back:
        told = gathered(told, moment)
    shown: dict[str, list[tuple[Entry, Track]]] = {}
    ranks = {key: rank for rank, key in enumerate(tracks)}
    for entry in sorted(told, key=lambda entry: ranks[entry.session]):
        if entry.on_screen and not entry.hidden and holds(entry, moment.of(entry)):
            shown.setdefault(entry.bubble, []).append((entry, moment.of(entry)))
    discreet = around.locked or around.inhibited

    def made(name: str, parts: list[tuple[Entry, Track]]) -> Bubble:
        return compose(name, parts, around.settings, discreet=discreet)

    news = []
    for entry in told:
        # What was there before the tray is no news, as its one quiet bubble is no alarm.
        if entry.ask not in known and entry.on_screen and not entry.alert.first:
            track = moment.of(entry)
            alone = made(entry.bubble, [(entry, track)])
            event = event_of(kind_of(entry, track))
            news.append(Told(event, track.session, alone.title, alone.body))
    return Plan(
        replace(
            memory,
            told=tuple(told),
            kept_back=kept_back,
            left_at=memory.left_at if around.away else None,
        ),
        tuple(made(name, parts) for name, parts in shown.items()),
        _wake_at(told, moment),
        tuple(news),
        _watching(told, tracked, moment),
    )


def _comings_and_goings(memory: Memory, now: float, around: Circumstances) -> tuple[Memory, bool]:
    """Return `memory` with the person's coming and going, and whether they just came back."""
    if around.away:
        if memory.left_at is None:
            left_at = now if around.locked else now - LEFT_BEFORE
            memory = replace(memory, left_at=left_at)
        return memory, False
    if memory.left_at is None:
        return memory, False
    back = replace(memory, back_at=now, back_wall=around.wall, joint=memory.joint + 1)
    return back, True


def _hidden(entry: Entry, moment: Moment) -> Entry:
    """Return `entry` off the screen where it is not to be seen for now."""
    track, around = moment.of(entry), moment.around
    if entry.alert.kind in _TURNS and track.session.key in present(around):
        return replace(entry, on_screen=False, noticed=True)
    # The button that mutes or snoozes an ask has its bubble dismissed too: it comes back.
    if hushed_for_a_time(track, around) and entry.blocking:
        return replace(entry, on_screen=True, hidden=True)
    return replace(entry, hidden=entry.hidden or (entry.on_screen and hushed(track, around)))


def _wake_at(told: Iterable[Entry], moment: Moment) -> float | None:
    now, around = moment.now, moment.around
    times = [presence_ends(track, now, around) for track in moment.tracks.values()]
    times += [moment.reminder_at(entry) for entry in told]
    wall_ends = [next_end(around.mutes, around.wall)]
    local = dt.datetime.fromtimestamp(around.wall)  # noqa: DTZ006  (quiet hours are local)
    change = next_change(around.settings.quiet_hours, local)
    wall_ends.append(None if change is None else change.timestamp())
    # A moment late: what is asked again too early would be asked at once again.
    times += [now + (end - around.wall) + 0.01 for end in wall_ends if end is not None]
    return min((time for time in times if time is not None and time > now), default=None)


def _watching(told: Iterable[Entry], tracked: Tracked, moment: Moment) -> frozenset[str]:
    around = moment.around
    if around.settings.holds.presence <= 0:
        return frozenset()
    keys = {
        track.session.key
        for track in tracked.tracks
        if track.alert is not None
        and not hushed(track, around)
        and (not track.alert.ripe or presence_ends(track, moment.now, around) is not None)
    }
    for entry in told:
        reminder = moment.reminder_at(entry)
        due = reminder is not None and moment.now >= reminder
        if due or (entry.alert.kind in _TURNS and entry.on_screen):
            keys.add(moment.of(entry).session.key)
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

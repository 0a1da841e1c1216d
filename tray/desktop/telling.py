"""Which alerts go into which bubbles, and when one is told again. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from tray.desktop.bubbles import FIRST, Entry, text
from tray.desktop.hush import presence_ends, present
from tray.desktop.moment import ask_of
from tray.desktop.recall import holds, same, seen
from tray.machine import BLOCKING_ALERTS, AlertKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.desktop.moment import Moment
    from tray.machine import Alert, Track

BURST = 10.0
"""Seconds within which a fourth ask turns the bubbles of the others into one summary; and after
a return, within which what began before it joins the bubble about all that waits."""
BURST_SIZE = 3
"""Asks shown in bubbles of their own within `BURST` seconds."""
_FAILED = frozenset({AlertKind.ERROR, AlertKind.JOB_FAILED})


def again(told: list[Entry], track: Track, moment: Moment) -> list[Entry]:
    """Return `told` with what of `track` is told again: after a mute, or as a reminder."""
    if track.alert is None:  # It works on by itself: not the time to tell of an end.
        return told
    here = track.session.key in present(moment.around)
    late = presence_ends(track, moment.now, moment.around) is None
    for entry in [entry for entry in told if moment.of(entry) is track]:
        reminder = moment.reminder_at(entry)
        due = reminder is not None and moment.now >= reminder and not here
        if not holds(entry, track) or not ((entry.hidden and late) or due):
            continue
        others = [other for other in told if other is not entry]
        times = entry.times + 1
        bubble = f"{entry.session}/{entry.alert.id}/{times}"
        if entry.hidden and moment.freed is not None:
            bubble = moment.freed
        elif entry.blocking:
            others, bubble = _crowd(others, bubble, moment)
        elif entry.bubble.startswith("error/"):
            bubble = entry.bubble
        anew = replace(
            entry,
            bubble=bubble,
            at=moment.now,
            on_screen=True,
            hidden=False,
            times=times,
            waited=_waited(entry.alert, moment),
        )
        told = [*others, anew]
    return told


def _waited(alert: Alert, moment: Moment) -> float | None:
    return moment.around.wall - alert.at if alert.kind in BLOCKING_ALERTS else None


def gathered(told: list[Entry], moment: Moment) -> list[Entry]:
    """Return `told` with all that still waits in one new bubble, for who comes back.

    With it comes what ended in their absence: its bubble has left the screen unseen.
    """
    memory, here = moment.memory, present(moment.around)
    left_at = memory.left_at if memory.left_at is not None else moment.now
    return [
        replace(entry, bubble=f"joint/{memory.joint}", at=moment.now, on_screen=True)
        if not entry.hidden
        and not entry.noticed
        and (entry.blocking or entry.on_screen or entry.at >= left_at)
        and moment.of(entry).alert is not None
        and holds(entry, moment.of(entry))
        and moment.of(entry).session.key not in here
        else entry
        for entry in told
    ]


def tell(told: list[Entry], track: Track, moment: Moment) -> list[Entry]:
    """Return `told` with the alert of `track`, if it is one to tell now."""
    alert, session = track.alert, track.session
    if alert is None or not alert.ripe:
        return told
    own = [entry for entry in told if moment.of(entry) is track]
    joint = _joint(track, alert, moment)
    if alert.kind is AlertKind.TURN_OVER:
        return _tell_turn(told, own, track, alert, moment, joint)
    if any(same(entry.alert, alert) for entry in own) or seen(track, alert):
        return told
    bubble = f"{session.key}/{alert.id}"
    if alert.kind is AlertKind.JOB_DONE and session.key in present(moment.around):
        entry = Entry(session.key, alert, bubble, moment.now, on_screen=False, noticed=True)
        return [*told, entry]
    if presence_ends(track, moment.now, moment.around) is not None:
        return told
    if alert.first and alert.kind not in BLOCKING_ALERTS:
        return told
    if alert.first or joint is not None:
        bubble = FIRST if alert.first else str(joint)
    elif alert.kind in BLOCKING_ALERTS:
        told, bubble = _crowd(told, bubble, moment)
    elif session.error is not None and alert.kind in _FAILED:
        bubble = f"error/{session.error}"
    waited = _waited(alert, moment) if ask_of(track) in moment.memory.kept_back else None
    return [*told, Entry(session.key, alert, bubble, moment.now, waited=waited)]


def _joint(track: Track, alert: Alert, moment: Moment) -> str | None:
    """Return the bubble that this alert shares with others told at this moment, if there is one."""
    memory = moment.memory
    just_back = memory.back_at is not None and moment.now - memory.back_at <= BURST
    if just_back and alert.at <= memory.back_wall:
        return f"joint/{memory.joint}"
    return moment.freed if ask_of(track) in memory.kept_back else None


def _tell_turn(
    told: list[Entry],
    own: Sequence[Entry],
    track: Track,
    alert: Alert,
    moment: Moment,
    joint: str | None,
) -> list[Entry]:
    said = text(track.session.preview)
    for entry in own:
        if entry.alert.kind is AlertKind.TURN_OVER:
            return [replace(other, said=said) if other is entry else other for other in told]
    threshold = moment.around.settings.turn_over_after
    quick = track.last_act is not None and alert.at - track.last_act < threshold
    if alert.first or quick or seen(track, alert):
        return told
    here = track.session.key in present(moment.around)
    bubble = joint or f"{track.session.key}/turn"
    entry = Entry(
        track.session.key, alert, bubble, moment.now, on_screen=not here, said=said, noticed=here
    )
    return [*told, entry]


def _crowd(told: list[Entry], bubble: str, moment: Moment) -> tuple[list[Entry], str]:
    """Return `told` and the bubble for one more ask: `bubble`, or a summary with the others."""
    standing = [
        entry
        for entry in told
        if entry.blocking
        and entry.on_screen
        and not entry.hidden
        and entry.bubble != FIRST
        and holds(entry, moment.of(entry))
    ]
    recent = [entry for entry in standing if moment.now - entry.at <= BURST]
    sizes = Counter(entry.bubble for entry in standing)
    for entry in recent:
        if sizes[entry.bubble] > 1:
            return told, entry.bubble
    if len(recent) < BURST_SIZE:
        return told, bubble
    summary = f"summary/{bubble}"
    return [replace(e, bubble=summary) if e in recent else e for e in told], summary

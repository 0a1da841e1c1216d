"""What of that which was told still says something. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tray.machine import BLOCKING_ALERTS, AlertKind
from tray.session import State

if TYPE_CHECKING:
    from tray.desktop.bubbles import Entry
    from tray.machine import Alert, Track


def recalled(entry: Entry, track: Track | None) -> Entry | None:
    """Return `entry` as far as it still says something about the present or the future."""
    if track is None:
        return None
    if entry.alert.kind is AlertKind.TURN_OVER:
        return entry if not acted(track, entry.alert.at) else None
    if track.alert is not None:
        return entry if same(entry.alert, track.alert) else None
    # The very same ask may turn up again: not to be told again once it was dismissed, or once its
    # person was there and suspended the session.
    if track.session.state is State.IDLE:
        return replace(entry, on_screen=False)
    return entry if not entry.on_screen else None


def holds(entry: Entry, track: Track) -> bool:
    """Whether what `entry` told is still so."""
    if entry.alert.kind is AlertKind.TURN_OVER:
        if track.session.state is State.WORKING:
            return True
        return (
            track.alert is not None
            and track.alert.kind is AlertKind.TURN_OVER
            and not seen(track, track.alert)
        )
    return (
        track.alert is not None and same(entry.alert, track.alert) and not seen(track, track.alert)
    )


def same(told: Alert, now: Alert) -> bool:
    """Whether both are one alert."""
    # What an ask is about may be learnt after it was told: an input turns out a question.
    asks = told.kind in BLOCKING_ALERTS and now.kind in BLOCKING_ALERTS
    return told.id == now.id and (asks or told.kind is now.kind)


def acted(track: Track, since: float) -> bool:
    """Whether the person has done something in the session after `since`, Unix seconds."""
    return track.last_act is not None and track.last_act > since


def seen(track: Track, alert: Alert) -> bool:
    """Whether the person has been in the session since `alert` arose; asks want an answer."""
    if alert.kind in BLOCKING_ALERTS or alert.kind is AlertKind.DIED:
        return False
    return not track.session.unseen or acted(track, alert.at)

"""What keeps an alert off the screen for now: wishes, mutes, and the person's presence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.desktop.bubbles import settings_of
from tray.mutes import muted, snoozed
from tray.projects import matches
from tray.session import Kind

if TYPE_CHECKING:
    from tray.config import Settings
    from tray.desktop.circumstances import Circumstances
    from tray.machine import Track


def hushed(track: Track, around: Circumstances) -> bool:
    """Whether nothing of this session is to be told for now."""
    return hushed_for_a_time(track, around) or _unwanted(track, around.settings)


def hushed_for_a_time(track: Track, around: Circumstances) -> bool:
    """Whether that is for a mute, a snooze or quiet hours, at whose end it is told."""
    session, mutes, wall = track.session, around.mutes, around.wall
    return around.quiet or muted(mutes, session, wall) or snoozed(mutes, session, wall)


def present(around: Circumstances) -> frozenset[str]:
    """Return the keys of the sessions that the person is at, as far as that is to matter."""
    return around.present if around.settings.holds.presence > 0 else frozenset()


def presence_ends(track: Track, now: float, around: Circumstances) -> float | None:
    """Return until when the alert is held for the person's presence; `None` if it is not."""
    if track.alert is None or track.session.key not in present(around):
        return None
    seen = track.alert_seen if track.alert_seen is not None else now
    end = seen + around.settings.holds.presence
    return end if now < end else None


def _unwanted(track: Track, settings: Settings) -> bool:
    session = track.session
    return (
        not settings.notifications
        or (session.kind is Kind.HEADLESS and not settings.sessions.headless)
        or (session.kind is Kind.BACKGROUND and not settings.sessions.background)
        or (track.alert is not None and not settings_of(track.alert.kind, settings).enabled)
        or matches(session, (*settings.projects.mute, *settings.projects.ignore))
    )

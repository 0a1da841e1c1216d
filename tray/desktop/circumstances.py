"""What the policy of alerts has to know besides the sessions. Plain data."""

from __future__ import annotations

import msgspec

from tray.config import Settings
from tray.mutes import Mutes


class Circumstances(msgspec.Struct, frozen=True):
    """The person's wishes, and where they are, at one moment."""

    wall: float
    """Unix seconds."""
    settings: Settings = Settings()
    mutes: Mutes = Mutes()
    quiet: bool = False
    """Whether these are quiet hours."""
    present: frozenset[str] = frozenset()
    """Keys of the sessions that the person is at, right now."""
    locked: bool = False
    """The screen is locked."""
    away: bool = False
    """Nobody is there: locked, asleep, or no input for ten minutes."""
    inhibited: bool = False
    """The notification server has been told not to disturb."""

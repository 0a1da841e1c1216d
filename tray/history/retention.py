"""When the client will delete a session: `cleanupPeriodDays` of its root's settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from tray.claude.files import read_small
from tray.history.past import LOCAL

if TYPE_CHECKING:
    from tray.history.past import Past

DEFAULT_DAYS = 30.0
"""What holds without a setting."""
SOON = 7.0
"""Days before its end from which on a session is marked."""
_DAY = 86_400.0
_LIMIT = 4 * 1024 * 1024


class _Settings(msgspec.Struct, frozen=True):
    """The only key that is read: tokens can stand beside it."""

    days: float = msgspec.field(name="cleanupPeriodDays", default=DEFAULT_DAYS)


class Retention:
    """How long each root keeps its sessions; each settings file is read once."""

    def __init__(self) -> None:
        self._days: dict[str, float] = {}

    def days(self, config_root: str) -> float:
        """Return the days that a root keeps sessions."""
        if config_root not in self._days:
            self._days[config_root] = retention_days(config_root)
        return self._days[config_root]

    def expires_at(self, past: Past) -> float | None:
        """Return when the client may delete a session, Unix seconds; `None`: never."""
        if past.config_root is None:
            return None
        return expires_at(past, self.days(past.config_root))

    def expires_soon(self, past: Past, now: float) -> bool:
        """Whether a session is about to be deleted."""
        return expires_soon(self.expires_at(past), now)


def retention_days(config_root: str) -> float:
    """Return the days that a root keeps sessions. Never raises."""
    data = read_small(os.path.join(config_root, "settings.json"), _LIMIT)
    if data is None:
        return DEFAULT_DAYS
    try:
        days = msgspec.json.decode(data, type=_Settings).days
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return DEFAULT_DAYS
    return days if days >= 0 else DEFAULT_DAYS


def expires_at(past: Past, days: float) -> float | None:
    """Return when the client may delete a session, Unix seconds; `None`: it never does.

    It goes by the time that the file was last written to, at its next start after that.
    """
    if past.source != LOCAL or past.modified is None or past.live:
        return None
    return past.modified + days * _DAY


def expires_soon(at: float | None, now: float, within: float = SOON) -> bool:
    """Whether that moment comes within so many days, or has passed."""
    return at is not None and at - now <= within * _DAY

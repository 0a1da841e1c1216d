"""What a person has muted or snoozed, and for how long. Plain data; times follow the wall clock."""

from __future__ import annotations

import msgspec


class Mutes(msgspec.Struct, frozen=True):
    """Everything that is muted. Each value is when it ends, Unix seconds; `None` is never."""

    everything: tuple[float | None, ...] = ()
    """Empty: not muted. Else one value, its end."""
    projects: dict[str, float | None] = {}
    """By the project's directory (`Observation.cwd`) or, where that is unknown, its name."""
    sessions: dict[str, float | None] = {}
    """By session id."""
    snoozed: dict[str, float] = {}
    """Single asks (`<session id>/<ask id>`) that come back then."""

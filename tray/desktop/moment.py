"""What one plan of the alerts is made from: what is remembered, and what is so now. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tray.desktop.recall import holds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.bubbles import Entry
    from tray.desktop.circumstances import Circumstances
    from tray.machine import Track


@dataclass(frozen=True, slots=True)
class Memory:
    """What was told and is still to be remembered; opaque to everybody else."""

    told: tuple[Entry, ...] = ()
    kept_back: frozenset[str] = frozenset()
    """The asks that were ripe but muted, snoozed, in quiet hours or switched off."""
    left_at: float | None = None
    """Since when nobody is there, monotonic seconds."""
    back_at: float | None = None
    """When the person last came back, monotonic seconds."""
    back_wall: float = 0.0
    """The same, Unix seconds."""
    joint: int = 0
    """How many bubbles about several things were named."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What all decisions of one plan are made from."""

    now: float
    around: Circumstances
    tracks: Mapping[str, Track]
    """By every key that the session has or had."""
    memory: Memory
    """As it was before."""
    freed: str | None
    """The bubble for what was kept back until now, if that is more than one thing."""

    def of(self, entry: Entry) -> Track:
        """Return the session that `entry` is about."""
        return self.tracks[entry.session]

    def reminder_at(self, entry: Entry) -> float | None:
        """Return when `entry` is told again if it still waits; `None` if it is not."""
        after = self.around.settings.remind_after * 60
        # Nobody is there to be reminded: who comes back gets a bubble anyway.
        if after <= 0 or self.around.away or not entry.blocking or entry.hidden:
            return None
        return entry.at + after if holds(entry, self.of(entry)) else None


def ripe(track: Track) -> bool:
    """Whether there is something to tell of this session."""
    return track.alert is not None and track.alert.ripe


def ask_of(track: Track) -> str:
    """Return what there is to tell of this session, as `Bubble.asks` has it."""
    return f"{track.session.key}/{track.alert.id if track.alert is not None else None}"

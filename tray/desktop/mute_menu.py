"""The submenu that mutes everything, and says and undoes what is muted. Pure."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from tray.desktop.entry import Action, Duration, Entry
from tray.desktop.prose import until
from tray.mutes import Mute, Scope, ask_of, entries, id_of
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tray.mutes import Mutes
    from tray.session import Observation

_TOLD = 12
"""Muted things at most that are named one by one."""
_NAME = 40
_LABELS = {
    Duration.HALF_HOUR: "For 30 minutes",
    Duration.HOUR: "For 1 hour",
    Duration.TOMORROW: "Until tomorrow",
    Duration.UNMUTED: "Until unmuted",
}
SNOOZES = (Duration.HALF_HOUR, Duration.HOUR)
"""How long a single ask can be snoozed: it always comes back."""


@functools.lru_cache(maxsize=128)
def durations(
    key: str, scope: Scope, what: str, choices: tuple[Duration, ...] = tuple(Duration)
) -> tuple[Entry, ...]:
    """Return the lines that mute `what`, one for each duration."""
    return tuple(
        Entry(
            f"{key}:{duration}",
            _LABELS[duration],
            action=Action.MUTE,
            scope=scope,
            what=what,
            duration=duration,
        )
        for duration in choices
    )


def mute_menu(
    sessions: Sequence[Observation],
    names: Sequence[str],
    now: float,
    mutes: Mutes,
    quiet_until: str = "",
) -> Entry:
    """Return the submenu `Mute`; `names` are those of `sessions`, `mutes` holds none ended.

    `quiet_until` is the time of day at which quiet hours end, where these are some.
    """
    by_id = {id_of(one): name for one, name in zip(sessions, names, strict=True)}
    by_id |= {ask: name for one, name in zip(sessions, names, strict=True) if (ask := ask_of(one))}
    lines = [*durations("mute", Scope.EVERYTHING, "")]
    muted = list(entries(mutes))
    if muted:
        lines.append(Entry("mute:above-muted", separator=True))
        lines += [_muted(one, by_id, now) for one in muted[:_TOLD]]
    if muted[_TOLD:]:
        rest = f"{len(muted) - _TOLD} more"
        lines.append(Entry("mute:more", rest, enabled=False))
    label = "Mute"
    if quiet_until:
        label = f"Quiet hours until {quiet_until}"
    elif mutes.everything:
        label = f"Muted {until(mutes.everything[0], now)}"
    elif muted:
        label = f"Mute ({len(muted)} muted)"
    return Entry("mute", label, children=tuple(lines))


def _muted(mute: Mute, by_id: Mapping[str, str], now: float) -> Entry:
    """Return the line that undoes one mute."""
    match mute.scope:
        case Scope.EVERYTHING:
            name = "Unmute everything"
        case Scope.PROJECT:
            project = os.path.basename(mute.what) or mute.what
            name = f"Unmute project {one_line(project, _NAME)}"
        case Scope.SESSION:
            name = f"Unmute {by_id.get(mute.what) or _gone(mute.what)}"
        case Scope.ASK:
            name = f"End the snooze of {by_id.get(mute.what) or _gone(mute.what)}"
    return Entry(
        f"unmute:{mute.scope}:{mute.what}",
        left_to_right(f"{name} ({until(mute.until, now)})"),
        action=Action.UNMUTE,
        scope=mute.scope,
        what=mute.what,
    )


def _gone(what: str) -> str:
    return f"session {one_line(what, 8)}"

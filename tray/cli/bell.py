"""Ringing the terminal that `watch --bell` runs in: for a person on another machine.

The policy is the tray's own (`tray.desktop.alerts`): what would be a new bubble there rings here.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tray.desktop import alerts
from tray.desktop.circumstances import Circumstances
from tray.desktop.quiet import is_quiet
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.config import Settings
    from tray.machine import Tracked
    from tray.mutes import Mutes

_BEL, _ESC, _ST = "\a", "\x1b", "\x1b\\"


def escape(title: str, text: str, environ: Mapping[str, str]) -> str:
    """Return what rings a terminal and has it show a notification. Pure.

    The bell reaches every terminal, OSC 9 (iTerm2, kitty, WezTerm, Ghostty, Windows Terminal)
    takes one text, OSC 777 (urxvt, foot, VTE, Ghostty) title and text, separated by semicolons.
    tmux hands them on only inside of a sequence of its own, and where `allow-passthrough` is on
    (tmux(1)); GNU screen cuts them, and passes the bell.
    """
    title, text = (left_to_right(one_line(part, 200)).replace(";", ",") for part in (title, text))
    said = f"{title}: {text}" if text else title
    # OSC 9;4 is a progress bar in some terminals, so a text must not begin with a figure.
    sequences = f"{_ESC}]9;{' ' if said[:1].isdigit() else ''}{said}{_ST}"
    sequences += f"{_ESC}]777;notify;{title};{text}{_ST}"
    if environ.get("TMUX"):
        sequences = f"{_ESC}Ptmux;{sequences.replace(_ESC, _ESC * 2)}{_ST}"
    elif environ.get("STY"):
        sequences = ""
    return sequences + _BEL


class Bell:
    """What was rung for, and what is next."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._memory = alerts.Memory()
        self._tracked: Tracked | None = None
        self.wake_at: float | None = None
        """Monotonic seconds at which to `ring` again without any change."""

    def take(self, tracked: Tracked) -> None:
        """Take in the sessions as they are now."""
        self._tracked = tracked

    def ring(self, now: float, wall: float, settings: Settings, mutes: Mutes) -> bytes:
        """Return what to send to the terminal at `now` (monotonic) and `wall` (Unix seconds)."""
        if self._tracked is None:
            return b""
        local = dt.datetime.fromtimestamp(wall)  # noqa: DTZ006  (quiet hours are local)
        quiet = is_quiet(settings.quiet_hours, local)
        circumstances = Circumstances(wall=wall, settings=settings, mutes=mutes, quiet=quiet)
        plan = alerts.plan(self._memory, self._tracked, now, circumstances)
        self._memory, self.wake_at = plan.memory, plan.wake_at
        return "".join(escape(told.title, told.body, self._environ) for told in plan.told).encode(
            "utf-8", "replace"
        )

"""Ghostty (GTK), by the action `present-surface` that its notifications use.

The action selects the tab and the split of a surface and presents the window. A surface's number
is in `GHOSTTY_SURFACE_ID` of what runs in it, in releases after 1.3 (ghostty-org/ghostty #12027,
#12028); before, only the process that owns the window is known. Which surface is selected is
told by none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.desktop.focus import gtk_actions, terminal
from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.terminal import Held

_APP = "com.mitchellh.ghostty"
_TARGET = (_APP, "/com/mitchellh/ghostty")


class _Unknown:
    """A surface of a Ghostty that does not tell which."""

    layer = "Ghostty"
    says = "a tab of Ghostty; from 1.4 on it can select it"

    def __init__(self, held: Held) -> None:
        self._held = held
        seek = f"the tab of {held.session.tty} in Ghostty"
        self.outward: Seat | WindowHint | None = replace(held.window, app=_APP, seek=seek)

    def active(self) -> bool | None:
        return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        terminal.check(self._held)


class _Layer:
    name = "Ghostty"
    wants: frozenset[str] = frozenset()

    def find(
        self, place: Seat | WindowHint, desktop: Mapping[str, str]
    ) -> gtk_actions.Presented | _Unknown | None:
        held = terminal.held(place, ("ghostty",))
        if held is None:
            return None
        number = _number(environment(held.shell.pid, ("GHOSTTY_SURFACE_ID",)))
        if number is None:
            return _Unknown(held)
        try:
            with connected(session_address(desktop)) as call:
                # A Ghostty that is not the single instance has no name on the bus.
                is_named = owner_pid(call, _APP) == held.terminal.pid
        except FocusError:
            is_named = False
        if not is_named:
            return _Unknown(held)
        says = f"Ghostty surface {number:#018x}"
        action = ("present-surface", "t", number)
        return gtk_actions.Presented(self.name, says, held, desktop, _TARGET, action)


def _number(given: Mapping[str, str]) -> int | None:
    try:
        number = int(given["GHOSTTY_SURFACE_ID"], 0)
    except (KeyError, ValueError):
        return None
    return number if 0 < number < 2**64 else None


LAYER = _Layer()

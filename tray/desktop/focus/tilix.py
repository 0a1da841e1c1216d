"""Tilix, by the action `activate-terminal` that its notifications use.

It takes the UUID of a terminal, which stands in `TILIX_ID` of what runs in it, and selects its
pane, session and window (gnunn1/tilix, source/gx/tilix/application.d). Which one is selected is
told by nothing. Where the window has the focus already, Tilix does not ask for it, so it is not
known by its request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.desktop.focus import gtk_actions, terminal
from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.terminal import Held

_APP = "com.gexperts.Tilix"
_TARGET = (_APP, "/com/gexperts/Tilix")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class _Terminal:
    """A pane of Tilix."""

    layer = "Tilix"

    def __init__(self, held: Held, desktop: Mapping[str, str], uuid: str) -> None:
        self._held = held
        self._desktop = desktop
        self._uuid = uuid
        self.says = f"Tilix terminal {uuid[:8]}"
        self.outward: Seat | WindowHint | None = replace(held.window, app=_APP)

    def active(self) -> bool | None:
        return None

    def show(self, token: str | None = None) -> None:
        terminal.check(self._held)
        address, display = session_address(self._desktop), self._desktop.get("DISPLAY")
        action = ("activate-terminal", "s", self._uuid)
        xid = gtk_actions.present(address, display, _TARGET, action, token)
        self.outward = replace(self._held.window, app=_APP, xid=xid)


class _Layer:
    name = "Tilix"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Terminal | None:
        held = terminal.held(place, ("tilix",))
        if held is None:
            return None
        uuid = environment(held.shell.pid, ("TILIX_ID",)).get("TILIX_ID", "")
        with connected(session_address(desktop)) as call:
            if owner_pid(call, _APP) != held.terminal.pid:
                raise FocusError("Tilix is not on the session bus")
        if not _UUID.fullmatch(uuid):
            raise FocusError("Tilix has not told the session's terminal (TILIX_ID)")
        return _Terminal(held, desktop, uuid)


LAYER = _Layer()

"""Tilix, by the action `activate-terminal` that its notifications use.

It takes the UUID of a terminal, which stands in `TILIX_ID` of what runs in it, and selects its
pane, session and window (gnunn1/tilix, source/gx/tilix/application.d). Which one is selected is
told by nothing. Where the window has the focus already, Tilix does not ask for it, so it is not
known by its request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tray.desktop.focus import gtk_actions, terminal
from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import environment

if TYPE_CHECKING:
    from collections.abc import Mapping


_APP = "com.gexperts.Tilix"
_TARGET = (_APP, "/com/gexperts/Tilix")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class _Layer:
    name = "Tilix"
    wants: frozenset[str] = frozenset()

    def find(
        self, place: Seat | WindowHint, desktop: Mapping[str, str]
    ) -> gtk_actions.Presented | None:
        held = terminal.held(place, ("tilix",))
        if held is None:
            return None
        uuid = environment(held.shell.pid, ("TILIX_ID",)).get("TILIX_ID", "")
        with connected(session_address(desktop)) as call:
            if owner_pid(call, _APP) != held.terminal.pid:
                raise FocusError("Tilix is not on the session bus")
        if not _UUID.fullmatch(uuid):
            raise FocusError("Tilix has not told the session's terminal (TILIX_ID)")
        says = f"Tilix terminal {uuid[:8]}"
        action = ("activate-terminal", "s", uuid)
        return gtk_actions.Presented(self.name, says, held, desktop, _TARGET, action)


LAYER = _Layer()

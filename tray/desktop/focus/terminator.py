"""Terminator, by its D-Bus interface (terminatorlib/ipc.py).

The interface tells the titles of a terminal's tab and window and which terminal has the focus.
It has no call that selects a tab or a pane: the window is raised, and the tab named to the person.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.desktop.focus import terminal
from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import environment
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.dbus_call import Call
    from tray.desktop.focus.terminal import Held

_VARIABLES = ("TERMINATOR_UUID", "TERMINATOR_DBUS_NAME", "TERMINATOR_DBUS_PATH")
_NAME = re.compile(r"net\.tenshu\.Terminator[0-9A-Za-z_]*")
_PATH = re.compile(r"/net/tenshu/Terminator[0-9A-Za-z_]*")
_UUID = re.compile(r"urn:uuid:[0-9a-f-]{36}")


class _Terminator:
    """One Terminator process on the bus; each method raises `FocusError`."""

    def __init__(self, call: Call, name: str, path: str) -> None:
        self._call = call
        self._name = name
        self._path = path

    def ask(self, member: str, uuid: str | None = None) -> str | None:
        """Call a method about a terminal; Python's `None` comes as no result at all."""
        given = ("", ()) if uuid is None else ("s", (uuid,))
        found = self._call(self._name, self._path, self._name, member, *given)
        return str(found[0]) if found else None


class _Pane:
    """A pane of Terminator, in a tab or alone in a window."""

    layer = "Terminator"

    def __init__(self, held: Held, address: str, given: Mapping[str, str]) -> None:
        self._held = held
        self._address = address
        self._uuid, self._name, self._path = (given[name] for name in _VARIABLES)
        self.says = "a window of Terminator"
        self.outward: Seat | WindowHint | None = held.window

    def look(self, terminator: _Terminator) -> None:
        """Read the titles; raises `FocusError` if the pane has gone."""
        title = terminator.ask("get_window_title", self._uuid)
        tab = terminator.ask("get_tab_title", self._uuid)
        selected = terminator.ask("get_focused_terminal") == self._uuid
        named = None if tab is None else one_line(f'tab "{tab}" of Terminator', 80)
        self.says = named or "a window of Terminator"
        self.outward = replace(
            self._held.window,
            title=one_line(title) if title else None,
            app="terminator",
            seek=None if selected else named,
        )

    def active(self) -> bool | None:
        try:
            with connected(self._address) as call:
                terminator = _Terminator(call, self._name, self._path)
                focused = terminator.ask("get_focused_terminal")
                if focused == self._uuid:
                    return True
                # Only the last one of all windows is told.
                windows = [focused and terminator.ask("get_window", focused)]
                windows.append(terminator.ask("get_window", self._uuid))
                return False if focused and windows[0] == windows[1] else None
        except FocusError:
            return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        with connected(self._address) as call:
            self.look(_Terminator(call, self._name, self._path))
        terminal.check(self._held)


class _Layer:
    name = "Terminator"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Pane | None:
        held = terminal.held(place, ("terminator",))
        if held is None:
            return None
        given = environment(held.shell.pid, _VARIABLES)
        patterns = (_UUID, _NAME, _PATH)
        if not all(
            pattern.fullmatch(given.get(name, ""))
            for name, pattern in zip(_VARIABLES, patterns, strict=True)
        ):
            raise FocusError(
                'Terminator is not on the bus; "dbus = True" in its config puts it there'
            )
        address = session_address(desktop)
        pane = _Pane(held, address, given)
        with connected(address) as call:
            name = given["TERMINATOR_DBUS_NAME"]
            if owner_pid(call, name) != held.terminal.pid:
                raise FocusError("Terminator is not on the session bus")
            pane.look(_Terminator(call, name, given["TERMINATOR_DBUS_PATH"]))
        return pane


LAYER = _Layer()

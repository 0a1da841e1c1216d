"""GNOME on Wayland, where no program may raise another's window.

A program may be asked to come forward itself, by `org.freedesktop.Application` (Desktop Entry
Specification, "D-Bus Activation"), with the token of the click that asked for it. Which of its
windows that is, is its own affair: what to look for is then told. Without a token GNOME only says
that the program is ready.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import check
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tray.desktop.focus.dbus_call import Call

_NAME = "GNOME"
_APPLICATION = "org.freedesktop.Application"
_BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_BY_THEMSELVES = frozenset({"org.gnome.Terminal", "com.mitchellh.ghostty", "com.gexperts.Tilix"})
"""Those whose own back end has them come forward with the tab, by the same token.

Activated, the first does nothing, and others open a window.
"""
_OWN_INSTANCE = re.compile(r"-\d+$")
"""KDE's programs put their pid behind their name (KDBusService)."""


class _Spot:
    """A program that can come forward."""

    layer = _NAME
    outward: Seat | WindowHint | None = None

    def __init__(self, address: str, name: str, hint: WindowHint) -> None:
        self._address = address
        self._app = name
        self._hint = hint
        self.says = f"the program {one_line(name, 60)}"
        title = f'the window "{one_line(hint.title, 60)}"' if hint.title else None
        self.seek = hint.seek or title
        """What the person must look for in the program."""

    def active(self) -> bool | None:
        """Return `None`: GNOME does not tell which window has the focus."""
        return None

    def show(self, token: str | None = None) -> None:
        """Have the program come forward."""
        check(self._hint)
        if self._app in _BY_THEMSELVES:
            return
        from dbus_fast import Variant

        platform: dict[str, Variant] = {}
        if token:
            platform["activation-token"] = platform["desktop-startup-id"] = Variant("s", token)
        with connected(self._address) as call:
            if self._hint.pid is not None and owner_pid(call, self._app) != self._hint.pid:
                raise FocusError(f"{self._app} is another program by now")
            call(self._app, _path(self._app), _APPLICATION, "Activate", "a{sv}", [platform])


class _Layer:
    name = _NAME
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        if not isinstance(place, WindowHint) or not _is_concerned(desktop):
            return None
        address = session_address(desktop)
        with connected(address) as call:
            for name in _names(call, place):
                if name in _BY_THEMSELVES or _can_come_forward(call, name):
                    return _Spot(address, name, place)
        return None


def _is_concerned(desktop: Mapping[str, str]) -> bool:
    names = desktop.get("XDG_CURRENT_DESKTOP", "").upper().split(":")
    return "GNOME" in names and bool(desktop.get("WAYLAND_DISPLAY"))


def _names(call: Call, hint: WindowHint) -> Iterator[str]:
    """Yield the names that the very program has on the bus, its application id first."""
    if hint.app is not None and "." in hint.app:
        owner = owner_pid(call, hint.app)
        if owner is not None and hint.pid in (None, owner):
            yield hint.app
    if hint.pid is None:
        return
    for name in call(*_BUS, "ListNames")[0]:
        if not name.startswith(":") and name != hint.app and owner_pid(call, name) == hint.pid:
            yield name


def _can_come_forward(call: Call, name: str) -> bool:
    """Whether the program answers to the interface; an unknown one must not be called."""
    try:
        introspectable = "org.freedesktop.DBus.Introspectable"
        data = call(name, _path(name), introspectable, "Introspect")[0]
    except FocusError:
        return False
    return f'"{_APPLICATION}"' in data


def _path(name: str) -> str:
    return "/" + _OWN_INSTANCE.sub("", name).replace(".", "/").replace("-", "_")


LAYER = _Layer()

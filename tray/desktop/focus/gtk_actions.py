"""Having a GTK program bring something of it forward, by an action that it exports on the bus.

`org.gtk.Actions` (GLib's GApplication, "D-Bus API"): an action is called with platform data, in
which GTK finds an activation token (Wayland) or a startup id with a time stamp (X11). By that
time stamp the window that it then asks for is known (`x11_request`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.desktop.focus import terminal, x11_request
from tray.desktop.focus.dbus_call import connected, session_address
from tray.desktop.focus.place import FocusError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.dbus_call import Call
    from tray.desktop.focus.place import Seat, WindowHint
    from tray.desktop.focus.terminal import Held

_INTERFACE = "org.gtk.Actions"


class Presented:
    """A tab or pane that its program brings forward by an action; which one is selected it does
    not tell.
    """

    def __init__(
        self,
        layer: str,
        says: str,
        held: Held,
        desktop: Mapping[str, str],
        target: tuple[str, str],
        action: tuple[str, str, object],
    ) -> None:
        """Take what `present` is to be called with; the service's name is the application's id."""
        self.layer = layer
        self.says = says
        self._held = held
        self._desktop = desktop
        self._target = target
        self._action = action
        self.outward: Seat | WindowHint | None = replace(held.window, app=target[0])

    def active(self) -> bool | None:
        """Nothing tells."""
        return None

    def show(self, token: str | None = None) -> None:
        """Have it brought forward, and learn which window that is."""
        terminal.check(self._held)
        address, display = session_address(self._desktop), self._desktop.get("DISPLAY")
        xid = present(address, display, self._target, self._action, token)
        self.outward = replace(self._held.window, app=self._target[0], xid=xid)


def has_action(call: Call, service: str, path: str, action: str) -> bool:
    """Whether the program exports that action; a call of an unknown one fails silently."""
    return action in call(service, path, _INTERFACE, "List")[0]


def present(
    address: str,
    display: str | None,
    target: tuple[str, str],
    action: tuple[str, str, object],
    token: str | None,
) -> int | None:
    """Call an action, and return the X11 window that it brings forward.

    `target` is a service and a path, `action` a name, the type and the value of its parameter.
    `None` where the window is not seen, as under Wayland. Raises `FocusError`.
    """
    service, path = target
    from dbus_fast import Variant

    name, kind, value = action
    with connected(address) as call, x11_request.watch(display) as watcher:
        if not has_action(call, service, path, name):
            raise FocusError(f"{service} has no action {name}")
        platform: dict[str, Variant] = {}
        if token is not None:
            platform["activation-token"] = platform["desktop-startup-id"] = Variant("s", token)
        if watcher is not None:
            startup_id = f"sessionbell_TIME{watcher.server_time}"
            platform["desktop-startup-id"] = Variant("s", startup_id)
        body = [name, [Variant(kind, value)], platform]
        call(service, path, _INTERFACE, "Activate", "sava{sv}", body)
        return watcher.window() if watcher is not None else None

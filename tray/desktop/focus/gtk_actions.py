"""Having a GTK program bring something of it forward, by an action that it exports on the bus.

`org.gtk.Actions` (GLib's GApplication, "D-Bus API"): an action is called with platform data, in
which GTK finds an activation token (Wayland) or a startup id with a time stamp (X11). By that
time stamp the window that it then asks for is known (`x11_request`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.desktop.focus import x11_request
from tray.desktop.focus.dbus_call import connected
from tray.desktop.focus.place import FocusError

if TYPE_CHECKING:
    from tray.desktop.focus.dbus_call import Call

_INTERFACE = "org.gtk.Actions"


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

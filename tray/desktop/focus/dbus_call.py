"""Calling a service on the session bus and waiting for its answer, for the focus back ends.

Nothing is ever started by it: a name that nobody has on the bus is an error. What speaks D-Bus is
imported with the first call: on the way to most terminals there is none.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from tray.desktop.focus.place import FocusError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Call(Protocol):
    """Calls a method over a connection and returns its results; raises `FocusError`."""

    def __call__(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
    ) -> list[Any]:
        """Call `interface.member` of the object `path`, with a `body` of `signature`."""


def session_address(desktop: Mapping[str, str]) -> str:
    """Return the address of a login's session bus; raises `FocusError` if it has none.

    `DBUS_SESSION_BUS_ADDRESS`, else systemd's `$XDG_RUNTIME_DIR/bus`.
    """
    address = desktop.get("DBUS_SESSION_BUS_ADDRESS")
    if address:
        return address
    runtime_dir = desktop.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    path = os.path.join(runtime_dir, "bus")
    if not os.path.exists(path):
        raise FocusError(f"no session bus: DBUS_SESSION_BUS_ADDRESS is not set, and no {path}")
    # "~" needs no quoting in a URL, but does in a D-Bus address.
    return f"unix:path={quote(path).replace('~', '%7E')}"


@contextmanager
def connected(address: str) -> Iterator[Call]:
    """Connect to a bus for several calls, each with its own time limit; raises `FocusError`."""
    from tray.desktop.focus.dbus_connection import Connection

    with Connection(address) as connection:
        yield connection.call


def call(
    address: str,
    destination: str,
    path: str,
    interface: str,
    member: str,
    signature: str = "",
    body: Sequence[Any] = (),
) -> list[Any]:
    """Make one call over a connection of its own and return its results.

    Raises `FocusError` for an error reply, no answer within `CALL_LIMIT`, or no such bus.
    """
    with connected(address) as ask:
        return ask(destination, path, interface, member, signature, body)


def owner_pid(ask: Call, name: str) -> int | None:
    """Return the process that owns a name on the bus; `None` if nobody does."""
    bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    if not ask(*bus, "NameHasOwner", "s", [name])[0]:
        return None
    return int(ask(*bus, "GetConnectionUnixProcessID", "s", [name])[0])

"""Calling a service on the session bus and waiting for its answer, for the focus back ends.

They are synchronous, and the service may be any program of the person's that hangs: each call
runs on a thread of its own with an event loop of its own, and has a time limit. Nothing is ever
started by it: a name that nobody has on the bus is an error.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote

from dbus_fast import Message, MessageFlag
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError, DBusFastError

from tray.desktop.bus import call as call_on
from tray.desktop.focus.place import CALL_LIMIT, FocusError
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence

T = TypeVar("T")


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


class _Connection:
    """A connection to a bus with an event loop of its own, which runs on a thread of its own.

    The loop only runs during a call; the caller's thread may run a loop itself.
    """

    def __init__(self, thread: ThreadPoolExecutor, address: str) -> None:
        self._thread = thread
        self._loop = asyncio.new_event_loop()
        try:
            self._bus: MessageBus = self._run(_connect(address))
        except TimeoutError as error:
            self._loop.close()
            raise FocusError("the session bus does not answer") from error
        except (OSError, EOFError, ValueError, DBusFastError) as error:
            self._loop.close()
            cause = str(error) or type(error).__name__
            raise FocusError(f"the session bus is not reachable: {cause}") from error

    def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
    ) -> list[Any]:
        """See `Call`."""
        what = f"{destination} {member}"
        try:
            message = Message(
                destination=destination,
                path=path,
                interface=interface,
                member=member,
                signature=signature,
                body=list(body),
                flags=MessageFlag.NO_AUTOSTART,
            )
            return self._run(_within_limit(call_on(self._bus, message)))
        except TimeoutError as error:
            raise FocusError(f"{what} does not answer within {CALL_LIMIT:g} s") from error
        except DBusError as error:
            raise FocusError(one_line(f"{what}: {error.text or error.type}")) from error
        except (OSError, EOFError, ValueError, TypeError, DBusFastError) as error:
            raise FocusError(f"{what}: {str(error) or type(error).__name__}") from error

    def close(self) -> None:
        """Disconnect."""
        self._run(_disconnect(self._bus))
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._thread.submit(self._loop.run_until_complete, coroutine).result()


async def _connect(address: str) -> MessageBus:
    return await _within_limit(MessageBus(address).connect())


async def _within_limit(work: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(CALL_LIMIT):
        return await work


async def _disconnect(bus: MessageBus) -> None:
    bus.disconnect()
    await asyncio.sleep(0)


@contextmanager
def connected(address: str) -> Iterator[Call]:
    """Connect to a bus for several calls, each with its own time limit; raises `FocusError`."""
    with ThreadPoolExecutor(1, "dbus-call") as thread:
        connection = _Connection(thread, address)
        try:
            yield connection.call
        finally:
            connection.close()


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

"""The way to the session bus, and to the system bus."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dbus_fast import ErrorType, Message, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError, DBusFastError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CONNECT_LIMIT = 5.0
"""Seconds that a bus may take to answer."""


def session_bus_address() -> str:
    """Return the address of this user's session bus.

    `$DBUS_SESSION_BUS_ADDRESS`, else systemd's `$XDG_RUNTIME_DIR/bus`, which dbus-fast does not
    try by itself. Raises `ConnectionError` if there is neither.
    """
    address = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    if address:
        return address
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    path = os.path.join(runtime_dir, "bus")
    if os.path.exists(path):
        # "~" needs no quoting in a URL, but does in a D-Bus address.
        return f"unix:path={quote(path).replace('~', '%7E')}"
    raise ConnectionError(f"$DBUS_SESSION_BUS_ADDRESS is not set and there is no {path}")


class _Bus(MessageBus):
    """dbus-fast's, mended for the moment in which a connection breaks.

    dbus-fast 5.2 may notice that while it sends, and takes everything apart under its sender: a
    signal then raises `OSError` or `RuntimeError`, and an exception is logged as never looked
    at. Here what is sent into a broken connection is lost, and the end comes a moment later.
    """

    __slots__ = ()

    def send(self, msg: Message) -> asyncio.Future[None]:  # type: ignore[override]
        sent = super().send(msg)
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())
        return sent

    def _finalize(self, err: Exception | None = None) -> None:
        if self.unique_name is not None:
            asyncio.get_running_loop().call_soon(self._end, err)
        else:  # It ends before it has begun, which `connect` sees to.
            super()._finalize(err)

    def _end(self, err: Exception | None) -> None:
        if not self._disconnected:
            super()._finalize(err)


def system_bus_address() -> str:
    """Return the address of the machine's system bus."""
    return os.environ.get("DBUS_SYSTEM_BUS_ADDRESS") or "unix:path=/run/dbus/system_bus_socket"


async def connect(address: str | None = None) -> MessageBus:
    """Connect to a bus, by default the session bus.

    Raises `ConnectionError`, with the cause, if there is none.
    """
    try:
        bus = _Bus(address or session_bus_address(), auth_timeout=CONNECT_LIMIT)
        async with asyncio.timeout(CONNECT_LIMIT):
            return await bus.connect()
    except ConnectionError:
        raise
    except TimeoutError as error:
        raise ConnectionError("the bus does not answer") from error
    except (OSError, EOFError, ValueError, DBusFastError) as error:
        raise ConnectionError(str(error)) from error


async def ended(bus: MessageBus) -> None:
    """Wait for the end of the connection, however it comes; may be cancelled."""

    async def end() -> None:
        with suppress(Exception):
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]

    # To cancel this waiting must not cancel the one future that the bus has for its end.
    await asyncio.shield(asyncio.ensure_future(end()))


async def leave(bus: MessageBus, limit: float) -> None:
    """End the connection, waiting at most `limit` seconds for the bus to take note."""
    if not bus.connected:
        return
    bus.disconnect()
    with suppress(TimeoutError):
        async with asyncio.timeout(limit):
            await ended(bus)


async def keep_connected(
    serve: Callable[[MessageBus], Awaitable[None]],
    unreachable: Callable[[ConnectionError], object],
    delays: tuple[float, float],
    *,
    reach: Callable[[], Awaitable[MessageBus]] = connect,
) -> None:
    """Connect to a bus again and again; `serve` each connection until it ends.

    `unreachable` is told why there is none; `reach` connects, to the session bus by default.
    `delays`: seconds to the next try at first, and at most.
    """
    first, most = delays
    delay = first
    while True:
        try:
            bus = await reach()
        except ConnectionError as error:
            unreachable(error)
            delay = min(delay * 2, most)
        else:
            delay = first
            await serve(bus)
        await asyncio.sleep(delay)


async def call(bus: MessageBus, message: Message) -> list[Any]:
    """Make a method call and return its results.

    Raises `DBusError` for an error reply, also one without a text, over which dbus-fast's own
    proxies stumble; and `OSError` or `EOFError` if the bus goes away before the reply.
    """
    # On a dead bus dbus-fast would wait for a reply for ever.
    reply = await bus.call(message) if bus.connected else None
    if reply is None:
        raise ConnectionError("disconnected")
    if reply.message_type is MessageType.ERROR:
        text = str(reply.body[0]) if reply.body else ""
        raise DBusError(reply.error_name or ErrorType.FAILED, text, reply)
    return reply.body


async def ask_bus(bus: MessageBus, member: str, *arguments: str) -> Any:  # noqa: ANN401  (as each method's own)
    """Call a method of the bus itself, which starts nothing, and return its first result."""
    message = Message(
        destination="org.freedesktop.DBus",
        path="/org/freedesktop/DBus",
        interface="org.freedesktop.DBus",
        member=member,
        signature="s" * len(arguments),
        body=list(arguments),
    )
    return (await call(bus, message))[0]

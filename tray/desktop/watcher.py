"""Registering the tray item with the desktop, again and again.

A panel asks for tray items through org.kde.StatusNotifierWatcher. It may start after us, be
killed and be started again; whoever owns that name then knows nothing of us.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from dbus_fast import Message
from dbus_fast.errors import DBusError

from tray.desktop.bus import ask_bus, call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dbus_fast.aio import MessageBus

log = logging.getLogger(__name__)

NAME = "org.kde.StatusNotifierWatcher"
PATH = "/StatusNotifierWatcher"
REPLY_LIMIT = 5.0
"""Seconds that a watcher may take to answer."""
_RETRY_FIRST, _RETRY_MOST = 0.5, 60.0
_BUS = "org.freedesktop.DBus"
_HOST_SIGNALS = frozenset({"StatusNotifierHostRegistered", "StatusNotifierHostUnregistered"})
_MATCHES = (
    f"type='signal',sender='{_BUS}',interface='{_BUS}',member='NameOwnerChanged',arg0='{NAME}'",
    f"type='signal',sender='{NAME}',interface='{NAME}'",
)


class Registration:
    """Keeps the item at `item_path` of one connection registered, for as long as that lasts."""

    def __init__(self, bus: MessageBus, item_path: str, *, on_change: Callable[[], object]) -> None:
        """Do nothing yet; `on_change` is called after each change of `host_present`."""
        self._bus = bus
        self._item_path = item_path
        self._on_change = on_change
        self._registered = False
        self._task: asyncio.Task[None] | None = None
        self.host_present: bool | None = None
        """Whether there is a tray that shows the item; `None` until that is known."""

    async def start(self) -> None:
        """Begin to follow the watcher; raises `ConnectionError` or `EOFError` with the bus."""
        self._bus.add_message_handler(self._overhear)
        for rule in _MATCHES:
            await _add_match(self._bus, rule)
        owner = None
        with suppress(DBusError):
            owner = await ask_bus(self._bus, "GetNameOwner", NAME)
        self._follow(owner)

    def stop(self) -> None:
        """Follow the watcher no more."""
        self._bus.remove_message_handler(self._overhear)
        self._forget()

    def _overhear(self, message: Message) -> None:
        if message.member == "NameOwnerChanged" and message.sender == _BUS:
            name, _, owner = message.body
            if name == NAME:
                self._follow(owner or None)
        elif message.interface == NAME and message.member in _HOST_SIGNALS and self._registered:
            self._start(self._ask(message.sender))

    def _follow(self, owner: str | None) -> None:
        self._registered = False
        if owner is not None:
            self._start(self._register(owner))
        else:
            self._forget()
            self._conclude(present=False)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._forget()
        self._task = asyncio.create_task(work)

    def _forget(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _register(self, owner: str) -> None:
        """Register with this very watcher, until it has answered."""
        delay = _RETRY_FIRST
        while True:
            try:
                async with asyncio.timeout(REPLY_LIMIT):
                    await call(self._bus, _message(owner, self._item_path))
            except (DBusError, TimeoutError) as error:
                log.warning("the tray does not take the icon: %s", error or "no answer")
                self._conclude(present=False)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RETRY_MOST)
            except (OSError, EOFError):
                return  # The bus is gone, which is told by the connection itself.
            else:
                self._registered = True
                await self._ask(owner)
                return

    async def _ask(self, owner: str | None) -> None:
        """Learn whether a tray shows the items that the watcher knows."""
        message = Message(
            destination=owner,
            path=PATH,
            interface="org.freedesktop.DBus.Properties",
            member="Get",
            signature="ss",
            body=[NAME, "IsStatusNotifierHostRegistered"],
        )
        present = True  # It took the item; one that has no word for this is its own host.
        with suppress(DBusError, TimeoutError, OSError, EOFError):
            async with asyncio.timeout(REPLY_LIMIT):
                (value,) = await call(self._bus, message)
                present = bool(value.value)
        self._conclude(present=present)

    def _conclude(self, *, present: bool) -> None:
        if present != self.host_present:
            self.host_present = present
            self._on_change()


def _message(owner: str, item_path: str) -> Message:
    # By object path: GNOME's extension loses items registered by a well-known name when it
    # starts anew, and Flatpak lets nobody own one.
    return Message(
        destination=owner,
        path=PATH,
        interface=NAME,
        member="RegisterStatusNotifierItem",
        signature="s",
        body=[item_path],
    )


async def _add_match(bus: MessageBus, rule: str) -> None:
    message = Message(
        destination=_BUS,
        path="/org/freedesktop/DBus",
        interface=_BUS,
        member="AddMatch",
        signature="s",
        body=[rule],
    )
    await call(bus, message)

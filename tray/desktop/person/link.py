"""Following services on a bus: they may start, end, be replaced, and never answer."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from dbus_fast import Message, MessageFlag, MessageType, Variant
from dbus_fast.errors import DBusError

from tray.desktop.bus import ask_bus, call, ended, keep_connected, leave

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from dbus_fast.aio import MessageBus

log = logging.getLogger(__name__)

REPLY_LIMIT = 5.0
"""Seconds that a service may take to answer."""
PROPERTIES = "org.freedesktop.DBus.Properties"
_BUS = "org.freedesktop.DBus"
_RETRY_FIRST, _RETRY_MOST = 0.5, 60.0
_CLOSE_LIMIT = 1.0


class Service(Protocol):
    """What is to be known of one well-known name on a bus."""

    @property
    def name(self) -> str:
        """The well-known name."""

    @property
    def signals(self) -> Sequence[str]:
        """Match rules, without `type`, of the signals that `heard` is to be given."""

    async def look(self, owner: Owner) -> None:
        """Read all that is to be known from the owner of the name.

        Called for each new owner, and again when `Link.look_again` asks for it. May let pass
        every error of a call: no answer is asked for again, other errors are taken as "has no
        word for this".
        """

    def heard(self, message: Message) -> None:
        """Take in a signal, of anybody; its contents are whatever the sender liked."""

    def lost(self) -> None:
        """Forget all: nobody owns the name any more, or the bus is gone."""


class Owner:
    """Who owns a name now, to be asked; never starts anything."""

    def __init__(self, bus: MessageBus, unique_name: str) -> None:
        self._bus = bus
        self.unique_name = unique_name

    async def call(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        *body: object,
        of: str | None = None,
    ) -> list[Any]:
        """Call a method of the owner, or of the name `of`; variants are unpacked.

        Raises `DBusError`, and `OSError` or `EOFError` with no answer in time (`TimeoutError`)
        or a lost bus.
        """
        message = Message(
            destination=of or self.unique_name,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
            flags=MessageFlag.NO_AUTOSTART,
        )
        async with asyncio.timeout(REPLY_LIMIT):
            reply = await call(self._bus, message)
        return [value.value if isinstance(value, Variant) else value for value in reply]

    async def read(self, path: str, interface: str, name: str) -> object:
        """Return a property; raises as `call` does."""
        (value,) = await self.call(path, PROPERTIES, "Get", "ss", interface, name)
        return value

    async def read_all(self, path: str, interface: str) -> dict[str, object]:
        """Return all properties of an interface; raises as `call` does."""
        (found,) = await self.call(path, PROPERTIES, "GetAll", "s", interface)
        return {name: value.value for name, value in found.items()}


class Link:
    """Keeps a connection to one bus, and its services informed, for as long as it is open."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[MessageBus]],
        services: Sequence[Service],
        on_change: Callable[[], object],
    ) -> None:
        """Do nothing yet.

        `connect` raises `ConnectionError` where there is no bus. `on_change` is called after
        each look at a service, each loss of one, and each change of `silent`.
        """
        self._connect = connect
        self._services = {service.name: service for service in services}
        self._on_change = on_change
        self._bus: MessageBus | None = None
        self._owners: dict[str, str] = {}
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self.silent: frozenset[str] = frozenset()
        """Names whose owners do not answer."""

    def start(self) -> None:
        """Begin to connect, in the background."""
        self._task = asyncio.get_running_loop().create_task(self._stay_connected())

    async def close(self) -> None:
        """Leave the bus; all is lost."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def owner(self, name: str) -> Owner | None:
        """Return who has that name now."""
        if self._bus is None or name not in self._owners:
            return None
        return Owner(self._bus, self._owners[name])

    def look_again(self, name: str) -> None:
        """Have the service of that name look at its owner again, if it has one."""
        owner = self.owner(name)
        if owner is not None:
            self._forget_look(name)
            work = self._look(self._services[name], owner)
            self._looks[name] = asyncio.get_running_loop().create_task(work)

    async def _stay_connected(self) -> None:
        await keep_connected(
            self._serve,
            lambda error: log.debug("no bus: %s", error),
            (_RETRY_FIRST, _RETRY_MOST),
            reach=self._connect,
        )

    async def _serve(self, bus: MessageBus) -> None:
        self._bus = bus
        bus.add_message_handler(self._overhear)
        try:
            with suppress(OSError, EOFError, DBusError):
                for service in self._services.values():
                    await self._follow(bus, service)
                await ended(bus)
        finally:
            self._bus = None
            for name in tuple(self._owners):
                self._take(name, None)
            await leave(bus, _CLOSE_LIMIT)

    async def _follow(self, bus: MessageBus, service: Service) -> None:
        owner_change = f"sender='{_BUS}',interface='{_BUS}',member='NameOwnerChanged'"
        for rule in (f"{owner_change},arg0='{service.name}'", *service.signals):
            await _add_match(bus, f"type='signal',{rule}")
        with suppress(DBusError):
            self._take(service.name, await ask_bus(bus, "GetNameOwner", service.name))

    def _overhear(self, message: Message) -> None:
        if message.message_type is not MessageType.SIGNAL:
            return
        if message.sender == _BUS:
            if message.member == "NameOwnerChanged" and message.body[0] in self._services:
                self._take(message.body[0], message.body[2] or None)
            return
        for service in self._services.values():
            service.heard(message)

    def _take(self, name: str, owner: str | None) -> None:
        """Take in who owns a name now."""
        self._forget_look(name)
        if self._owners.pop(name, None) is not None:
            self._services[name].lost()
            self._note(name, silent=False)
            self._on_change()
        if owner is not None:
            self._owners[name] = owner
            self.look_again(name)

    def _forget_look(self, name: str) -> None:
        look = self._looks.pop(name, None)
        if look is not None:
            look.cancel()

    async def _look(self, service: Service, owner: Owner) -> None:
        delay = _RETRY_FIRST
        while True:
            try:
                await service.look(owner)
            except TimeoutError:
                self._note(service.name, silent=True)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RETRY_MOST)
                continue
            except (OSError, EOFError):
                return  # The bus is gone, which is told by the connection itself.
            except (DBusError, TypeError, ValueError, KeyError) as error:
                log.debug("%s has no word for it: %s", service.name, error)
            self._note(service.name, silent=False)
            self._on_change()
            return

    def _note(self, name: str, *, silent: bool) -> None:
        before = self.silent
        self.silent = before | {name} if silent else before - {name}
        if self.silent != before:
            if silent:
                log.warning("%s does not answer", name)
            self._on_change()


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

"""A scripted service on a bus: it answers, refuses, hangs, goes and comes back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dbus_fast import ErrorType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

if TYPE_CHECKING:
    from collections.abc import Callable

PROPERTIES = "org.freedesktop.DBus.Properties"


class Silence:
    """The answer of a service that hangs."""


class DesktopService:
    """Owns names; `answers` maps (path, member) to (signature, body), an error's name, or
    `Silence`.

    `properties` maps (path, interface) to named variants.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.answers: dict[tuple[str, str], Any] = {}
        self.properties: dict[tuple[str, str], dict[str, Variant]] = {}
        self.calls: list[Message] = []
        self.silent = False
        self.bus: MessageBus | None = None

    async def appear(self, *names: str) -> None:
        self.bus = await MessageBus(self._address).connect()
        self.bus.add_message_handler(self._answer)
        for name in names:
            await self.bus.request_name(name)

    def vanish(self) -> None:
        if self.bus is not None:
            self.bus.disconnect()
            self.bus = None

    def answer(self, path: str, member: str, signature: str, *body: object) -> None:
        self.answers[path, member] = (signature, list(body))

    def emit(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        *body: object,
        to: str | None = None,
    ) -> None:
        assert self.bus is not None
        message = Message(
            message_type=MessageType.SIGNAL,
            destination=to,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
        )
        self.bus.send(message)

    def change(self, path: str, interface: str, **values: Variant) -> None:
        """Change properties and tell of it."""
        self.properties.setdefault((path, interface), {}).update(values)
        if self.bus is not None:
            self.emit(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", interface, values, [])

    def called(self, member: str) -> list[Message]:
        return [call for call in self.calls if call.member == member]

    def _answer(self, message: Message) -> Message | bool | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.sender == "org.freedesktop.DBus":
            return None
        self.calls.append(message)
        if self.silent:
            return True
        if message.interface == PROPERTIES:
            return self._property(message)
        found = self.answers.get((message.path, message.member))
        if found is None:
            return Message.new_error(message, ErrorType.UNKNOWN_METHOD, "not here")
        if found is Silence:
            return True
        if isinstance(found, str):
            return Message.new_error(message, found, "scripted")
        signature, body = found
        return Message.new_method_return(message, signature, body)

    def _property(self, message: Message) -> Message:
        told = self.properties.get((message.path, message.body[0]))
        if message.member == "GetAll" and told is not None:
            return Message.new_method_return(message, "a{sv}", [told])
        if message.member == "Get" and told is not None and message.body[1] in told:
            return Message.new_method_return(message, "v", [told[message.body[1]]])
        return Message.new_error(message, ErrorType.UNKNOWN_PROPERTY, "not here")


async def until(condition: Callable[[], object], *, within: float = 5.0) -> None:
    """Let the loop run until `condition` holds; fail after `within` seconds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110  (any condition)
            await asyncio.sleep(0.002)

"""A scripted server of `org.freedesktop.Notifications`, on a real bus.

In a test's own loop (`Daemon`), or as a program that the bus starts and that writes down what
it is asked for: `python notification_daemon.py LOGFILE`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dbus_fast import Message, MessageFlag, MessageType
from dbus_fast.aio import MessageBus

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"


class Daemon:
    """Takes calls, answers as told, and keeps the bubbles that would be on the screen."""

    def __init__(self, features: tuple[str, ...] = ("body", "body-markup", "actions")) -> None:
        self.features = features
        self.name = "fake"
        self.calls: list[tuple[str, list]] = []
        self.screen: dict[int, list] = {}
        """What stands on the screen: the arguments of Notify by id."""
        self.hangs = False
        self.swallow: set[str] = set()
        """Methods that are taken and never answered."""
        self.refuse: dict[str, tuple[str, str]] = {}
        """Methods answered with this error: its name and text (none if empty)."""
        self.before_reply: Callable[[str], None] | None = None
        self._waiting: list[Message] = []
        self._swallowed: list[tuple[Message, str, list]] = []
        self._next_id = 1
        self.bus: MessageBus | None = None

    async def start(self, address: str | None = None) -> Daemon:
        self.bus = await MessageBus(address).connect()
        self.bus.add_message_handler(self._handle)
        await self.bus.request_name(NAME)
        return self

    async def stop(self) -> None:
        """Die: the name is released, and ids start at 1 again."""
        self.bus.disconnect()
        await self.bus.wait_for_disconnect()
        self.screen.clear()
        self._next_id = 1

    def resume(self) -> None:
        """Answer again, first whatever came meanwhile, in order."""
        self.hangs = False
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self._answer(message)

    def answer_late(self) -> None:
        """Answer the calls that were swallowed after all."""
        for message, signature, body in self._swallowed:
            self._reply(message, signature, body)
        self._swallowed.clear()

    def close(self, platform_id: int, reason: int) -> None:
        """Take a bubble from the screen, as by a click (2) or by time (1)."""
        self.screen.pop(platform_id, None)
        self.signal("NotificationClosed", "uu", platform_id, reason)

    def press(self, platform_id: int, action: str) -> None:
        self.signal("ActionInvoked", "us", platform_id, action)

    def signal(self, member: str, signature: str, *body: object) -> None:
        self.bus.send(Message.new_signal(PATH, NAME, member, signature, list(body)))

    def called(self, member: str) -> list[list]:
        return [body for name, body in self.calls if name == member]

    @property
    def titles(self) -> list[str]:
        return [arguments[3] for arguments in self.screen.values()]

    def _handle(self, message: Message) -> bool:
        if message.message_type is not MessageType.METHOD_CALL or message.path != PATH:
            return False
        self.calls.append((message.member, message.body))
        if self.hangs:
            self._waiting.append(message)
        else:
            self._answer(message)
        return True

    def _answer(self, message: Message) -> None:
        member = message.member
        if self.before_reply is not None:
            self.before_reply(member)
        if member in self.refuse:
            name, text = self.refuse[member]
            error = Message(
                message_type=MessageType.ERROR,
                reply_serial=message.serial,
                destination=message.sender,
                error_name=name,
                signature="s" if text else "",
                body=[text] if text else [],
            )
            self.bus.send(error)
            return
        signature, body = self._act(member, message.body)
        if member in self.swallow:
            self._swallowed.append((message, signature, body))
        else:
            self._reply(message, signature, body)

    def _act(self, member: str, arguments: list) -> tuple[str, list]:
        if member == "GetCapabilities":
            return "as", [list(self.features)]
        if member == "GetServerInformation":
            return "ssss", [self.name, "sessionbell", "1", "1.2"]
        if member == "Notify":
            platform_id = arguments[1] if arguments[1] in self.screen else self._next_id
            self._next_id = max(self._next_id, platform_id + 1)
            self.screen[platform_id] = arguments
            return "u", [platform_id]
        assert member == "CloseNotification"
        if arguments[0] in self.screen:
            self.close(arguments[0], 3)
        return "", []

    def _reply(self, message: Message, signature: str, body: list) -> None:
        if not message.flags & MessageFlag.NO_REPLY_EXPECTED:
            self.bus.send(Message.new_method_return(message, signature, body))


async def _serve(log: Path) -> None:
    daemon = Daemon()

    def write(member: str) -> None:
        with log.open("a") as file:
            file.write(f"{member}\n")

    daemon.before_reply = write
    await daemon.start()
    await daemon.bus.wait_for_disconnect()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))

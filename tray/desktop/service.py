"""Our own name on the session bus, for the command line, keyboard shortcuts and widgets.

`docs/dbus.md` is its manual, `bus_object` what is found under the name.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from dbus_fast import Message, MessageType, NameFlag, RequestNameReply
from dbus_fast.errors import DBusError

from tray.desktop.bus import ask_bus, ended, keep_connected, leave
from tray.desktop.bus_object import PATH, BusObject
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbus_fast.aio import MessageBus

    from tray.desktop.bus_object import Actions, Told
    from tray.session import Observation

log = logging.getLogger(__name__)

NAME = "io.github.sessionbell.SessionBell"
_RECONNECT_FIRST, _RECONNECT_MOST = 0.5, 30.0
_CLOSE_LIMIT = 1.0


class Service:
    """Keeps the name and the object on the bus, for as long as there is one."""

    def __init__(
        self,
        actions: Actions,
        *,
        document: Callable[[Sequence[Observation]], bytes],
        on_problems: Callable[[], object],
    ) -> None:
        """Connect to nothing yet.

        `document` makes of sessions what `list --json` prints; `on_problems` is called after
        each change of `problems`.
        """
        self._actions = actions
        self._document = document
        self._on_problems = on_problems
        self._problem: Problem | None = None
        self._told: Told | None = None
        self._interface: BusObject | None = None
        self._connection: asyncio.Task[None] | None = None
        self._first_try = asyncio.Event()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps others from reaching the application."""
        return () if self._problem is None else (self._problem,)

    async def start(self) -> None:
        """Connect; returns once it is known whether the name is ours. Never raises."""
        self._connection = asyncio.get_running_loop().create_task(self._stay_connected())
        await self._first_try.wait()

    async def close(self) -> None:
        """Give the name back and leave the bus."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.cancel()
            await asyncio.wait((connection,))

    def show(self, told: Told) -> None:
        """Tell this from now on; signals go out only for what has changed."""
        before, self._told = self._told, told
        if self._interface is not None and told != before:
            self._interface.changed()

    async def _stay_connected(self) -> None:
        delays = (_RECONNECT_FIRST, _RECONNECT_MOST)
        try:
            await keep_connected(self._serve, self._unreachable, delays)
        finally:
            self._first_try.set()

    async def _serve(self, bus: MessageBus) -> None:
        interface = BusObject(bus, self._actions, lambda: self._told, self._document)
        bus.export(PATH, interface)
        bus.add_message_handler(self._overhear)
        self._interface = interface
        try:
            with suppress(OSError, EOFError, DBusError):
                # In the queue for it, if another process has it: it may end.
                reply = await bus.request_name(NAME, NameFlag.NONE)
                if reply is RequestNameReply.IN_QUEUE:
                    self._report(_taken(await _owner(bus)))
                else:
                    self._report(None)
                self._first_try.set()
                await ended(bus)
        finally:
            self._interface = None
            interface.stop()
            await leave(bus, _CLOSE_LIMIT)
            self._first_try.set()

    def _unreachable(self, error: ConnectionError) -> None:
        self._report(_no_bus(error))
        self._first_try.set()

    def _overhear(self, message: Message) -> None:
        from_bus = (
            message.message_type is MessageType.SIGNAL and message.sender == "org.freedesktop.DBus"
        )
        if from_bus and message.body == [NAME]:
            if message.member == "NameAcquired":
                self._report(None)
            elif message.member == "NameLost":
                self._report(_taken(None))

    def _report(self, problem: Problem | None) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem is not None:
            log.warning(problem.message)
        try:
            self._on_problems()
        except Exception:
            log.exception("the callback for problems failed")


async def _owner(bus: MessageBus) -> int | None:
    with suppress(DBusError):
        return int(await ask_bus(bus, "GetConnectionUnixProcessID", NAME))
    return None


def _taken(pid: int | None) -> Problem:
    who = f"another process ({pid})" if pid is not None else "another process"
    return Problem(
        "bus-name",
        f"{who} holds the name {NAME} on the session bus: shortcuts, widgets, `sessionbell mute`"
        " and `focus` reach that one; end it, and the name comes here",
    )


def _no_bus(error: ConnectionError) -> Problem:
    return Problem(
        "no-bus",
        f"the session bus cannot be reached ({error}): no shortcuts and widgets until it can;"
        " start sessionbell inside a desktop session or with dbus-run-session",
    )

"""A connection to a bus for callers that wait: the focus back ends.

They are synchronous, and a service may be any program of the person's that hangs: each call runs
on a thread with an event loop of its own, and has a time limit.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dbus_fast import Message, MessageFlag
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError, DBusFastError

from tray.desktop.bus import call as call_on
from tray.desktop.focus.place import CALL_LIMIT, FocusError
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

T = TypeVar("T")


class Connection:
    """A connection to a bus with an event loop of its own, which runs on a thread of its own.

    The loop only runs during a call; the caller's thread may run a loop itself.
    """

    def __init__(self, address: str) -> None:
        self._thread = ThreadPoolExecutor(1, "dbus-call")
        self._loop = asyncio.new_event_loop()
        try:
            self._bus: MessageBus = self._run(_connect(address))
        except TimeoutError as error:
            self._end()
            raise FocusError("the session bus does not answer") from error
        except (OSError, EOFError, ValueError, DBusFastError) as error:
            self._end()
            cause = str(error) or type(error).__name__
            raise FocusError(f"the session bus is not reachable: {cause}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(_disconnect(self._bus))
        self._end()

    def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
    ) -> list[Any]:
        """Call a method and return its results; see `dbus_call.Call`. Raises `FocusError`."""
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

    def _end(self) -> None:
        self._thread.shutdown()
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

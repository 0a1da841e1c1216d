"""Asking one thing over the session bus, from a check's thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from tray.desktop.bus import connect
from tray.desktop.doctor.check import CALL_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dbus_fast.aio import MessageBus

T = TypeVar("T")


def over_bus(work: Callable[[MessageBus], Coroutine[None, None, T]]) -> T | None:
    """Return what `work` does on a connection of its own; `None` if there is no bus that answers.

    `work` keeps its own time limits.
    """
    return asyncio.run(_connected(work))


async def _connected(work: Callable[[MessageBus], Coroutine[None, None, T]]) -> T | None:
    try:
        async with asyncio.timeout(CALL_LIMIT):
            bus = await connect()
    except (TimeoutError, ConnectionError):
        return None
    try:
        return await work(bus)
    finally:
        bus.disconnect()

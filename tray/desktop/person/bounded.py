"""Blocking work on a thread, for as long as one is ready to wait for it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Bounded:
    """Does one piece of work at a time on a daemon thread.

    Work that hangs is left behind: it delays neither the caller nor the end of the program, and
    nothing new is begun before it has come back. (An executor's threads are waited for at exit.)
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._busy = threading.Lock()

    async def run(self, work: Callable[[], T], limit: float) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises `TimeoutError` after `limit` seconds, and at once while earlier work still hangs.
        """
        if not self._busy.acquire(blocking=False):
            raise TimeoutError(f"{self._name} still hangs")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]

        def thread() -> None:
            result, error = None, None
            try:
                result = work()
            except BaseException as caught:  # noqa: BLE001  (raised again where it is waited for)
                error = caught
            self._busy.release()
            with suppress(RuntimeError):  # The loop has ended.
                loop.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=thread, name=self._name, daemon=True).start()
        async with asyncio.timeout(limit):
            return await done

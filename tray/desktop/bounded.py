"""Blocking work on a thread, for as long as one is ready to wait for it.

Everything that may hang (a window system, a terminal, a file system) is done here and never on
asyncio's own executor: its threads are few, and are waited for at exit.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

T = TypeVar("T")


class Bounded:
    """Does work on daemon threads, only so much of it at a time.

    Work that hangs is left behind: it delays neither the caller nor the end of the program, and
    its place is not free before it has come back.
    """

    def __init__(self, name: str, at_once: int = 1) -> None:
        """Do nothing yet; `name` is for the log, `at_once` how many threads there are at most."""
        self._name = name
        self._free = threading.Semaphore(at_once)
        self._turn = asyncio.Semaphore(at_once)
        self._at_work: set[object] = set()

    @property
    def busy(self) -> bool:
        """Whether a thread is at work, waited for or not."""
        return bool(self._at_work)

    async def run(self, work: Callable[[], T], limit: float) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises `TimeoutError` after `limit` seconds, and at once while all threads are busy.
        """
        if not self._free.acquire(blocking=False):
            raise TimeoutError(f"{self._name} still hangs")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._at_work.add(done)

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
            self._at_work.discard(done)
            self._free.release()
            with suppress(RuntimeError):  # The loop has ended.
                loop.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=thread, name=self._name, daemon=True).start()
        async with asyncio.timeout(limit):
            return await done

    async def run_in_turn(self, work: Callable[[], T], limit: float) -> T:
        """Do as `run`, after the work that was asked for before, as long as that is waited for."""
        async with self._turn:
            return await self.run(work, limit)


async def run_once(name: str, work: Callable[[], T], limit: float) -> T | None:
    """Return what `work` returns, or raise what it raises; `None` if it takes too long (logged)."""
    try:
        return await Bounded(name).run(work, limit)
    except TimeoutError:
        log.warning("%s did not come to its end within %g s", name, limit)
        return None

"""Whether the machine slept, where nobody tells: by two clocks, one of which stops meanwhile."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

EACH = 5.0
"""Seconds between two looks at the clocks."""
_SLEEP_AT_LEAST = 1.0
"""Seconds; the two clocks are read one after the other, but never that far apart."""


class Clocks(NamedTuple):
    """Both clocks of Linux that nobody sets, at one moment; seconds."""

    awake: float
    """CLOCK_MONOTONIC, which stops while the machine is suspended."""
    since_boot: float
    """CLOCK_BOOTTIME, which does not."""


def read() -> Clocks:
    """Read both clocks."""
    return Clocks(time.clock_gettime(time.CLOCK_MONOTONIC), time.clock_gettime(time.CLOCK_BOOTTIME))


def slept(before: Clocks, after: Clocks) -> float:
    """Return for how many seconds the machine was suspended between two readings."""
    gap = (after.since_boot - before.since_boot) - (after.awake - before.awake)
    return gap if gap >= _SLEEP_AT_LEAST else 0.0


class Sleeps:
    """Tells of each suspend after it, for as long as it runs."""

    def __init__(
        self,
        on_sleep: Callable[[bool], object],
        *,
        clocks: Callable[[], Clocks] = read,
        each: float = EACH,
    ) -> None:
        """Look at nothing yet; a sleep that is over is told as `True`, then `False`."""
        self._on_sleep = on_sleep
        self._clocks = clocks
        self._each = each
        self._task: asyncio.Task[None] | None = None

    def run(self, *, wanted: bool) -> None:
        """Look at the clocks from now on, or no more."""
        if wanted and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._watch())
        elif not wanted and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self) -> None:
        before = self._clocks()
        while True:
            await asyncio.sleep(self._each)
            after = self._clocks()
            gap, before = slept(before, after), after
            if gap:
                for asleep in (True, False):
                    self._on_sleep(asleep)

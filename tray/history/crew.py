"""Doing the same to many files on all cores."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.context import BaseContext

_ALONE = 12 * 1024 * 1024
"""Bytes up to which one process is done before others would have started."""
_BATCH = 4 * 1024 * 1024
"""Bytes of files that are handed out together."""
_BATCH_FILES = 64

Task = TypeVar("Task")
Result = TypeVar("Result")


def cores() -> int:
    """Return on how many cores this process may run."""
    return len(os.sched_getaffinity(0))


def spread(
    function: Callable[[Sequence[Task]], Result], tasks: Sequence[Task], sizes: Sequence[int]
) -> Iterator[tuple[Result, int]]:
    """Call `function` with all `tasks`, some at a time; yield what it returns and their bytes.

    `sizes` are the tasks' bytes. The results come in any order. `function` is called in other
    processes if there is enough to do: it has to be a module's own, its arguments and results
    plain data. Ending the iteration ends the work.
    """
    batches = _batches(tasks, sizes)
    workers = min(cores(), len(batches))
    if workers < 2 or sum(sizes) <= _ALONE:
        for batch, size in batches:
            yield function(batch), size
        return
    context = _context()
    with context.Pool(workers, _begin_worker) as pool, _no_orphans(pool):
        calls = [(function, batch, size) for batch, size in batches]
        yield from pool.imap_unordered(_call, calls)


def _batches(tasks: Sequence[Task], sizes: Sequence[int]) -> list[tuple[list[Task], int]]:
    """Put small tasks together; the largest first, so that none is left for the end."""
    batches: list[tuple[list[Task], int]] = []
    held: list[Task] = []
    bytes_held = 0
    for place in sorted(range(len(tasks)), key=sizes.__getitem__, reverse=True):
        held.append(tasks[place])
        bytes_held += sizes[place]
        if bytes_held >= _BATCH or len(held) >= _BATCH_FILES:
            batches.append((held, bytes_held))
            held, bytes_held = [], 0
    if held:
        batches.append((held, bytes_held))
    return batches


def _context() -> BaseContext:
    import multiprocessing

    # A copy of this process is there at once, but only one without threads can be copied.
    return multiprocessing.get_context("fork" if threading.active_count() == 1 else "spawn")


@contextlib.contextmanager
def _no_orphans(pool: object) -> Iterator[None]:
    """End the workers at once if the iteration ends early."""
    try:
        yield
    finally:
        pool.terminate()  # type: ignore[attr-defined]


def _begin_worker() -> None:
    # Ctrl-C is for the parent, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()


def _call(
    call: tuple[Callable[[Sequence[Task]], Result], Sequence[Task], int],
) -> tuple[Result, int]:
    function, batch, size = call
    return function(batch), size

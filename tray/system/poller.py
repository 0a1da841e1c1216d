"""A thread that wakes somebody regularly, and at once when a watched process exits."""

from __future__ import annotations

import logging
import os
import select
import threading
import time
import weakref
from typing import TYPE_CHECKING

from tray.system.processes import is_alive

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

log = logging.getLogger(__name__)


class ProcessPoller:
    """Calls `wake` each `interval` seconds and within a millisecond of a watched exit.

    Exits are told by pidfds (pidfd_open(2), Linux 5.3). Where there are none, or no file
    descriptor is free, the regular wake-ups have to do.
    """

    def __init__(self, wake: Callable[[], None], interval: float) -> None:
        self._wake = wake
        self._interval = interval
        self._wanted: frozenset[tuple[int, int]] = frozenset()
        self._pidfds: dict[tuple[int, int], int] = {}
        self._exited: set[tuple[int, int]] = set()
        self._stopped = False
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # Open for as long as this object lives: a number closed too early may be anybody's.
        weakref.finalize(self, os.close, self._bell).atexit = False
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._thread = threading.Thread(target=self._run, name="process-poller", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread at once and wait for it; it cannot be started again."""
        if self._stopped:
            return
        self._stopped = True
        self._ring()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def watch(self, processes: Collection[tuple[int, int]]) -> None:
        """Replace the watched set of (pid, start ticks); callable from any thread."""
        wanted = frozenset(processes)
        if wanted != self._wanted:
            self._wanted = wanted
            self._ring()

    def _ring(self) -> None:
        os.eventfd_write(self._bell, 1)

    def _run(self) -> None:
        due = time.monotonic() + self._interval
        try:
            while True:
                self._follow()
                ready = self._poll.poll(max(due - time.monotonic(), 0) * 1000)
                if self._stopped:
                    return
                descriptors = {descriptor for descriptor, _ in ready}
                if self._bell in descriptors:
                    os.eventfd_read(self._bell)
                exited = self._drop(descriptors)
                now = time.monotonic()
                if exited or now >= due:
                    self._call_wake()
                if now >= due:
                    due = now + self._interval
        finally:
            for process in list(self._pidfds):
                self._close(process)

    def _follow(self) -> None:
        """Open and close pidfds to match the wanted set."""
        wanted = self._wanted
        self._exited &= wanted
        for gone in self._pidfds.keys() - wanted:
            self._close(gone)
        for process in wanted - self._pidfds.keys() - self._exited:
            self._open(process)

    def _open(self, process: tuple[int, int]) -> None:
        pid, start_ticks = process
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            self._tell_exit(process)
            return
        except (OSError, AttributeError, OverflowError) as error:
            log.debug("the exit of process %d cannot be watched: %s", pid, error)
            return
        try:
            # Only after opening is it certain that the descriptor stands for that very process.
            same = is_alive(pid, start_ticks)
        except OSError as error:
            log.debug("process %d cannot be looked at: %s", pid, error)
            os.close(descriptor)
            return
        if not same:
            os.close(descriptor)
            self._tell_exit(process)
            return
        self._pidfds[process] = descriptor
        self._poll.register(descriptor, select.POLLIN)

    def _drop(self, descriptors: set[int]) -> bool:
        """Let go of the processes whose descriptors are ready: they have exited."""
        exited = [process for process, fd in self._pidfds.items() if fd in descriptors]
        for process in exited:
            self._close(process)
        self._exited.update(exited)
        return bool(exited)

    def _close(self, process: tuple[int, int]) -> None:
        descriptor = self._pidfds.pop(process)
        self._poll.unregister(descriptor)
        os.close(descriptor)

    def _tell_exit(self, process: tuple[int, int]) -> None:
        self._exited.add(process)
        self._call_wake()

    def _call_wake(self) -> None:
        try:
            self._wake()
        except Exception:
            log.exception("a wake-up failed")

"""The engine: worker threads that wake one survey loop, and what comes out of it.

Level-triggered: an event only says "look again". The first wake-up is answered at once, then
there is at most one survey each `SPACING` seconds. Everything is looked at again every `TICK`
seconds whatever the kernel tells, and each thread checks on the others: one that died is
started again, logged, and counted.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tray.config import Settings
from tray.machine import Tracked, restart_holds, step
from tray.projects import narrowed
from tray.session import Problem
from tray.system.poller import ProcessPoller
from tray.system.watches import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tray.session import Snapshot, Transition

log = logging.getLogger(__name__)

SPACING = 0.02
"""Seconds between two surveys at least."""
TICK = 2.0
"""Seconds after which everything is looked at again without any event."""
_TICKS_A_CHECK = 4
"""Ticks after which the poller's thread sees whether the survey loop lives. It is not the loop's
clock: two threads awake for each tick would be more wake-ups than all else together."""
PATIENCE = 10.0
"""Seconds without a survey after which what is shown can no longer be believed."""
STALLED = Problem(
    "engine-stalled",
    "no look at the sessions for 10 s: what is shown may be old; it is tried again by itself,"
    " else start sessionbell anew",
)
"""What there is to say once that patience is over."""
_RESTART_NOTED = 300.0
"""Seconds for which a restarted thread is reported as a problem."""


class Surveying(Protocol):
    """What the engine needs of a surveyor (`tray.claude.survey.Surveyor`)."""

    idle_after: float
    """Seconds after which a finished turn counts as idle."""

    @property
    def next_look(self) -> float | None:
        """Unix seconds at which to look again without any event."""

    def survey(self, now: float | None = None) -> Snapshot:
        """Look at everything once; never raises."""

    def folders(self) -> frozenset[str]:
        """Return the folders whose changes ask for a new survey."""

    def pids(self) -> frozenset[tuple[int, int]]:
        """Return (pid, start ticks) of the processes whose exit asks for a new survey."""


@dataclass(frozen=True, slots=True)
class Update:
    """What one survey changed."""

    snapshot: Snapshot
    tracked: Tracked
    transitions: tuple[Transition, ...]
    problems: tuple[Problem, ...]


class Engine:
    """Surveys on its own thread and publishes each change; one-shot: start once, stop once.

    `publish` is called on the engine's thread, first with the first survey, then whenever
    something changed. What it raises is logged and costs nothing but that one update.
    """

    def __init__(self, surveyor: Surveying, publish: Callable[[Update], None]) -> None:
        self._surveyor = surveyor
        self._publish = publish
        self._settings = Settings()
        self._slept = threading.Event()
        self._awake = threading.Event()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._watch = FolderWatch(self.wake)
        self._poller = ProcessPoller(self._check_loop, interval=_TICKS_A_CHECK * TICK)
        self._poller_restarts = 0
        self._engine_restarts = 0
        self._restarted_at: float | None = None
        self._tracked: Tracked | None = None
        self._problems: tuple[Problem, ...] | None = None
        self._checked_at = float("-inf")
        self._watch_problems: tuple[Problem, ...] = ()
        self.surveyed_at: float | None = None
        """When the last survey ended, monotonic seconds."""

    def start(self) -> None:
        """Start all threads; the first survey follows at once."""
        self._awake.set()
        self._poller.start()
        self._start_thread()

    def stop(self) -> None:
        """End all threads, within about a second."""
        self._stopped.set()
        self._awake.set()
        # First the one that starts the others again.
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)
        self._poller.stop()
        self._watch.stop()

    def wake(self) -> None:
        """Ask for a survey; callable from any thread."""
        self._awake.set()

    def configure(self, settings: Settings) -> None:
        """Go by these settings from the next survey on; callable from any thread."""
        self._settings = settings
        self.wake()

    def woke(self) -> None:
        """Take in that the machine has slept: holds begin anew; callable from any thread."""
        self._slept.set()
        self.wake()

    @property
    def restarts(self) -> int:
        """How many dead threads were started again."""
        return self._poller_restarts + self._engine_restarts + self._watch.restarts

    def stalled(self) -> bool:
        """Whether no survey came to its end for `PATIENCE` seconds."""
        surveyed = self.surveyed_at
        return surveyed is not None and time.monotonic() - surveyed > PATIENCE

    def _start_thread(self) -> None:
        with self._lock:
            self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
            self._thread.start()

    def _check_loop(self) -> None:
        """Wake the survey loop, on the poller's thread, and see that the loop lives."""
        thread = self._thread
        if not self._stopped.is_set() and thread is not None and not thread.is_alive():
            log.error("the engine thread died; starting it again")
            self._engine_restarts += 1
            self._restarted_at = time.monotonic()
            self._start_thread()
        self._awake.set()

    def _run(self) -> None:
        began = float("-inf")
        while not self._stopped.is_set():
            self._awake.wait(self._pause())
            self._stopped.wait(began + SPACING - time.monotonic())
            if self._stopped.is_set():
                return
            self._awake.clear()
            began = time.monotonic()
            self._look(began)

    def _pause(self) -> float:
        """Return the seconds to sleep if no event comes."""
        pause = TICK
        if self._tracked is not None and self._tracked.wake_at is not None:
            pause = min(pause, self._tracked.wake_at - time.monotonic())
        next_look = self._surveyor.next_look
        if next_look is not None:
            pause = min(pause, next_look - time.time())
        return max(pause, 0.0)

    def _look(self, began: float) -> None:
        try:
            settings = self._settings
            self._surveyor.idle_after = settings.idle_after
            snapshot = self._surveyor.survey()
            snapshot = narrowed(snapshot, settings)
            now, former = time.monotonic(), self._tracked
            if self._slept.is_set() and former is not None:
                self._slept.clear()
                former = restart_holds(former, now)
            tracked, transitions = step(former, snapshot, now, settings.holds)
            self._watch.watch(self._surveyor.folders())
            self._poller.watch(self._surveyor.pids())
            if began - self._checked_at >= TICK * 0.9:
                self._checked_at = began
                self._supervise(began)
        except Exception:
            log.exception("a survey failed")
            self._stopped.wait(TICK)
            return
        problems = snapshot.problems + self._watch_problems + self._restart_problems(began)
        self.surveyed_at = time.monotonic()
        before, self._tracked = self._tracked, tracked
        changed = before is None or before.tracks != tracked.tracks
        if not (changed or transitions or problems != self._problems):
            return
        self._problems = problems
        for change in transitions:
            session = change.session
            log.info("session %s: %s, %s", session.key, change.kind.value, session.state.value)
        try:
            self._publish(Update(snapshot, tracked, transitions, problems))
        except Exception:
            log.exception("an update could not be published")

    def _supervise(self, now: float) -> None:
        self._watch_problems = self._watch.check()
        if not self._poller.is_alive() and not self._stopped.is_set():
            log.error("the process poller died; starting it again")
            self._poller_restarts += 1
            self._restarted_at = now
            self._poller = ProcessPoller(self._check_loop, interval=_TICKS_A_CHECK * TICK)
            self._poller.start()
            self._poller.watch(self._surveyor.pids())

    def _restart_problems(self, now: float) -> tuple[Problem, ...]:
        if self._restarted_at is None or now - self._restarted_at > _RESTART_NOTED:
            return ()
        count = self._poller_restarts + self._engine_restarts
        message = f"a worker thread died and was started again ({count} so far); see the log"
        return (Problem("thread-restarted", message),)

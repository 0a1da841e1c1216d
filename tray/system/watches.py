"""inotify watches on a changing set of folders, which may be missing, replaced or too many."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.inotify import InotifyObserver

from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from watchdog.observers.api import ObservedWatch

log = logging.getLogger(__name__)

_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    FileClosedEvent,
]
"""Modified alone misses files made in a new folder; Closed tells that a record is whole."""
_RETRY = 30.0
"""Seconds after which a folder that could not be watched is tried again."""
_NOTED = 300.0
"""Seconds for which a restart of the observer is reported."""
_LIMITS = {
    errno.ENOSPC: Problem(
        "inotify-watches",
        "no inotify watch is free, so changes are noticed up to 2 s late;"
        " raise the limit: sudo sysctl fs.inotify.max_user_watches=524288",
    ),
    errno.EMFILE: Problem(
        "inotify-instances",
        "no inotify instance is free, so changes are noticed up to 2 s late;"
        " raise the limit: sudo sysctl fs.inotify.max_user_instances=1024",
    ),
}


class _Waker(FileSystemEventHandler):
    """Tells that something happened; what it was does not matter."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def on_any_event(self, event: FileSystemEvent) -> None:  # noqa: ARG002  (its interface)
        """Wake, whatever the event."""
        self.wake()

    def wake(self) -> None:
        """Wake; what that raises is logged, for it would end the observer's thread for good."""
        try:
            self._wake()
        except Exception:
            log.exception("a wake-up failed")


@dataclass(slots=True)
class _Watched:
    """A folder under watch, and which one it was: another may take its name."""

    watch: ObservedWatch
    identity: tuple[int, int]


class FolderWatch:
    """Calls `wake`, on a thread of its own, after any change to a file directly in the folders.

    Nothing is raised for a folder that cannot be watched: `check`, called every few seconds,
    tries again, restarts what died, and says what is wrong.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._waker = _Waker(wake)
        self._lock = threading.Lock()
        self._wanted: frozenset[str] = frozenset()
        self._watched: dict[str, _Watched] = {}
        self._failed: dict[str, tuple[float, Problem]] = {}
        self._observer: InotifyObserver | None = None
        self._restarted_at: float | None = None
        self._stopped = False
        self.restarts = 0
        """How many times a dead observer was replaced."""

    def watch(self, folders: Collection[str]) -> None:
        """Replace the wanted set of folders; those that are missing are watched once made."""
        wanted = frozenset(folders)
        with self._lock:
            if wanted != self._wanted and not self._stopped:
                self._wanted = wanted
                self._reconcile()

    def check(self) -> tuple[Problem, ...]:
        """Mend what is broken, and return what keeps changes from being noticed at once."""
        with self._lock:
            if self._stopped:
                return ()
            if self._observer is not None and not self._observer.is_alive():
                log.error("the file observer died; starting it again")
                self._discard()
                self.restarts += 1
                self._restarted_at = time.monotonic()
                self._waker.wake()
            self._reconcile()
            problems = {problem.code: problem for _, problem in self._failed.values()}
            since = self._restarted_at
            if since is not None and time.monotonic() - since < _NOTED:
                problems["observer-restarted"] = Problem(
                    "observer-restarted",
                    f"the file observer died and was started again ({self.restarts} so far);"
                    " see the log",
                )
            return tuple(problems.values())

    def stop(self) -> None:
        """End all watching, within a second."""
        with self._lock:
            self._stopped = True
            self._discard()

    def _reconcile(self) -> None:
        """Bring the watches in line with the wanted folders as they are on disk now."""
        emitters = self._observer.emitters if self._observer is not None else ()
        alive = {emitter.watch for emitter in emitters if emitter.is_alive()}
        for folder, watched in list(self._watched.items()):
            if folder not in self._wanted or _identity(folder) != watched.identity:
                self._unwatch(folder)
            elif watched.watch not in alive:
                # Deleted and made again under the same inode number, or a fault.
                log.warning("the watch on %s ended; starting it again", folder)
                self.restarts += 1
                self._unwatch(folder)
                self._waker.wake()
        for folder in self._failed.keys() - self._wanted:
            del self._failed[folder]
        for folder in sorted(self._wanted - self._watched.keys()):
            tried_at = self._failed[folder][0] if folder in self._failed else float("-inf")
            if time.monotonic() - tried_at >= _RETRY:
                self._watch(folder)
        if not self._watched:
            self._discard()

    def _watch(self, folder: str) -> None:
        identity = _identity(folder)
        self._failed.pop(folder, None)
        if identity is None:
            return
        try:
            if self._observer is None:
                self._observer = InotifyObserver()
                self._observer.start()
            # The observer does not follow a link itself.
            target = os.path.realpath(folder)
            watch = self._observer.schedule(self._waker, target, event_filter=_EVENTS)
        except FileNotFoundError:
            return
        except (OSError, RuntimeError) as error:
            log.warning("%s cannot be watched: %s", folder, error)
            self._failed[folder] = (time.monotonic(), _problem(folder, error))
            return
        self._watched[folder] = _Watched(watch, identity)

    def _unwatch(self, folder: str) -> None:
        watched = self._watched.pop(folder)
        if self._observer is None:
            return
        try:
            self._observer.unschedule(watched.watch)
        except (OSError, RuntimeError, KeyError) as error:
            log.warning("%s could not be let go: %s", folder, error)

    def _discard(self) -> None:
        observer, self._observer = self._observer, None
        self._watched.clear()
        if observer is None:
            return
        try:
            observer.stop()
            if observer.is_alive():
                observer.join(1.0)
        except Exception:
            log.exception("the file observer could not be ended")


def _identity(folder: str) -> tuple[int, int] | None:
    """Which directory a path leads to now, through links; `None` if to none."""
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if os.path.isdir(folder) else None


def _problem(folder: str, error: Exception) -> Problem:
    known = _LIMITS.get(getattr(error, "errno", None) or 0)
    if known is not None:
        return known
    return Problem(
        "inotify",
        f"{folder} cannot be watched ({error}), so changes are noticed up to 2 s late;"
        " it is tried again every 30 s",
    )

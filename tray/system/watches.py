"""inotify watches on a changing set of folders, which may be missing, replaced or too many."""

from __future__ import annotations

import errno
import logging
import os
import stat
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
from watchdog.utils import BaseThread

from tray.session import Problem
from tray.untrusted import one_line

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


@dataclass(frozen=True, slots=True)
class _Watched:
    """A directory under watch, and which one it was: another may take its name."""

    watch: ObservedWatch
    identity: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Failure:
    at: float
    problem: Problem


class FolderWatch:
    """Calls `wake`, on a thread of its own, after any change to a file directly in the folders.

    Also after a watch began, for what changed before it. `wake` must not block, and not call
    back. Nothing is raised for a folder that cannot be watched: `check`, called every few
    seconds, tries again, restarts what died, and says what is wrong.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._waker = _Waker(wake)
        self._lock = threading.Lock()
        self._wanted: frozenset[str] = frozenset()
        # By real path: the observer follows no links, and watches none of two names twice.
        self._watched: dict[str, _Watched] = {}
        self._failed: dict[str, _Failure] = {}
        self._observer: InotifyObserver | None = None
        self._restarted_at: float | None = None
        self._stopped = False
        self.restarts = 0
        """How many times an observer was replaced because one of its threads had died."""

    def watch(self, folders: Collection[str]) -> None:
        """Replace the wanted set of folders; those that are missing are watched once made."""
        wanted = frozenset(folders)
        with self._lock:
            if wanted == self._wanted or self._stopped:
                return
            self._wanted = wanted
            begun = self._reconcile()
        if begun:
            self._waker.wake()

    def check(self) -> tuple[Problem, ...]:
        """Mend what is broken, and return what keeps changes from being noticed at once."""
        with self._lock:
            if self._stopped:
                return ()
            if self._observer is not None and not _works(self._observer):
                log.error("a thread of the file observer died; starting it again")
                self._discard()
                self.restarts += 1
                self._restarted_at = time.monotonic()
            begun = self._reconcile()
            problems = self._problems()
        if begun:
            self._waker.wake()
        return problems

    def stop(self) -> None:
        """End all watching, within a second."""
        with self._lock:
            self._stopped = True
            self._discard()

    def _problems(self) -> tuple[Problem, ...]:
        problems = {failure.problem.code: failure.problem for failure in self._failed.values()}
        since = self._restarted_at
        if since is not None and time.monotonic() - since < _NOTED:
            problems["observer-restarted"] = Problem(
                "observer-restarted",
                f"the file observer died and was started again ({self.restarts} so far);"
                " see the log",
            )
        return tuple(problems.values())

    def _reconcile(self) -> bool:
        """Bring the watches in line with the folders as they are on disk; whether any began."""
        identities = {
            folder: identity
            for folder in filter(None, map(_real_path, self._wanted))
            if (identity := _identity(folder)) is not None
        }
        emitters = self._observer.emitters if self._observer is not None else ()
        # An emitter ends by itself when its directory is deleted.
        alive = {emitter.watch for emitter in emitters if emitter.is_alive()}
        for folder, watched in list(self._watched.items()):
            if identities.get(folder) != watched.identity or watched.watch not in alive:
                self._unwatch(folder)
        for folder in self._failed.keys() - identities.keys():
            del self._failed[folder]
        now = time.monotonic()
        begun = False
        for folder in sorted(identities.keys() - self._watched.keys()):
            failure = self._failed.get(folder)
            if failure is None or now - failure.at >= _RETRY:
                begun |= self._watch(folder, identities[folder])
        if not self._watched:
            self._discard()
        return begun

    def _watch(self, folder: str, identity: tuple[int, int]) -> bool:
        self._failed.pop(folder, None)
        try:
            # The observer takes one that it may not read without a word.
            if not os.access(folder, os.R_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            if self._observer is None:
                self._observer = InotifyObserver()
                self._observer.start()
            watch = self._observer.schedule(self._waker, folder, event_filter=_EVENTS)
        except FileNotFoundError:
            return False
        except (OSError, RuntimeError) as error:
            log.warning("%s cannot be watched: %s", folder, error)
            self._failed[folder] = _Failure(time.monotonic(), _problem(folder, error))
            return False
        self._watched[folder] = _Watched(watch, identity)
        return True

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


def _works(observer: InotifyObserver) -> bool:
    """Whether none of the observer's threads died, but for those that ended by themselves."""
    # Whichever thread reads from the kernel is held by the observer or, up to watchdog 6, by each
    # emitter.
    owners = (observer, *observer.emitters)
    held = (part for owner in owners for part in (owner, *list(vars(owner).values())))
    threads = [part for part in held if isinstance(part, BaseThread)]
    died = any(thread.should_keep_running() and not thread.is_alive() for thread in threads)
    return observer.is_alive() and not died


def _real_path(folder: str) -> str | None:
    try:
        return os.path.realpath(folder)
    except (OSError, ValueError):
        return None


def _identity(folder: str) -> tuple[int, int] | None:
    """Which directory a path leads to now; `None` if to none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _problem(folder: str, error: Exception) -> Problem:
    known = _LIMITS.get(getattr(error, "errno", None) or 0)
    if known is not None:
        return known
    return Problem(
        "inotify",
        f"{one_line(folder)} cannot be watched ({error}), so changes are noticed up to 2 s late;"
        f" it is tried again every {_RETRY:.0f} s",
    )

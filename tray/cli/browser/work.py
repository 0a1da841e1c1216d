"""What the screens have done for them on other threads: reading, searching, starting programs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from tray.claude.survey import Surveyor
from tray.history.catalog import Catalog
from tray.history.index import Index
from tray.history.keeping import without_doubles
from tray.history.live import mark
from tray.history.remembered import remembered
from tray.history.resuming import ResumeError, way_back
from tray.history.scan import scan
from tray.history.search import Query, QueryError, search
from tray.history.sources import everywhere, known_remotes
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tray.history.past import Past
    from tray.history.resuming import Resumption
    from tray.history.search import Found
    from tray.session import Problem

_GO_LIMIT = 20.0
"""Seconds for the way to a terminal."""


class StoppedError(Exception):
    """Nobody waits for it any more."""


class Archive:
    """The past sessions on this machine. Each method may be called on any thread, one at a time.

    None of them raises, but for `StoppedError`.
    """

    def __init__(self, roots: Sequence[str] = ()) -> None:
        """Look at these config roots, or at all there are."""
        self._roots = tuple(roots) or None
        self._surveyor = Surveyor(roots=self._roots)
        self._surveying = threading.Lock()
        self._sessions: tuple[Past, ...] = ()
        self._catalog = Catalog()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End whatever is going on, soon."""
        self._stopped.set()

    def remembered(self) -> Catalog:
        """Return the sessions as the index remembers them."""
        with Index() as index:
            found = remembered(everywhere(self._roots, index), index)
        return self._made(without_doubles(found))

    def scan(self, progress: Callable[[int, int], None], problems: list[Problem]) -> Catalog:
        """Return the sessions as they are; what could not be read goes into `problems`."""

        def going_on(done: int, whole: int) -> None:
            if self._stopped.is_set():
                raise StoppedError
            progress(done, whole)

        with Index() as index:
            places = everywhere(self._roots, index, problems)
            found = scan(places, index=index, progress=going_on, problems=problems)
            problems += index.problems
        self._sessions = without_doubles(found)
        return self._made(self._sessions)

    def marked(self) -> Catalog | None:
        """Look which sessions are live; `None` if nothing has changed."""
        sessions = self._marked(self._sessions)
        if sessions == self._catalog.sessions:
            return None
        self._catalog = Catalog(sessions, self._catalog)
        return self._catalog

    def found(
        self,
        sessions: Iterable[Past],
        text: str,
        progress: Callable[[int, int], None],
        cancelled: Callable[[], bool],
    ) -> list[Found]:
        """Return the sessions in which a text was said."""

        def ended() -> bool:
            return cancelled() or self._stopped.is_set()

        try:
            return list(search(sessions, Query(text), lines=1, progress=progress, cancelled=ended))
        except QueryError:
            return []

    def plan(self, past: Past, *, fork: bool) -> tuple[Past, Resumption | str]:
        """Return a session as it is now, and how it would be resumed or why it cannot be."""
        (now,) = self._marked((past,))
        try:
            return now, way_back(now, os.environ, known_remotes(), fork=fork)
        except ResumeError as error:
            return now, str(error)

    def _made(self, sessions: tuple[Past, ...]) -> Catalog:
        self._catalog = Catalog(self._marked(sessions), self._catalog)
        return self._catalog

    def _marked(self, sessions: tuple[Past, ...]) -> tuple[Past, ...]:
        with self._surveying:
            observed = self._surveyor.survey().sessions
        return mark(sessions, observed)


def go(past: Past) -> str:
    """Go to the terminal of a live session; return what there is to say of it."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tray", "focus", str(past.pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GO_LIMIT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return one_line(f"cannot go there: {error}")
    return one_line(done.stdout + " " + done.stderr, 300)


def open_folder(past: Past) -> str:
    """Open a session's directory on the desktop; return what there is to say of it."""
    from tray.desktop.opening import OpenError, open_path

    if past.cwd is None:
        return "its directory is not known"
    try:
        open_path(past.cwd, os.environ)
    except OpenError as error:
        return one_line(str(error), 300)
    return one_line(f"opened {past.cwd}", 300)


class Newest:
    """A thread that does the last thing it was asked for; what it was asked before is dropped."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._job: Callable[[], None] | None = None
        threading.Thread(target=self._run, name="preview", daemon=True).start()

    def ask(self, job: Callable[[], None]) -> None:
        """Do this next, in place of whatever waits."""
        with self._changed:
            self._job = job
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._job is not None)
                job, self._job = self._job, None
            if job is not None:
                job()

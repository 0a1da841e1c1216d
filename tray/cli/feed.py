"""The engine's updates, handed from its thread to the one that prints them.

They show what the person's settings and mutes have made of the sessions, as `list` does.
"""

from __future__ import annotations

import os
import select
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from tray.claude.survey import Surveyor
from tray.configfile import SettingsFile, watched_folders
from tray.engine import Engine
from tray.mutefile import MuteFile
from tray.mutes import looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from tray.config import Settings
    from tray.engine import Update
    from tray.session import Snapshot

_BACKLOG = 256
"""Updates kept for a reader that is too slow; more, and all are dropped for the newest."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came since the last look."""

    updates: tuple[Update, ...]
    complete: bool
    """False if updates were dropped: the last one's snapshot is then all there is to tell."""


class _PersonsView(Surveyor):
    """Sees what `Surveyor` sees, but for finished turns that the person has taken note of, and
    follows the person's files: what is wrong with them is among the problems.
    """

    def __init__(
        self,
        roots: Sequence[str] | None,
        file: SettingsFile,
        configure: Callable[[Settings], None],
    ) -> None:
        super().__init__(roots=roots, idle_after=file.settings.idle_after)
        self._file = file
        self._configure = configure
        self._kept = MuteFile()
        self._kept.read()
        # Not that of the mutes: the log is there too.
        self._watched = watched_folders(file.path)

    def folders(self) -> frozenset[str]:
        """Return the folders to be watched, that of the settings among them."""
        return super().folders() | self._watched

    def survey(self, now: float | None = None) -> Snapshot:
        """Look at everything, the settings and the mutes too."""
        if self._file.check():
            self._configure(self._file.settings)
        if self._kept.changed():
            self._kept.read()
        snapshot = super().survey(now)
        mutes = self._kept.mutes
        return replace(
            snapshot,
            sessions=tuple(looked_at(mutes, session) for session in snapshot.sessions),
            problems=snapshot.problems + self._file.problems + self._kept.problems,
        )


class Feed:
    """A running engine whose updates can be waited for; a context manager.

    The wait also ends as soon as the reader of `output` goes away, so that
    `sessionbell watch | head -1` does not linger until there is something to write.
    """

    def __init__(self, roots: Sequence[str] | None, output: int | None = None) -> None:
        self._file = SettingsFile()
        self._file.read()
        self._engine = Engine(
            _PersonsView(roots, self._file, lambda settings: self._engine.configure(settings)),
            self._publish,
        )
        self._engine.configure(self.settings)
        self._lock = threading.Lock()
        self._pending: list[Update] = []
        self._complete = True
        self._output = output
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        if output is not None:
            self._poll.register(output, 0)

    def __enter__(self) -> Self:
        self._engine.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._engine.stop()

    @property
    def settings(self) -> Settings:
        """The person's settings, as of the last survey; the last good ones of a broken file."""
        return self._file.settings

    def stalled(self) -> bool:
        """Whether the engine has not looked for so long that nothing can be believed."""
        return self._engine.stalled()

    def wait(self, until: float | None = None) -> Delivery:
        """Wait for updates, until `until` (monotonic seconds); raise BrokenPipeError if nobody
        reads any more.
        """
        timeout = None if until is None else max(until - time.monotonic(), 0) * 1000
        for descriptor, event in self._poll.poll(timeout):
            if descriptor == self._output and event & (select.POLLERR | select.POLLHUP):
                raise BrokenPipeError
            if descriptor == self._bell:
                os.eventfd_read(self._bell)
        with self._lock:
            updates, self._pending = tuple(self._pending), []
            complete, self._complete = self._complete, True
        return Delivery(updates, complete)

    def _publish(self, update: Update) -> None:
        with self._lock:
            if len(self._pending) >= _BACKLOG:
                self._pending.clear()
                self._complete = False
            self._pending.append(update)
        os.eventfd_write(self._bell, 1)

"""The sessions that ended last: kept fresh for the menu."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from functools import partial
from typing import TYPE_CHECKING

from tray.claude import recent as transcripts
from tray.claude.roots import config_roots
from tray.desktop.bounded import Bounded
from tray.history.resuming import resumption as resumption  # how the menu resumes one
from tray.session import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tray.claude.recent import Recent
    from tray.session import Observation

log = logging.getLogger(__name__)

EACH = 60.0
"""Seconds after which they are looked for again, at the earliest; sooner if a session ended."""
_DAYS = 14.0
_SETTLES = 1.0
"""Seconds at least between two looks, whatever ends."""
_LIMIT = 120.0
"""Seconds for which a look at a slow disk is waited for."""


class RecentSessions:
    """Knows the sessions that ended last, from looks at the disk on a worker thread.

    Lives on one asyncio loop. It has no timer: `follow` is told of each update.
    """

    def __init__(
        self, on_change: Callable[[], object], *, roots: Sequence[str] | None = None
    ) -> None:
        """Look at nothing yet; `roots` limits it, `on_change` is called when others were found."""
        self.sessions: tuple[Recent, ...] = ()
        self._on_change = on_change
        self._roots = roots
        self._finder = transcripts.RecentSessions()
        self._live: frozenset[str] = frozenset()
        self._looked_at = float("-inf")
        self._wanted = True
        self._task: asyncio.Task[None] | None = None
        self._thread = Bounded("recent-sessions")

    def follow(self, sessions: Iterable[Observation]) -> None:
        """Take in what is live now, and look again if it is time to."""
        sessions = [session for session in sessions if session.state is not State.ENDED]
        live = frozenset(s.session_id for s in sessions if s.session_id is not None)
        if gone := self._live - live:
            log.debug("%d sessions ended", len(gone))
            self._wanted = True
        if begun := live & {recent.session_id for recent in self.sessions}:
            # Resumed: it must not be offered once more.
            self.sessions = tuple(r for r in self.sessions if r.session_id not in begun)
            self._on_change()
        self._live = live
        if self._task is None and due(time.monotonic() - self._looked_at, ended=self._wanted):
            self._wanted = False
            self._looked_at = time.monotonic()
            self._task = asyncio.get_running_loop().create_task(self._look(sessions))
            self._task.add_done_callback(self._looked)

    def find(self, session_id: str) -> Recent | None:
        """Return the one with that session id."""
        return next((r for r in self.sessions if r.session_id == session_id), None)

    async def close(self) -> None:
        """Give up a look that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _look(self, sessions: Sequence[Observation]) -> None:
        look = partial(
            self._finder.look,
            self._find_roots(sessions),
            frozenset(s.session_id for s in sessions if s.session_id is not None),
            frozenset(s.transcript for s in sessions if s.transcript is not None),
            since=time.time() - _DAYS * 86_400,
        )
        try:
            found = await self._thread.run(look, _LIMIT)
        except TimeoutError:
            log.warning("the disk does not tell the recent sessions within %g s", _LIMIT)
            return
        found = tuple(recent for recent in found if recent.session_id not in self._live)
        if found != self.sessions:
            self.sessions = found
            self._on_change()

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the recent sessions cannot be looked for", exc_info=error)

    def _find_roots(self, sessions: Iterable[Observation]) -> tuple[str, ...]:
        if self._roots is not None:
            return tuple(self._roots)
        of_live = sorted({s.config_root for s in sessions if s.config_root is not None})
        return config_roots(os.path.expanduser("~"), os.environ, of_live)


def due(since_last: float, *, ended: bool) -> bool:
    """Whether to look again, so many seconds after the last time; `ended`: a session has."""
    return since_last >= (_SETTLES if ended else EACH)

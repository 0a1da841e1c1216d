"""Whether the person is at a session right now, so that its bubble may wait.

`is_there` decides, `Presence` asks what shows a session, and `Watcher` keeps the answers fresh
for the sessions that an alert is due for; for no other session is anything ever asked.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import msgspec

from tray.desktop.bounded import Bounded
from tray.system.processes import is_alive, tty_access_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tray.session import Observation

log = logging.getLogger(__name__)

RECENT_INPUT = 60.0
"""Seconds since the last input within which somebody in front of a focused place is there."""
RECENT_KEYSTROKE = 16.0
"""Seconds since a terminal was read within which somebody types there; the kernel coarsens the
access time to 8 s."""
FRESH = 2.0
"""Seconds after which an answer says nothing about the present any more."""
CHECK_EACH = 1.0
"""Seconds between two checks of a session that is watched."""
HANGING = 8
"""Checks left behind at most, each on a thread that has not come back."""
_IDLE_LIMIT = 1.0
_ROUTE_KEPT = 10.0
"""Seconds for which a way stands: a pane may be moved, a client attached elsewhere."""


def is_there(
    active: bool | None,  # noqa: FBT001  (the first thing asked)
    *,
    locked: bool,
    idle: float | None,
    tty_idle: float | None,
) -> bool:
    """Whether the person is at a session.

    `active` is whether its own tab or pane has the keyboard focus, `None` where that cannot be
    known; `idle` and `tty_idle` are the seconds since the desktop's last input and since the
    last keystroke in its terminal, `None` where not known. In doubt nobody is there.
    """
    if locked or active is False:
        return False
    if active is None:
        return tty_idle is not None and tty_idle <= RECENT_KEYSTROKE
    since = idle if idle is not None else tty_idle
    return since is not None and since <= RECENT_INPUT


class Route(Protocol):
    """The way from the person's screen to a session (`tray.desktop.focus.route`)."""

    def active(self) -> bool | None:
        """Whether the person sees it with the keyboard focus on it; `None` if not known."""


class FindRoute(Protocol):
    """Finds the way to a session; may take some milliseconds, and raise anything it likes."""

    def __call__(self, session: Observation, desktop: Mapping[str, str], /) -> Route | None:
        """Return the way, `None` where there is none; `desktop` is the login's environment."""


class _Kept(msgspec.Struct, frozen=True):
    identity: tuple[str, int | None, str | None]
    route: Route | None
    at: float


class Presence:
    """Asks where the person is. Blocking: each session on a thread of its own.

    The way to a session is kept for a while, so that a check costs little.
    """

    def __init__(
        self,
        find: FindRoute,
        desktop: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._find = find
        self._desktop = desktop
        self._clock = clock
        self._wall = wall
        self._kept: dict[str, _Kept] = {}

    def check(
        self, sessions: Iterable[Observation], *, locked: bool, idle: float | None
    ) -> frozenset[str]:
        """Return the keys of those of `sessions` that the person is at.

        `locked` and `idle` as for `is_there`. Never raises.
        """
        return frozenset(
            session.key for session in sessions if self._check(session, locked=locked, idle=idle)
        )

    def keep_only(self, keys: Iterable[str]) -> None:
        """Forget the ways to all other sessions."""
        wanted = frozenset(keys)
        for key in tuple(self._kept):
            if key not in wanted:
                self._kept.pop(key, None)

    def _check(self, session: Observation, *, locked: bool, idle: float | None) -> bool:
        if locked or not _lives(session):
            return False
        active = self._active(session)
        tty_idle = self._tty_idle(session.tty)
        return is_there(active, locked=locked, idle=idle, tty_idle=tty_idle)

    def _active(self, session: Observation) -> bool | None:
        try:
            route = self._route(session)
            return route.active() if route is not None else None
        except Exception as error:  # noqa: BLE001  (a back end's fault must not lose an alert)
            log.debug("cannot tell whether %s has the focus: %s", session.key, error)
            self._kept.pop(session.key, None)
            return None

    def _route(self, session: Observation) -> Route | None:
        identity = (session.key, session.pid, session.tty)
        now = self._clock()
        kept = self._kept.get(session.key)
        if kept is None or kept.identity != identity or now - kept.at >= _ROUTE_KEPT:
            kept = _Kept(identity, self._find(session, self._desktop), now)
            self._kept[session.key] = kept
        return kept.route

    def _tty_idle(self, tty: str | None) -> float | None:
        read = tty_access_time(tty) if tty is not None else None
        # In the future: the clock was set, and nothing is known.
        return self._wall() - read if read is not None and read <= self._wall() + 1 else None


def _lives(session: Observation) -> bool:
    """Whether the very process of a session's key still runs, where the key names one."""
    pid, _, start = session.key.partition(":")
    return not (pid.isdigit() and start.isdigit()) or is_alive(int(pid), int(start))


class Where(Protocol):
    """Where the person is (`tray.desktop.person.watch.Person`)."""

    @property
    def locked(self) -> bool:
        """Whether the screen is locked."""

    async def idle_seconds(self) -> float | None:
        """Return the seconds since the last input."""


class Watcher:
    """Keeps known which of the watched sessions the person is at, on the running event loop.

    A session whose terminal hangs is not waited for, and delays the answer for no other one.
    """

    def __init__(
        self,
        presence: Presence,
        person: Where,
        *,
        on_change: Callable[[], object],
        each: float = CHECK_EACH,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch nothing yet; `on_change` is called when `present` has changed by a check."""
        self._presence = presence
        self._person = person
        self._on_change = on_change
        self._each = each
        self._clock = clock
        self._watched: dict[str, Observation] = {}
        self._threads: dict[str, Bounded] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._seen: dict[str, float] = {}
        """When the person was found at a session, monotonic seconds."""
        self._told: frozenset[str] = frozenset()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def present(self) -> frozenset[str]:
        """Keys of the watched sessions that the person is at; old answers do not count."""
        if self._person.locked:
            return frozenset()
        now = self._clock()
        return frozenset(key for key, at in self._seen.items() if now - at <= FRESH)

    def watch(self, sessions: Iterable[Observation]) -> None:
        """Watch exactly these from now on; new ones are checked at once."""
        before = self._watched.keys()
        self._watched = {session.key: session for session in sessions}
        gone = before - self._watched.keys()
        for key in gone:
            self._forget(key)
        if gone:
            self._presence.keep_only(self._watched)
        if not self._watched:
            self._stop()
        elif self._watched.keys() - before:
            self._news.set()
            if self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._keep_checking())

    async def close(self) -> None:
        """Watch no more."""
        running = [*self._checks.values(), *([self._task] if self._task is not None else ())]
        self.watch(())
        if running:
            await asyncio.wait(running)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _forget(self, key: str) -> None:
        self._seen.pop(key, None)
        check = self._checks.pop(key, None)
        if check is not None:
            check.cancel()

    def _thread(self, key: str) -> Bounded | None:
        """Return the thread for a session; `None` while too many hang.

        One that hangs is kept also when its session is watched no more: the next ask there must
        not hang beside it.
        """
        self._threads = {
            other: thread
            for other, thread in self._threads.items()
            if other in self._watched or thread.busy
        }
        left = [k for k, t in self._threads.items() if t.busy and k not in self._checks]
        if len(left) >= HANGING:
            return None
        return self._threads.setdefault(key, Bounded("presence"))

    async def _keep_checking(self) -> None:
        while True:
            self._news.clear()
            begun = self._clock()
            idle = await self._idle()
            for key, session in self._watched.items():
                if key not in self._checks:
                    self._checks[key] = asyncio.create_task(self._check(session, begun, idle))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._each):
                    await self._news.wait()
            self._tell()  # What has grown old since.

    async def _idle(self) -> float | None:
        try:
            async with asyncio.timeout(_IDLE_LIMIT):
                return await self._person.idle_seconds()
        except TimeoutError:
            return None

    async def _check(self, session: Observation, begun: float, idle: float | None) -> None:
        locked = self._person.locked

        def ask() -> frozenset[str]:
            return self._presence.check((session,), locked=locked, idle=idle)

        try:
            thread = self._thread(session.key)
            if thread is None:
                raise TimeoutError  # noqa: TRY301 - nothing that shows sessions answers
            found = await thread.run(ask, FRESH)
        except TimeoutError:
            log.debug("what shows %s does not answer", session.key)
        else:
            if found:
                self._seen[session.key] = begun
            else:
                self._seen.pop(session.key, None)
            self._tell()
        finally:
            if self._checks.get(session.key) is asyncio.current_task():
                del self._checks[session.key]

    def _tell(self) -> None:
        present = self.present
        if present != self._told:
            self._told = present
            try:
                self._on_change()
            except Exception:
                log.exception("the callback for presence failed")

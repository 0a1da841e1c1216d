"""How long there has been no input, from the first source of this desktop that knows.

- GNOME's and Cinnamon's window managers (org.gnome.Mutter.IdleMonitor), X11 and Wayland.
- The X server, on X11.
- logind's idle hint, where the desktop sets it: true some minutes after the last input.

Elsewhere it is not known. A Wayland compositor tells only its own clients (ext-idle-notify), and
`GetSessionIdleTime` of org.freedesktop.ScreenSaver gives a true reading nowhere that X11 does
not: it is in milliseconds in KDE on X11 and in seconds by its specification, always 0 in Plasma
5.24 on Wayland, and an error in Plasma since 5.27 and in GNOME.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Protocol

from dbus_fast.errors import DBusError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbus_fast import Message

    from tray.desktop.person.link import Owner

log = logging.getLogger(__name__)

MONITORS = ("org.gnome.Mutter.IdleMonitor", "org.cinnamon.Muffin.IdleMonitor")
"""Bus names, which are their interfaces' names too."""
_UNKNOWN_EACH = 60.0
"""Seconds after which sources that know nothing are asked again."""
_SOONEST = 1.0
"""Seconds between two looks at least."""


class IdleSource(Protocol):
    """Something that may know when the last input was."""

    async def seconds(self) -> float | None:
        """Return the seconds since the last input; `None` if that is not known. Never raises."""

    async def until_active(self) -> None:
        """Return as soon as there may have been input. Never raises; may be cancelled."""


class IdleMonitor:
    """The idle monitor of Mutter or Muffin."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.signals: tuple[str, ...] = ()  # WatchFired is sent to us alone.
        self._path = "/" + name.replace(".", "/") + "/Core"
        self._owner: Owner | None = None
        self._fired = asyncio.Event()

    async def look(self, owner: Owner) -> None:
        """Remember whom to ask."""
        await owner.call(self._path, self.name, "GetIdletime")
        self._owner = owner

    def heard(self, message: Message) -> None:
        """Take in that there was input."""
        if message.interface == self.name and message.member == "WatchFired":
            self._fired.set()

    def lost(self) -> None:
        """Forget whom to ask."""
        self._owner = None
        self._fired.set()

    async def seconds(self) -> float | None:
        """See `IdleSource`."""
        milliseconds = await self._call("GetIdletime")
        return milliseconds / 1000 if milliseconds is not None else None

    async def until_active(self) -> None:
        """See `IdleSource`."""
        self._fired.clear()
        if await self._call("AddUserActiveWatch") is None:
            await asyncio.sleep(_UNKNOWN_EACH)
        else:
            await self._fired.wait()

    async def _call(self, member: str) -> int | None:
        if self._owner is None:
            return None
        try:
            (number,) = await self._owner.call(self._path, self.name, member)
        except (DBusError, OSError, EOFError, ValueError) as error:
            log.debug("no idle time from %s: %s", self.name, error)
            return None
        return number if isinstance(number, int) else None


class IdleHint:
    """logind's hint: the last input was before the desktop called itself idle."""

    def __init__(self, idle_since: Callable[[], float | None]) -> None:
        """`idle_since` is `Login.idle_since`; its changes are told by `Idle.look_again`."""
        self._idle_since = idle_since

    async def seconds(self) -> float | None:
        """See `IdleSource`; not known while the desktop is in use."""
        since = self._idle_since()
        return max(0.0, time.monotonic() - since) if since is not None else None

    async def until_active(self) -> None:
        """See `IdleSource`."""
        await asyncio.get_running_loop().create_future()


class Idle:
    """Whether there has been no input for long, with as few looks as that takes.

    In use, one look in `after` seconds or so; while idle, whatever the source needs to tell the
    return.
    """

    def __init__(
        self, sources: Sequence[IdleSource], on_change: Callable[[], object], after: float
    ) -> None:
        """Do nothing yet; `after` is in seconds."""
        self._sources = sources
        self._on_change = on_change
        self._after = after
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.long = False
        """Whether there has been no input for `after` seconds; never where that is not known."""

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def close(self) -> None:
        """Look no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def look_again(self) -> None:
        """Look now: a source has come, gone, or changed its mind."""
        self._changed.set()

    async def seconds(self) -> float | None:
        """Return the seconds since the last input; `None` where no source knows."""
        return (await self._ask())[1]

    async def _ask(self) -> tuple[IdleSource | None, float | None]:
        for source in self._sources:
            seconds = await source.seconds()
            if seconds is not None:
                return source, seconds
        return None, None

    async def _follow(self) -> None:
        while True:
            self._changed.clear()
            source, seconds = await self._ask()
            long = seconds is not None and seconds >= self._after
            if long is not self.long:
                self.long = long
                self._on_change()
            if source is None or seconds is None:
                await self._wait(None, _UNKNOWN_EACH)
            elif long:
                await self._wait(source, None)
            else:
                await self._wait(None, max(_SOONEST, self._after - seconds))

    async def _wait(self, source: IdleSource | None, limit: float | None) -> None:
        """Wait for a change, for input as `source` tells it, or for `limit` seconds."""
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._changed.wait())]
        if source is not None:
            waits.append(asyncio.ensure_future(source.until_active()))
        try:
            await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

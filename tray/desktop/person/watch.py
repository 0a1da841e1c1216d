"""Where the person is, joined from all that this desktop tells."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from tray.desktop import bus
from tray.desktop.person import inhibited, logind, screensaver, suspend
from tray.desktop.person.idle import MONITORS, Idle, IdleHint, IdleMonitor
from tray.desktop.person.link import Link
from tray.desktop.person.x11 import X11, display_of
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbus_fast.aio import MessageBus

    from tray.desktop.person.suspend import Clocks

log = logging.getLogger(__name__)

AWAY_AFTER = 600.0
"""Seconds without input after which the person counts as away."""


class Person:
    """Follows the desktop on the running event loop.

    `on_change` is called whenever `locked`, `away`, `inhibited` or `problems` has changed;
    `on_wake` once after each suspend, before that.
    """

    def __init__(
        self,
        *,
        on_change: Callable[[], object],
        on_wake: Callable[[], object],
        desktop: Mapping[str, str] = os.environ,
        away_after: float = AWAY_AFTER,
        clocks: Callable[[], Clocks] = suspend.read,
        clocks_each: float = suspend.EACH,
    ) -> None:
        """Connect to nothing yet; `desktop` is the environment of the person's login."""
        self._on_change, self._on_wake = on_change, on_wake
        self._login = logind.Login(
            pid=os.getpid(),
            uid=os.getuid(),
            session_id=desktop.get("XDG_SESSION_ID"),
            on_sleep=self._slept,
            look_again=lambda name: self._system.look_again(name),
        )
        self._savers = [screensaver.ScreenSaver(name, self._changed) for name in screensaver.NAMES]
        self._server = inhibited.NotificationState(lambda name: self._session.look_again(name))
        monitors = [IdleMonitor(name) for name in MONITORS]
        display = display_of(desktop)
        self._x11 = X11(display) if display is not None else None
        hint = IdleHint(lambda: self._login.idle_since)
        self._idle = Idle(
            [*monitors, *([self._x11] if self._x11 is not None else ()), hint],
            self._changed,
            away_after,
        )
        self._sleeps = suspend.Sleeps(self._slept, clocks=clocks, each=clocks_each)
        self._system = Link(_connect_system, [self._login], self._looked)
        self._session = Link(bus.connect, [*self._savers, self._server, *monitors], self._looked)
        self._asleep = False
        self._closed = False
        self._told = self._state()

    @property
    def locked(self) -> bool:
        """Whether the screen is locked, or covered by a screen saver."""
        return bool(self._login.locked) or any(saver.active for saver in self._savers)

    @property
    def away(self) -> bool:
        """Whether nobody is there: locked, asleep, or no input for long."""
        return self.locked or self._asleep or self._idle.long

    @property
    def inhibited(self) -> bool:
        """Whether the notification server is known to have been told not to disturb."""
        return bool(self._server.inhibited)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is there and broken; what this desktop simply lacks is none."""
        return tuple(
            _silent(name)
            for name in sorted(self._system.silent | self._session.silent)
            if name != inhibited.NAME  # Told by those who want to show something there.
        )

    async def idle_seconds(self) -> float | None:
        """Return the seconds since the person's last input; `None` where that is not known."""
        return await self._idle.seconds()

    async def start(self) -> None:
        """Begin to follow; returns at once, and tells what it finds by `on_change`."""
        self._system.start()
        self._session.start()
        self._idle.start()
        self._sleeps.run(wanted=not self._login.tells_sleep)

    async def close(self) -> None:
        """Follow no more."""
        self._closed = True
        self._sleeps.run(wanted=False)
        await self._idle.close()
        await self._system.close()
        await self._session.close()
        if self._x11 is not None:
            await self._x11.close()

    def _looked(self) -> None:
        """Take in that a service has been looked at, or lost."""
        if self._closed:
            return
        self._sleeps.run(wanted=not self._login.tells_sleep)
        self._idle.look_again()
        self._changed()

    def _slept(self, asleep: bool) -> None:  # noqa: FBT001  (as logind's signal has it)
        if asleep is self._asleep:
            return
        self._asleep = asleep
        if not asleep:
            _call(self._on_wake)
        self._changed()

    def _state(self) -> tuple[object, ...]:
        return self.locked, self.away, self.inhibited, self.problems

    def _changed(self) -> None:
        state = self._state()
        if state != self._told and not self._closed:
            self._told = state
            _call(self._on_change)


async def _connect_system() -> MessageBus:
    return await bus.connect(bus.system_bus_address())


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:
        log.exception("the callback %s failed", callback)


def _silent(name: str) -> Problem:
    if name == logind.NAME:
        return Problem(
            "logind-silent",
            "logind does not answer: a locked screen or a suspend may go unnoticed until it does;"
            " see: systemctl status systemd-logind",
        )
    return Problem(
        f"silent-{name}",
        f"{name} does not answer: a locked screen or an absence may go unnoticed until it does;"
        f" see: busctl --user status {name}",
    )

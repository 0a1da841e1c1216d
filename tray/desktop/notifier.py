"""Keeps the bubbles on the screen equal to the set that is wanted.

Level-triggered: `show` only names the wanted set. Each bubble is compared with what the server
last took, at most one call is in flight for it, and it is compared again after each reply; so
an answer that comes while its bubble is being sent withdraws it right after. Bus and server may
be missing, hang, come late, or be restarted at any time.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from dbus_fast.errors import DBusError
from desktop_notifier.common import Button, Icon, Notification, Sound, Urgency

from tray.desktop import alerts, icon
from tray.desktop.notification_server import NotificationServer, means_absent, means_died
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PIL.Image import Image

    from tray.desktop.alerts import Bubble

log = logging.getLogger(__name__)
_P = ParamSpec("_P")

APP_NAME = "sessionbell"
APP_ID = "io.github.sessionbell.SessionBell"
REPLY_LIMIT = 5.0
"""Seconds after which a server that has not answered counts as hanging. A server that the bus
has to start first may need some."""
LOST_AFTER = 10.0
"""Seconds after which a call is given up although the server answers others."""
CLOSE_LIMIT = 0.8
"""Seconds that withdrawing everything may take at the end."""
_PICTURE = 48
"""Pixels along each side of a bubble's picture."""
EXPIRES_AFTER = 10
"""Seconds for which a quiet bubble stays."""
_RETRY_FIRST, _RETRY_MOST = 0.5, 60.0
_RECONNECT_FIRST, _RECONNECT_MOST = 0.25, 5.0
_FORGIVEN_AFTER = 120.0
"""Seconds after a failure when the next one counts as the first again."""
_URGENCIES = {
    alerts.Urgency.LOW: Urgency.Low,
    alerts.Urgency.NORMAL: Urgency.Normal,
    alerts.Urgency.CRITICAL: Urgency.Critical,
}


@dataclass(slots=True, eq=False)
class _Slot:
    """One bubble id: what is wanted under it and what the server has."""

    id: str
    wanted: Bubble | None = None
    shown: Bubble | None = None
    off_screen: frozenset[str] = frozenset()
    """The asks whose bubble has left the screen: told, and not to come back."""
    followed: Bubble | None = None
    """What was shown when it was last clicked, or its button pressed."""
    call: asyncio.Task[None] | None = None
    retry: asyncio.TimerHandle | None = None
    failures: int = 0
    failed_at: float = float("-inf")

    @property
    def target(self) -> Bubble | None:
        """What should stand on the screen."""
        if self.wanted is None or self.off_screen.issuperset(self.wanted.asks):
            return None
        return self.wanted

    def stop(self) -> None:
        """Give up the call in flight and any retry."""
        if self.call is not None:
            self.call.cancel()
            self.call = None
        if self.retry is not None:
            self.retry.cancel()
            self.retry = None


class Notifier:
    """Shows bubbles on the desktop's notification server; lives on one asyncio loop."""

    def __init__(
        self,
        *,
        on_click: Callable[[Bubble], object],
        on_action: Callable[[Bubble, str], object],
        on_dismiss: Callable[[Bubble], object],
        on_problems: Callable[[tuple[Problem, ...]], object],
        icon: str = APP_ID,
        reply_limit: float = REPLY_LIMIT,
    ) -> None:
        """Connect nothing yet; the callbacks come on the loop's thread.

        `on_click` is told of a click on a bubble, `on_action` of a press of the button with
        that key, `on_dismiss` of a wanted bubble that left the screen by the person's hand or by
        itself, `on_problems` of each change of `problems`. `icon` is the name of an icon in
        the theme, or the path of a file.
        """
        self._on_click = on_click
        self._on_action = on_action
        self._on_dismiss = on_dismiss
        self._on_problems = on_problems
        self._reply_limit = reply_limit
        self._slots: dict[str, _Slot] = {}
        self._problems: dict[str, Problem] = {}
        self._connected = False
        self._connection: asyncio.Task[None] | None = None
        self._greeting: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None
        self._first_try = asyncio.Event()
        named = Icon(path=Path(icon)) if "/" in icon else Icon(name=icon)
        self._server = NotificationServer(APP_NAME, APP_ID, named)
        self._server.on_owner = self._owner_changed
        self._server.on_closed = self._closed
        self._server.on_clicked = self._clicked
        self._server.on_button_pressed = self._pressed

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps bubbles from being shown right now."""
        return tuple(self._problems.values())

    @property
    def capabilities(self) -> frozenset[str]:
        """What the server says it can do; empty before the first bubble and without a server."""
        return self._server.features

    @property
    def server(self) -> tuple[str, ...]:
        """The server's name, vendor, version and specification, as far as it has told them."""
        return self._server.information

    def take_token(self, bubble: Bubble) -> str | None:
        """Return the activation token of the click that was just told of, for one use."""
        return self._server.take_token(bubble.id)

    async def start(self) -> None:
        """Connect; returns once it is known whether there is a bus. Never raises."""
        self._connection = asyncio.create_task(self._stay_connected())
        await self._first_try.wait()

    def show(self, wanted: Sequence[Bubble]) -> None:
        """Make `wanted` the whole set of bubbles on the screen."""
        by_id = {bubble.id: bubble for bubble in wanted}
        for bubble_id in by_id:
            if bubble_id not in self._slots:
                self._slots[bubble_id] = _Slot(bubble_id)
        for slot in self._slots.values():
            slot.wanted = by_id.get(slot.id)
        self._reconcile()

    async def close(self) -> None:
        """Withdraw every bubble and disconnect, within a second."""
        self.show(())
        calls = [slot.call for slot in self._slots.values() if slot.call is not None]
        if calls and self._connected:
            await asyncio.wait(calls, timeout=CLOSE_LIMIT)
        if self._connection is not None:
            self._connection.cancel()
        self._stop_calls()
        if self._connected:
            self._connected = False
            self._server.withdraw_unheard()
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0 - CLOSE_LIMIT):
                    await self._server.disconnect()

    async def _stay_connected(self) -> None:
        delay = _RECONNECT_FIRST
        while True:
            try:
                await self._server.connect()
            except ConnectionError as error:
                self._report(
                    "no-bus",
                    f"the session bus cannot be reached ({error}): no notifications until it can;"
                    " start sessionbell inside a desktop session or with dbus-run-session",
                )
                self._first_try.set()
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RECONNECT_MOST)
                continue
            delay = _RECONNECT_FIRST
            self._connected = True
            self._resolve("no-bus")
            self._meet()
            self._reconcile()
            await self._server.disconnected()
            log.warning("the session bus is gone")
            self._connected = False
            self._server.forget()
            self._server_gone()

    def _meet(self) -> None:
        if self._greeting is not None:
            self._greeting.cancel()
        self._greeting = asyncio.create_task(self._greet())

    async def _greet(self) -> None:
        """Say whether there is a server, without starting one, and learn what it can do."""
        try:
            if self._server.owner is None and not await self._server.startable():
                self._report_absent("none runs and none can be started")
            self._first_try.set()
            if self._server.owner is not None:
                async with asyncio.timeout(self._reply_limit):
                    await self._server.get_capabilities()
        except Exception as error:  # noqa: BLE001  (only a head start: the first bubble tells)
            log.debug("the notification server does not answer: %s", error)
        finally:
            self._first_try.set()

    def _reconcile(self) -> None:
        if not self._connected or self._probe is not None:
            return
        for slot in list(self._slots.values()):
            if slot.call is not None or slot.retry is not None:
                continue
            if slot.target != slot.shown:
                slot.call = asyncio.create_task(self._converge(slot))
            elif slot.wanted is None:
                del self._slots[slot.id]

    async def _converge(self, slot: _Slot) -> None:
        """Call the server until `slot` is as wanted."""
        loop = asyncio.get_running_loop()
        try:
            while self._probe is None and (target := slot.target) != slot.shown:
                overdue = loop.call_later(self._reply_limit, self._hangs)
                try:
                    if target is None:
                        slot.shown = None  # That it leaves the screen now is no dismissal.
                        await self._server.clear(slot.id)
                    else:
                        await self._server.send(
                            _notification(target, anew=slot.shown is None), _picture(target)
                        )
                        slot.shown = target
                        self._resolve("no-notification-daemon", "notification-refused")
                finally:
                    overdue.cancel()
        except Exception as error:  # noqa: BLE001  (logged there)
            self._failed(slot, error)
        slot.call = None
        self._reconcile()

    def _failed(self, slot: _Slot, error: Exception) -> None:
        if not self._connected or isinstance(error, OSError | EOFError):
            return  # The connection's own task sees to it.
        if means_absent(error):
            self._report_absent(str(error))
        elif not means_died(error):  # Its death is told by its name.
            log.warning("a notification failed", exc_info=error)
            self._report(
                "notification-refused",
                f"the notification daemon refused a notification ({error}): it is tried again;"
                " see the menu or `sessionbell list` meanwhile",
                logged=False,  # It may quote the bubble.
            )
        self._retry_later(slot)

    def _retry_later(self, slot: _Slot) -> None:
        now = time.monotonic()
        slot.failures = slot.failures + 1 if now - slot.failed_at < _FORGIVEN_AFTER else 1
        slot.failed_at = now
        delay = min(_RETRY_FIRST * 2 ** (slot.failures - 1), _RETRY_MOST)
        slot.retry = asyncio.get_running_loop().call_later(delay, self._retry, slot)

    def _retry(self, slot: _Slot) -> None:
        slot.retry = None
        self._reconcile()

    def _hangs(self) -> None:
        if self._probe is None:
            self._report(
                "notification-daemon-hangs",
                "the notification daemon does not answer: notifications wait until it does;"
                " restart it, or log out and in again",
            )
            self._probe = asyncio.create_task(self._await_answer())

    async def _await_answer(self) -> None:
        """Ask the server for a sign of life, ever more rarely; then go on.

        What it was sent before it still has, and shows when it wakes up. Only a call that it
        leaves open while it answers others is made anew.
        """
        delay = _RETRY_FIRST
        while True:
            try:
                async with asyncio.timeout(self._reply_limit):
                    await self._server.ping()
                break
            except TimeoutError:
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RETRY_MOST)
            except (DBusError, OSError, EOFError):
                break  # It is gone, which is told by its name or by the connection.
        calls = [slot.call for slot in self._slots.values() if slot.call is not None]
        if calls:
            await asyncio.wait(calls, timeout=LOST_AFTER)
        self._probe = None
        for slot in self._slots.values():
            if slot.call is not None:
                slot.stop()
                self._retry_later(slot)
        self._resolve("notification-daemon-hangs")
        self._reconcile()

    def _owner_changed(self, former: str | None) -> None:
        if former is not None:
            self._server_gone()
        self._meet()
        if self._server.owner is None:
            for slot in self._slots.values():
                self._retry_later(slot)
            return
        self._resolve("no-notification-daemon")
        for slot in self._slots.values():
            if slot.retry is not None:
                slot.retry.cancel()
                slot.retry = None
        self._reconcile()

    def _server_gone(self) -> None:
        """Take in that the server took all bubbles with it."""
        self._stop_calls()
        self._resolve("no-notification-daemon", "notification-daemon-hangs", "notification-refused")
        for slot in list(self._slots.values()):
            shown, slot.shown = slot.shown, None
            if shown is not None and shown.expires:
                self._left_screen(slot, shown)

    def _stop_calls(self) -> None:
        for task in (self._greeting, self._probe):
            if task is not None:
                task.cancel()
        self._greeting = self._probe = None
        for slot in self._slots.values():
            slot.stop()

    def _closed(self, bubble_id: str) -> None:
        slot = self._slots.get(bubble_id)
        if slot is None or slot.shown is None:
            return
        shown, slot.shown = slot.shown, None
        self._left_screen(slot, shown)
        self._reconcile()

    def _left_screen(self, slot: _Slot, shown: Bubble) -> None:
        if shown.one_by_one and shown is slot.followed:
            shown = replace(shown, keys=shown.keys[:1], asks=shown.asks[:1])
        slot.off_screen = slot.off_screen.union(shown.asks)
        if slot.wanted is not None:
            _tell(self._on_dismiss, shown)

    def _clicked(self, bubble_id: str) -> None:
        slot = self._slots.get(bubble_id)
        if slot is not None and slot.shown is not None:
            slot.followed = slot.shown
            _tell(self._on_click, slot.shown)

    def _pressed(self, bubble_id: str, action: str) -> None:
        slot = self._slots.get(bubble_id)
        if slot is not None and slot.shown is not None:
            slot.followed = slot.shown
            _tell(self._on_action, slot.shown, action)

    def _report_absent(self, cause: str) -> None:
        self._report(
            "no-notification-daemon",
            f"no notification daemon ({cause}): nothing is told until one runs;"
            " start your desktop's, or install one (dunst, mako, xfce4-notifyd)",
        )

    def _report(self, code: str, message: str, *, logged: bool = True) -> None:
        problem = Problem(code, message)
        if self._problems.get(code) != problem:
            self._problems[code] = problem
            if logged:
                log.warning(message)
            _tell(self._on_problems, self.problems)

    def _resolve(self, *codes: str) -> None:
        before = len(self._problems)
        for code in codes:
            self._problems.pop(code, None)
        if len(self._problems) != before:
            _tell(self._on_problems, self.problems)


def _tell(callback: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> None:
    """Call back; what the callback raises must not stop the notifications."""
    try:
        callback(*args, **kwargs)
    except Exception:
        log.exception("a notification's callback failed")


def _notification(bubble: Bubble, *, anew: bool) -> Notification:
    return Notification(
        title=bubble.title,
        message=bubble.body,
        urgency=_URGENCIES[bubble.urgency],
        buttons=tuple(
            Button(title=action.label, identifier=action.key) for action in bubble.actions
        ),
        thread=bubble.category,
        timeout=_timeout(bubble),
        identifier=bubble.id,
        sound=Sound(name=bubble.sound) if bubble.sound and anew else None,
    )


def _timeout(bubble: Bubble) -> int:
    """Return the whole seconds on the screen; 0: stays; -1: as the server likes."""
    if bubble.timeout is None:
        return EXPIRES_AFTER if bubble.expires else 0
    return math.ceil(bubble.timeout) if bubble.timeout > 0 else int(bubble.timeout)


def _picture(bubble: Bubble) -> Image:
    return icon.draw(bubble.look, 0, False, _PICTURE)  # noqa: FBT003  (its cache wants positions)

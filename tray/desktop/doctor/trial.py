"""A test notification: sent as the tray sends its own, and watched until it is gone."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from dbus_fast.errors import DBusError
from desktop_notifier.common import Button, Icon, Notification, Urgency

from tray.desktop import icon
from tray.desktop.doctor.check import CALL_LIMIT
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.glyphs import Look
from tray.desktop.notification_server import NotificationServer
from tray.desktop.notifier import APP_ID, APP_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from tray.desktop.doctor.finding import Finding

WAIT = 10.0
"""Seconds to wait for a click."""
ACCEPT_LIMIT = 5.0
"""Seconds for a server to take it; one that has to be started first needs some."""
_BUTTON = "works"
_PICTURE = 48
"""Pixels along each side, as the tray's."""
_REASONS = {1: "its time was up", 2: "you dismissed it", 3: "it was withdrawn"}
"""The specification's reasons of NotificationClosed; 4 is undefined."""

CLICKED = Message("trial-clicked", Status.OK, "accepted and shown; your click came back")
PRESSED = Message("trial-pressed", Status.OK, "accepted and shown; your button press came back")
DISMISSED = Message(
    "trial-dismissed",
    Status.NOTE,
    "accepted and shown; it was closed without a click coming back ({reason})",
    "it was closed, or this server takes a click on a notification for that",
    "if you clicked on it, a click does not lead to the session here",
    do="if you did click, use the button, or `sessionbell focus --next` as a shortcut",
)
CLOSED_EARLY = Message(
    "trial-closed-early",
    Status.WARNING,
    "accepted, and closed by the server after {seconds} s ({reason})",
    "do not disturb is on, a rule of the server hides it, or its time is very short",
    "notifications may go by unseen",
    do="look at do not disturb and at the rules for sessionbell in the server's settings",
)
EXPIRED = Message(
    "trial-expired",
    Status.NOTE,
    "accepted; it left the screen after {seconds} s ({reason})",
    "this server closes notifications after that time, whatever they ask for",
    "what has left the screen is to be seen in the menu and the lists only",
    do="raise the time in the server's settings",
)
UNTOUCHED = Message(
    "trial-untouched",
    Status.OK,
    "accepted; still there after {seconds} s, nothing was clicked. It has been withdrawn",
)
GONE = Message(
    "trial-server-ended",
    Status.BROKEN,
    "accepted; then the notification server ended",
    "it crashed or was restarted",
    "notifications are lost with it; the tray sends them again to the next server",
    run="sessionbell doctor --notify",
)
REFUSED = Message(
    "trial-refused",
    Status.BROKEN,
    "the notification server did not take it ({error})",
    "no server runs or can be started, or it refuses",
    "nothing is told by notifications",
    run="sessionbell doctor",
)
TIMED_OUT = Message(
    "trial-hangs",
    Status.BROKEN,
    "the notification server did not answer within {seconds} s",
    "it hangs",
    "nothing is told by notifications",
    do="restart it, or log out and in",
)
NO_BUS = Message(
    "trial-no-bus",
    Status.BROKEN,
    "the session bus cannot be reached ({error})",
    "this is no desktop session, or its bus is gone",
    "nothing is told by notifications",
    do="run it inside a desktop session",
)
EARLY = 1.0
"""Seconds before which nobody can have read it."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a test notification that was accepted."""

    seconds: float
    """How long it stood, or was waited for."""
    clicked: bool = False
    pressed: bool = False
    gone: bool = False
    """The server ended meanwhile."""
    reason: int | None = None
    """Of NotificationClosed; `None`: it was not closed."""


class _Server(NotificationServer):
    """Tells why a bubble left the screen, too."""

    reason: int | None = None

    def _on_closed(self, nid: int, reason: int) -> None:
        if nid in self._platform_to_interface_notification_identifier:
            self.reason = reason
        super()._on_closed(nid, reason)


def trial(*, wait: float = WAIT, accepted: Callable[[], object] = lambda: None) -> Finding:
    """Send a test notification, wait for a click, and say what came back.

    `accepted` is called once the server has taken it.
    """
    return asyncio.run(_trial(wait, accepted))


def finding(outcome: Outcome) -> Finding:
    """Say what became of it."""
    reason = _REASONS.get(outcome.reason or 0, "it gave no reason")
    if outcome.clicked:
        return CLICKED.found()
    if outcome.pressed:
        return PRESSED.found()
    if outcome.gone:
        return GONE.found()
    if outcome.reason is None:
        return UNTOUCHED.found(seconds=f"{outcome.seconds:.0f}")
    values = {"seconds": f"{outcome.seconds:.1f}", "reason": reason}
    if outcome.reason == 2:
        return DISMISSED.found(**values)
    return (CLOSED_EARLY if outcome.seconds < EARLY else EXPIRED).found(**values)


async def _trial(wait: float, accepted: Callable[[], object]) -> Finding:
    server = _Server(APP_NAME, APP_ID, Icon(name=APP_ID))
    try:
        async with asyncio.timeout(CALL_LIMIT):
            await server.connect()
    except (ConnectionError, TimeoutError) as error:
        return NO_BUS.found(error=str(error) or "no answer")
    try:
        return await _shown(server, wait, accepted)
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(CALL_LIMIT):
                await server.disconnect()


async def _shown(server: _Server, wait: float, accepted: Callable[[], object]) -> Finding:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    came: set[str] = set()

    def note(what: str) -> None:
        came.add(what)
        over.set()

    server.on_clicked = lambda _id: note("clicked")
    server.on_button_pressed = lambda _id, _key: note("pressed")
    server.on_closed = lambda _id: over.set()
    # The server may be started only by this.
    server.on_owner = lambda former: note("gone") if former is not None else None
    test = Notification(
        title="A test of sessionbell",
        message="Click here: the command that sent this waits for it.",
        urgency=Urgency.Normal,
        buttons=(Button(title="It works", identifier=_BUTTON),),
        thread="im.received",
        timeout=0,
        identifier="doctor",
    )
    try:
        async with asyncio.timeout(ACCEPT_LIMIT):
            await server.send(test, icon.draw(Look.BLOCKED, 0, False, _PICTURE))  # noqa: FBT003
    except TimeoutError:
        return TIMED_OUT.found(seconds=f"{ACCEPT_LIMIT:g}")
    except (DBusError, OSError, EOFError) as error:
        return REFUSED.found(error=str(error) or type(error).__name__)
    accepted()
    began = loop.time()
    with suppress(TimeoutError):
        async with asyncio.timeout(wait):
            await over.wait()
    outcome = Outcome(
        loop.time() - began,
        clicked="clicked" in came,
        pressed="pressed" in came,
        gone="gone" in came,
        reason=server.reason,
    )
    with suppress(DBusError, OSError, EOFError, TimeoutError):
        async with asyncio.timeout(CALL_LIMIT):
            await server.clear(test.identifier)
    return finding(outcome)

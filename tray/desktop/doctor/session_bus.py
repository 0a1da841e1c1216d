"""Whether there is a session bus: tray, notifications and shortcuts all go over it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.bus import connect, session_bus_address
from tray.desktop.doctor.check import CALL_LIMIT, Check
from tray.desktop.doctor.finding import Message, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

REACHED = Message("bus-reached", Status.OK, "the session bus answers at {address}")
UNREACHABLE = Message(
    "bus-unreachable",
    Status.BROKEN,
    "the session bus cannot be reached",
    "{error}",
    "no icon, no notifications and no shortcuts",
    do="log out and in; or start it by `dbus-run-session sessionbell`",
)
HANGS = Message(
    "bus-hangs",
    Status.BROKEN,
    "the session bus at {address} does not answer",
    "its program hangs",
    "no icon, no notifications and no shortcuts",
    do="log out and in",
)
NO_DESKTOP = Message(
    "bus-none-here",
    Status.NOTE,
    "there is no desktop session here, and no session bus",
    "this is a text console, a remote login or a container ({error})",
    "no icon and no notifications; the lists work",
    run="sessionbell watch --bell",
)


class Facts(msgspec.Struct, frozen=True):
    """What was found of the bus."""

    address: str | None
    error: str | None
    hangs: bool
    graphical: bool


def graphical(environ: Mapping[str, str]) -> bool:
    """Whether this is a desktop session."""
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def gather(given: Given) -> Facts:
    """Connect to the bus, and hang up."""
    address = None
    hangs = False
    error = None
    try:
        address = session_bus_address()
        asyncio.run(_try())
    except TimeoutError:
        hangs = True
    except ConnectionError as cause:
        error = str(cause)
    return Facts(address, error, hangs, graphical(given.environ))


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say whether it answers."""
    if facts.hangs:
        return (HANGS.found(address=facts.address),)
    if facts.error is None:
        return (REACHED.found(address=facts.address),)
    message = UNREACHABLE if facts.graphical else NO_DESKTOP
    return (message.found(error=facts.error),)


async def _try() -> None:
    async with asyncio.timeout(CALL_LIMIT):
        bus = await connect()
    bus.disconnect()


CHECK = Check("session-bus", "Session bus", gather, findings)

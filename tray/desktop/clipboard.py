"""Putting text on the clipboard, by whatever this desktop has for it."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

from dbus_fast import Message
from dbus_fast.errors import DBusError

from tray.desktop.bus import ask_bus, call, connect

log = logging.getLogger(__name__)

_PROGRAMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-in")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
)
"""What to run, and the variable without which it cannot work. Each stays behind to hold the
text, which it takes from its standard input."""
_LIMIT = 2.0
"""Seconds that one way may take."""


async def copy(text: str) -> bool:
    """Put `text` on the clipboard; whether that was done for sure. Never raises."""
    for variable, argv in _PROGRAMS:
        if os.environ.get(variable) and shutil.which(argv[0]) and await _feed(argv, text):
            return True
    return await _klipper(text)


async def _feed(argv: tuple[str, ...], text: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
        )
    except OSError as error:
        log.warning("%s does not start: %s", argv[0], error)
        return False
    try:
        async with asyncio.timeout(_LIMIT):
            await process.communicate(text.encode(errors="replace"))
    except TimeoutError:
        log.warning("%s hangs", argv[0])
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return process.returncode == 0


async def _klipper(text: str) -> bool:
    """Hand `text` to KDE's clipboard, if it runs."""
    name = "org.kde.klipper"
    message = Message(
        destination=name,
        path="/klipper",
        interface="org.kde.klipper.klipper",
        member="setClipboardContents",
        signature="s",
        body=[text],
    )
    bus = None
    try:
        async with asyncio.timeout(_LIMIT):
            bus = await connect()
            # Only asked where it runs: it must not be started for this.
            if not await ask_bus(bus, "NameHasOwner", name):
                return False
            await call(bus, message)
    except (OSError, EOFError, DBusError) as error:  # TimeoutError is an OSError.
        log.debug("no clipboard over the bus: %s", error)
        return False
    finally:
        if bus is not None:
            bus.disconnect()
    return True

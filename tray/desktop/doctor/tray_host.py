"""Whether a tray is there to show the icon."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from dbus_fast import Message as Call
from dbus_fast.errors import DBusError

from tray.desktop import watcher
from tray.desktop.bus import ask_bus, call
from tray.desktop.doctor import trays
from tray.desktop.doctor.ask import over_bus
from tray.desktop.doctor.check import CALL_LIMIT, Check
from tray.desktop.doctor.distribution import families, install
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.session_bus import graphical
from tray.system.processes import read_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dbus_fast.aio import MessageBus

    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

SHOWN = Message("tray-host", Status.OK, "{desktop}: {program} shows tray icons")
NO_HOST = Message(
    "tray-host-unregistered",
    Status.BROKEN,
    "{desktop}: {program} keeps a list of tray icons, and no panel shows them",
    "no tray has registered as a StatusNotifierHost",
    trays.CONSEQUENCE,
    do="add the tray (System Tray, Status Notifier) to a panel",
)
HANGS = Message(
    "tray-host-hangs",
    Status.BROKEN,
    "{desktop}: {program}, which owns the tray, does not answer",
    "it hangs",
    trays.CONSEQUENCE,
    do="restart the panel, or log out and in",
)
NO_DESKTOP = Message(
    "tray-host-none-here",
    Status.NOTE,
    "no tray: this is no desktop session",
    "neither $DISPLAY nor $WAYLAND_DISPLAY is set, and no tray is on the bus",
    trays.CONSEQUENCE,
    run="sessionbell watch --bell",
)


class Facts(msgspec.Struct, frozen=True):
    """What was found of the tray."""

    reached: bool
    """Whether a bus answers."""
    graphical: bool
    current: str = ""
    """`$XDG_CURRENT_DESKTOP`, or what else tells the desktop."""
    owned: bool = False
    program: str = ""
    """What owns the watcher's name."""
    host: bool | None = None
    """Whether a host is registered; `None`: no answer."""
    families: tuple[str, ...] = ()
    extension: str | None = None
    """An installed extension of GNOME's that shows trays."""


def gather(given: Given) -> Facts:
    """Ask the bus for the watcher, and the watcher for its host."""
    asked = over_bus(_ask)
    owned, pid, host = asked or (False, None, None)
    owner = read_process(pid, given.proc) if pid is not None else None
    return Facts(
        reached=asked is not None,
        graphical=graphical(given.environ),
        current=current_desktop(given.environ),
        owned=owned,
        program=owner.comm if owner is not None else "a program",
        host=host,
        families=families(given.system),
        extension=_extension(given),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say whether icons are shown, and what to do where not."""
    if not facts.reached:
        return ()  # told by the bus's own check
    desktop = trays.desktop_of(facts.current)
    values = {
        "desktop": _name(desktop, facts.current),
        "program": facts.program,
        "extension": facts.extension,
        "install": install(facts.families, desktop.package) if desktop.package else "",
    }
    if facts.owned:
        message = {True: SHOWN, False: NO_HOST, None: HANGS}[facts.host]
    elif not facts.graphical:
        message = NO_DESKTOP
    elif desktop.name == "GNOME" and facts.extension is not None:
        message = trays.GNOME_DISABLED
    else:
        message = desktop.missing
    return (message.found(**values),)


def current_desktop(environ: Mapping[str, str]) -> str:
    """Return what names the desktop, for `trays.desktop_of`."""
    named = environ.get("XDG_CURRENT_DESKTOP") or environ.get("XDG_SESSION_DESKTOP")
    if named:
        return named
    sockets = {
        "SWAYSOCK": "sway",
        "HYPRLAND_INSTANCE_SIGNATURE": "Hyprland",
        "NIRI_SOCKET": "niri",
        "I3SOCK": "i3",
    }
    return next((name for variable, name in sockets.items() if environ.get(variable)), "")


def _name(desktop: trays.Desktop, current: str) -> str:
    if desktop is trays.OTHER and current:
        return current.split(":")[0]
    return desktop.name


async def _ask(bus: MessageBus) -> tuple[bool, int | None, bool | None]:
    """Return whether the watcher is there, its process, and whether it has a host."""
    try:
        async with asyncio.timeout(CALL_LIMIT):
            pid = int(await ask_bus(bus, "GetConnectionUnixProcessID", watcher.NAME))
    except (DBusError, TimeoutError, OSError, EOFError):
        return False, None, None
    question = Call(
        destination=watcher.NAME,
        path=watcher.PATH,
        interface="org.freedesktop.DBus.Properties",
        member="Get",
        signature="ss",
        body=[watcher.NAME, "IsStatusNotifierHostRegistered"],
    )
    try:
        async with asyncio.timeout(CALL_LIMIT):
            (value,) = await call(bus, question)
            return True, pid, bool(value.value)
    except DBusError:
        return True, pid, True  # one that has no word for this is its own host
    except (TimeoutError, OSError, EOFError):
        return True, pid, None


def _extension(given: Given) -> str | None:
    """Return an extension of GNOME's that is installed and could show trays."""
    for folder in _data_folders(given):
        for name in trays.GNOME_EXTENSIONS:
            with suppress(OSError):
                if os.path.isdir(os.path.join(folder, "gnome-shell", "extensions", name)):
                    return name
    return None


def _data_folders(given: Given) -> Iterable[str]:
    yield given.environ.get("XDG_DATA_HOME") or os.path.join(given.home, ".local", "share")
    shared = given.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    for folder in shared.split(":"):
        yield os.path.join(given.system, folder.lstrip("/"))


CHECK = Check("tray-host", "Tray", gather, findings)

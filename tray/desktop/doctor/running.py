"""Whether the tray runs, is this very version, and is well."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from dbus_fast import Message as Call
from dbus_fast import MessageFlag
from dbus_fast.errors import DBusError

from tray import __version__
from tray.claude.files import read_small
from tray.desktop.bus import ask_bus, call
from tray.desktop.bus_object import INTERFACE, PATH
from tray.desktop.doctor.ask import over_bus
from tray.desktop.doctor.check import CALL_LIMIT, Check
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.health import Health, decode
from tray.desktop.service import NAME

if TYPE_CHECKING:
    from dbus_fast.aio import MessageBus

    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

STALLED_AFTER = 10.0
"""Seconds without a look at the sessions after which the tray's engine is taken to stand still."""

RUNS = Message("tray-runs", Status.OK, "the tray runs, process {pid}, version {version}")
WELL = Message(
    "tray-well", Status.OK, "it saw {sessions} sessions {ago} s ago; no thread was restarted"
)
NOT_RUNNING = Message(
    "tray-not-running",
    Status.NOTE,
    "the tray does not run",
    "nobody has started it, or it has ended",
    "no icon and no notifications",
    run="sessionbell run &",
)
NOT_ON_BUS = Message(
    "tray-not-on-bus",
    Status.WARNING,
    "the tray runs, process {pid}, and is not to be reached on the session bus",
    "it has another bus than this command, or another program holds its name",
    "shortcuts, widgets and `sessionbell mute` do not reach it",
    do="end it and start it anew in this session: kill {pid}; sessionbell run &",
)
HANGS = Message(
    "tray-hangs",
    Status.BROKEN,
    "the tray, process {pid}, does not answer",
    "it hangs",
    "icon and notifications stand still",
    do="end it and start it anew: kill {pid}; sessionbell run &",
)
OUTDATED = Message(
    "tray-outdated",
    Status.WARNING,
    "the tray that runs is version {version}, this command is {ours}",
    "it was upgraded since the tray was started",
    "what is new is not to be seen yet",
    do="end it and start it anew: kill {pid}; sessionbell run &",
)
STALLED = Message(
    "tray-stalled",
    Status.BROKEN,
    "the tray has not looked at the sessions for {ago} s",
    "its survey hangs, perhaps in a folder on a network",
    "what it shows is old, and nothing is told",
    do="end it and start it anew: kill {pid}; sessionbell run &",
)
RESTARTED = Message(
    "tray-threads-restarted",
    Status.WARNING,
    "worker threads of the tray died and were started again, {restarts} times so far",
    "a fault in sessionbell or in a library",
    "changes may have been noticed up to 8 s late",
    do="report it as a bug, with the end of the log file named below",
)
COMPLAINS = Message(
    "tray-complains",
    Status.WARNING,
    "the tray says: {message}",
    "the tray met it and goes on without ({code})",
    "as the message says",
    do="do what the message says; the tray notices by itself",
)


class Facts(msgspec.Struct, frozen=True):
    """What was found of the running tray."""

    holder: int | None = None
    """The process that holds the lock."""
    owner: int | None = None
    """The process that owns the name on the bus."""
    bus: bool = False
    """Whether a bus answers."""
    version: str | None = None
    hangs: bool = False
    health: Health | None = None
    """`None` also if it is too old to tell."""


def gather(given: Given) -> Facts:
    """Look at the lock, and ask the tray."""
    holder = None if given.lock_file is None else lock_holder(given.lock_file, given.proc)
    asked = over_bus(_ask)
    facts = asked if asked is not None else Facts()
    return msgspec.structs.replace(facts, holder=holder, bus=asked is not None)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say whether it runs, and how it is."""
    pid = facts.owner if facts.owner is not None else facts.holder
    if pid is None:
        return (NOT_RUNNING.found(),)
    if facts.owner is None:
        return ((NOT_ON_BUS if facts.bus else RUNS).found(pid=pid, version="unknown"),)
    if facts.hangs:
        return (HANGS.found(pid=pid),)
    version = facts.version or "unknown"
    found = [RUNS.found(pid=pid, version=version)]
    if version != __version__:
        found.append(OUTDATED.found(pid=pid, version=version, ours=__version__))
    if facts.health is not None:
        found += _of_health(facts.health, pid)
    return tuple(found)


def _of_health(health: Health, pid: int) -> list[Finding]:
    ago = health.surveyed_ago
    values = {
        "pid": pid,
        "sessions": health.sessions,
        "restarts": health.restarts,
        "ago": "no" if ago is None else f"{ago:.0f}",
    }
    stalled = ago is not None and ago > STALLED_AFTER
    found = []
    if stalled:
        found.append(STALLED.found(**values))
    if health.restarts:
        found.append(RESTARTED.found(**values))
    elif not stalled and ago is not None:
        found.append(WELL.found(**values))
    said = {problem.code: problem for problem in health.problems}
    found += [COMPLAINS.found(code=code, message=one.message) for code, one in said.items()]
    return found


def lock_holder(path: str, proc: str = "/proc") -> int | None:
    """Return the process that holds the lock, without ever taking it: a tray may just start."""
    said = read_small(path, 64)
    try:
        inode = os.stat(path).st_ino
    except OSError:
        return None
    pid = int(said) if said is not None and said.strip().isdigit() else None
    with suppress(OSError), open(os.path.join(proc, "locks"), encoding="ascii") as locks:
        for line in locks:
            # "1: FLOCK  ADVISORY  WRITE 1234 00:19:56 0 EOF": proc(5). The device is not that of
            # stat on every file system; the pid is 0 for one of another namespace.
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
                holder = int(fields[4])
                if holder > 0 and pid in (None, holder):
                    return holder
                if holder <= 0 and pid is not None:
                    return pid
    return None


async def _ask(bus: MessageBus) -> Facts:
    try:
        async with asyncio.timeout(CALL_LIMIT):
            owner = int(await ask_bus(bus, "GetConnectionUnixProcessID", NAME))
    except (DBusError, TimeoutError, OSError, EOFError):
        return Facts()
    try:
        async with asyncio.timeout(CALL_LIMIT):
            (version,) = await call(
                bus,
                _call("org.freedesktop.DBus.Properties", "Get", "ss", [INTERFACE, "Version"]),
            )
            facts = Facts(owner=owner, version=str(version.value))
            with suppress(DBusError):  # one that has no such method
                (told,) = await call(bus, _call(INTERFACE, "Health"))
                facts = msgspec.structs.replace(facts, health=decode(str(told)))
            return facts
    except TimeoutError:
        return Facts(owner=owner, hangs=True)
    except (DBusError, OSError, EOFError):
        return Facts(owner=owner)


def _call(interface: str, member: str, signature: str = "", body: list[str] | None = None) -> Call:
    return Call(
        destination=NAME,
        path=PATH,
        interface=interface,
        member=member,
        signature=signature,
        body=body or [],
        flags=MessageFlag.NO_AUTOSTART,
    )


CHECK = Check("running", "The tray program", gather, findings)

"""Whether changes of files are told at once: the kernel's limits, and a real try."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status
from tray.system.watches import FolderWatch

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding
    from tray.session import Problem

_LATE = "changes are noticed up to 2 s late"

WORKS = Message(
    "inotify",
    Status.OK,
    "a folder can be watched (limits: {watches} watches, {instances} instances)",
)
NO_WATCH = Message(
    "inotify-watches",
    Status.WARNING,
    "no inotify watch is free",
    "programs of this user have used up all {watches} (fs.inotify.max_user_watches)",
    _LATE,
    run="sudo sysctl fs.inotify.max_user_watches=524288",
)
NO_INSTANCE = Message(
    "inotify-instances",
    Status.WARNING,
    "no inotify instance is free",
    "programs of this user have used up all {instances} (fs.inotify.max_user_instances)",
    _LATE,
    run="sudo sysctl fs.inotify.max_user_instances=1024",
)
FAILS = Message(
    "inotify-fails",
    Status.WARNING,
    "{folder} cannot be watched",
    "{error}",
    _LATE,
    run="ls -ld {folder}",
)
REMOTE = Message(
    "inotify-network",
    Status.NOTE,
    "{folder} lies on {system}, where changes made elsewhere are not told",
    "inotify sees what this machine does only",
    f"of sessions on other machines, {_LATE}",
    do="nothing needs to be done; keep ~/.claude on a local disk if it matters",
)

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph"})


class Facts(msgspec.Struct, frozen=True):
    """What the kernel allows."""

    watches: int | None
    instances: int | None
    folder: str
    """What was tried to watch."""
    problem: Problem | None = None
    """What came of the try, if it failed."""
    network: str | None = None
    """The network file system that the folder lies on."""


def gather(given: Given) -> Facts:
    """Read the limits, and watch a folder for a moment."""
    _, roots = given.survey()
    folders = (os.path.join(root, "sessions") for root in roots)
    folder = next((one for one in folders if os.path.isdir(one)), given.home)
    return Facts(
        _limit(given, "max_user_watches"),
        _limit(given, "max_user_instances"),
        folder,
        _try(folder),
        _network(folder, given.proc),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say whether it can be watched."""
    values = {
        "watches": facts.watches if facts.watches is not None else "unknown",
        "instances": facts.instances if facts.instances is not None else "unknown",
        "folder": facts.folder,
        "system": facts.network,
        "error": facts.problem.message if facts.problem is not None else "",
    }
    known = {None: WORKS, NO_WATCH.code: NO_WATCH, NO_INSTANCE.code: NO_INSTANCE}
    found = [known.get(facts.problem.code if facts.problem is not None else None, FAILS)]
    if facts.network is not None:
        found.append(REMOTE)
    return tuple(message.found(**values) for message in found)


def _limit(given: Given, name: str) -> int | None:
    with (
        suppress(OSError, ValueError),
        open(os.path.join(given.proc, "sys/fs/inotify", name), encoding="ascii") as file,
    ):
        return int(file.read())
    return None


def _network(folder: str, proc: str) -> str | None:
    """Return the network file system that a folder lies on, by proc(5)'s mountinfo."""
    folder = os.path.realpath(folder)
    best, system = "", None
    with suppress(OSError), open(os.path.join(proc, "self/mountinfo"), encoding="utf-8") as mounts:
        for line in mounts:
            before, _, after = line.partition(" - ")
            point = before.split(" ")[4].encode().decode("unicode_escape")
            inside = folder == point or folder.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, system = point, after.split(" ")[0]
    return system if system in _NETWORK else None


def _try(folder: str) -> Problem | None:
    """Watch a folder for a moment, just as the tray does."""
    watch = FolderWatch(lambda: None)
    try:
        watch.watch({folder})
        return next(iter(watch.check()), None)
    finally:
        watch.stop()


CHECK = Check("inotify", "File events", gather, findings)

"""Where Claude Code keeps its files, and whether they can be read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

READ = Message("config-root", Status.OK, "{path} is read: {records} session records")
LINKED = Message(
    "config-root-linked", Status.OK, "{path} is read: {records} session records; a link to {real}"
)
NO_SESSIONS = Message(
    "config-root-without-sessions",
    Status.NOTE,
    "{path} has no folder `sessions`",
    "no Claude Code that keeps records of its sessions has run with it yet",
    "sessions of older versions are found by their processes only",
    run="claude update",
)
UNREADABLE = Message(
    "config-root-unreadable",
    Status.BROKEN,
    "{path} cannot be read",
    "{error}",
    "its sessions are not seen",
    run="ls -ld {path}",
)
NONE = Message(
    "config-root-none",
    Status.NOTE,
    "no folder of Claude Code's was found; looked for: {paths}",
    "Claude Code has not been run by this user yet, or keeps its files elsewhere",
    "there are no sessions to show",
    do="run `claude` once; set CLAUDE_CONFIG_DIR if its files are elsewhere",
)


class Root(msgspec.Struct, frozen=True):
    """One config root that is there."""

    path: str
    real: str
    records: int | None = None
    """Files in its registry; `None`: there is no such folder."""
    error: str | None = None


class Facts(msgspec.Struct, frozen=True):
    """The roots that are there, and where else was looked."""

    found: tuple[Root, ...]
    looked: tuple[str, ...]


def gather(given: Given) -> Facts:
    """Look at every root."""
    _, roots = given.survey()
    # The survey names roots by their real paths; a person knows this one by its link.
    usual = os.path.join(given.home, ".claude")
    names = {os.path.realpath(usual): usual}
    there = [root for root in roots if os.path.lexists(root)]
    return Facts(tuple(_look(names.get(root, root), root) for root in there), roots)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say what can be read."""
    if not facts.found:
        return (NONE.found(paths=", ".join(facts.looked)),)
    return tuple(_found(root) for root in facts.found)


def _found(root: Root) -> Finding:
    if root.error is not None:
        return UNREADABLE.found(path=root.path, error=root.error)
    if root.records is None:
        return NO_SESSIONS.found(path=root.path)
    linked = root.path != root.real
    return (LINKED if linked else READ).found(path=root.path, real=root.real, records=root.records)


def _look(path: str, real: str) -> Root:
    try:
        os.listdir(real)
        folder = os.path.join(real, "sessions")
        if not os.path.lexists(folder):
            return Root(path, real)
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            return Root(path, real, error=f"{folder} is no folder")
        names = os.listdir(folder)
        return Root(path, real, sum(name.endswith(".json") for name in names))
    except OSError as error:
        return Root(path, real, error=f"{error.filename}: {error.strerror}")


CHECK = Check("config-roots", "Claude Code's folders", gather, findings)

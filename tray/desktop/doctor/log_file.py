"""The log file: where it is, whether it can be written, and what it holds of late."""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from typing import TYPE_CHECKING

import msgspec

from tray.claude.files import read_small
from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

RECENT = 24 * 3600.0
"""Seconds for which a warning counts."""
_LARGEST = 16 * 1024 * 1024
_LINE = re.compile(
    rb"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} \d+ (WARNING|ERROR|CRITICAL) ", re.MULTILINE
)

EMPTY = Message("log", Status.OK, "nothing to complain of has been written to {path}")
QUIET = Message("log-quiet", Status.OK, "{path} ({size} kB) has nothing of the last 24 hours")
HOLDS = Message(
    "log-warnings",
    Status.NOTE,
    "{path} ({size} kB) has {count} warnings of the last 24 hours",
    "something did not work then; the file says what",
    "what that was is over, or among the findings here",
    run="tail -n 20 {path}",
)
UNWRITABLE = Message(
    "log-unwritable",
    Status.WARNING,
    "{path} cannot be written",
    "it or its folder belongs to somebody else, or the disk is read-only",
    "what goes wrong is not written down",
    run="ls -ld {folder} {path}",
)


class Facts(msgspec.Struct, frozen=True):
    """What was found of the log."""

    path: str
    size: int | None
    """Bytes; `None`: there is no file."""
    writable: bool
    recent: int = 0
    """Warnings and errors of the last day."""


def gather(given: Given) -> Facts:
    """Look at the file; nothing is written."""
    path = given.log_file
    data = read_small(path, _LARGEST)
    try:
        size = os.stat(path).st_size
    except OSError:
        size = None
    return Facts(path, size, _writable(path), count(data or b"", time.time() - RECENT))


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say what it holds."""
    size = -(-(facts.size or 0) // 1000)
    values = {"path": facts.path, "folder": os.path.dirname(facts.path), "size": size}
    if not facts.writable:
        return (UNWRITABLE.found(**values),)
    if not facts.size:
        return (EMPTY.found(**values),)
    return ((HOLDS if facts.recent else QUIET).found(count=facts.recent, **values),)


def count(data: bytes, since: float) -> int:
    """Return how many warnings and errors a log has from `since` on, Unix seconds."""
    found = 0
    for match in _LINE.finditer(data):
        try:
            written = dt.datetime.fromisoformat(match[1].decode()).astimezone().timestamp()
        except ValueError:
            continue
        found += written >= since
    return found


def _writable(path: str) -> bool:
    """Whether the file could be written, or be made."""
    if os.path.lexists(path):
        return os.path.isfile(path) and os.access(path, os.W_OK)
    folder = os.path.dirname(path)
    while not os.path.lexists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


CHECK = Check("log", "Log", gather, findings)

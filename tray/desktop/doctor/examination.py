"""Running all checks side by side, each within its time."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec

from tray.desktop.doctor import (
    autostart,
    config_roots,
    files,
    focus,
    inotify,
    installation,
    log_file,
    notifications,
    running,
    session_bus,
    sessions,
    terminal,
    tray_host,
)
from tray.desktop.doctor.finding import Finding, Message, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.desktop.doctor.check import Check, Given

log = logging.getLogger(__name__)

LIMIT = 4.0
"""Seconds for all checks together."""

CHECKS: tuple[Check[Any], ...] = (
    session_bus.CHECK,
    tray_host.CHECK,
    notifications.CHECK,
    running.CHECK,
    autostart.CHECK,
    config_roots.CHECK,
    sessions.CHECK,
    focus.CHECK,
    terminal.CHECK,
    inotify.CHECK,
    files.CHECK,
    log_file.CHECK,
    installation.CHECK,
)
"""In the order in which they are told."""

UNFINISHED = Message(
    "check-unfinished",
    Status.WARNING,
    "the check did not come to its end",
    "what it asked did not answer within {limit} s",
    "how this stands is not known",
    do="run `sessionbell doctor` again; if it stays so, log out and in",
)
FAILED = Message(
    "check-failed",
    Status.WARNING,
    "the check failed ({error})",
    "a fault in sessionbell, or something on this system that it does not know",
    "how this stands is not known",
    do="report it as a bug, with the end of {log}",
)


class Section(msgspec.Struct, frozen=True):
    """What one check found."""

    name: str
    title: str
    findings: tuple[Finding, ...]


def examine(
    given: Given, checks: Sequence[Check[Any]] = CHECKS, *, limit: float = LIMIT
) -> tuple[Section, ...]:
    """Run all checks; return what each found, in their order, within about `limit` seconds.

    A check that does not end is left behind on its thread, which does not outlive the process.
    """
    done: queue.SimpleQueue[tuple[str, tuple[Finding, ...]]] = queue.SimpleQueue()
    for check in checks:
        threading.Thread(
            target=lambda check=check: done.put((check.name, _run(check, given))),
            name=f"doctor-{check.name}",
            daemon=True,
        ).start()
    deadline = time.monotonic() + limit
    found: dict[str, tuple[Finding, ...]] = {}
    while len(found) < len(checks):
        try:
            name, result = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        found[name] = result
    late = (UNFINISHED.found(limit=f"{limit:g}"),)
    return tuple(Section(check.name, check.title, found.get(check.name, late)) for check in checks)


def _run(check: Check[Any], given: Given) -> tuple[Finding, ...]:
    try:
        return check.findings(check.gather(given))
    except Exception as error:
        log.exception("the check %s failed", check.name)
        return (FAILED.found(error=type(error).__name__, log=given.log_file),)

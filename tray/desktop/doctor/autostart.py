"""Whether the tray starts at login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.desktop.autostart import Start, current
from tray.desktop.autostart import Status as Entry
from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

ON = Message("autostart-on", Status.OK, "the tray starts at login ({file})")
OFF = Message(
    "autostart-off",
    Status.NOTE,
    "the tray does not start at login",
    "{reason}",
    "after the next login it must be started by hand",
    run="sessionbell autostart on",
)
BROKEN = Message(
    "autostart-broken",
    Status.BROKEN,
    "the entry for the start at login does not work ({file})",
    "{reason}",
    "the tray does not start at login",
    run="{command}",
)


def gather(given: Given) -> Entry:
    """Read the entry that decides it."""
    return current(given.environ)


def findings(facts: Entry) -> tuple[Finding, ...]:
    """Say how it stands."""
    # One that was not written here is replaced only if told twice.
    force = "" if facts.ours or facts.file is None else " --force"
    values = {
        "file": facts.file,
        "reason": facts.reason or "it was not turned on",
        "command": f"sessionbell autostart on{force}",
    }
    message = {Start.ON: ON, Start.OFF: OFF, Start.BROKEN: BROKEN}[facts.state]
    return (message.found(**values),)


CHECK = Check("autostart", "Start at login", gather, findings)

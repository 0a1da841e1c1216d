"""The settings and the mutes as they are kept."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import msgspec

from tray import configfile, mutefile
from tray.claude.files import read_small
from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status
from tray.mutes import entries

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

SETTINGS = Message("config", Status.OK, "the settings are in order ({path})")
DEFAULTS = Message("config-none", Status.OK, "there is no settings file; the defaults hold")
SETTINGS_BROKEN = Message(
    "config-broken",
    Status.BROKEN,
    "the settings cannot be used ({path})",
    "{error}",
    "the last good settings hold until the next start, then the defaults",
    run="sessionbell config check",
)
MUTES = Message("mutes", Status.OK, "{count} mutes are in force ({path})")
NO_MUTES = Message("mutes-none", Status.OK, "nothing is muted")
MUTES_BROKEN = Message(
    "mutes-broken",
    Status.WARNING,
    "{path} cannot be used",
    "it is not what sessionbell writes there, or not yours to read",
    "nothing is muted; the next mute puts the file aside and begins a new one",
    run="ls -l {path}",
)


class Facts(msgspec.Struct, frozen=True):
    """What was found of the files."""

    config_path: str
    config: bool
    """Whether there is a settings file."""
    config_error: str | None
    """What is wrong with it, with its line."""
    mutes_path: str
    mutes: int | None
    """How many are kept; `None`: the file cannot be used."""


def gather(given: Given) -> Facts:  # noqa: ARG001  (the interface of all checks)
    """Read the files."""
    config, mutes = configfile.default_path(), mutefile.default_path()
    error = None
    try:
        configfile.load(config)
    except configfile.ConfigError as wrong:
        error = str(wrong)
    return Facts(config, os.path.lexists(config), error, mutes, _mutes(mutes))


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say whether they can be used."""
    if facts.config_error is not None:
        settings = SETTINGS_BROKEN.found(path=facts.config_path, error=facts.config_error)
    else:
        settings = (SETTINGS if facts.config else DEFAULTS).found(path=facts.config_path)
    if facts.mutes is None:
        mutes = MUTES_BROKEN.found(path=facts.mutes_path)
    elif facts.mutes:
        mutes = MUTES.found(path=facts.mutes_path, count=facts.mutes)
    else:
        mutes = NO_MUTES.found()
    return settings, mutes


def _mutes(path: str) -> int | None:
    """Return how many mutes a file holds; `None` if it is broken."""
    if not os.path.lexists(path):
        return 0
    data = read_small(path, mutefile.LIMIT)
    if data is None:
        return None
    # Of a copy: whoever keeps the file puts a broken one aside, which is not for us to do.
    with tempfile.TemporaryDirectory(prefix="sessionbell-doctor-") as folder:
        copy = os.path.join(folder, "mutes.json")
        with open(copy, "wb") as file:
            file.write(data)
        kept = mutefile.MuteFile(copy)
        mutes = kept.read()
        return None if kept.problems else len(tuple(entries(mutes)))


CHECK = Check("files", "Settings and mutes", gather, findings)

"""The terminal that is opened for a session to be resumed or attached to."""

from __future__ import annotations

import shlex
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from tray import configfile
from tray.desktop.doctor.check import Check
from tray.desktop.doctor.distribution import families, install
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.session_bus import graphical
from tray.desktop.terminal import choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

OPENED = Message("terminal", Status.OK, "{program} is opened ({why})")
NONE = Message(
    "terminal-none",
    Status.WARNING,
    "there is no terminal that could be opened",
    "neither xdg-terminal-exec nor a known terminal is installed, nor does $TERMINAL name one",
    "ended sessions and background jobs cannot be opened with a click",
    run="{install}",
)
GONE = Message(
    "terminal-gone",
    Status.WARNING,
    "{why} names {program}, which is not installed",
    "the program was removed, or its name is misspelt",
    "another terminal is opened, or none is",
    do="set TERMINAL to a terminal that is there, or `terminal` in the settings",
)

_PACKAGE = {"": "xterm", "gentoo": "x11-terms/xterm"}


class Facts(msgspec.Struct, frozen=True):
    """What was found."""

    graphical: bool
    chosen: str | None = None
    """What the settings name."""
    chosen_path: str | None = None
    named: str | None = None
    """What `$TERMINAL` names."""
    named_path: str | None = None
    opened: str | None = None
    """The terminal that is opened."""
    families: tuple[str, ...] = ()


def gather(given: Given) -> Facts:
    """Look for the programs."""
    path = given.environ.get("PATH")
    named = _program(given.environ)
    setting: tuple[str, ...] = ()
    with suppress(configfile.ConfigError):  # told by the settings' own check
        setting = configfile.load().terminal
    chosen = next(iter(setting), None)
    opened = choose(setting, given.environ, lambda name: shutil.which(name, path=path))
    return Facts(
        graphical(given.environ),
        chosen,
        shutil.which(chosen, path=path) if chosen is not None else None,
        named,
        shutil.which(named, path=path) if named is not None else None,
        opened[0] if opened is not None else None,
        families(given.system),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say which is opened."""
    found = []
    if facts.chosen is not None and facts.chosen_path is None:
        found.append(GONE.found(why="the setting `terminal`", program=facts.chosen))
    if facts.named is not None and facts.named_path is None:
        found.append(GONE.found(why="$TERMINAL", program=facts.named))
    if facts.opened is None:
        if facts.graphical:
            found.append(NONE.found(install=install(facts.families, _PACKAGE)))
    elif facts.chosen is None or facts.chosen_path is not None:
        by = {facts.named: "$TERMINAL", facts.chosen: "the setting `terminal`"}
        why = by.get(facts.opened, "what this desktop has")
        found.append(OPENED.found(program=facts.opened, why=why))
    return tuple(found)


def _program(environ: Mapping[str, str]) -> str | None:
    try:
        words = shlex.split(environ.get("TERMINAL", ""))
    except ValueError:
        return None
    return words[0] if words else None


CHECK = Check("terminal", "Terminal", gather, findings)

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
    "another terminal is opened, or none",
    do="set TERMINAL to a terminal that is there, or `terminal` in the settings",
)

_PACKAGE = {"": "xterm", "gentoo": "x11-terms/xterm"}
_KNOWN = (
    "x-terminal-emulator", "kitty", "alacritty", "foot", "wezterm", "ghostty", "ptyxis",
    "gnome-terminal", "kgx", "konsole", "xfce4-terminal", "qterminal", "mate-terminal", "tilix",
    "terminator", "lxterminal", "urxvt", "st", "xterm",
)  # fmt: skip


class Facts(msgspec.Struct, frozen=True):
    """What was found."""

    graphical: bool
    chosen: str | None = None
    """What the settings name."""
    chosen_path: str | None = None
    named: str | None = None
    """What `$TERMINAL` names."""
    named_path: str | None = None
    xdg: str | None = None
    """The path of `xdg-terminal-exec`."""
    known: str | None = None
    """The first well-known terminal that is installed."""
    families: tuple[str, ...] = ()


def gather(given: Given) -> Facts:
    """Look for the programs."""
    path = given.environ.get("PATH")
    named = _program(given.environ)
    chosen = None
    with suppress(configfile.ConfigError):  # told by the settings' own check
        chosen = next(iter(configfile.load().terminal), None)
    return Facts(
        graphical(given.environ),
        chosen,
        shutil.which(chosen, path=path) if chosen is not None else None,
        named,
        shutil.which(named, path=path) if named is not None else None,
        shutil.which("xdg-terminal-exec", path=path),
        next((found for name in _KNOWN if (found := shutil.which(name, path=path))), None),
        families(given.system),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say which is opened."""
    found = []
    if facts.chosen is not None and facts.chosen_path is None:
        found.append(GONE.found(why="the setting `terminal`", program=facts.chosen))
    if facts.named is not None and facts.named_path is None:
        found.append(GONE.found(why="$TERMINAL", program=facts.named))
    chosen = (
        (facts.chosen_path, "the setting `terminal`"),
        (facts.xdg, "the desktop's default terminal"),
        (facts.named_path, "$TERMINAL"),
        (facts.known, "the first one found"),
    )
    for program, why in chosen:
        if program is not None:
            found.append(OPENED.found(program=program, why=why))
            break
    else:
        if facts.graphical:
            found.append(NONE.found(install=install(facts.families, _PACKAGE)))
    return tuple(found)


def _program(environ: Mapping[str, str]) -> str | None:
    try:
        words = shlex.split(environ.get("TERMINAL", ""))
    except ValueError:
        return None
    return words[0] if words else None


CHECK = Check("terminal", "Terminal", gather, findings)

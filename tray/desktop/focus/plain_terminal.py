"""Terminals that cannot be asked for a tab: what is known of the window that shows a tty.

Some have one tty a window, and tell each child its X11 window in `WINDOWID`. The others have
tabs, or many windows in one process: which one it is is only known while the process has no
other tty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.desktop.focus import terminal
from tray.desktop.focus.place import Seat, WindowHint
from tray.system.processes import children, environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.terminal import Held


class _Program(msgspec.Struct, frozen=True):
    app: str
    """Desktop-file or application id."""
    has_tabs: bool = False
    tells_window: bool = False
    """Whether it sets `WINDOWID` for each child; where it does not, one may be inherited."""


_PROGRAMS = {
    "alacritty": _Program("Alacritty", tells_window=True),
    "foot": _Program("foot"),
    "kgx": _Program("org.gnome.Console", has_tabs=True),
    "lxterminal": _Program("lxterminal", has_tabs=True),
    "mate-terminal": _Program("mate-terminal", has_tabs=True),
    "ptyxis-agent": _Program("org.gnome.Ptyxis", has_tabs=True),
    "qterminal": _Program("qterminal", has_tabs=True),
    "rxvt": _Program("rxvt", tells_window=True),
    "st": _Program("st", tells_window=True),
    "terminology": _Program("terminology", has_tabs=True),
    "urxvt": _Program("urxvt", tells_window=True),
    "urxvtd": _Program("urxvt", tells_window=True),
    "xfce4-terminal": _Program("xfce4-terminal", has_tabs=True),
    "xterm": _Program("XTerm", tells_window=True),
}
_AGENT_OF = {"ptyxis-agent": "ptyxis"}
"""Those whose ttys are held by a child of the process that owns the windows."""


class _Window:
    """A window, or one of the tabs or windows of a process."""

    def __init__(self, held: Held, name: str, outward: WindowHint, *, active: bool | None) -> None:
        self._held = held
        self._active = active
        self.layer = name
        self.says = f"a window of {name}" if active else f"a tab or window of {name}"
        self.outward: Seat | WindowHint | None = outward

    def active(self) -> bool | None:
        return self._active

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        terminal.check(self._held)


class _Layer:
    name = "terminal window"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Window | None:  # noqa: ARG002
        held = terminal.held(place, _PROGRAMS)
        if held is None or not isinstance(place, Seat):
            return None
        name = next(name for name in _PROGRAMS if terminal.runs(held.terminal, (name,)))
        program = _PROGRAMS[name]
        hint = replace(_owner(held, place, name), app=program.app)
        given = environment(held.shell.pid, ("WINDOWID",)).get("WINDOWID", "")
        if program.tells_window and given.isdecimal():
            return _Window(held, name, replace(hint, xid=int(given)), active=True)
        ttys = {child.tty for child in children(held.terminal.pid)} - {None}
        if len(ttys) == 1:
            return _Window(held, name, hint, active=True)
        what = "tab" if program.has_tabs else "window"
        seek = f"the {what} of {held.session.tty} in {name}"
        active = None if program.has_tabs else True
        return _Window(held, name, replace(hint, seek=seek), active=active)


def _owner(held: Held, seat: Seat, name: str) -> WindowHint:
    """Return the process that owns the windows."""
    if name not in _AGENT_OF:
        return held.window
    for process in seat.ancestors:
        if terminal.runs(process, (_AGENT_OF[name],)):
            return WindowHint(pid=process.pid, start_ticks=process.start_ticks)
    return WindowHint()


LAYER = _Layer()

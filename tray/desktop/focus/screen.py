"""GNU screen: the window that holds a session, and the terminal that shows it (screen(1), 4.9).

screen does not tell the tty of a window. What it does tell is the `WINDOW` of the process that it
started there, which is the session's ancestor and a child of the very `SCREEN` process.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.programs import output
from tray.desktop.focus.seats import WANTS, is_there, seat_at
from tray.system.processes import children, environment, is_alive, read_process
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.system.processes import Process

_TOLD = frozenset({"STY", "WINDOW", "SCREENDIR"})


class WindowSpot:
    """A window of one screen session, and the display that shows it."""

    layer = "GNU screen"

    def __init__(
        self, server: Process, sty: str, number: str, seat: Seat, desktop: Mapping[str, str]
    ) -> None:
        self._server = server
        self._sty = sty
        self._number = number
        self._seat = seat
        self._desktop = desktop
        self.says = f"window {number} of screen {one_line(sty, 60)}"
        displays = _displays(server)
        self.outward: Seat | WindowHint | None = displays[0] if displays else None
        """The seat of a client that is attached."""
        self.seek = self.says if len(displays) > 1 else None
        """With several displays nothing tells which of them shows the window."""

    @property
    def attach(self) -> tuple[str, ...]:
        """The command that shows the window in a new terminal."""
        return ("screen", "-r", self._sty, "-p", self._number)

    def active(self) -> bool | None:
        """Whether the session's window is the one on the screen of its display.

        Known only where there is no other: each question to screen (`-Q`) also shows its answer
        in the status line, before the eyes of the person.
        """
        ttys = _ttys(self._server)
        if not ttys:
            return False
        # A serial line has a window, but no process.
        windows = children(self._server.pid)
        return True if len(windows) == len(ttys) == len(_displays(self._server)) == 1 else None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        """Select the window."""
        server = self._server
        if not is_there(self._seat) or not is_alive(server.pid, server.start_ticks):
            raise FocusError(f"the session is no longer at {self._seat.process.tty}")
        # As a query it is waited for, and says nothing unless the window is shown already.
        output(("screen", "-S", self._sty, "-Q", "select", self._number), self._desktop)


class _Layer:
    name = "GNU screen"
    wants = WANTS

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> WindowSpot | None:
        if not isinstance(place, Seat):
            return None
        chain = (place.process, *place.ancestors)
        for inner, server in pairwise(chain):
            if is_server(server):
                if inner.tty != place.process.tty:
                    return None  # something between the two has a tty of its own
                told = environment(inner.pid, _TOLD)
                sty, number = told.get("STY", ""), told.get("WINDOW", "")
                # It names its own process: another's was inherited.
                if sty.partition(".")[0] != str(server.pid) or not number.isdecimal():
                    return None
                folder = {"SCREENDIR": told["SCREENDIR"]} if "SCREENDIR" in told else {}
                return WindowSpot(server, sty, number, place, {**desktop, **folder})
        return None


def is_server(process: Process) -> bool:
    """Whether a process is a screen's server, which calls itself `SCREEN`."""
    return process.comm == "screen" and bool(process.argv) and process.argv[0] == "SCREEN"


def _ttys(server: Process) -> set[str]:
    """Return the terminals of its clients, which the server opens itself."""
    ttys = set()
    try:
        for descriptor in os.listdir(f"/proc/{server.pid}/fd"):
            try:
                path = os.readlink(f"/proc/{server.pid}/fd/{descriptor}")
            except OSError:
                continue
            if path.startswith(("/dev/pts/", "/dev/tty")):
                ttys.add(path)
    except OSError:
        pass
    return ttys


def _displays(server: Process) -> list[Seat]:
    """Return the seats of the clients of `server`, the newest first; none if it is detached."""
    ttys = _ttys(server)
    found: dict[str, Process] = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdecimal()):
        process = _named(pid)
        if process is not None and process.tty in ttys and process.pid != server.pid:
            found[process.tty or ""] = process
    newest = sorted(found.values(), key=lambda process: -process.start_ticks)
    seats = (seat_at(process.pid, process.start_ticks, WANTS) for process in newest)
    return [seat for seat in seats if seat is not None]


def _named(pid: int) -> Process | None:
    """Read a process if it is called `screen`: of all others only the name is read."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            if file.read().strip() != "screen":
                return None
    except OSError:
        return None
    return read_process(pid)


LAYER = _Layer()

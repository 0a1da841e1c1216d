"""tmux: the pane that holds a tty, and the client that shows it (tmux(1), tmux >= 2.6).

A pane is found by its tty on the server that is among the session's ancestors; variables such as
`TMUX_PANE` are copied into everything that is started from a pane, and prove nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.programs import output
from tray.desktop.focus.seats import is_there, seat_at
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.system.processes import Process

_SEPARATOR = "\t"
_PANES = _SEPARATOR.join(
    (
        "#{pane_tty}", "#{pane_id}", "#{session_id}", "#{window_id}", "#{window_active}",
        "#{pane_active}", "#{pane_dead}", "#{session_name}",
    )
)  # fmt: skip
_CLIENTS = _SEPARATOR.join(
    ("#{client_name}", "#{client_pid}", "#{session_id}", "#{client_activity}",
     "#{client_control_mode}")
)  # fmt: skip


class _Pane(msgspec.Struct, frozen=True):
    """One pane as one tmux session shows it: a window may be linked into several."""

    tty: str
    pane: str
    session: str
    window: str
    window_active: bool
    pane_active: bool
    dead: bool
    session_name: str

    @property
    def active(self) -> bool:
        return self.window_active and self.pane_active


class _Client(msgspec.Struct, frozen=True):
    name: str
    pid: int
    session: str
    activity: int


class Server:
    """One tmux server, asked through its socket."""

    def __init__(self, socket: str, desktop: Mapping[str, str]) -> None:
        self.socket = socket
        self._desktop = desktop

    def ask(self, *arguments: str) -> str:
        """Run one tmux command on the server; raises `FocusError`."""
        return output(("tmux", "-S", self.socket, *arguments), self._desktop)

    def panes(self, tty: str) -> list[_Pane]:
        """Return the places where the live pane with that tty stands."""
        found = []
        for line in self.ask("list-panes", "-a", "-F", _PANES).splitlines():
            parts = line.split(_SEPARATOR, 7)
            if len(parts) == 8 and parts[0] == tty and parts[6] != "1":
                tty, pane, session, window, window_active, pane_active, dead, name = parts
                found.append(
                    _Pane(
                        tty,
                        pane,
                        session,
                        window,
                        window_active == "1",
                        pane_active == "1",
                        dead == "1",
                        name,
                    )
                )
        return found

    def clients(self) -> list[_Client]:
        """Return the clients a person may look at, the one used last first."""
        found = []
        for line in self.ask("list-clients", "-F", _CLIENTS).splitlines():
            name, pid, session, activity, control = (line.split(_SEPARATOR) + [""] * 5)[:5]
            # Since tmux 2.6 the activity may be empty for a client that was never used.
            if control != "1" and pid.isdecimal():
                found.append(
                    _Client(name, int(pid), session, int(activity) if activity.isdecimal() else 0)
                )
        return sorted(found, key=lambda client: -client.activity)


class PaneSpot:
    """A pane, and the client that shows or can show it."""

    layer = "tmux"

    def __init__(self, server: Server, seat: Seat) -> None:
        """Look where the pane is; raises `FocusError` if the server has none with that tty."""
        self._server = server
        self._seat = seat
        self._look()

    def active(self) -> bool | None:
        """Whether a client shows the pane right now, and it is the one that takes the keys."""
        try:
            self._look()
        except FocusError:
            return None
        return self._client is not None and self._shown and self._pane.active

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        """Have the client show the pane and select it."""
        if not is_there(self._seat):
            raise FocusError(f"the session is no longer at {self._seat.process.tty}")
        self._look()
        pane, client = self._pane, self._client
        if client is None:
            raise FocusError(f"tmux session {self._name} is detached")
        command = ["select-window", "-t", f"{pane.session}:{pane.window}"]
        command += [";", "select-pane", "-t", pane.pane]
        if not self._shown:
            command += [";", "switch-client", "-c", client.name, "-t", pane.session]
        self._server.ask(*command)

    @property
    def attach(self) -> tuple[str, ...]:
        """The command that shows the pane in a new terminal."""
        pane = self._pane
        select = ("select-window", "-t", f"{pane.session}:{pane.window}", ";")
        return ("tmux", "-S", self._server.socket, *select, "select-pane", "-t", pane.pane, ";",
                "attach-session", "-t", pane.session)  # fmt: skip

    def _look(self) -> None:
        tty = self._seat.process.tty
        panes = self._server.panes(tty) if tty is not None else []
        if not panes:
            raise FocusError(f"no tmux pane holds {tty} any more")
        clients = self._server.clients()
        by_session = {pane.session: pane for pane in panes}
        showing = [client for client in clients if client.session in by_session]
        # One that looks at the pane already, else one on its session, else the one used last.
        showing.sort(key=lambda client: not by_session[client.session].active)
        self._shown = bool(showing)
        self._client = showing[0] if showing else clients[0] if clients else None
        self._pane = by_session[showing[0].session] if showing else panes[0]
        self._name = one_line(self._pane.session_name, 40)
        self.says = f"tmux pane {self._pane.pane} of session {self._name}"
        self.outward: Seat | WindowHint | None = (
            seat_at(self._client.pid, None, WANTS) if self._client is not None else None
        )


WANTS = frozenset({"TMUX"})


class _Layer:
    name = "tmux"
    wants = WANTS

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> PaneSpot | None:
        if not isinstance(place, Seat):
            return None
        server = next((one for one in place.ancestors if is_server(one)), None)
        if server is None:
            return None
        return PaneSpot(Server(_socket(server, place, desktop), desktop), place)


def is_server(process: Process) -> bool:
    """Whether a process is a tmux server: it calls itself `tmux: server`."""
    return process.comm == "tmux: server" or (
        os.path.basename(process.exe or "") == "tmux" and process.tty is None
    )


def _socket(server: Process, seat: Seat, desktop: Mapping[str, str]) -> str:
    """Return the socket of a server, which it was told or has told the processes in its panes."""
    path, _, rest = seat.environ.get("TMUX", "").partition(",")
    if rest.partition(",")[0] == str(server.pid) and os.path.isabs(path):
        return path
    folder = os.path.join(desktop.get("TMUX_TMPDIR") or "/tmp", f"tmux-{os.getuid()}")  # noqa: S108 - tmux's
    # The server keeps the command line of the client that started it.
    for option, value in zip(server.argv, server.argv[1:], strict=False):
        if option == "-S":
            return value
        if option == "-L":
            return os.path.join(folder, value)
    return os.path.join(folder, "default")


LAYER = _Layer()

"""tmux: the pane that holds a tty, and the client that shows it (tmux(1), tmux >= 2.6).

A pane is found by its tty on the server that is among the session's ancestors; variables such as
`TMUX_PANE` are copied into everything that is started from a pane, and prove nothing.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.programs import output
from tray.desktop.focus.seats import WANTS, is_there, seat_at
from tray.system.processes import environment
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.system.processes import Process

# No control character: tmux prints an underscore for it where the locale is not UTF-8.
_SEPARATOR = " "
_PANE = ("P", "#{pane_tty}", "#{pane_id}", "#{session_id}", "#{window_id}", "#{window_active}",
         "#{pane_active}", "#{pane_dead}", "#{session_name}")  # fmt: skip
_CLIENT = ("C", "#{client_pid}", "#{session_id}", "#{client_activity}", "#{client_control_mode}",
           "#{client_flags}", "#{client_name}")  # fmt: skip
_OWN_PANE = "active-pane"
"""The flag of a client that has an active pane of its own, which no format tells (tmux 3.2)."""
_MOST = 4
"""Clients that are looked at, at most."""


class _Pane(msgspec.Struct, frozen=True):
    """One pane as one tmux session shows it: a window may be linked into several."""

    pane: str
    session: str
    window: str
    active: bool
    """Whether it takes the keys of a client on that session."""
    session_name: str


class _Client(msgspec.Struct, frozen=True):
    name: str
    pid: int
    session: str
    activity: int
    own_pane: bool


class _View(msgspec.Struct, frozen=True):
    """One pane and who may look at it."""

    panes: dict[str, _Pane]
    """By the session that shows it."""
    clients: tuple[_Client, ...]
    """The likeliest first: one that looks at the pane, one on its session, the one used last."""


class Server:
    """One tmux server, asked through its socket."""

    def __init__(self, socket: str, desktop: Mapping[str, str]) -> None:
        self.socket = socket
        self._desktop = desktop

    def ask(self, *arguments: str) -> str:
        """Run tmux commands on the server; raises `FocusError`."""
        return output(("tmux", "-u", "-S", self.socket, *arguments), self._desktop)

    def view(self, tty: str) -> _View:
        """Look for the live pane with that tty, and for all clients a person may look at."""
        said = self.ask(
            "list-panes", "-a", "-F", _SEPARATOR.join(_PANE),
            ";", "list-clients", "-F", _SEPARATOR.join(_CLIENT),
        )  # fmt: skip
        panes: dict[str, _Pane] = {}
        clients: list[_Client] = []
        for line in said.split("\n"):
            what, _, rest = line.partition(_SEPARATOR)
            if what == "P" and (pane := _pane(rest, tty)) is not None:
                panes[pane.session] = pane
            elif what == "C" and (client := _client(rest)) is not None:
                clients.append(client)

        def rank(client: _Client) -> tuple[bool, bool, int]:
            pane = panes.get(client.session)
            return pane is None or not pane.active, pane is None, -client.activity

        return _View(panes, tuple(sorted(clients, key=rank)))


def _pane(line: str, tty: str) -> _Pane | None:
    parts = line.split(_SEPARATOR, len(_PANE) - 2)
    if len(parts) != len(_PANE) - 1 or parts[0] != tty:
        return None
    _, pane, session, window, window_active, pane_active, dead, name = parts
    if dead == "1":
        return None
    return _Pane(pane, session, window, window_active == pane_active == "1", name)


def _client(line: str) -> _Client | None:
    parts = line.split(_SEPARATOR, len(_CLIENT) - 2)
    if len(parts) != len(_CLIENT) - 1 or not parts[0].isdecimal() or parts[3] == "1":
        return None
    pid, session, activity, _, flags, name = parts
    # The activity may be empty for a client that was never used.
    used = int(activity) if activity.isdecimal() else 0
    return _Client(name, int(pid), session, used, _OWN_PANE in flags.split(","))


class PaneSpot:
    """A pane, and one client that shows or can show it."""

    layer = "tmux"

    def __init__(
        self,
        server: Server,
        seat: Seat,
        pane: _Pane,
        client: _Client | None,
        others: tuple[PaneSpot, ...],
    ) -> None:
        self._server = server
        self._seat = seat
        self._pane = pane
        self._client = client
        self.others = others
        """The same pane by the other clients."""
        self.name = one_line(pane.session_name, 40)
        self.says = f"tmux pane {pane.pane} of session {self.name}"
        self.outward: Seat | WindowHint | None = (
            seat_at(client.pid, None, WANTS) if client is not None else None
        )

    def active(self) -> bool | None:
        """Whether this client shows the pane right now, and it is the one that takes the keys."""
        if self._client is None:
            return False
        try:
            view = self._look()
        except FocusError:
            return None
        client = self._same(view)
        if client is None:
            return None
        pane = view.panes.get(client.session)
        if pane is None:
            return False
        return None if client.own_pane else pane.active

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        """Have the client show the pane and select it."""
        if not is_there(self._seat):
            raise FocusError(f"the session is no longer at {self._seat.process.tty}")
        view = self._look()
        client = self._same(view)
        if client is None:
            raise FocusError(f"the client that showed tmux session {self.name} has left")
        pane = view.panes.get(client.session)
        switch: tuple[str, ...] = ()
        if pane is None:
            pane = next(iter(view.panes.values()))
            switch = (";", "switch-client", "-c", client.name, "-t", pane.session)
        self._server.ask(*_select(pane), *switch)

    @property
    def attach(self) -> tuple[str, ...]:
        """The command that shows the pane in a new terminal."""
        return ("tmux", "-S", self._server.socket, *_select(self._pane), ";",
                "attach-session", "-t", self._pane.session)  # fmt: skip

    def _look(self) -> _View:
        view = self._server.view(self._seat.process.tty or "")
        if not view.panes:
            raise FocusError(f"no tmux pane holds {self._seat.process.tty} any more")
        return view

    def _same(self, view: _View) -> _Client | None:
        """Return the client as it is now: the window that was found is that one's."""
        own = self._client
        return next((one for one in view.clients if own and one.pid == own.pid), None)


def _select(pane: _Pane) -> tuple[str, ...]:
    window = f"{pane.session}:{pane.window}"
    return ("select-window", "-t", window, ";", "select-pane", "-t", pane.pane)


class _Layer:
    name = "tmux"
    wants = WANTS

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> PaneSpot | None:
        if not isinstance(place, Seat) or place.process.tty is None:
            return None
        chain = (place.process, *place.ancestors)
        for inner, process in pairwise(chain):
            if is_server(process):
                server = Server(_socket(process, inner, desktop), desktop)
                return _spot(server, place, place.process.tty)
        return None


def _spot(server: Server, seat: Seat, tty: str) -> PaneSpot:
    view = server.view(tty)
    if not view.panes:
        raise FocusError(f"no tmux pane holds {tty}")
    first = next(iter(view.panes.values()))
    if not view.clients:
        return PaneSpot(server, seat, first, None, ())
    spots: tuple[PaneSpot, ...] = ()
    for client in reversed(view.clients[:_MOST]):
        spots = (
            PaneSpot(server, seat, view.panes.get(client.session, first), client, spots),
            *spots,
        )
    return spots[0]


def is_server(process: Process) -> bool:
    """Whether a process is a tmux server: it calls itself `tmux: server`."""
    return process.comm == "tmux: server" or (
        os.path.basename(process.exe or "") == "tmux" and process.tty is None
    )


def _socket(server: Process, inner: Process, desktop: Mapping[str, str]) -> str:
    """Return the socket of a server, which it tells `inner`, the process it started in the pane."""
    path, _, rest = (
        environment(inner.pid, ("TMUX",)).get("TMUX", "").rpartition(",")[0].rpartition(",")
    )
    if rest == str(server.pid) and os.path.isabs(path):
        return path
    given = environment(server.pid, ("TMUX_TMPDIR",)).get("TMUX_TMPDIR")
    base = given or desktop.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108 - tmux's own
    folder = os.path.join(base, f"tmux-{os.getuid()}")
    # The server keeps the command line of the client that started it.
    for option, value in zip(server.argv, server.argv[1:], strict=False):
        if option == "-S":
            return value
        if option == "-L":
            return os.path.join(folder, value)
    return os.path.join(folder, "default")


LAYER = _Layer()

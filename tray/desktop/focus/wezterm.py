"""WezTerm, by its command line `wezterm cli` (wezterm.org/cli/cli).

`list` tells each pane's tty, `activate-pane` selects a pane and its tab, `list-clients` which
pane has the focus and, where a multiplexer server holds the panes, which process shows them.
None of them tells the window's id in the window system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from tray.desktop.focus import terminal
from tray.desktop.focus.place import CALL_LIMIT, FocusError, Seat, WindowHint
from tray.system.processes import environment, read_process
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.terminal import Held

T = TypeVar("T")

_APP = "org.wezfurlong.wezterm"
_SERVER = "wezterm-mux-server"
_SOCKET = "WEZTERM_UNIX_SOCKET"


class _Pane(msgspec.Struct):
    """A row of `list`."""

    pane_id: int
    tab_id: int
    window_id: int
    title: str = ""
    tty_name: str | None = None


class _Client(msgspec.Struct):
    """A row of `list-clients`."""

    pid: int
    focused_pane_id: int | None = None


class _Command:
    """`wezterm cli` of the very WezTerm that holds a session."""

    def __init__(self, held: Held, desktop: Mapping[str, str]) -> None:
        beside = os.path.join(os.path.dirname(held.terminal.exe or ""), "wezterm")
        found = (
            beside
            if os.access(beside, os.X_OK)
            else shutil.which("wezterm", path=desktop.get("PATH"))
        )
        if found is None:
            raise FocusError("the program wezterm is not in PATH")
        self._program = found
        self._environment = {**desktop, **environment(held.shell.pid, (_SOCKET,))}
        self._environment.setdefault("PATH", os.defpath)

    def run(self, *arguments: str) -> bytes:
        """Run a sub-command and return what it prints; raises `FocusError`."""
        argv = [self._program, "cli", "--no-auto-start", *arguments]
        try:
            done = subprocess.run(
                argv,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CALL_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise FocusError(f"WezTerm does not answer within {CALL_LIMIT:g} s") from error
        except OSError as error:
            raise FocusError(f"wezterm cannot be run: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise FocusError(one_line(f"wezterm cli {arguments[0]}: {said or done.returncode}"))
        return done.stdout

    def rows(self, what: str, kind: type[T]) -> list[T]:
        """Return the rows of `list` or `list-clients`."""
        try:
            return msgspec.json.decode(self.run(what, "--format", "json"), type=list[kind])  # type: ignore[valid-type]
        except msgspec.DecodeError as error:
            raise FocusError(f"wezterm cli {what} prints what cannot be read") from error

    def pane(self, tty: str | None) -> tuple[_Pane, bool]:
        """Return the pane with that tty, and whether there are other windows than its own."""
        panes = self.rows("list", _Pane)
        for pane in panes:
            if pane.tty_name == tty:
                return pane, any(other.window_id != pane.window_id for other in panes)
        raise FocusError(f"WezTerm has no pane with {tty}")


class _Spot:
    """A pane of WezTerm."""

    layer = "WezTerm"

    def __init__(self, held: Held, command: _Command) -> None:
        self._held = held
        self._command = command
        pane, self._has_other_windows = command.pane(held.session.tty)
        self._id, self._window = pane.pane_id, pane.window_id
        self._title = one_line(pane.title, 60)
        self.says = f"WezTerm pane {pane.pane_id} in tab {pane.tab_id}"
        self.outward: Seat | WindowHint | None = self._hint()

    def active(self) -> bool | None:
        try:
            focused = {
                client.focused_pane_id for client in self._command.rows("list-clients", _Client)
            }
            if self._id in focused:
                return True
            panes = self._command.rows("list", _Pane)
        except FocusError:
            return None
        # Of a window that has not the focus it is not told which tab it shows.
        in_window = {pane.pane_id for pane in panes if pane.window_id == self._window}
        return False if focused & in_window else None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        pane, self._has_other_windows = self._command.pane(self._held.session.tty)
        if pane.pane_id != self._id:
            raise FocusError(f"{self.says} is no longer the session's")
        terminal.check(self._held)
        self._command.run("activate-pane", "--pane-id", str(self._id))
        self.outward = self._hint()

    def _hint(self) -> WindowHint:
        hint = replace(self._held.window, app=_APP)
        if terminal.runs(self._held.terminal, (_SERVER,)):
            # The window belongs to a client of the server.
            clients = self._command.rows("list-clients", _Client)
            shown_by = read_process(clients[0].pid) if len(clients) == 1 else None
            if shown_by is None:
                return WindowHint(app=_APP, seek=self._seek())
            hint = replace(hint, pid=shown_by.pid, start_ticks=shown_by.start_ticks)
        return replace(hint, seek=self._seek() if self._has_other_windows else None)

    def _seek(self) -> str:
        return f'the window of WezTerm with "{self._title}"'


class _Layer:
    name = "WezTerm"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        held = terminal.held(place, ("wezterm-gui", "wezterm", _SERVER))
        return _Spot(held, _Command(held, desktop)) if held is not None else None


LAYER = _Layer()

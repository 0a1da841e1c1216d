"""kitty, by its remote control protocol (sw.kovidgoyal.net/kitty/rc_protocol).

It listens where the person's kitty.conf lets it: `listen_on` gives each tab `KITTY_LISTEN_ON`.
Spoken here directly, as starting `kitten @` would take longer than the whole way to the window.
Where remote control is off, the window is all that is known.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tray.desktop.focus import terminal
from tray.desktop.focus.place import CALL_LIMIT, FocusError, Seat, WindowHint
from tray.system.processes import environment
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.terminal import Held

_BEGIN, _END = b"\x1bP@kitty-cmd", b"\x1b\\"
_VERSION = (0, 20, 0)
"""The protocol's, by the kitty that had all that is asked here; kitty refuses newer than itself."""
_REPLY_LIMIT = 8 * 1024 * 1024
"""Bytes; kitty lists each window's environment."""
_ADVICE = (
    'kitty can select the tab if kitty.conf has "allow_remote_control socket-only" '
    'and "listen_on unix:@kitty"'
)


class _Window(msgspec.Struct):
    """A pane, which kitty calls a window. Renamed after 0.26: `is_active_window`."""

    id: int
    pid: int
    title: str = ""
    is_active: bool | None = None
    is_active_window: bool | None = None

    @property
    def selected(self) -> bool | None:
        return self.is_active if self.is_active is not None else self.is_active_window


class _Tab(msgspec.Struct):
    id: int
    windows: list[_Window]
    is_active: bool | None = None
    is_active_tab: bool | None = None

    @property
    def selected(self) -> bool | None:
        return self.is_active if self.is_active is not None else self.is_active_tab


class _OsWindow(msgspec.Struct):
    """A window of the window system."""

    id: int
    tabs: list[_Tab]
    platform_window_id: int | None = None


class _Reply(msgspec.Struct):
    ok: bool
    data: Any = None
    error: str = ""


class _RefusedError(FocusError):
    """kitty answers, but does not let itself be controlled."""


class _Found(msgspec.Struct, frozen=True):
    """A session's pane, in its tab and window."""

    window: _Window
    tab: _Tab
    os_window: _OsWindow


class _Pane:
    """A pane of kitty that is known by its process."""

    layer = "kitty"

    def __init__(self, held: Held, listens_at: str, found: _Found) -> None:
        self._held = held
        self._listens_at = listens_at
        self._id = found.window.id
        self.says = f"kitty window {found.window.id} in tab {found.tab.id}"
        self.outward: Seat | WindowHint | None = _hint(held, found)

    def active(self) -> bool | None:
        try:
            found = _find(self._listens_at, self._held.shell.pid)
        except FocusError:
            return None
        selected = (found.window.selected, found.tab.selected) if found else ()
        return None if None in selected or not selected else all(selected)

    def show(self, token: str | None = None) -> None:  # noqa: ARG002  (kitty takes none)
        found = _find(self._listens_at, self._held.shell.pid)
        if found is None or found.window.id != self._id:
            raise FocusError(f"{self.says} is no longer the session's")
        terminal.check(self._held)
        _call(self._listens_at, "focus-window", {"match": f"id:{self._id}"})
        shown = _find(self._listens_at, self._held.shell.pid)
        if shown is None or not shown.window.selected or not shown.tab.selected:
            raise FocusError(f"{self.says} could not be selected")
        self.outward = _hint(self._held, shown)


class _Unknown:
    """Some tab of a kitty that does not let itself be controlled."""

    layer = "kitty"

    def __init__(self, held: Held, xid: int | None) -> None:
        self._held = held
        self.says = f"a tab of kitty; {_ADVICE}"
        tab = f"the tab of {held.session.tty} in kitty; {_ADVICE}"
        self.outward: Seat | WindowHint | None = replace(
            held.window, xid=xid, app="kitty", seek=tab
        )

    def active(self) -> bool | None:
        return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        terminal.check(self._held)


class _Layer:
    name = "kitty"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Pane | _Unknown | None:  # noqa: ARG002  (kitty is not asked by way of the desktop)
        held = terminal.held(place, ("kitty",))
        if held is None:
            return None
        given = environment(held.shell.pid, ("KITTY_LISTEN_ON", "WINDOWID"))
        listens_at, xid = given.get("KITTY_LISTEN_ON"), given.get("WINDOWID", "")
        unknown = _Unknown(held, int(xid) if xid.isdecimal() else None)
        if not listens_at:
            return unknown
        try:
            found = _find(listens_at, held.shell.pid)
        except _RefusedError:
            return unknown
        if found is None:
            raise FocusError(f"kitty has no window with {held.session.tty}")
        return _Pane(held, listens_at, found)


def _find(listens_at: str, shell_pid: int) -> _Found | None:
    """Return the pane whose process that is; raises `FocusError`."""
    data = _call(listens_at, "ls", {})
    try:
        os_windows = msgspec.json.decode(data, type=list[_OsWindow])
    except (TypeError, msgspec.DecodeError) as error:
        raise FocusError(f"kitty's list of windows cannot be read: {error}") from error
    for os_window in os_windows:
        for tab in os_window.tabs:
            for window in tab.windows:
                if window.pid == shell_pid:
                    return _Found(window, tab, os_window)
    return None


def _hint(held: Held, found: _Found) -> WindowHint:
    title = one_line(found.window.title) if found.window.selected and found.tab.selected else None
    xid = found.os_window.platform_window_id or None
    return replace(held.window, xid=xid, title=title, app="kitty")


def _call(listens_at: str, command: str, payload: dict[str, Any]) -> Any:  # noqa: ANN401  (as each command's own)
    """Send one command to a kitty and return its data; raises `FocusError`."""
    request = {"cmd": command, "version": _VERSION, "no_response": False, "payload": payload}
    try:
        answer = _exchange(listens_at, _BEGIN + msgspec.json.encode(request) + _END)
    except TimeoutError as error:
        raise FocusError(f"kitty does not answer within {CALL_LIMIT:g} s") from error
    except (OSError, ValueError) as error:
        raise FocusError(f"kitty is not reachable at {one_line(listens_at)}: {error}") from error
    if not answer:
        # It hangs up on whoever it does not take commands from.
        raise _RefusedError(f"kitty refuses remote control: {_ADVICE}")
    try:
        reply = msgspec.json.decode(answer.removeprefix(_BEGIN), type=_Reply)
    except msgspec.DecodeError as error:
        raise FocusError(f"kitty's answer cannot be read: {error}") from error
    if reply.ok:
        return reply.data
    if command == "ls":
        raise _RefusedError(f"kitty refuses: {one_line(reply.error)}")
    raise FocusError(f"kitty: {one_line(reply.error)}")


def _exchange(listens_at: str, request: bytes) -> bytes:
    """Send bytes to where a kitty listens and return its answer, without the end mark."""
    deadline = time.monotonic() + CALL_LIMIT
    with _connect(listens_at) as connection:
        connection.sendall(request)
        answer = bytearray()
        while not answer.endswith(_END):
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            piece = connection.recv(65536)
            answer += piece
            if not piece or len(answer) > _REPLY_LIMIT:
                return b""
        return bytes(answer.removesuffix(_END))


def _connect(listens_at: str) -> socket.socket:
    kind, _, where = listens_at.partition(":")
    if kind == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(CALL_LIMIT)
        try:
            connection.connect("\0" + where[1:] if where.startswith("@") else where)
        except BaseException:
            connection.close()
            raise
        return connection
    if kind == "tcp":
        host, _, port = where.rpartition(":")
        if host not in ("localhost", "127.0.0.1", "[::1]", "::1"):
            raise ValueError("it is on another machine")
        return socket.create_connection((host.strip("[]"), int(port)), CALL_LIMIT)
    raise ValueError("that kind of address is unknown")


LAYER = _Layer()

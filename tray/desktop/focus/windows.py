"""What the Wayland window systems' back ends share: which window is meant, and asking a socket."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.place import CALL_LIMIT, FocusError
from tray.system.processes import is_alive
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tray.desktop.focus.place import Seat, WindowHint

_PATIENCE = 0.5
"""Seconds for a window system to give a window the focus once it has been asked."""
_REPLY_LIMIT = 64 * 1024 * 1024
"""Bytes of a reply read at most."""


class Window(msgspec.Struct, frozen=True):
    """A window as its window system tells it."""

    id: str
    """By what the window system knows it."""
    pid: int | None
    title: str
    xid: int | None = None
    """The X11 window, if it is one (through XWayland)."""
    focused: bool = False
    where: str = ""
    """The workspace, for people; empty where it is not told."""

    @property
    def says(self) -> str:
        """The window in words."""
        where = f" on workspace {one_line(self.where, 30)}" if self.where else ""
        return f'the window "{one_line(self.title, 60)}"{where}'


class WindowSpot:
    """A window of a window system that is asked over a socket; each says how it is asked."""

    outward: Seat | WindowHint | None = None

    def __init__(self, layer: str, path: str, window: Window, hint: WindowHint) -> None:
        """Take the window that `hint` meant, of the window system at the socket `path`."""
        self.layer = layer
        self._path = path
        self._window = window
        self._hint = hint
        self.says = window.says

    def windows(self) -> list[Window]:
        """Return all windows as they are now; raises `FocusError`."""
        raise NotImplementedError

    def focus(self) -> None:
        """Ask for the focus, wherever the window is; raises `FocusError`."""
        raise NotImplementedError

    def has_focus(self) -> bool:
        """Whether the window has the focus; raises `FocusError`."""
        return any(one.focused and one.id == self._window.id for one in self.windows())

    def active(self) -> bool | None:
        """Whether the window has the focus; `None` where nobody answers."""
        try:
            return self.has_focus()
        except FocusError:
            return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002  (the person's own wish needs none)
        """Focus the window, and wait until it has the focus: an answer may come before that."""
        check(self._hint)
        still_there(self._window, self.windows())
        self.focus()
        await_focus(self.has_focus, self.layer)


def choose(hint: WindowHint, windows: Iterable[Window]) -> Window | None:
    """Return which of `windows` is meant; `None` if that is not certain. Pure.

    A window of another process is never meant. Of several of one process it is the one whose
    X11 window or whose title is told, if only one has it.
    """
    every = list(windows)
    if hint.xid is not None:
        found = [one for one in every if one.xid == hint.xid and one.pid in (None, hint.pid)]
        if len(found) == 1:
            return found[0]
    own = [one for one in every if hint.pid is not None and one.pid == hint.pid]
    if len(own) > 1 and hint.title is not None:
        # Terminals' back ends clean what they tell.
        own = [one for one in own if one_line(one.title) == one_line(hint.title)]
    return own[0] if len(own) == 1 else None


def check(hint: WindowHint) -> None:
    """Raise `FocusError` unless the process that owns the window still runs."""
    if hint.pid is None or hint.start_ticks is None:
        return
    if not is_alive(hint.pid, hint.start_ticks):
        raise FocusError("the program that owns the window has ended")


def still_there(chosen: Window, windows: Iterable[Window]) -> None:
    """Raise `FocusError` unless one of `windows` is the chosen one, of the same process."""
    for one in windows:
        if (one.id, one.pid) == (chosen.id, chosen.pid):
            return
    raise FocusError("the window is gone")


def await_focus(has_focus: Callable[[], bool], system: str) -> None:
    """Wait until the window has the focus; raises `FocusError` if it does not get it."""
    deadline = time.monotonic() + _PATIENCE
    while not has_focus():
        if time.monotonic() > deadline:
            raise FocusError(f"{system} does not give the window the focus")
        time.sleep(0.005)


@contextmanager
def connected(path: str, system: str) -> Iterator[socket.socket]:
    """Connect to a window system's socket; what fails with it is a `FocusError`."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(CALL_LIMIT)
            connection.connect(path)
            yield connection
    except TimeoutError:
        raise FocusError(f"{system} does not answer") from None
    except OSError as error:
        raise FocusError(f"{system} cannot be reached at {path} ({error.strerror})") from None


def receive(connection: socket.socket, size: int, system: str) -> bytes:
    """Return exactly `size` bytes; raises `FocusError` if there are fewer."""
    if size > _REPLY_LIMIT:
        raise FocusError(f"{system} answers something else than expected")
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise FocusError(f"{system} ends in the middle of an answer")
        data += part
    return bytes(data)


def receive_all(connection: socket.socket, system: str) -> bytes:
    """Return all bytes up to the end of the connection."""
    data = bytearray()
    while part := connection.recv(65536):
        data += part
        if len(data) > _REPLY_LIMIT:
            raise FocusError(f"{system} answers something else than expected")
    return bytes(data)

"""X11: a program's window, raised and focused with EWMH (Extended Window Manager Hints 1.5)."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from Xlib import X, Xatom
from Xlib.protocol import event

from tray.desktop.focus import x11_server
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import is_alive
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

_PAGER = 2
"""Source indication of `_NET_ACTIVE_WINDOW`: the person's own wish, not an application's."""
_EVERY_DESKTOP = 0xFFFFFFFF
_ASK_AGAIN = 0.15
"""Seconds after which it is asked once more."""
_PATIENCE = 1.0
"""Seconds for the window manager to give the window the focus."""
_Window = Any
"""python-xlib's `Window`; it has no types."""


class Window(NamedTuple):
    """A window, as it describes itself."""

    id: int
    pid: int | None
    title: str
    machine: str | None = None
    """The host of its program, as that calls itself; `None` if it does not tell."""


class Screen:
    """What we ask of an X server."""

    def __init__(self, display: Any) -> None:  # noqa: ANN401 - python-xlib has no types
        """Ask through python-xlib's `display`."""
        self._display = display
        self._root = display.screen().root

    def windows(self) -> list[int]:
        """Return the windows that the window manager manages."""
        return list(self._get(self._root, "_NET_CLIENT_LIST"))

    def pid(self, window: int) -> int | None:
        """Return the process that says it owns a window."""
        found = self._get(self._window(window), "_NET_WM_PID")
        return found[0] if found else None

    def machine(self, window: int) -> str | None:
        """Return the host of the program that owns a window; `None` if that is not told."""
        found = self._get(self._window(window), "WM_CLIENT_MACHINE")
        return _text(found) or None

    def title(self, window: int) -> str:
        """Return a window's title, for people."""
        found = self._get(self._window(window), "_NET_WM_NAME")
        if not found:
            found = self._get(self._window(window), "WM_NAME")
        return _text(found)

    def describe(self, window: int) -> Window:
        """Return what a window tells of itself."""
        return Window(window, self.pid(window), self.title(window), self.machine(window))

    @property
    def focused(self) -> int | None:
        """The window that has the keyboard's focus."""
        found = self._get(self._root, "_NET_ACTIVE_WINDOW")
        return found[0] if found and found[0] else None

    def activate(self, window: int) -> None:
        """Raise a window and give it the focus, wherever it is; raises `FocusError`."""
        if not self._get(self._root, "_NET_SUPPORTED"):
            self._take(window)
            return
        self._request(window)
        asked = time.monotonic()
        deadline = asked + _PATIENCE
        while self.focused != window:
            now = time.monotonic()
            if now > deadline:
                raise FocusError("the window manager does not give the window the focus")
            # Some choose a window themselves after a change of workspace: then once more.
            if now - asked > _ASK_AGAIN:
                self._request(window)
                asked = now
            time.sleep(0.002)

    def _request(self, window: int) -> None:
        """Ask the window manager for a window, and for its workspace first."""
        desktop = self._get(self._window(window), "_NET_WM_DESKTOP")
        current = self._get(self._root, "_NET_CURRENT_DESKTOP")
        now = self._server_time()
        if desktop and current and desktop[0] not in (_EVERY_DESKTOP, current[0]):
            # Some window managers bring the window to the person instead, or do nothing.
            self._ask(self._root, "_NET_CURRENT_DESKTOP", (desktop[0], now, 0, 0, 0))
        before = self.focused or 0
        self._ask(self._window(window), "_NET_ACTIVE_WINDOW", (_PAGER, now, before, 0, 0))

    def _take(self, window: int) -> None:
        """Do without a window manager's help."""
        found = self._window(window)
        found.map()
        found.raise_window()
        self._display.set_input_focus(found, X.RevertToParent, X.CurrentTime)
        self._display.sync()

    def _server_time(self) -> int:
        """Return the server's time: a request without one may be taken for an old one."""
        probe = self._root.create_window(
            -10, -10, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask
        )
        probe.change_property(Xatom.WM_NAME, Xatom.STRING, 8, b"")
        try:
            while True:
                found: Any = self._display.next_event()
                if found.type == X.PropertyNotify and found.window == probe:
                    return int(found.time)
        finally:
            probe.destroy()

    def _ask(self, window: _Window, message: str, data: tuple[int, ...]) -> None:
        atom = self._display.intern_atom(message)
        asked = event.ClientMessage(window=window, client_type=atom, data=(32, list(data)))
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(asked, event_mask=mask)
        self._display.flush()

    def _window(self, window: int) -> _Window:
        return self._display.create_resource_object("window", window)

    def _get(self, window: _Window, name: str) -> Any:  # noqa: ANN401 - of any type
        found = window.get_full_property(self._display.intern_atom(name), X.AnyPropertyType)
        return found.value if found is not None else ()


class WindowSpot:
    """One window of a program."""

    layer = "X11"
    outward: Seat | WindowHint | None = None

    def __init__(self, name: str, window: int, hint: WindowHint, says: str) -> None:
        self._name = name
        self.window = window
        self._hint = hint
        self.says = says

    def active(self) -> bool | None:
        """Whether the window has the focus."""
        try:
            with connected(self._name) as screen:
                return screen.focused == self.window
        except FocusError:
            return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        """Raise the window and give it the focus."""
        _check(self._hint)
        with connected(self._name) as screen:
            if screen.pid(self.window) not in (None, self._hint.pid) or not is_of(
                screen.machine(self.window), socket.gethostname()
            ):
                raise FocusError("the window belongs to another program by now")
            screen.activate(self.window)


class _Layer:
    name = "X11"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> WindowSpot | None:
        name = desktop.get("DISPLAY", "")
        if not isinstance(place, WindowHint) or not name:
            return None
        with connected(name) as screen:
            found = [screen.describe(one) for one in screen.windows()]
            window = choose(place, found, socket.gethostname())
            if window is None:
                return None
            title = one_line(screen.title(window), 60)
        return WindowSpot(name, window, place, f'the window "{title}"')


def choose(hint: WindowHint, windows: Sequence[Window], host: str) -> int | None:
    """Return which of `windows` `hint` means; `None` if that is not certain.

    Pure. A window of another process is never meant, nor one of a program on another machine
    than ours, `host`, where process ids mean others; one without a process only if its very id
    is told.
    """
    here = [one for one in windows if is_of(one.machine, host)]
    own = [one for one in here if hint.pid is not None and one.pid == hint.pid]
    if hint.xid is not None:
        for window in here:
            if window.id == hint.xid and window.pid in (None, hint.pid):
                return window.id
    if len(own) == 1:
        return own[0].id
    named = [one for one in own if hint.title is not None and one.title == hint.title]
    return named[0].id if len(named) == 1 else None


def is_of(machine: str | None, host: str) -> bool:
    """Whether a window's `WM_CLIENT_MACHINE` names `host`, or nothing.

    Pure. Each of the two may come with its domain or without.
    """
    if machine is None:
        return True
    theirs, ours = machine.casefold(), host.casefold()
    if "." in theirs and "." in ours:
        return theirs == ours
    return theirs.partition(".")[0] == ours.partition(".")[0]


def focused(desktop: Mapping[str, str]) -> int | None:
    """Return the window that has the focus; `None` without an X server."""
    name = desktop.get("DISPLAY", "")
    if not name:
        return None
    with connected(name) as screen:
        return screen.focused


def activate(window: int, desktop: Mapping[str, str]) -> None:
    """Give `window` the focus again; raises `FocusError` if it is gone."""
    with connected(desktop.get("DISPLAY", "")) as screen:
        if window not in screen.windows():
            raise FocusError("the window of before is gone")
        screen.activate(window)


def connected(name: str) -> AbstractContextManager[Screen]:
    """Have a connection to an X server for a few requests; what fails there is a `FocusError`."""
    return x11_server.connected(name, Screen)


def _text(found: Any) -> str:  # noqa: ANN401 - of any type
    return bytes(found).decode("utf-8", "replace") if isinstance(found, bytes) else str(found or "")


def _check(hint: WindowHint) -> None:
    if hint.pid is None or hint.start_ticks is None:
        return
    if not is_alive(hint.pid, hint.start_ticks):
        raise FocusError("the terminal is gone")


LAYER = _Layer()

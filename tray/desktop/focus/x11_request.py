"""Which X11 window a program asks the window manager to activate, seen as it asks.

A terminal that brings a tab forward by its own means may own many windows, and not tell which
of them has the tab. Its request does: `_NET_ACTIVE_WINDOW` is sent to the root window (EWMH,
"Root Window Properties"), where everybody may watch. It carries the time that the terminal was
given with our call, so that no other request is taken for it.
"""

from __future__ import annotations

import select
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import Xlib.display  # type: ignore[import-untyped, unused-ignore]
import Xlib.error  # type: ignore[import-untyped, unused-ignore]
import Xlib.X  # type: ignore[import-untyped, unused-ignore]

from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REQUEST_LIMIT = 0.25
"""Seconds within which the request follows the answer to the call that causes it."""


class Watcher:
    """Watches a root window from its creation on."""

    def __init__(self, display: Any) -> None:  # noqa: ANN401  (python-xlib has no types)
        self._display = display
        self._asked = display.intern_atom("_NET_ACTIVE_WINDOW")
        root = display.screen().root
        root.change_attributes(event_mask=Xlib.X.SubstructureNotifyMask)
        own = root.create_window(0, 0, 1, 1, 0, 0, window_class=Xlib.X.InputOnly)
        own.change_attributes(event_mask=Xlib.X.PropertyChangeMask)
        atom = display.intern_atom("SESSIONBELL_TIME")
        own.change_property(atom, display.intern_atom("STRING"), 8, b"")
        event = self._next(lambda event: event.type == Xlib.X.PropertyNotify)
        self.server_time: int = event.time if event is not None else 0
        """The X server's present time, milliseconds; 0 if it does not tell."""
        own.destroy()

    def window(self) -> int | None:
        """Return the window that is asked for with `server_time`; `None` if none is, in time."""

        def ours(event: Any) -> bool:  # noqa: ANN401
            if event.type != Xlib.X.ClientMessage or event.client_type != self._asked:
                return False
            return bool(event.data[0] == 32 and event.data[1][1] == self.server_time)

        event = self._next(ours) if self.server_time else None
        return int(event.window.id) if event is not None else None

    def _next(self, wanted: Callable[[Any], bool]) -> Any:  # noqa: ANN401
        deadline = time.monotonic() + _REQUEST_LIMIT
        self._display.flush()
        while True:
            while self._display.pending_events():
                event = self._display.next_event()
                if wanted(event):
                    return event
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._display.fileno()], [], [], left)[0]:
                return None


@contextmanager
def watch(name: str | None) -> Iterator[Watcher | None]:
    """Watch the display `name` for as long as the block runs; `None` where there is none."""
    display = _open(name)
    try:
        yield Watcher(display) if display is not None else None
    finally:
        if display is not None:
            display.close()


def titles(name: str | None, pid: int) -> list[str] | None:
    """Return the titles of a process's managed windows; `None` where there is no display."""
    display = _open(name)
    if display is None:
        return None
    try:
        atoms = {text: display.intern_atom(text) for text in ("_NET_WM_PID", "_NET_WM_NAME")}
        found = []
        clients = _property(display.screen().root, display.intern_atom("_NET_CLIENT_LIST"))
        for xid in clients if clients is not None else ():
            window = display.create_resource_object("window", int(xid))
            owner = _property(window, atoms["_NET_WM_PID"])
            title = _property(window, atoms["_NET_WM_NAME"])
            if owner is not None and title is not None and int(owner[0]) == pid:
                found.append(one_line(bytes(title).decode("utf-8", "replace")))
        return found
    finally:
        display.close()


def _property(window: Any, atom: int) -> Any:  # noqa: ANN401
    try:
        found = window.get_full_property(atom, Xlib.X.AnyPropertyType)
    except Xlib.error.XError:  # The window has gone.
        return None
    return found.value if found is not None and len(found.value) else None


def _open(name: str | None) -> Any:  # noqa: ANN401
    if not name:
        return None
    try:
        return Xlib.display.Display(name)
    except (OSError, Xlib.error.DisplayError, Xlib.error.XauthError):
        return None

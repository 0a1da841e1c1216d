"""Konsole, by its D-Bus interface (org.kde.konsole.Window and .Session, in KDE/konsole's
src/org.kde.konsole.*.xml; KMainWindow's winId in KDE/kxmlgui).

Every tab is a session `/Sessions/N`, every window's tabs are at `/Windows/N`; the windows
themselves are at `/konsole/MainWindow_N`, with another count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tray.desktop.focus import terminal
from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import environment
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tray.desktop.focus.dbus_call import Call
    from tray.desktop.focus.terminal import Held

_VARIABLES = ("KONSOLE_DBUS_SERVICE", "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "WINDOWID")
_FIRST_XID = 0x200000
"""X11 ids of clients start here; Qt's window ids under Wayland are small numbers."""


class _Konsole:
    """One Konsole process on the bus; each method raises `FocusError`."""

    def __init__(self, call: Call, service: str) -> None:
        self._call = call
        self._service = service

    def children(self, path: str) -> list[str]:
        data = self._call(self._service, path, "org.freedesktop.DBus.Introspectable", "Introspect")[
            0
        ]
        return [f"{path}/{name}" for name in terminal.child_nodes(data)]

    def shell_pid(self, session: str) -> int:
        return int(self._ask(session, "org.kde.konsole.Session", "processId"))

    def tabs(self, window: str) -> list[str]:
        numbers = self._ask(window, "org.kde.konsole.Window", "sessionList")
        return [f"/Sessions/{number}" for number in numbers]

    def current(self, window: str) -> str:
        return f"/Sessions/{self._ask(window, 'org.kde.konsole.Window', 'currentSession')}"

    def select(self, window: str, session: str) -> None:
        number = int(session.rpartition("/")[2])
        interface = "org.kde.konsole.Window"
        self._call(self._service, window, interface, "setCurrentSession", "i", [number])

    def window_ids(self) -> dict[int, str]:
        """Return the path of each main window by its id in the window system."""
        paths = [path for path in self.children("/konsole") if "/MainWindow_" in path]
        return {int(self._ask(path, "org.kde.KMainWindow", "winId")): path for path in paths}

    def title(self, main_window: str) -> str:
        interface = "org.freedesktop.DBus.Properties"
        body = ["org.qtproject.Qt.QWidget", "windowTitle"]
        return str(self._call(self._service, main_window, interface, "Get", "ss", body)[0].value)

    def _ask(self, path: str, interface: str, member: str) -> Any:  # noqa: ANN401  (as each method's own)
        return self._call(self._service, path, interface, member)[0]


class _Tab:
    """A tab of Konsole."""

    layer = "Konsole"

    def __init__(self, held: Held, address: str, service: str, session: str, window: str) -> None:
        self._held = held
        self._address = address
        self._service = service
        self._session = session
        self._window = window
        self.says = f"Konsole tab {session.rpartition('/')[2]}"
        self.outward: Seat | WindowHint | None = held.window

    def look(self, konsole: _Konsole) -> None:
        """Find out which window has the tab now."""
        self._window = _window_of(konsole, self._session, self._window)
        self.outward = _hint(konsole, self._held, self._window)

    def active(self) -> bool | None:
        try:
            with connected(self._address) as call:
                konsole = _Konsole(call, self._service)
                return konsole.current(self._window) == self._session
        except FocusError:
            return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002  (Konsole's tabs need none)
        with connected(self._address) as call:
            konsole = _Konsole(call, self._service)
            if konsole.shell_pid(self._session) != self._held.shell.pid:
                raise FocusError(f"{self.says} is no longer the session's")
            self._window = _window_of(konsole, self._session, self._window)
            terminal.check(self._held)
            # What Konsole then says is current follows only once the window has the focus.
            konsole.select(self._window, self._session)
            self.outward = _hint(konsole, self._held, self._window)


class _Layer:
    name = "Konsole"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Tab | None:
        held = terminal.held(place, ("konsole",))
        if held is None:
            return None
        given = environment(held.shell.pid, _VARIABLES)
        address = session_address(desktop)
        with connected(address) as call:
            service = _service(call, held, given.get("KONSOLE_DBUS_SERVICE"))
            konsole = _Konsole(call, service)
            session = _session_of(konsole, held.shell.pid, given.get("KONSOLE_DBUS_SESSION"))
            window = given.get("KONSOLE_DBUS_WINDOW", "")
            tab = _Tab(held, address, service, session, window)
            tab.look(konsole)
            return tab


def _service(call: Call, held: Held, given: str | None) -> str:
    """Return the bus name of that very process; the given one may be of an earlier one."""
    for name in (given, f"org.kde.konsole-{held.terminal.pid}", "org.kde.konsole"):
        if name and owner_pid(call, name) == held.terminal.pid:
            return name
    raise FocusError("Konsole is not on the session bus")


def _session_of(konsole: _Konsole, shell_pid: int, likely: str | None) -> str:
    sessions = konsole.children("/Sessions")
    # The likely one first: it nearly always is.
    for session in sorted(sessions, key=lambda session: session != likely):
        if konsole.shell_pid(session) == shell_pid:
            return session
    raise FocusError("Konsole has no tab with that session")


def _window_of(konsole: _Konsole, session: str, likely: str) -> str:
    windows = konsole.children("/Windows")
    for window in sorted(windows, key=lambda window: window != likely):
        if session in konsole.tabs(window):
            return window
    raise FocusError("Konsole has no window with that tab")


def _hint(konsole: _Konsole, held: Held, window: str) -> WindowHint:
    """Return which window of the window system `window` is, as far as that is certain."""
    hint = replace(held.window, app="org.kde.konsole")
    ids = konsole.window_ids()
    windows = konsole.children("/Windows")
    found = _pairs(konsole, ids, windows).get(window)
    if found not in ids:
        return hint
    title = f"{one_line(konsole.title(ids[found]))} — Konsole"
    return replace(hint, xid=found if found >= _FIRST_XID else None, title=title)


def _pairs(konsole: _Konsole, ids: Collection[int], windows: list[str]) -> dict[str, int]:
    """Return the id of each window, as far as that is certain.

    Both are numbered in the order of creation, and neither number is used again. A tab knows
    both of the window it was opened in: where one says otherwise, only such tabs are believed.
    """
    told: dict[str, int] = {}
    for session in konsole.children("/Sessions"):
        given = environment(konsole.shell_pid(session), _VARIABLES)
        path, number = given.get("KONSOLE_DBUS_WINDOW"), given.get("WINDOWID", "")
        if path in windows and number.isdecimal() and int(number) in ids:
            told[path] = int(number)
    if len(windows) != len(ids):
        return told
    ordered = sorted(windows, key=lambda path: int(path.rpartition("/")[2]))
    counted = dict(zip(ordered, sorted(ids), strict=True))
    return counted if counted.items() >= told.items() else told


LAYER = _Layer()

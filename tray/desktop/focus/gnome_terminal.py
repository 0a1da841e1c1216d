"""GNOME Terminal, by the search provider that it has for GNOME Shell's overview.

The provider (`org.gnome.Shell.SearchProvider2`, src/terminal-search-provider.cc) selects a tab by
its UUID and presents its window. It is there if `shell-integration-enabled` is on in GSettings
when the terminal starts: so by default, but not in Debian's build. Nothing else on the bus
connects a tab with a tty: the windows' action `active-tab` only takes positions. Without the
provider the tab is known only where each window has one.

A tab's UUID stands in `GNOME_TERMINAL_SCREEN` of the process that the terminal has started in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.desktop.focus import terminal, x11_request
from tray.desktop.focus.dbus_call import connected, owner_pid, session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import environment
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.desktop.focus.dbus_call import Call
    from tray.desktop.focus.terminal import Held

_ROOT = "/org/gnome/Terminal"
_PROVIDER = "org.gnome.Shell.SearchProvider2"
_APP = "org.gnome.Terminal"
ADVICE = (
    "GNOME Terminal can select the tab after: gsettings set "
    "org.gnome.Terminal.Legacy.Settings shell-integration-enabled true "
    "(then close all its windows once)"
)
"""What a person can do where the provider is off."""


class _Server:
    """One gnome-terminal-server on the bus; each method raises `FocusError`."""

    def __init__(self, call: Call, service: str) -> None:
        self._call = call
        self._service = service

    def children(self, path: str) -> list[str]:
        interface = "org.freedesktop.DBus.Introspectable"
        return terminal.child_nodes(self._call(self._service, path, interface, "Introspect")[0])

    def has_provider(self) -> bool:
        return "SearchProvider" in self.children(_ROOT)

    def screens(self) -> list[str]:
        """Return the UUIDs of all tabs."""
        return [name.replace("_", "-") for name in self.children(f"{_ROOT}/screen")]

    def each_window_has_one_tab(self) -> bool:
        return len(self.screens()) == len(self.children(f"{_ROOT}/window"))

    def titles(self, screens: list[str]) -> dict[str, str]:
        """Return the titles of those tabs that are still there."""
        path = f"{_ROOT}/SearchProvider"
        metas = self._call(self._service, path, _PROVIDER, "GetResultMetas", "as", [screens])[0]
        return {
            str(meta["id"].value): one_line(str(meta["name"].value)) if "name" in meta else ""
            for meta in metas
        }

    def select(self, screen: str, at: int) -> None:
        path, body = f"{_ROOT}/SearchProvider", [screen, [], at]
        self._call(self._service, path, _PROVIDER, "ActivateResult", "sasu", body)


class _Tab:
    """A tab of a GNOME Terminal that has the search provider."""

    layer = "GNOME Terminal"

    def __init__(self, held: Held, desktop: Mapping[str, str], service: str, screen: str) -> None:
        self._held = held
        self._address = session_address(desktop)
        self._display = desktop.get("DISPLAY")
        self._service = service
        self._screen = screen
        self.says = f"GNOME Terminal tab {screen[:8]}"
        self.outward: Seat | WindowHint | None = replace(held.window, app=_APP)

    def active(self) -> bool | None:
        try:
            with connected(self._address) as call:
                server = _Server(call, self._service)
                screens = server.screens()
                if self._screen in screens and server.each_window_has_one_tab():
                    return True
                every = server.titles(screens)
        except FocusError:
            return None
        mine = every.pop(self._screen, None)
        if not mine or mine in every.values():
            return None
        # A window has the title of its selected tab.
        shown = x11_request.titles(self._display, self._held.terminal.pid)
        return mine in shown if shown else None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002  (the provider takes none)
        with connected(self._address) as call:
            server = _Server(call, self._service)
            title = server.titles([self._screen]).get(self._screen)
            if title is None:
                raise FocusError(f"{self.says} has been closed")
            terminal.check(self._held)
            with x11_request.watch(self._display) as watcher:
                server.select(self._screen, watcher.server_time if watcher is not None else 0)
                xid = watcher.window() if watcher is not None else None
        self.outward = replace(self._held.window, app=_APP, xid=xid, title=title or None)


class _Unknown:
    """Some tab of a GNOME Terminal that selects none when asked to."""

    layer = "GNOME Terminal"

    def __init__(self, held: Held, *, only_tab: bool, only_window: bool) -> None:
        self._held = held
        self._only_tab = only_tab
        self.says = "a window of GNOME Terminal" if only_tab else "a tab of GNOME Terminal"
        what = "window" if only_tab else "tab"
        seek = f"the {what} of {held.session.tty} in GNOME Terminal; {ADVICE}"
        alone = only_tab and only_window
        self.outward: Seat | WindowHint | None = replace(
            held.window, app=_APP, seek=None if alone else seek
        )

    def active(self) -> bool | None:
        return True if self._only_tab else None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002
        terminal.check(self._held)


class _Layer:
    name = "GNOME Terminal"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Tab | _Unknown | None:
        held = terminal.held(place, ("gnome-terminal-server",))
        if held is None:
            return None
        names = ("GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE")
        given = environment(held.shell.pid, names)
        found = re.fullmatch(
            rf"{_ROOT}/screen/([0-9a-f]{{8}}(?:_[0-9a-f]{{4}}){{3}}_[0-9a-f]{{12}})",
            given.get("GNOME_TERMINAL_SCREEN", ""),
        )
        screen = found[1].replace("_", "-") if found is not None else None
        with connected(session_address(desktop)) as call:
            service = _service(call, held, given.get("GNOME_TERMINAL_SERVICE"))
            server = _Server(call, service)
            if screen is not None and screen not in server.screens():
                raise FocusError(f"GNOME Terminal has no tab with {held.session.tty}")
            if screen is not None and server.has_provider():
                return _Tab(held, desktop, service, screen)
            return _Unknown(
                held,
                only_tab=server.each_window_has_one_tab(),
                only_window=len(server.children(f"{_ROOT}/window")) == 1,
            )


def _service(call: Call, held: Held, given: str | None) -> str:
    """Return the bus name of that very process (`--app-id` makes further ones)."""
    for name in (given, _APP):
        if name and owner_pid(call, name) == held.terminal.pid:
            return name
    raise FocusError("GNOME Terminal is not on the session bus")


LAYER = _Layer()

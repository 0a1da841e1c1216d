"""The tray icon: a pystray back end that speaks StatusNotifierItem over the session bus.

pystray's own back ends need GObject bindings or an X server, and cannot change a menu that is
open. This one needs the bus alone, runs on the application's asyncio loop, and has no thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from dbus_fast.errors import DBusError

from tray.desktop import dbusmenu, icon, status_item
from tray.desktop.bus import ask_bus, ended, keep_connected, leave
from tray.desktop.dbusmenu import MenuServer
from tray.desktop.items import BaseIcon, Items, nodes, walk
from tray.desktop.menutree import MenuTree, Node
from tray.desktop.status_item import Shown, StatusItem, pixmap
from tray.desktop.watcher import Registration
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbus_fast.aio import MessageBus
    from PIL.Image import Image

    from tray.desktop.icon import Look
    from tray.desktop.menu import Entry
    from tray.desktop.status_item import Pixmap


log = logging.getLogger(__name__)

_RECONNECT_FIRST, _RECONNECT_MOST = 0.25, 5.0
_CLOSE_LIMIT = 0.5
"""Seconds that the bus may take to see us off."""
_HINTS = {
    "GNOME": "install and enable GNOME's AppIndicator extension"
    " (Debian: gnome-shell-extension-appindicator)",
    "XFCE": 'add the "Status Tray" plugin to the panel',
    "SWAY": 'add the module "tray" to waybar',
    "HYPRLAND": 'add the module "tray" to waybar',
}


class TrayIcon(BaseIcon):  # type: ignore[misc]
    """The application's icon in the tray; lives on one asyncio loop.

    Without a bus, or without a tray, it waits for one. pystray's interface (`icon`, `title`,
    `menu`, `visible`, `run`, `run_detached`, `stop`) works as documented there, except that
    `setup` functions run on the loop.
    """

    HAS_NOTIFICATION = False

    def __init__(
        self,
        name: str = "sessionbell",
        *,
        on_action: Callable[[Entry], object] = lambda _: None,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        """Connect nothing yet; the callbacks come on the loop's thread.

        `on_action` is told of a click on an entry. `on_change` is called after each change of
        `problems`, and just before the menu opens: the time to `show` what is true now.
        """
        self._items = Items(on_action)
        self._on_change = on_change
        self._images: tuple[Image, ...] = ()
        self._attention = False
        self._in_sight = False
        self._pixmaps: tuple[Pixmap, ...] = ()
        self._shown = Shown(name)
        self._tree = MenuTree()
        self._problem: Problem | None = None
        self._first_try = asyncio.Event()
        self._connection: asyncio.Task[None] | None = None
        self._bus: MessageBus | None = None
        self._item: StatusItem | None = None
        self._menu_server: MenuServer | None = None
        self._registration: Registration | None = None
        super().__init__(name)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps the icon from being seen right now."""
        return () if self._problem is None else (self._problem,)

    @property
    def host_present(self) -> bool:
        """Whether a tray shows the icon."""
        return self._registration is not None and bool(self._registration.host_present)

    def take_token(self) -> str | None:
        """Return the desktop's activation token for the click just made, once; mostly `None`."""
        return self._item.take_token() if self._item is not None else None

    async def start(self) -> None:
        """Connect; returns once it is known whether there is a bus. Never raises."""
        self.run_detached(lambda _: None)
        await self._first_try.wait()

    async def close(self) -> None:
        """Leave tray and bus."""
        self.visible = False
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.cancel()
            await asyncio.wait((connection,))

    def show(
        self,
        look: Look,
        *,
        badge: int,
        tooltip: str,
        entries: Sequence[Entry],
        muted: bool = False,
    ) -> None:
        """Show this icon, tooltip (its first line is the title) and menu from now on."""
        self._attention = look is icon.Look.BLOCKED and not muted
        images = tuple(icon.draw(look, badge, muted, size) for size in icon.SIZES)
        if images != self._images:
            self._images = images
            self.icon = images[-1]
        self.title = tooltip
        self.menu = self._items.menu(entries)
        self.visible = True

    def activate(self) -> None:
        """Do what a click on the icon does where it opens no menu."""
        for item in walk(self.menu or ()):
            if item.default:
                item(self)
                return

    def run(self, setup: Callable[[TrayIcon], object] | None = None) -> None:
        """Run a loop of its own until `stop`."""

        async def until_stopped() -> None:
            self.run_detached(setup)
            if self._connection is not None:
                await asyncio.wait((self._connection,))

        asyncio.run(until_stopped())

    def run_detached(self, setup: Callable[[TrayIcon], object] | None = None) -> None:
        """Run on the loop that runs now."""
        self._connection = asyncio.get_running_loop().create_task(self._stay_connected())
        self._start_setup(setup)

    def stop(self) -> None:
        """Leave tray and bus soon."""
        if self._connection is not None:
            self._connection.cancel()

    def _start_setup(self, setup: Callable[[TrayIcon], object] | None) -> None:
        if setup is not None:
            setup(self)
        elif self.icon is not None:
            self.visible = True

    async def _stay_connected(self) -> None:
        delays = (_RECONNECT_FIRST, _RECONNECT_MOST)
        try:
            await keep_connected(self._serve, self._unreachable, delays)
        finally:
            self._first_try.set()

    async def _serve(self, bus: MessageBus) -> None:
        """Show the icon over this connection, until it ends."""
        self._item = StatusItem(
            bus, self._shown, on_activate=self.activate, host_opens_menu=self._host_opens_menu
        )
        self._menu_server = MenuServer(bus, self._tree, on_open=self._on_change)
        self._registration = Registration(bus, status_item.PATH, on_change=self._host_changed)
        self._bus = bus
        bus.export(status_item.PATH, self._item)
        bus.export(dbusmenu.PATH, self._menu_server)
        self._report(None)
        self._first_try.set()
        try:
            with suppress(OSError, EOFError, DBusError):
                await self._registration.start()
                await ended(bus)
        finally:
            self._registration.stop()
            self._menu_server.stop()
            self._bus = self._item = self._menu_server = self._registration = None
            await leave(bus, _CLOSE_LIMIT)
        log.warning("the session bus is gone")

    def _unreachable(self, error: ConnectionError) -> None:
        self._report(_no_bus(error))
        self._first_try.set()

    async def _host_opens_menu(self) -> bool:
        """Whether a refused left click makes the host open the menu: KDE's does."""
        if self._bus is None:
            return False
        return bool(await ask_bus(self._bus, "NameHasOwner", "org.kde.plasmashell"))

    def _host_changed(self) -> None:
        if self._menu_server is not None:
            self._menu_server.let_go()
        self._report(None if self.host_present else _no_host())

    def _report(self, problem: Problem | None) -> None:
        if problem != self._problem:
            self._problem = problem
            if problem is not None:
                log.warning(problem.message)
            try:
                self._on_change()
            except Exception:
                log.exception("the tray's callback failed")

    def _show(self) -> None:
        self._in_sight = True
        self._refresh()

    def _hide(self) -> None:
        self._in_sight = False
        self._refresh()

    def _update_icon(self) -> None:
        drawn = bool(self._images) and self.icon is self._images[-1]
        self._pixmaps = tuple(map(pixmap, self._images if drawn else (self.icon,)))
        self._icon_valid = True
        self._refresh()

    def _update_title(self) -> None:
        self._refresh()

    def _refresh(self) -> None:
        """Show icon, title and visibility as they are now."""
        status = "Active" if self._in_sight else "Passive"
        if self._in_sight and self._attention:
            status = "NeedsAttention"
        self._shown = Shown(self.name, status, self._pixmaps, self.title)
        if self._item is not None:
            self._item.show(self._shown)

    def _update_menu(self) -> None:
        root = Node("", {"children-display": "submenu"}, nodes(self.menu or (), self))
        change = self._tree.want(root)
        if self._menu_server is not None and change:
            self._menu_server.tell(change)


def _no_bus(error: ConnectionError) -> Problem:
    return Problem(
        "no-bus",
        f"the session bus cannot be reached ({error}): no tray icon until it can;"
        " start sessionbell inside a desktop session or with dbus-run-session",
    )


def _no_host() -> Problem:
    desktops = os.environ.get("XDG_CURRENT_DESKTOP", "").upper().split(":")
    hints = (_HINTS[desktop] for desktop in desktops if desktop in _HINTS)
    hint = next(hints, "start a panel that has one (its StatusNotifierItem or AppIndicator part)")
    return Problem("no-tray", f"this desktop has no system tray: no icon until it has; {hint}")

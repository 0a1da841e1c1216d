"""Whether the notification server has been told not to disturb, where it says so.

- KDE Plasma, and others with the property `Inhibited` of org.freedesktop.Notifications. It is
  true for an application that inhibits (a presentation, a shared screen) too.
- dunst: its own property `paused`.
- xfce4-notifyd: the setting `/do-not-disturb` in xfconf.
- GNOME: the setting `show-banners`, read by `gsettings`, whose changes dconf announces.

mako knows modes with names of the person's choice, and others nothing: there it is not known.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import TYPE_CHECKING

from dbus_fast.errors import DBusError

from tray.desktop.person.link import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbus_fast import Message

    from tray.desktop.person.link import Owner

log = logging.getLogger(__name__)

NAME = "org.freedesktop.Notifications"
_PATH = "/org/freedesktop/Notifications"
_DUNST = "org.dunstproject.cmd0"
_XFCONF = "org.xfce.Xfconf"
_XFCONF_PATH = "/org/xfce/Xfconf"
_XFCE_SETTING = ("xfce4-notifyd", "/do-not-disturb")
_DCONF = "ca.desrt.dconf.Writer"
_GNOME_FOLDER = "/org/gnome/desktop/notifications/"
_GSETTINGS = ("gsettings", "get", "org.gnome.desktop.notifications", "show-banners")
_GSETTINGS_LIMIT = 2.0
_MEMBERS = frozenset({"PropertiesChanged", "PropertyChanged", "PropertyRemoved", "Notify"})


class NotificationState:
    """The notification server that runs now."""

    name = NAME
    signals = (
        f"sender='{NAME}',path='{_PATH}',interface='{PROPERTIES}'",
        f"interface='{_XFCONF}',arg0='{_XFCE_SETTING[0]}',arg1='{_XFCE_SETTING[1]}'",
        f"interface='{_DCONF}',member='Notify',arg0path='{_GNOME_FOLDER}'",
    )

    def __init__(self, look_again: Callable[[str], object]) -> None:
        """Know nothing yet; `look_again` is `Link.look_again`."""
        self._look_again = look_again
        self._owner: str | None = None
        self.inhibited: bool | None = None
        """Whether it shows nothing for now; `None` where it does not say."""

    async def look(self, owner: Owner) -> None:
        """Ask it, or read its settings."""
        self._owner = owner.unique_name
        told = await owner.call(_PATH, NAME, "GetServerInformation")
        value: object = None
        with suppress(DBusError):
            match told[0]:
                case "dunst":
                    value = await owner.read(_PATH, _DUNST, "paused")
                case "Xfce Notify Daemon":
                    value = await _xfce(owner)
                case "gnome-shell":
                    value = await _gnome()
                case _:
                    value = await owner.read(_PATH, NAME, "Inhibited")
        self.inhibited = value if isinstance(value, bool) else None

    def heard(self, message: Message) -> None:
        """Look again after a signal that may concern it."""
        of_server = message.interface == PROPERTIES and message.sender == self._owner
        if message.member in _MEMBERS and (of_server or message.interface in (_XFCONF, _DCONF)):
            self._look_again(NAME)

    def lost(self) -> None:
        """Forget what it said."""
        self._owner = None
        self.inhibited = None


async def _xfce(owner: Owner) -> object:
    try:
        (value,) = await owner.call(
            _XFCONF_PATH, _XFCONF, "GetProperty", "ss", *_XFCE_SETTING, of=_XFCONF
        )
    except DBusError as error:
        # Never switched on yet.
        return False if error.type == f"{_XFCONF}.Error.PropertyNotFound" else None
    return value


async def _gnome() -> bool | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *_GSETTINGS, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
    except OSError as error:
        log.debug("gsettings does not start: %s", error)
        return None
    try:
        async with asyncio.timeout(_GSETTINGS_LIMIT):
            printed, _ = await process.communicate()
    except (TimeoutError, asyncio.CancelledError) as error:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if isinstance(error, TimeoutError):
            return None
        raise
    return {b"true": False, b"false": True}.get(printed.strip())

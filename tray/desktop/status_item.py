"""The tray item on the bus: org.kde.StatusNotifierItem, the whole of it.

The interface is KDE's (knotifications, org.kde.StatusNotifierItem.xml) with Ayatana's additions.
Hosts read it in different ways, so every property answers, also those that say nothing.
"""

# No `from __future__ import annotations`: dbus-fast reads the signatures from the annotations.

import html
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from dbus_fast import ErrorType, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import (
    DBusBool,
    DBusInt32,
    DBusObjectPath,
    DBusSignature,
    DBusStr,
    DBusUInt32,
)
from dbus_fast.errors import DBusError
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal
from PIL import Image

from tray.desktop import dbusmenu

INTERFACE = "org.kde.StatusNotifierItem"
PATH = "/StatusNotifierItem"

Pixmap = tuple[int, int, bytes]
Pixmaps = Annotated[list[list[object]], DBusSignature("a(iiay)")]
ToolTip = Annotated[list[object], DBusSignature("(sa(iiay)ss)")]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the item shows."""

    id: str
    """Names the program to the host, which may keep settings by it."""
    status: str = "Passive"
    """`Passive` (hosts may hide it), `Active` or `NeedsAttention`."""
    pixmaps: tuple[Pixmap, ...] = ()
    tooltip: str = ""
    """Its first line is the title, the others the body."""


_LONGEST_TOKEN = 1000
"""Characters of an activation token at most."""


class StatusItem(ServiceInterface):
    """Shows a `Shown` to whoever asks."""

    def __init__(
        self,
        bus: MessageBus,
        shown: Shown,
        *,
        on_activate: Callable[[], object],
        host_opens_menu: Callable[[], Awaitable[bool]],
    ) -> None:
        """Serve `shown` on `bus`; `on_activate` is called for a click that opens no menu.

        `host_opens_menu` tells whether the host opens the menu by itself when a left click is
        refused.
        """
        super().__init__(INTERFACE)
        self._bus = bus
        self._shown = shown
        self._on_activate = on_activate
        self._host_opens_menu = host_opens_menu
        self._token: str | None = None

    def show(self, shown: Shown) -> None:
        """Show `shown` from now on."""
        before, self._shown = self._shown, shown
        if not self._bus.connected:
            return
        if before.status != shown.status:
            self._new_status()
        if before.pixmaps != shown.pixmaps or before.status != shown.status:
            # XFCE takes another icon after a new status only when told of a new icon too.
            self._new_icon()
            self._new_attention_icon()
        if before.tooltip != shown.tooltip:
            self._new_tool_tip()
            self._new_title()

    @dbus_method(name="Activate")
    async def _activate(self, _x: DBusInt32, _y: DBusInt32) -> None:
        if await self._host_opens_menu():
            raise DBusError(ErrorType.UNKNOWN_METHOD, "a left click opens the menu")
        self._on_activate()

    @dbus_method(name="SecondaryActivate")
    def _secondary_activate(self, _x: DBusInt32, _y: DBusInt32) -> None:
        self._on_activate()

    @dbus_method(name="XAyatanaSecondaryActivate")
    def _ayatana_secondary_activate(self, _timestamp: DBusUInt32) -> None:
        self._on_activate()

    @dbus_method(name="ContextMenu")
    def _context_menu(self, _x: DBusInt32, _y: DBusInt32) -> None:
        """Do nothing: hosts that can show a menu take it from `Menu`."""

    @dbus_method(name="Scroll")
    def _scroll(self, _delta: DBusInt32, _orientation: DBusStr) -> None:
        """Do nothing: the wheel has no meaning here."""

    @dbus_method(name="ProvideXdgActivationToken")
    def _provide_xdg_activation_token(self, token: DBusStr) -> None:
        """Keep the right to raise a window for the click that follows (KDE, GNOME)."""
        if len(token) <= _LONGEST_TOKEN:
            self._token = token

    def take_token(self) -> str | None:
        """Return the activation token that came last, once."""
        token, self._token = self._token, None
        return token

    @dbus_property(PropertyAccess.READ, name="Category")
    def _category(self) -> DBusStr:
        return "ApplicationStatus"

    @dbus_property(PropertyAccess.READ, name="Id")
    def _id(self) -> DBusStr:
        return self._shown.id

    @dbus_property(PropertyAccess.READ, name="Title")
    def _title(self) -> DBusStr:
        return self._shown.id

    @dbus_property(PropertyAccess.READ, name="Status")
    def _status(self) -> DBusStr:
        return self._shown.status

    @dbus_property(PropertyAccess.READ, name="WindowId")
    def _window_id(self) -> DBusInt32:
        return 0

    @dbus_property(PropertyAccess.READ, name="ItemIsMenu")
    def _item_is_menu(self) -> DBusBool:
        return True

    @dbus_property(PropertyAccess.READ, name="Menu")
    def _menu(self) -> DBusObjectPath:
        return dbusmenu.PATH

    @dbus_property(PropertyAccess.READ, name="IconThemePath")
    def _icon_theme_path(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="IconName")
    def _icon_name(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="IconPixmap")
    def _icon_pixmap(self) -> Pixmaps:
        return [list(pixmap) for pixmap in self._shown.pixmaps]

    @dbus_property(PropertyAccess.READ, name="OverlayIconName")
    def _overlay_icon_name(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="OverlayIconPixmap")
    def _overlay_icon_pixmap(self) -> Pixmaps:
        return []

    @dbus_property(PropertyAccess.READ, name="AttentionIconName")
    def _attention_icon_name(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="AttentionIconPixmap")
    def _attention_icon_pixmap(self) -> Pixmaps:
        return [list(pixmap) for pixmap in self._shown.pixmaps]

    @dbus_property(PropertyAccess.READ, name="AttentionMovieName")
    def _attention_movie_name(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="ToolTip")
    def _tool_tip(self) -> ToolTip:
        title, _, body = self._shown.tooltip.partition("\n")
        # The body may hold markup, so it must be escaped.
        return ["", [], title, html.escape(body, quote=False)]

    @dbus_property(PropertyAccess.READ, name="IconAccessibleDesc")
    def _icon_accessible_desc(self) -> DBusStr:
        return self._shown.tooltip.partition("\n")[0]

    @dbus_property(PropertyAccess.READ, name="AttentionAccessibleDesc")
    def _attention_accessible_desc(self) -> DBusStr:
        return self._shown.tooltip.partition("\n")[0]

    @dbus_property(PropertyAccess.READ, name="XAyatanaLabel")
    def _ayatana_label(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="XAyatanaLabelGuide")
    def _ayatana_label_guide(self) -> DBusStr:
        return ""

    @dbus_property(PropertyAccess.READ, name="XAyatanaOrderingIndex")
    def _ayatana_ordering_index(self) -> DBusUInt32:
        return 0

    @dbus_signal(name="NewTitle")
    def _new_title(self) -> None:
        pass

    @dbus_signal(name="NewIcon")
    def _new_icon(self) -> None:
        pass

    @dbus_signal(name="NewAttentionIcon")
    def _new_attention_icon(self) -> None:
        pass

    @dbus_signal(name="NewOverlayIcon")
    def _new_overlay_icon(self) -> None:
        pass

    @dbus_signal(name="NewToolTip")
    def _new_tool_tip(self) -> None:
        pass

    @dbus_signal(name="NewMenu")
    def _new_menu(self) -> None:
        pass

    @dbus_signal(name="NewStatus")
    def _new_status(self) -> DBusStr:
        return self._shown.status

    @dbus_signal(name="NewIconThemePath")
    def _new_icon_theme_path(self) -> DBusStr:
        return ""

    @dbus_signal(name="XAyatanaNewLabel")
    def _ayatana_new_label(self) -> Annotated[tuple[str, str], DBusSignature("ss")]:
        return "", ""


def pixmap(image: Image.Image) -> Pixmap:
    """Return `image` as the bus wants it: ARGB, 32 bits a pixel, in network byte order."""
    red, green, blue, alpha = image.convert("RGBA").split()
    argb = Image.merge("RGBA", (alpha, red, green, blue))
    return image.width, image.height, argb.tobytes()

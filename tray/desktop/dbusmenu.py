"""The menu on the bus: com.canonical.dbusmenu, the whole of it.

The interface is described in libdbusmenu's dbus-menu.xml.
"""

# No `from __future__ import annotations`: dbus-fast reads the signatures from the annotations.

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

from dbus_fast import ErrorType, PropertyAccess, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import (
    DBusBool,
    DBusInt32,
    DBusSignature,
    DBusStr,
    DBusUInt32,
    DBusVariant,
)
from dbus_fast.errors import DBusError
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal

from tray.desktop.menutree import ROOT, Change, MenuTree, Node, Value

log = logging.getLogger(__name__)

INTERFACE = "com.canonical.dbusmenu"
PATH = "/MenuBar"

HOLD_UNCONFIRMED = 20.0
"""Seconds for which a menu is taken to be open after `AboutToShowGroup`: XFCE 4.18, which sends
that, says neither that the menu opened nor that it closed."""
HOLD_ANNOUNCED = 3.0
"""The same after `AboutToShow`: who sends that sends `opened` with it when the menu does open.
GNOME's extension sends it, too, when it has just seen the item, and opens nothing."""
HOLD_OPENED = 300.0
"""The same after `opened`: hosts that send that send `closed` too, but a message can be lost."""

_SIGNATURES = {
    "children-display": "s",
    "enabled": "b",
    "icon-data": "ay",
    "label": "s",
    "toggle-state": "i",
    "toggle-type": "s",
    "type": "s",
    "visible": "b",
}
_DEFAULTS: dict[str, Value] = {
    "children-display": "",
    "enabled": True,
    "icon-data": b"",
    "label": "",
    "toggle-state": -1,
    "toggle-type": "",
    "type": "standard",
    "visible": True,
}

Ids = Annotated[list[int], DBusSignature("ai")]
Names = Annotated[list[str], DBusSignature("as")]
Wire = dict[str, Variant]
Events = Annotated[list[tuple[int, str, Variant, int]], DBusSignature("a(isvu)")]
Updated = tuple[list[list[object]], list[list[object]]]


class MenuServer(ServiceInterface):
    """Shows a `MenuTree` to whoever asks, and keeps it still while it is open."""

    def __init__(self, bus: MessageBus, tree: MenuTree, *, on_open: Callable[[], object]) -> None:
        """Serve `tree` on `bus`; `on_open` is called just before it is shown, to freshen it."""
        super().__init__(INTERFACE)
        self._bus = bus
        self._tree = tree
        self._on_open = on_open
        self._timer: asyncio.TimerHandle | None = None
        self._opened = False
        """Whether the host said that the menu is open, and not yet that it is closed."""

    def tell(self, change: Change) -> None:
        """Tell the hosts what changed."""
        self._tell_properties(change)
        if change.layout and self._bus.connected:
            self._layout_updated(self._tree.revision, ROOT)

    def let_go(self) -> None:
        """Take the menu for closed."""
        self._opened = False
        self._forget_timer()
        self.tell(self._tree.release())

    def stop(self) -> None:
        """Take the menu for closed, with nobody left to tell."""
        self._forget_timer()
        self._tree.release()

    @dbus_property(PropertyAccess.READ, name="Version")
    def _version(self) -> DBusUInt32:
        return 3

    @dbus_property(PropertyAccess.READ, name="TextDirection")
    def _text_direction(self) -> DBusStr:
        return "ltr"

    @dbus_property(PropertyAccess.READ, name="Status")
    def _status(self) -> DBusStr:
        return "normal"

    @dbus_property(PropertyAccess.READ, name="IconThemePath")
    def _icon_theme_path(self) -> Names:
        return []

    @dbus_method(name="GetLayout")
    def _get_layout(
        self, parent: DBusInt32, depth: DBusInt32, names: Names
    ) -> Annotated[list[object], DBusSignature("u(ia{sv}av)")]:
        # GNOME's extension (46) asks for the kind of each line alone, and for the labels once the
        # shell is idle; until then the lines are blank. It takes more than it asked for.
        wanted = () if "type" in names else names
        return [self._tree.revision, self._layout(self._node(parent), depth, wanted)]

    @dbus_method(name="GetGroupProperties")
    def _get_group_properties(
        self, ids: Ids, names: Names
    ) -> Annotated[list[object], DBusSignature("a(ia{sv})")]:
        nodes = ((i, self._tree.node(i)) for i in ids or self._tree.ids())
        return [[i, _wire(node.properties, names)] for i, node in nodes if node is not None]

    @dbus_method(name="GetProperty")
    def _get_property(self, node_id: DBusInt32, name: DBusStr) -> DBusVariant:
        if name not in _DEFAULTS:
            raise DBusError(ErrorType.INVALID_ARGS, f"there is no property {name!r}")
        value = self._node(node_id).properties.get(name, _DEFAULTS[name])
        return Variant(_SIGNATURES[name], value)

    @dbus_method(name="Event")
    def _event(
        self, node_id: DBusInt32, kind: DBusStr, _data: DBusVariant, _timestamp: DBusUInt32
    ) -> None:
        self._node(node_id)
        self._take(node_id, kind)

    @dbus_method(name="EventGroup")
    def _event_group(self, events: Events) -> Ids:
        unknown = [node_id for node_id, *_ in events if self._tree.node(node_id) is None]
        for node_id, kind, _data, _timestamp in events:
            self._take(node_id, kind)
        return unknown

    @dbus_method(name="AboutToShow")
    def _about_to_show(self, node_id: DBusInt32) -> DBusBool:
        self._node(node_id)
        return self._prepare([node_id], HOLD_ANNOUNCED)

    @dbus_method(name="AboutToShowGroup")
    def _about_to_show_group(
        self, ids: Ids
    ) -> Annotated[tuple[list[int], list[int]], DBusSignature("aiai")]:
        unknown = [node_id for node_id in ids if self._tree.node(node_id) is None]
        if not self._prepare(ids, HOLD_UNCONFIRMED):
            return [], unknown
        # libdbusmenu's client, which asks in this way, does not wait for the answer.
        self._layout_updated(self._tree.revision, ROOT)
        return [ROOT], unknown

    @dbus_signal(name="ItemsPropertiesUpdated")
    def _items_properties_updated(
        self, change: Change
    ) -> Annotated[Updated, DBusSignature("a(ia{sv})a(ias)")]:
        return (
            [[node_id, _wire(properties, ())] for node_id, properties in change.updated],
            [[node_id, names] for node_id, names in change.removed],
        )

    @dbus_signal(name="LayoutUpdated")
    def _layout_updated(
        self, revision: int, parent: int
    ) -> Annotated[tuple[int, int], DBusSignature("ui")]:
        return revision, parent

    @dbus_signal(name="ItemActivationRequested")
    def _item_activation_requested(
        self, node_id: int, timestamp: int
    ) -> Annotated[tuple[int, int], DBusSignature("iu")]:
        """Ask the host to open the menu there; of the interface, and never needed."""
        return node_id, timestamp

    def _tell_properties(self, change: Change) -> None:
        if (change.updated or change.removed) and self._bus.connected:
            self._items_properties_updated(change)

    def _prepare(self, ids: Iterable[int], hold: float) -> bool:
        """Make the menu ready to be shown; whether its layout must be fetched anew.

        It is taken to be open for `hold` seconds, unless the host says so itself.
        """
        if ROOT not in ids:
            return False
        known = self._tree.revision
        self._tree.held = True  # What `on_open` brings is told all at once, below.
        self._guarded(self._on_open)
        change = self._tree.hold()
        self._expect_close(HOLD_OPENED if self._opened else hold)
        # LayoutUpdated would make LXQt rebuild the menu a second time, when it is open already.
        self._tell_properties(change)
        return self._tree.revision != known

    def _take(self, node_id: int, kind: str) -> None:
        if kind == "clicked":
            node = self._tree.node(node_id)
            if node is not None and node.act is not None and node.properties.get("enabled", True):
                self._guarded(node.act)
            self.let_go()
        elif node_id == ROOT and kind == "opened":
            self._opened = True
            if not self._tree.held:
                self.tell(self._tree.hold())
            self._expect_close(HOLD_OPENED)
        elif node_id == ROOT and kind == "closed":
            self.let_go()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expect_close(self, within: float) -> None:
        self._forget_timer()
        self._timer = asyncio.get_running_loop().call_later(within, self.let_go)

    def _guarded(self, act: Callable[[], object]) -> None:
        """Call out; what fails there is no concern of the host's."""
        try:
            act()
        except Exception:
            log.exception("the menu's callback failed")

    def _node(self, node_id: int) -> Node:
        node = self._tree.node(node_id)
        if node is None:
            raise DBusError(ErrorType.INVALID_ARGS, f"the menu has no item {node_id}")
        return node

    def _layout(self, node: Node, depth: int, names: Iterable[str]) -> list[object]:
        """Return the line and `depth` levels below it (all with -1), as the bus wants it."""
        below = node.children if depth else ()
        children = [Variant("(ia{sv}av)", self._layout(child, depth - 1, names)) for child in below]
        return [self._tree.id_of(node), _wire(node.properties, names), children]


def _wire(properties: Mapping[str, Value], names: Iterable[str]) -> Wire:
    """Return the `names` (all, if none) of `properties` as the bus wants them."""
    wanted = set(names)
    return {
        name: Variant(_SIGNATURES[name], value)
        for name, value in properties.items()
        if not wanted or name in wanted
    }

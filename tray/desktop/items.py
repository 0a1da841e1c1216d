"""The menu between what it says and how the bus has it: as pystray's items.

An item of ours knows which one it is, so that it keeps its id when others come and go.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tray.desktop import icon
from tray.desktop.menutree import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tray.desktop.menu import Entry
    from tray.desktop.menutree import Value

ICON_SIZE = 16
"""Pixels of the icon before a menu item."""


@contextmanager
def _no_backend() -> Iterator[None]:
    """Keep pystray from choosing a back end, which fails without GObject bindings or X.

    It does so while it is imported, by an environment variable that may be set to anything
    here, and that must not reach the programs we start.
    """
    before = os.environ.get("PYSTRAY_BACKEND")
    os.environ["PYSTRAY_BACKEND"] = "dummy"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYSTRAY_BACKEND"]
        else:
            os.environ["PYSTRAY_BACKEND"] = before


with _no_backend():
    from pystray import Icon as BaseIcon
    from pystray import Menu, MenuItem

__all__ = ["BaseIcon", "Item", "Items", "Menu", "MenuItem", "nodes", "walk"]


class Item(MenuItem):  # type: ignore[misc]
    """A menu item with an identity and an icon."""

    def __init__(
        self,
        text: str,
        action: Callable[[Any, Any], object] | Menu,
        *,
        key: str,
        icon: bytes | None = None,
        default: bool = False,
        enabled: bool = True,
        checked: bool | None = None,
    ) -> None:
        """Make an item; `key` says which one it is, `icon` is a PNG file.

        `checked` is whether its check mark is set, `None` if it has none.
        """
        # pystray asks a function, which may change its mind; our items are made anew instead.
        mark = None if checked is None else lambda _item: checked
        super().__init__(text, action, checked=mark, default=default, enabled=enabled)
        self.key = key
        self.icon = icon
        self.node: tuple[BaseIcon, Node, frozenset[str]] | None = None
        """What `nodes` made of it last, for whom, and the keys in that."""

    @property
    def visible(self) -> bool:
        """Always: pystray asks each line of each submenu, over and over, at every level."""
        return True


class Items:
    """Makes pystray menus of entries; the very same entry gives the very same item again.

    Most of a menu stays as it was from one moment to the next, and to make all of it anew at
    each change would cost a busy day's tray more than everything else it does.
    """

    def __init__(self, on_action: Callable[[Entry], object]) -> None:
        """Make items that tell `on_action` of a click."""
        self._on_action = on_action
        self._made: dict[int, tuple[Entry, MenuItem]] = {}
        """By the identity of the entry, which is kept here, so that no other can have it."""

    def menu(self, entries: Iterable[Entry]) -> Menu:
        """Return the menu of these entries; what is made for the last one is forgotten."""
        before, self._made = self._made, {}
        return Menu(*(self._item(entry, before) for entry in entries))

    def _item(self, entry: Entry, before: dict[int, tuple[Entry, MenuItem]]) -> MenuItem:
        if entry.separator:
            return Menu.SEPARATOR
        known = before.get(id(entry))
        item = known[1] if known is not None else self._new(entry, before)
        self._made[id(entry)] = entry, item
        return item

    def _new(self, entry: Entry, before: dict[int, tuple[Entry, MenuItem]]) -> MenuItem:
        if entry.children:
            action = Menu(*(self._item(child, before) for child in entry.children))
        else:

            def action(_icon: object, _item: object) -> None:
                if entry.action is not None:
                    self._on_action(entry)

        return Item(
            entry.label,
            action,
            key=entry.key,
            icon=icon.png(entry.look, ICON_SIZE) if entry.look is not None else None,
            default=entry.default,
            enabled=entry.enabled,
            checked=entry.checked,
        )


def walk(menu: Iterable[Any]) -> Iterator[Any]:
    """Go through the items of a pystray menu and of its submenus."""
    for item in menu:
        yield item
        yield from walk(item.submenu or ())


def nodes(menu: Iterable[Any], owner: BaseIcon) -> tuple[Node, ...]:
    """Return the lines of a pystray menu; their action is called with `owner`."""
    return _nodes(menu, owner, "", set())


def _nodes(menu: Iterable[Any], owner: BaseIcon, path: str, taken: set[str]) -> tuple[Node, ...]:
    found = []
    for position, item in enumerate(menu):
        known = getattr(item, "node", None)
        if known is not None and known[0] is owner and taken.isdisjoint(known[2]):
            taken |= known[2]
            found.append(known[1])
            continue
        # pystray's own items are known by their place alone, a rule by what stands above it.
        place = f"{path}/{position}"
        if item is Menu.SEPARATOR and found:
            place = f"{path}/below {found[-1].key}"
        key = getattr(item, "key", place)
        own = key not in taken
        if not own:
            key = place
        inner = {key}
        if item is Menu.SEPARATOR:
            node = Node(key, {"type": "separator"})
        elif item.submenu is None:
            node = Node(key, _properties(item), act=partial(item, owner))
        else:
            properties = {**_properties(item), "children-display": "submenu"}
            inner |= taken
            node = Node(key, properties, _nodes(item.submenu, owner, key, inner))
            inner -= taken
        # Our items are made anew rather than changed; others may say something else each time.
        if own and isinstance(item, Item) and all(map(_ours, item.submenu or ())):
            item.node = owner, node, frozenset(inner)
        taken |= inner
        found.append(node)
    return tuple(found)


def _ours(item: MenuItem) -> bool:
    return item is Menu.SEPARATOR or (isinstance(item, Item) and item.node is not None)


def _properties(item: Any) -> dict[str, Value]:  # noqa: ANN401  (pystray has no types)
    # An underscore marks the letter by which the keyboard chooses the line.
    found: dict[str, Value] = {"label": item.text.replace("_", "__")}
    if not item.enabled:
        found["enabled"] = False
    if item.checked is not None:
        found["toggle-type"] = "radio" if item.radio else "checkmark"
        found["toggle-state"] = int(item.checked)
    if image := getattr(item, "icon", None):
        found["icon-data"] = image
    return found

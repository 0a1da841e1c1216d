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

__all__ = ["BaseIcon", "Item", "Menu", "MenuItem", "menu_of", "nodes", "walk"]


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
    ) -> None:
        """Make an item; `key` says which one it is, `icon` is a PNG file."""
        super().__init__(text, action, default=default, enabled=enabled)
        self.key = key
        self.icon = icon


def menu_of(entries: Iterable[Entry], on_action: Callable[[Entry], object]) -> Menu:
    """Return pystray's menu of these entries; `on_action` is told of a click on one."""
    return Menu(*(_item(entry, on_action) for entry in entries))


def _item(entry: Entry, on_action: Callable[[Entry], object]) -> MenuItem:
    if entry.separator:
        return Menu.SEPARATOR
    if entry.children:
        action = menu_of(entry.children, on_action)
    else:

        def action(_icon: object, _item: object) -> None:
            if entry.action is not None:
                on_action(entry)

    return Item(
        entry.label,
        action,
        key=entry.key,
        icon=icon.png(entry.look, ICON_SIZE) if entry.look is not None else None,
        default=entry.default,
        enabled=entry.enabled,
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
        # pystray's own items are known by their place alone.
        place = f"{path}/{position}"
        key = getattr(item, "key", place)
        if key in taken:
            key = place
        taken.add(key)
        if item is Menu.SEPARATOR:
            found.append(Node(key, {"type": "separator"}))
        elif item.submenu is None:
            found.append(Node(key, _properties(item), act=partial(item, owner)))
        else:
            properties = {**_properties(item), "children-display": "submenu"}
            found.append(Node(key, properties, _nodes(item.submenu, owner, place, taken)))
    return tuple(found)


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

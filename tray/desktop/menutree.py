"""The menu as its host sees it: ids that follow identity, and what changed. Pure data, no bus.

A line keeps its id as long as it keeps its place among the others: not every host can move one.
An id that was given up still leads to its line for a while: a host may be late.

While a menu is open nothing in it may move: its lines then keep their places and only their
labels change, and a line whose subject is gone stays, disabled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = 0
"""The id of the menu itself."""

_REMEMBERED = 2000
"""How many ids that were given up still lead to their line."""

Value = str | bool | int | bytes


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the menu, or the menu itself."""

    key: str
    """Its identity, unique in the menu."""
    properties: Mapping[str, Value] = field(default_factory=dict)
    """As com.canonical.dbusmenu names them; those at their default are left out."""
    children: tuple[Node, ...] = ()
    act: Callable[[], object] | None = field(default=None, compare=False)
    """What a click does."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a host must be told so that it shows the tree as it is now."""

    layout: bool = False
    """Lines came, went or moved."""
    updated: tuple[tuple[int, dict[str, Value]], ...] = ()
    """Properties with a new value, by line."""
    removed: tuple[tuple[int, list[str]], ...] = ()
    """Properties that went back to their default, by line."""

    def __bool__(self) -> bool:
        return self.layout or bool(self.updated) or bool(self.removed)


class MenuTree:
    """The tree that hosts see, and the one that is wanted where the menu is held."""

    def __init__(self) -> None:
        self.revision = 1
        """Counts the layouts."""
        self.held = False
        """Whether the menu is taken to be open: nothing may move."""
        self._wanted = self._shown = Node("")
        self._ids = {"": ROOT}
        self._nodes = {ROOT: self._shown}
        self._next_id = ROOT + 1
        self._given_up: dict[int, str] = {}
        """The keys of lines by ids they had before, the oldest first."""

    def want(self, root: Node) -> Change:
        """Take `root` as the menu that should be seen."""
        self._wanted = root
        return self._show(_still(self._shown, _index(root)) if self.held else root)

    def hold(self) -> Change:
        """Let nothing move from now on, having brought the menu up to date."""
        change = self.release()
        self.held = True
        return change

    def release(self) -> Change:
        """Let the menu be as it is wanted."""
        self.held = False
        return self._show(self._wanted)

    def node(self, node_id: int) -> Node | None:
        """Return the line that has that id, or had it when the host read the menu last."""
        if node_id in self._given_up:
            node_id = self._ids.get(self._given_up[node_id], node_id)
        return self._nodes.get(node_id)

    def id_of(self, node: Node) -> int:
        """Return the id of a line that is shown."""
        return self._ids[node.key]

    def ids(self) -> tuple[int, ...]:
        """Return the id of every line that is shown."""
        return tuple(self._nodes)

    def _show(self, root: Node) -> Change:
        before, self._shown = self._shown, root
        if before == root:
            # Equal to look at, but a click may mean something new.
            self._nodes = {self._ids[node.key]: node for node in _walk(root)}
            return Change()
        old_nodes = self._nodes
        nodes: dict[int, Node] = {}
        ids: dict[str, int] = {}
        moved = _moved(before, root)
        for node in _walk(root):
            node_id = self._ids.get(node.key)
            if node_id is None or node.key in moved:
                node_id, self._next_id = self._next_id, self._next_id + 1
            ids[node.key] = node_id
            nodes[node_id] = node
        self._give_up({self._ids[node.key]: node.key for node in old_nodes.values()}, nodes)
        self._ids, self._nodes = ids, nodes
        layout = _skeleton(before) != _skeleton(root)
        self.revision += layout
        updated, removed = [], []
        for node_id in nodes.keys() & old_nodes.keys():
            old, new = old_nodes[node_id].properties, nodes[node_id].properties
            if changed := {n: v for n, v in new.items() if n not in old or old[n] != v}:
                updated.append((node_id, changed))
            if gone := [name for name in old if name not in new]:
                removed.append((node_id, gone))
        return Change(layout, tuple(updated), tuple(removed))

    def _give_up(self, before: Mapping[int, str], nodes: Mapping[int, Node]) -> None:
        """Remember the ids that are in `before` and no more in `nodes`."""
        self._given_up.update((old, key) for old, key in before.items() if old not in nodes)
        for old in list(self._given_up)[:-_REMEMBERED]:
            del self._given_up[old]


def _still(shown: Node, wanted: Mapping[str, Node]) -> Node:
    """Return `shown` with every line in its place and as it is in `wanted`, or disabled."""
    new = wanted.get(shown.key)
    if new is None:
        properties, act = {**shown.properties, "enabled": False}, None
    elif _kind(new) != _kind(shown):
        # A submenu that it gets or loses comes later; a line that does nothing is no good.
        properties, act = dict(shown.properties), shown.act
    else:
        properties, act = dict(new.properties), new.act
    children = tuple(_still(child, wanted) for child in shown.children)
    return replace(shown, properties=properties, children=children, act=act)


def _kind(node: Node) -> tuple[Value, Value]:
    """Return whether a line has a submenu, or is a rule: hosts build each in its own way."""
    return node.properties.get("children-display", ""), node.properties.get("type", "")


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _index(root: Node) -> dict[str, Node]:
    return {node.key: node for node in _walk(root)}


def _moved(before: Node, after: Node) -> set[str]:
    """Return the keys of the lines that do not stand where a host will have them.

    GNOME's AppIndicator extension (46) adds and removes lines as it is told but never moves one,
    and it adds before it removes: what stands between the first and the last change of a level is
    right there only if it is made anew, as a new line of its own.
    """
    known = _index(before)
    moved: set[str] = set()
    for node in _walk(after):
        old = known.get(node.key)
        if old is not None and node.key not in moved:
            for child in _shuffled(old.children, node.children):
                moved.update(part.key for part in _walk(child))
    return moved


def _shuffled(before: tuple[Node, ...], after: tuple[Node, ...]) -> Iterator[Node]:
    """Return those of `after` that are in `before` too, without the same beginning and end."""
    old, new = [(node.key, _kind(node)) for node in before], [(n.key, _kind(n)) for n in after]
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    rest = {key for key, _ in old[start : len(old) - end]}
    return (node for node in after[start : len(new) - end] if node.key in rest)


def _skeleton(node: Node) -> tuple[object, ...]:
    return node.key, _kind(node), tuple(_skeleton(child) for child in node.children)

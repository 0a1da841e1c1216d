"""Ids that follow identity, and a menu that holds still while it is open."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.tray.tray_host import GnomeLines
from tray.desktop import menutree
from tray.desktop.menutree import ROOT, Change, MenuTree, Node


def menu(*children: Node | str) -> Node:
    return Node("", {"children-display": "submenu"}, tuple(map(line, children)))


def line(child: Node | str) -> Node:
    return child if isinstance(child, Node) else Node(child, {"label": child})


def said(key: str, label: str, **properties) -> Node:
    return Node(key, {"label": label, **properties})


def submenu(key: str, *children: Node | str) -> Node:
    return Node(
        key, {"label": key, "children-display": "submenu"}, tuple(line(child) for child in children)
    )


def shown(tree: MenuTree) -> list[str]:
    return [child.key for child in tree.node(ROOT).children]


def ids(tree: MenuTree) -> dict[str, int]:
    return {tree.node(node_id).key: node_id for node_id in tree.ids()}


def test_ids_follow_identity_as_long_as_a_line_keeps_its_place():
    tree = MenuTree()
    tree.want(menu("a", "b", submenu("more", "c"), "z"))
    before = ids(tree)
    tree.want(menu("a", submenu("more", "new", "c"), "z"))
    after = ids(tree)
    assert {key: before[key] for key in after if key != "new"} == {
        key: after[key] for key in after if key != "new"
    }
    assert after["new"] not in before.values()


def test_a_line_that_moves_is_a_new_line():
    tree = MenuTree()
    tree.want(menu("a", "b", submenu("more", "c"), "z"))
    before = ids(tree)
    tree.want(menu("a", submenu("more", "c"), "b", "z"))
    after = ids(tree)
    assert {key for key in after if after[key] == before[key]} == {"", "a", "z"}


def test_ids_of_lines_that_are_gone_are_forgotten_and_not_given_again():
    tree = MenuTree()
    tree.want(menu("a", "b"))
    gone = ids(tree)["b"]
    tree.want(menu("a"))
    assert tree.node(gone) is None
    assert len(tree.ids()) == 2
    tree.want(menu("a", "b"))
    assert ids(tree)["b"] != gone


def test_a_new_label_is_no_new_layout():
    tree = MenuTree()
    tree.want(menu("a", "b"))
    revision, b = tree.revision, ids(tree)["b"]
    change = tree.want(menu("a", said("b", "other")))
    assert change == Change(updated=((b, {"label": "other"}),))
    assert tree.revision == revision


def test_a_property_back_at_its_default_is_told():
    tree = MenuTree()
    tree.want(menu(said("a", "a", enabled=False)))
    change = tree.want(menu("a"))
    assert change == Change(removed=((ids(tree)["a"], ["enabled"]),))


def test_the_same_menu_again_is_no_change():
    tree = MenuTree()
    tree.want(menu("a", submenu("b", "c")))
    assert not tree.want(menu("a", submenu("b", "c")))


def test_what_a_click_does_is_always_the_newest():
    tree = MenuTree()
    clicks: list[int] = []
    for number in (1, 2):
        tree.want(menu(Node("a", {"label": "a"}, act=lambda n=number: clicks.append(n))))
    tree.node(ids(tree)["a"]).act()
    assert clicks == [2]


def test_lines_that_come_go_or_move_are_a_new_layout():
    for wanted in (menu("a"), menu("b", "a"), menu("a", "b", "c"), menu("a", submenu("b", "c"))):
        tree = MenuTree()
        tree.want(menu("a", "b"))
        revision = tree.revision
        assert tree.want(wanted).layout
        assert tree.revision == revision + 1


def test_nothing_moves_while_the_menu_is_open():
    tree = MenuTree()
    tree.want(menu("a", "gone", said("b", "before"), submenu("more", "c")))
    tree.hold()
    before, revision = ids(tree), tree.revision
    wanted = menu("new", said("b", "after"), "c", "a")
    change = tree.want(wanted)
    assert not change.layout
    assert tree.revision == revision
    assert ids(tree) == before
    assert shown(tree) == ["a", "gone", "b", "more"]
    assert tree.node(before["b"]).properties["label"] == "after"
    for gone in ("gone", "more"):
        assert tree.node(before[gone]).properties["enabled"] is False
        assert tree.node(before[gone]).act is None
    # It has moved out of the submenu, but is still a session that can be gone to.
    assert "enabled" not in tree.node(before["c"]).properties
    change = tree.release()
    assert change.layout
    assert shown(tree) == ["new", "b", "c", "a"]


def test_a_line_that_comes_back_while_the_menu_is_open_can_be_clicked_again():
    tree = MenuTree()
    tree.want(menu("a", "b"))
    tree.hold()
    tree.want(menu("a"))
    tree.want(menu("a", "b"))
    assert "enabled" not in tree.node(ids(tree)["b"]).properties
    assert not tree.release()


def test_a_line_gets_no_submenu_while_the_menu_is_open():
    tree = MenuTree()
    tree.want(menu("a", submenu("b", "c")))
    tree.hold()
    tree.want(menu(submenu("a", "x"), "b"))
    assert "children-display" not in tree.node(ids(tree)["a"]).properties
    assert tree.node(ids(tree)["b"]).properties["children-display"] == "submenu"


def test_a_line_that_gets_a_submenu_is_a_new_line_in_a_new_layout():
    """GNOME's extension builds a line by its kind; it makes it anew only as another one."""
    tree = MenuTree()
    tree.want(menu("a", "b", "z"))
    before = ids(tree)
    change = tree.want(menu("a", submenu("b"), "z"))
    assert change.layout
    after = ids(tree)
    assert {key for key in after if after[key] == before[key]} == {"", "a", "z"}


def test_a_line_that_gets_a_submenu_stays_as_it_was_while_the_menu_is_open():
    """Enabled without its submenu it would be a line that does nothing."""
    tree = MenuTree()
    tree.want(menu(said("recent", "recent", enabled=False)))
    tree.hold()
    assert not tree.want(menu(submenu("recent", "x")))
    assert tree.release().layout
    assert [child.key for child in tree.node(ids(tree)["recent"]).children] == ["x"]


def test_an_id_that_was_given_up_leads_to_its_line_for_a_while(monkeypatch):
    monkeypatch.setattr(menutree, "_REMEMBERED", 2)
    tree = MenuTree()
    tree.want(menu("a", "b", "c"))
    before = ids(tree)
    tree.want(menu("c", "a", "b"))
    assert len(set(ids(tree).values()) & set(before.values())) == 1
    assert [tree.node(before[key]) for key in "abc"] == [None, line("b"), line("c")]
    assert len(tree.ids()) == 4
    tree.want(menu("a"))
    assert tree.node(before["c"]) is None


def test_holding_again_first_brings_the_menu_up_to_date():
    tree = MenuTree()
    tree.want(menu("a"))
    tree.hold()
    tree.want(menu("a", "b"))
    assert tree.hold().layout
    assert shown(tree) == ["a", "b"]
    assert not tree.want(menu("a")).layout


KEYS = st.lists(st.sampled_from("abcdefgh"), unique=True)
STEPS = st.lists(st.one_of(KEYS, st.sampled_from(["hold", "release"])), max_size=20)


class ModelHost:
    """Fetches the layout when told to, and applies what it is told otherwise."""

    def __init__(self, tree: MenuTree) -> None:
        self.tree = tree
        self.layout: list[int] = []
        self.properties: dict[int, dict] = {}

    def follow(self, change: Change) -> None:
        if change.layout:
            self.layout = [self.tree.id_of(child) for child in self.tree.node(ROOT).children]
            for node_id in self.layout:
                self.properties.setdefault(node_id, dict(self.tree.node(node_id).properties))
        for node_id, values in change.updated:
            self.properties[node_id].update(values)
        for node_id, names in change.removed:
            for name in names:
                del self.properties[node_id][name]


@given(STEPS)
def test_a_host_that_follows_every_change_sees_the_tree(steps):
    tree = MenuTree()
    host = ModelHost(tree)
    host.properties[ROOT] = {}
    for number, step in enumerate(steps):
        before, held = list(host.layout), tree.held
        if step == "hold":
            host.follow(tree.hold())
        elif step == "release":
            host.follow(tree.release())
        else:
            host.follow(tree.want(menu(*(said(key, f"{key}{number % 3}") for key in step))))
            assert not held or host.layout == before
        children = tree.node(ROOT).children
        assert host.layout == [tree.id_of(child) for child in children]
        assert all(host.properties[tree.id_of(child)] == child.properties for child in children)
        assert len(tree.ids()) == len(children) + 1


@given(st.lists(KEYS, max_size=12))
def test_a_host_that_cannot_move_lines_shows_them_in_order(menus):
    tree = MenuTree()
    host = GnomeLines()
    for keys in menus:
        if tree.want(menu(*keys)).layout:
            host.lay_out([tree.id_of(child) for child in tree.node(ROOT).children])
        assert [tree.node(line).key for line in host.shown] == keys

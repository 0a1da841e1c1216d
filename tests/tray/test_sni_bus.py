"""The tray icon on a real bus, before a scripted tray."""

from __future__ import annotations

import asyncio
import gc
import inspect
import io
import logging
import os
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from dbus_fast import Message, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError
from PIL import Image

from tests import session_bus
from tests.tray.tray_host import ITEM, MENU, Gnome, Host, plain
from tray.desktop import dbusmenu, icon, menu, watcher
from tray.desktop.bus import connect, ended
from tray.desktop.icon import Look
from tray.desktop.items import Menu, MenuItem
from tray.desktop.menu import Entry
from tray.desktop.sni import TrayIcon
from tray.session import Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING)),
]

ITEM_PROPERTIES = {
    "Category": "s",
    "Id": "s",
    "Title": "s",
    "Status": "s",
    "WindowId": "i",
    "IconThemePath": "s",
    "IconName": "s",
    "IconPixmap": "a(iiay)",
    "OverlayIconName": "s",
    "OverlayIconPixmap": "a(iiay)",
    "AttentionIconName": "s",
    "AttentionIconPixmap": "a(iiay)",
    "AttentionMovieName": "s",
    "ToolTip": "(sa(iiay)ss)",
    "ItemIsMenu": "b",
    "Menu": "o",
    "IconAccessibleDesc": "s",
    "AttentionAccessibleDesc": "s",
    "XAyatanaLabel": "s",
    "XAyatanaLabelGuide": "s",
    "XAyatanaOrderingIndex": "u",
}
ITEM_MEMBERS = """
    Activate SecondaryActivate ContextMenu Scroll XAyatanaSecondaryActivate
    ProvideXdgActivationToken NewTitle NewIcon NewAttentionIcon NewOverlayIcon NewToolTip
    NewStatus NewMenu NewIconThemePath XAyatanaNewLabel
"""
MENU_PROPERTIES = {"Version": "u", "TextDirection": "s", "Status": "s", "IconThemePath": "as"}
MENU_MEMBERS = """
    GetLayout GetGroupProperties GetProperty Event EventGroup AboutToShow AboutToShowGroup
    ItemsPropertiesUpdated LayoutUpdated ItemActivationRequested
"""


async def until(condition: Callable[[], object], *, within: float = 5.0) -> None:
    """Let the loop run until `condition` holds; fail after `within` seconds."""
    try:
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110  (any condition)
                await asyncio.sleep(0.002)
    except TimeoutError:
        pytest.fail(f"not within {within} s: {inspect.getsource(condition).strip()}")


@pytest.fixture
def no_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[session_bus.SessionBus]:
    """A bus that does not run yet."""
    bus = session_bus.SessionBus(tmp_path)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    yield bus
    bus.stop()


@pytest.fixture
def bus(no_bus: session_bus.SessionBus) -> session_bus.SessionBus:
    no_bus.start()
    return no_bus


@pytest_asyncio.fixture
async def host(bus: session_bus.SessionBus) -> AsyncIterator[Host]:
    host = await Host().start(bus.address)
    yield host
    if host.bus.connected:
        await host.stop()


class Person:
    """A tray icon, and what it told of its person."""

    def __init__(self) -> None:
        self.clicked: list[str] = []
        self.changes = 0
        self.before_opening: Callable[[], None] = lambda: None
        self.icon = TrayIcon(on_action=self._acted, on_change=self._changed)

    def show(self, *entries: Entry | str, look: Look = Look.IDLE, badge: int = 0, **more) -> None:
        given = [row(entry) if isinstance(entry, str) else entry for entry in entries]
        self.icon.show(
            look, badge=badge, tooltip=more.pop("tooltip", "1 idle"), entries=given, **more
        )

    def _acted(self, entry: Entry) -> None:
        self.clicked.append(entry.key)
        if entry.key == "explodes":
            raise RuntimeError("the application's fault")

    def _changed(self) -> None:
        self.changes += 1
        self.before_opening()


def row(key: str, label: str | None = None, **fields) -> Entry:
    return Entry(key, label or key, action="row", session=key, **fields)


@pytest_asyncio.fixture
async def person() -> AsyncIterator[Person]:
    person = Person()
    yield person
    await person.icon.close()


@pytest_asyncio.fixture
async def seen(person: Person, host: Host) -> Person:
    """An icon that a tray shows, with two rows."""
    person.show("a", "b")
    await person.icon.start()
    await until(lambda: person.icon.host_present)
    return person


class TestItem:
    async def test_registers_by_path_so_that_its_unique_name_counts(self, seen, host):
        assert [path for _, path in host.registered] == ["/StatusNotifierItem"]
        assert host.registered[0][0].startswith(":")
        assert seen.icon.problems == ()

    @pytest.mark.parametrize(
        ("interface", "properties"), [(ITEM, ITEM_PROPERTIES), (MENU, MENU_PROPERTIES)]
    )
    async def test_every_property_answers_get_and_get_all(self, seen, host, interface, properties):
        every = await host.get_all(interface)
        assert {name: value.signature for name, value in every.items()} == properties
        for name in properties:
            assert await host.get(name, interface) == plain(every[name].value)

    @pytest.mark.parametrize(("interface", "members"), [(ITEM, ITEM_MEMBERS), (MENU, MENU_MEMBERS)])
    async def test_the_interfaces_are_whole(self, seen, host, interface, members):
        described = await host.introspect(interface)
        assert [name for name in members.split() if f'name="{name}"' not in described] == []

    async def test_shows_the_drawing_in_every_size(self, seen, host):
        seen.show(look=Look.BLOCKED, badge=3, muted=True)
        for name in ("IconPixmap", "AttentionIconPixmap"):
            pixmaps = await host.get(name)
            assert [(width, height) for width, height, _ in pixmaps] == [
                (size, size) for size in icon.SIZES
            ]
            for width, height, argb in pixmaps:
                alpha, *colours = Image.frombytes("RGBA", (width, height), bytes(argb)).split()
                drawn = icon.draw(Look.BLOCKED, 3, True, width)
                assert Image.merge("RGBA", (*colours, alpha)).tobytes() == drawn.tobytes()

    async def test_a_new_status_is_followed_by_a_new_icon(self, seen, host):
        host.signals.clear()
        seen.show("a", "b", look=Look.BLOCKED, badge=1)
        await host.settle()
        assert await host.get("Status") == "NeedsAttention"
        told = host.names()
        assert "NewIcon" in told[told.index("NewStatus") :]
        assert "NewToolTip" not in told
        assert ["NeedsAttention"] in [body for name, body in host.signals if name == "NewStatus"]
        seen.show("a", "b", look=Look.BLOCKED, badge=1, muted=True)
        assert await host.get("Status") == "Active"

    async def test_what_stays_the_same_is_not_told(self, seen, host):
        host.signals.clear()
        seen.show("a", "b")
        await host.settle()
        assert host.signals == []

    async def test_a_new_tooltip_is_told_and_its_body_escaped(self, seen, host):
        host.signals.clear()
        seen.show("a", "b", tooltip="1 <blocked>\nBash: a && b <c>\nmore")
        await host.settle()
        assert "NewToolTip" in host.names()
        assert "NewIcon" not in host.names()
        assert await host.get("ToolTip") == [
            "", [], "1 <blocked>", "Bash: a &amp;&amp; b &lt;c&gt;\nmore",
        ]  # fmt: skip
        assert await host.get("IconAccessibleDesc") == "1 <blocked>"

    async def test_hides_when_told_to(self, seen, host):
        for visible, status in ((False, "Passive"), (True, "Active")):
            host.signals.clear()
            seen.icon.visible = visible
            await host.settle()
            assert await host.get("Status") == status
            # XFCE takes in a new status only when told of a new icon too.
            assert host.names()[:2] == ["NewStatus", "NewIcon"]

    async def test_a_click_that_opens_no_menu_does_the_default(self, seen, host):
        inner = Entry("more", "more", children=(row("first", default=True), row("x", default=True)))
        seen.show("a", inner)
        await host.call_item("Activate", "ii", 1, 1)
        await host.call_item("SecondaryActivate", "ii", 1, 1)
        await host.call_item("XAyatanaSecondaryActivate", "u", 0)
        assert seen.clicked == ["first"] * 3

    async def test_a_click_without_a_default_does_nothing(self, seen, host):
        await host.call_item("Activate", "ii", 1, 1)
        assert seen.clicked == []

    async def test_other_ways_of_touching_it_are_answered(self, seen, host):
        await host.call_item("ContextMenu", "ii", 1, 1)
        await host.call_item("Scroll", "is", 120, "vertical")
        assert seen.clicked == []

    async def test_the_token_of_a_click_is_kept_for_it(self, seen, host):
        await host.call_item("ProvideXdgActivationToken", "s", "token-1")
        assert seen.icon.take_token() == "token-1"
        assert seen.icon.take_token() is None
        await host.call_item("ProvideXdgActivationToken", "s", "x" * 2000)
        assert seen.icon.take_token() is None

    async def test_refuses_the_left_click_where_that_opens_the_menu(self, seen, host, bus):
        seen.show(row("a", default=True))
        plasma = await MessageBus(bus.address).connect()
        await plasma.request_name("org.kde.plasmashell")
        with pytest.raises(DBusError) as refused:
            await host.call_item("Activate", "ii", 1, 1)
        assert refused.value.type == "org.freedesktop.DBus.Error.UnknownMethod"
        assert seen.clicked == []
        await host.call_item("SecondaryActivate", "ii", 1, 1)
        assert seen.clicked == ["a"]
        plasma.disconnect()
        await plasma.wait_for_disconnect()


class TestMenu:
    async def test_lines_are_as_the_entries(self, seen, host):
        seen.show(
            Entry("head", "1 idle", enabled=False),
            Entry("rule", separator=True),
            row("s", "a_b __c", look=Look.WORKING),
            Entry("more", "1 more", children=(row("t"),)),
        )
        head, rule, session, more = (await host.layout()).children
        assert (head.label, head.enabled) == ("1 idle", False)
        assert rule.properties == {"type": "separator"}
        assert session.label == "a__b ____c"
        picture = Image.open(io.BytesIO(bytes(session.properties["icon-data"])))
        assert picture.size == (16, 16)
        assert more.properties["children-display"] == "submenu"
        assert more.labels == ["t"]

    async def test_depth_and_names_limit_what_is_given(self, seen, host):
        seen.show(row("a", look=Look.IDLE), Entry("more", children=(row("b"),)))
        top = await host.layout(depth=1, names=("label",))
        assert [set(line.properties) for line in top.children] == [{"label"}, {"label"}]
        assert top.children[1].children == []
        assert (await host.layout(depth=0)).children == []
        inner = await host.layout(parent=top.children[1].id)
        assert inner.labels == ["b"]

    async def test_properties_can_be_had_one_by_one_and_by_groups(self, seen, host):
        line = (await host.layout()).find("b")
        assert (await host.call_menu("GetProperty", "is", line.id, "label"))[0].value == "b"
        assert (await host.call_menu("GetProperty", "is", line.id, "visible"))[0].value is True
        (group,) = await host.call_menu("GetGroupProperties", "aias", [line.id, 999], ["label"])
        assert [(found, set(values)) for found, values in group] == [(line.id, {"label"})]
        (every,) = await host.call_menu("GetGroupProperties", "aias", [], [])
        assert len(every) == 3

    @pytest.mark.parametrize(
        ("member", "signature", "body"),
        [
            ("GetLayout", "iias", (999, -1, [])),
            ("GetProperty", "is", (999, "label")),
            ("GetProperty", "is", (0, "no-such-property")),
            ("AboutToShow", "i", (999,)),
        ],
    )
    async def test_what_is_not_there_is_an_error(self, seen, host, member, signature, body):
        with pytest.raises(DBusError) as refused:
            await host.call_menu(member, signature, *body)
        assert refused.value.type == "org.freedesktop.DBus.Error.InvalidArgs"

    async def test_a_new_label_is_told_as_such(self, seen, host):
        line = (await host.layout()).find("b")
        host.signals.clear()
        seen.show("a", row("b", "B"))
        await host.settle()
        assert host.names() == ["ItemsPropertiesUpdated"]
        (updated, removed) = host.signals[0][1]
        assert [(found, values["label"].value) for found, values in updated] == [(line.id, "B")]
        assert removed == []
        seen.show("a", row("b", "B", enabled=False))
        seen.show("a", row("b", "B"))
        await host.settle()
        assert host.signals[-1][1] == [[], [[line.id, ["enabled"]]]]

    async def test_a_new_line_is_a_new_layout_and_the_others_keep_their_ids(self, seen, host):
        before = {line.label: line.id for line in (await host.layout()).children}
        revision = await host.revision()
        host.signals.clear()
        seen.show("a", "new", "b")
        await host.settle()
        assert host.signals == [("LayoutUpdated", [revision + 1, 0])]
        after = {line.label: line.id for line in (await host.layout()).children}
        assert {label: after[label] for label in before} == before

    async def test_the_table_of_ids_does_not_grow(self, seen, host):
        for number in range(300):
            seen.show(f"session:{number}", f"session:{number + 1}")
        (every,) = await host.call_menu("GetGroupProperties", "aias", [], [])
        assert len(every) == 3

    async def test_a_click_is_told(self, seen, host):
        await host.event((await host.layout()).find("b").id, "clicked")
        assert seen.clicked == ["b"]

    async def test_other_events_and_other_lines_are_no_clicks(self, seen, host):
        seen.show(Entry("head", "head", enabled=False), row("dead", enabled=False), "a")
        layout = await host.layout()
        await host.event(layout.find("a").id, "hovered")
        for label in ("head", "dead"):
            await host.event(layout.find(label).id, "clicked")
        with pytest.raises(DBusError):
            await host.event(999, "clicked")
        assert seen.clicked == []

    async def test_a_fault_of_the_application_is_logged_and_the_menu_goes_on(
        self, seen, host, caplog
    ):
        seen.show("explodes", "a")
        with caplog.at_level(logging.CRITICAL, logger="tray.desktop.dbusmenu"):
            await host.event((await host.layout()).find("explodes").id, "clicked")
        await host.event((await host.layout()).find("a").id, "clicked")
        assert seen.clicked == ["explodes", "a"]

    async def test_events_in_groups(self, seen, host):
        layout = await host.layout()
        events = [
            [0, "opened", Variant("s", ""), 0],
            [layout.find("a").id, "clicked", Variant("s", ""), 0],
            [999, "clicked", Variant("s", ""), 0],
        ]
        assert await host.call_menu("EventGroup", "a(isvu)", events) == [[999]]
        assert seen.clicked == ["a"]

    async def test_two_hundred_sessions(self, seen, host):
        sessions = [
            Observation(
                f"{n}:1",
                State.NEEDS_INPUT,
                reason=Reason.PERMISSION,
                project=f"p_{n % 7}",
                detail="Bash: \x1b[31mrm\x00 \ud800 \u202e" + "x" * 10_000,
            )
            for n in range(200)
        ]
        seen.icon.show(
            icon.look(sessions, healthy=True),
            badge=200,
            tooltip=menu.tooltip(sessions, (), 0.0),
            entries=menu.build(sessions, (), 0.0),
        )
        layout = await host.layout()
        leaves = [line for line in layout.all() if " — permission: " in line.label]
        assert len(leaves) == 200
        assert layout.find("188 more").children
        await host.event(leaves[-1].id, "clicked")
        assert len(seen.clicked) == 1
        assert (await host.get("ToolTip"))[2] == "200 blocked"


class TestOpenMenu:
    @pytest.fixture(params=["opened", "about-to-show", "group"])
    def open_menu(self, request, host):
        """Each way in which a host says that the menu opens."""

        async def opens() -> bool:
            if request.param == "opened":
                await host.event(0, "opened")
                return False
            if request.param == "about-to-show":
                return (await host.call_menu("AboutToShow", "i", 0))[0]
            needed, unknown = await host.call_menu("AboutToShowGroup", "ai", [0, 999])
            assert unknown == [999]
            return needed == [0]

        return opens

    async def test_nothing_moves_and_labels_go_on(self, seen, host, open_menu):
        before = await host.layout()
        await open_menu()
        host.signals.clear()
        seen.show("new", row("b", "B"))
        await host.settle()
        assert set(host.names()) == {"ItemsPropertiesUpdated"}
        during = await host.layout()
        assert [line.id for line in during.children] == [line.id for line in before.children]
        assert during.labels == ["a", "B"]
        assert [line.enabled for line in during.children] == [False, True]
        await host.event(during.children[0].id, "clicked")
        assert seen.clicked == []

    @pytest.mark.parametrize("ending", ["closed", "clicked"])
    async def test_it_is_brought_up_to_date_when_it_closes(self, seen, host, open_menu, ending):
        await open_menu()
        seen.show("new", "b")
        host.signals.clear()
        where = 0 if ending == "closed" else (await host.layout()).find("b").id
        await host.event(where, ending)
        await host.settle()
        assert "LayoutUpdated" in host.names()
        assert (await host.layout()).labels == ["new", "b"]
        seen.show("newer", "b")
        assert (await host.layout()).labels == ["newer", "b"]

    async def test_a_submenu_that_closes_does_not_close_the_menu(self, seen, host, open_menu):
        seen.show("a", Entry("more", "more", children=(row("b"),)))
        await open_menu()
        await host.event((await host.layout()).find("more").id, "closed")
        seen.show("new", "a")
        assert (await host.layout()).labels == ["a", "more"]

    async def test_it_is_not_taken_for_open_for_ever(self, seen, host, open_menu, monkeypatch):
        monkeypatch.setattr(dbusmenu, "HOLD_OPENED", 0.05)
        monkeypatch.setattr(dbusmenu, "HOLD_ANNOUNCED", 0.05)
        monkeypatch.setattr(dbusmenu, "HOLD_UNCONFIRMED", 0.05)
        await open_menu()
        seen.show("new")
        host.signals.clear()
        await until(lambda: "LayoutUpdated" in host.names())
        assert (await host.layout()).labels == ["new"]

    async def test_it_is_fresh_when_it_opens(self, seen, host):
        seen.before_opening = lambda: seen.show("fresh", row("b", "5 min"))
        host.signals.clear()
        assert await host.call_menu("AboutToShow", "i", 0) == [True]
        assert host.names() == ["ItemsPropertiesUpdated"], "a new layout would be fetched twice"
        assert (await host.layout()).labels == ["fresh", "5 min"]
        assert await host.call_menu("AboutToShow", "i", 0) == [False]

    async def test_a_client_that_asks_in_groups_is_told_too(self, seen, host):
        """libdbusmenu's, of XFCE, MATE and waybar, asks for no answer."""
        seen.before_opening = lambda: seen.show("fresh")
        host.signals.clear()
        assert await host.call_menu("AboutToShowGroup", "ai", [0]) == [[0], []]
        assert host.names()[-1] == "LayoutUpdated"
        host.signals.clear()
        assert await host.call_menu("AboutToShowGroup", "ai", [0]) == [[], []]
        assert host.signals == []

    async def test_it_opens_although_the_application_fails(self, seen, host, caplog):
        seen.before_opening = lambda: 1 / 0
        with caplog.at_level(logging.CRITICAL, logger="tray.desktop.dbusmenu"):
            assert await host.call_menu("AboutToShow", "i", 0) == [False]
        assert (await host.layout()).labels == ["a", "b"]

    async def test_a_submenu_needs_nothing(self, seen, host):
        seen.show("a", Entry("more", "more", children=(row("b"),)))
        line = (await host.layout()).find("more")
        changes = seen.changes
        assert await host.call_menu("AboutToShow", "i", line.id) == [False]
        assert seen.changes == changes

    async def test_another_tray_finds_it_closed(self, seen, host, bus, open_menu):
        await open_menu()
        seen.show("new")
        await host.stop()
        async with Other(bus) as other:
            await until(lambda: other.registered and seen.icon.host_present)
            assert (await other.layout()).labels == ["new"]


class TestGnome:
    """What is seen in GNOME, whose extension has its own ways."""

    @pytest_asyncio.fixture
    async def gnome(self, seen, host, monkeypatch) -> Gnome:
        monkeypatch.setattr(dbusmenu, "HOLD_ANNOUNCED", 0.0)
        monkeypatch.setattr(dbusmenu, "HOLD_UNCONFIRMED", 600.0)
        gnome = Gnome(host)
        await gnome.attach()
        await asyncio.sleep(0)
        return gnome

    async def test_each_opening_shows_every_line_in_its_place(self, seen, host, gnome):
        chance = random.Random(0)
        for round_ in range(40):
            keys = chance.sample("abcdefgh", chance.randrange(1, 9))
            fresh = chance.sample("abcdefgh", chance.randrange(1, 9))
            seen.before_opening = lambda keys=fresh, n=round_: seen.show(
                *(row(key, f"{key}{n}") for key in keys)
            )
            seen.show(*(row(key, f"{key}{round_}") for key in keys))
            await gnome.follow()
            assert gnome.labels == [f"{key}{round_}" for key in keys]
            await gnome.open()
            assert gnome.labels == [f"{key}{round_}" for key in fresh]
            seen.show(*(row(key, f"{key}!") for key in keys))
            await gnome.follow()
            assert [label[0] for label in gnome.labels] == fresh, "it moved under the pointer"
            await gnome.close()
            assert gnome.labels == [f"{key}!" for key in keys]

    async def test_the_hold_lasts_while_the_menu_is_open(self, seen, gnome):
        """It says that the menu is open before it asks for the menu."""
        await gnome.open()
        seen.show("new", "a", "b")
        await asyncio.sleep(0.01)
        await gnome.follow()
        assert gnome.labels == ["a", "b"]

    async def test_a_click_on_a_line_that_has_just_moved_reaches_it(self, seen, host, gnome):
        seen.show("b", "a")
        await host.settle()
        await gnome.click("a")
        assert seen.clicked == ["a"]


class Other:
    """A tray that comes after another."""

    def __init__(self, bus: session_bus.SessionBus) -> None:
        self._address = bus.address

    async def __aenter__(self) -> Host:
        self._host = await Host().start(self._address)
        return self._host

    async def __aexit__(self, *_: object) -> None:
        await self._host.stop()


class TestTray:
    async def test_one_that_comes_later_gets_the_icon(self, person, bus):
        person.show("a")
        await person.icon.start()
        await until(lambda: person.icon.problems)
        assert [problem.code for problem in person.icon.problems] == ["no-tray"]
        assert not person.icon.host_present
        async with Other(bus) as host:
            await until(lambda: person.icon.host_present)
            assert person.icon.problems == ()
            assert (await host.layout()).labels == ["a"]

    async def test_one_that_is_restarted_gets_it_again(self, seen, host, bus):
        await host.stop()
        await until(lambda: not seen.icon.host_present)
        assert [problem.code for problem in seen.icon.problems] == ["no-tray"]
        async with Other(bus) as other:
            await until(lambda: seen.icon.host_present)
            assert [path for _, path in other.registered] == ["/StatusNotifierItem"]

    async def test_a_watcher_without_a_tray_is_no_tray(self, person, host):
        host.has_host = False
        await person.icon.start()
        await until(lambda: person.icon.problems)
        host.has_host = True
        host.tell("StatusNotifierHostRegistered")
        await until(lambda: person.icon.host_present)
        host.has_host = False
        host.tell("StatusNotifierHostUnregistered")
        await until(lambda: not person.icon.host_present)
        assert len(host.registered) == 1

    @pytest.mark.parametrize("fault", ["hangs", "refuses"])
    async def test_one_that_does_not_take_it_is_asked_again(self, person, host, fault, monkeypatch):
        monkeypatch.setattr(watcher, "REPLY_LIMIT", 0.1)
        setattr(host, fault, True)
        await person.icon.start()
        await until(lambda: person.icon.problems)
        setattr(host, fault, False)
        await until(lambda: person.icon.host_present)
        assert len(host.registered) > 1

    @pytest.mark.parametrize(
        ("desktop", "said"),
        [
            ("ubuntu:GNOME", "AppIndicator extension"),
            ("XFCE", "Status Tray"),
            ("sway", "waybar"),
            ("", "start a panel"),
        ],
    )
    async def test_none_is_told_with_the_way_out(self, person, bus, desktop, said, monkeypatch):
        monkeypatch.setenv("XDG_CURRENT_DESKTOP", desktop)
        await person.icon.start()
        await until(lambda: person.icon.problems)
        assert said in person.icon.problems[0].message


class TestBus:
    async def test_none_is_told_and_waited_for(self, person, no_bus):
        person.show("a")
        await person.icon.start()
        assert [problem.code for problem in person.icon.problems] == ["no-bus"]
        no_bus.start()
        async with Other(no_bus) as host:
            await until(lambda: person.icon.host_present)
            assert (await host.layout()).labels == ["a"]

    async def test_one_that_goes_and_comes_back(self, seen, host, bus):
        before = {line.label: line.id for line in (await host.layout()).children}
        await host.event(0, "opened")
        bus.stop()
        await until(lambda: not seen.icon.host_present)
        seen.show("a", "new", look=Look.BLOCKED, badge=1)
        await until(lambda: [p.code for p in seen.icon.problems] == ["no-bus"])
        bus.start()
        async with Other(bus) as other:
            await until(lambda: seen.icon.host_present)
            layout = await other.layout()
            assert layout.labels == ["a", "new"]
            assert "LayoutUpdated" not in other.names(), "it was not up to date at once"
            assert layout.find("a").id == before["a"]
            assert await other.get("Status") == "NeedsAttention"

    async def test_showing_while_the_bus_dies_is_no_error(self, seen, host, bus):
        bus.stop()
        for number in range(50):
            seen.show(f"row {number}", look=list(Look)[number % 6], tooltip=str(number))
            await asyncio.sleep(0)
        await until(lambda: not seen.icon.host_present)

    async def test_what_is_sent_into_a_broken_connection_leaves_nothing_behind(self, bus):
        complaints: list[dict] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        connection = await connect()
        bus.stop()
        for _ in range(3):
            connection.send(Message.new_signal("/x", "org.example.X", "Y"))
        await ended(connection)
        assert not connection.connected
        del connection
        gc.collect()
        assert complaints == []

    async def test_leaves_bus_and_tray_when_closed(self, seen, host):
        name = host.registered[0][0]
        await seen.icon.close()
        with pytest.raises(DBusError) as gone:
            await host.get("Status")
        assert name in str(gone.value) or "ServiceUnknown" in gone.value.type

    async def test_can_be_closed_without_a_bus_and_without_a_start(self, person, no_bus):
        await TrayIcon().close()
        await person.icon.start()
        await person.icon.close()

    async def test_has_no_thread(self, person, host):
        before = set(threading.enumerate())
        person.show("a", "b")
        await person.icon.start()
        await until(lambda: person.icon.host_present)
        assert set(threading.enumerate()) <= before


class TestPystray:
    """What pystray promises of any back end."""

    async def test_its_own_menus_and_pictures_work(self, host):
        done: list[str] = []
        icon_ = TrayIcon("plain")
        icon_.icon = Image.new("RGBA", (20, 20), "#ff000080")
        icon_.title = "Title"
        icon_.menu = Menu(
            MenuItem("one", lambda: done.append("one"), default=True),
            Menu.SEPARATOR,
            MenuItem("two", lambda: None, checked=lambda _: True),
            MenuItem("three", Menu(MenuItem("four", None, enabled=False))),
        )
        icon_.run_detached()
        await until(lambda: icon_.host_present)
        one, rule, two, three = (await host.layout()).children
        assert rule.properties["type"] == "separator"
        assert two.properties["toggle-type"] == "checkmark"
        assert two.properties["toggle-state"] == 1
        assert [line.enabled for line in three.children] == [False]
        await host.event(one.id, "clicked")
        await host.call_item("Activate", "ii", 0, 0)
        assert done == ["one", "one"]
        assert await host.get("IconPixmap") == [[20, 20, b"\x80\xff\x00\x00" * 400]]
        assert (await host.get("ToolTip"))[2] == "Title"
        icon_.stop()
        await icon_.close()

    async def test_run_lasts_until_stop(self, host):
        begun: list[TrayIcon] = []

        def setup(icon_: TrayIcon) -> None:
            begun.append(icon_)
            asyncio.get_running_loop().call_later(0.05, icon_.stop)

        async with asyncio.timeout(5):
            await asyncio.to_thread(lambda: TrayIcon("runs").run(setup))
        assert len(begun) == 1

    @pytest.mark.parametrize("before", [None, "xorg", "nonsense"])
    async def test_the_import_leaves_the_environment_as_it_was(self, before):
        environment = {**os.environ}
        environment.pop("DISPLAY", None)
        environment.pop("PYSTRAY_BACKEND", None)
        if before is not None:
            environment["PYSTRAY_BACKEND"] = before
        code = (
            "import os, sys, tray.desktop.sni;"
            "print(os.environ.get('PYSTRAY_BACKEND'), 'gi' in sys.modules, 'Xlib' in sys.modules)"
        )
        done = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, env=environment, stdout=subprocess.PIPE
        )
        out, _ = await done.communicate()
        assert out.decode().split() == [str(before), "False", "False"]

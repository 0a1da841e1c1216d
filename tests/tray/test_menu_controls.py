"""What the menu lets a person do, beyond going to a session."""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING

import pytest

from tray.claude.recent import Recent
from tray.config import Alerts, AlertSettings, Holds, Sessions, Settings
from tray.desktop import menu, prose
from tray.desktop.items import Items, nodes
from tray.desktop.menu import Action, Controls, Duration, Entry, ends_at
from tray.desktop.menutree import MenuTree, Node
from tray.mutes import Mutes, Scope
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOON = 1_774_872_000.0  # 2026-03-30 12:00 UTC, a Monday
HOUR = 3600.0
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def session(state: State = State.WORKING, reason: Reason | None = None, **fields) -> Observation:
    number = next(_numbers)
    given = {
        "key": f"{number}:1",
        "pid": number,
        "session_id": f"id-{number}",
        "project": "shop",
        "cwd": "/src/shop",
        "branch": "main",
        **fields,
    }
    return Observation(state=state, reason=reason, **given)


def asks(text: str = "npm publish", ask: str = "s1", **fields) -> Observation:
    return session(
        State.NEEDS_INPUT,
        Reason.PERMISSION,
        detail="Bash: npm",
        ask=Ask(ask, Reason.PERMISSION, "Bash", text),
        **fields,
    )


def build(*sessions: Observation, **controls) -> tuple[Entry, ...]:
    return menu.build(sessions, (), NOON, controls=Controls(**controls))


def flat(entries: Sequence[Entry]) -> list[Entry]:
    return [found for entry in entries for found in (entry, *flat(entry.children))]


def one(entries: Sequence[Entry], key: str) -> Entry:
    (found,) = [entry for entry in flat(entries) if entry.key == key]
    return found


def actions(*sessions: Observation, **controls) -> list[Entry]:
    """The lines of the first session's submenu."""
    return list(one(build(*sessions, **controls), "actions").children[0].children)


def labels(entries: Sequence[Entry]) -> list[str]:
    return [entry.label for entry in entries if not entry.separator]


def test_the_menu_is_complete_and_in_this_order():
    entries = build(asks(), autostart=True, version="1.2")
    assert [entry.label for entry in entries if entry.key[:7] != "session"] == [
        "1 blocked",
        "",
        "",
        "Session actions",
        "Recent sessions",
        "Mark all seen",
        "",
        "Mute",
        "Notifications",
        "Start at login",
        "About sessionbell 1.2",
        "",
        "Quit sessionbell",
    ]


def test_rows_have_no_submenu_and_what_has_one_does_nothing_by_itself():
    for entry in flat(build(*(asks() for _ in range(14)), mutes=Mutes(everything=(None,)))):
        assert not (entry.children and entry.action)


def test_the_actions_of_a_session():
    asking = asks(unseen=True)
    found = actions(asking)
    assert labels(found) == [
        "npm publish",
        "Go to session",
        "Open folder",
        "Copy resume command",
        "Copy session id",
        "Mark as seen",
        "Snooze this ask",
        "Mute session",
        "Mute project shop",
    ]
    by_action = {entry.action: entry for entry in found if entry.action}
    assert set(by_action) == {
        Action.GO,
        Action.OPEN_FOLDER,
        Action.COPY_RESUME,
        Action.COPY_ID,
        Action.MARK_SEEN,
    }
    assert {entry.session for entry in by_action.values()} == {asking.key}
    assert all(entry.enabled for entry in by_action.values())


@pytest.mark.parametrize(
    ("fields", "disabled"),
    [
        ({"cwd": None, "unseen": True}, {Action.OPEN_FOLDER}),
        ({"session_id": None, "unseen": True}, {Action.COPY_RESUME, Action.COPY_ID}),
        ({}, {Action.MARK_SEEN}),
    ],
)
def test_what_cannot_be_done_keeps_its_line_disabled(fields, disabled):
    found = [entry for entry in actions(session(**fields)) if entry.action]
    assert len(found) == 5
    assert {entry.action for entry in found if not entry.enabled} == disabled


def test_the_whole_ask_is_said_in_short_lines():
    text = "cd /src && " + " && ".join(f"make step-{n}" for n in range(30))
    found = [entry for entry in actions(asks(text)) if not entry.enabled]
    said = " ".join(entry.label for entry in found if entry.action is None)
    assert said == text
    assert all(len(entry.label) <= 76 for entry in found)


def test_a_question_has_its_answers_below_it():
    ask = Ask("q", Reason.QUESTION, "AskUserQuestion", "Which one?\nIt matters.", ("Red", "Blue"))
    found = actions(session(State.NEEDS_INPUT, Reason.QUESTION, ask=ask))
    assert labels(found)[:4] == ["Which one?", "It matters.", "• Red", "• Blue"]


def test_a_long_ask_is_cut_and_says_where_all_of_it_is():
    asking = asks("\n".join(f"line {n}" for n in range(500)))
    said = [entry for entry in actions(asking) if entry.label and not entry.enabled]
    said = [entry.label for entry in said if entry.action is None]
    assert len(said) == 14
    assert said[-1] == f"… all of it: sessionbell show {asking.pid}"


def test_a_finished_turn_says_what_was_said_last_and_work_says_nothing():
    done = session(State.IDLE, unseen=True, preview="All 42 tests pass.")
    assert labels(actions(done))[0] == "All 42 tests pass."
    assert labels(actions(session(preview="Thinking")))[0] == "Go to session"


def test_an_ask_can_be_snoozed_but_not_for_ever():
    asking = asks(ask="s77")
    snooze = next(entry for entry in actions(asking) if entry.label == "Snooze this ask")
    assert [(e.action, e.scope, e.what, e.duration) for e in snooze.children] == [
        (Action.MUTE, Scope.ASK, f"{asking.session_id}/s77", Duration.HALF_HOUR),
        (Action.MUTE, Scope.ASK, f"{asking.session_id}/s77", Duration.HOUR),
    ]
    assert not any("nooze" in label for label in labels(actions(session())))


@pytest.mark.parametrize(
    ("label", "scope", "what"),
    [("Mute session", Scope.SESSION, None), ("Mute project shop", Scope.PROJECT, "/src/shop")],
)
def test_a_session_and_its_project_can_be_muted(label, scope, what):
    working = session()
    what = what or working.session_id
    mute = next(entry for entry in actions(working) if entry.label == label)
    assert [(e.label, e.duration) for e in mute.children] == [
        ("For 30 minutes", Duration.HALF_HOUR),
        ("For 1 hour", Duration.HOUR),
        ("Until tomorrow", Duration.TOMORROW),
        ("Until unmuted", Duration.UNMUTED),
    ]
    assert {(e.action, e.scope, e.what) for e in mute.children} == {(Action.MUTE, scope, what)}


def test_what_is_muted_says_so_and_can_be_undone():
    asking = asks()
    own, ask = asking.session_id, f"{asking.session_id}/s1"
    mutes = Mutes(
        sessions={own: NOON + HOUR},
        projects={"/src/shop": None},
        snoozed={ask: NOON + 2 * HOUR},
    )
    found = {entry.label: entry for entry in actions(asking, mutes=mutes)}
    for label, scope, what in (
        ("Snoozed until 14:00", Scope.ASK, ask),
        ("Session muted until 13:00", Scope.SESSION, own),
        ("Project muted until unmuted", Scope.PROJECT, "/src/shop"),
    ):
        last = found[label].children[-1]
        assert (last.action, last.scope, last.what) == (Action.UNMUTE, scope, what)


@pytest.mark.parametrize(
    "mutes",
    [
        Mutes(everything=(None,)),
        Mutes(projects={"/src/shop": NOON + 1}),
        Mutes(sessions={"mine": NOON + 1}),
    ],
)
def test_a_muted_session_has_a_mark_in_its_row(mutes):
    mine = session(session_id="mine", since=NOON - 300)
    (row,) = [entry for entry in build(mine, mutes=mutes) if entry.action == Action.ROW]
    assert row.label == "shop · main — working (5 min, muted)"


def test_a_mute_that_has_ended_is_none():
    mutes = Mutes(everything=(NOON,), projects={"/src/shop": NOON - 1}, sessions={"mine": NOON - 1})
    found = build(session(session_id="mine"), mutes=mutes)
    assert not [e for e in flat(found) if "muted" in e.label and "Until" not in e.label]
    assert not [e for e in flat(found) if e.action == Action.UNMUTE]


def test_mute_says_what_is_muted_and_how_long():
    asking = asks(project="api", cwd="/src/api", branch="main")
    mutes = Mutes(
        everything=(NOON + HOUR,),
        projects={"/src/shop": NOON + 20 * HOUR},
        sessions={"0123456789": NOON + 72 * HOUR},
        snoozed={f"{asking.session_id}/s1": NOON + 60},
    )
    mute = one(build(asking, mutes=mutes), "mute")
    assert mute.label == "Muted until 13:00"
    assert labels(mute.children)[4:] == [
        "Unmute everything (until 13:00)",
        "Unmute project shop (until tomorrow 08:00)",
        "Unmute session 0123456… (until Thu 12:00)",
        "End the snooze of api · main (until 12:01)",
    ]
    everything = [(e.action, e.scope, e.what) for e in mute.children[:4]]
    assert everything == [(Action.MUTE, Scope.EVERYTHING, "")] * 4
    assert [(e.scope, e.what) for e in mute.children if e.action == Action.UNMUTE] == [
        (Scope.EVERYTHING, ""),
        (Scope.PROJECT, "/src/shop"),
        (Scope.SESSION, "0123456789"),
        (Scope.ASK, f"{asking.session_id}/s1"),
    ]
    assert one(build(mutes=Mutes(projects={"a": None})), "mute").label == "Mute (1 muted)"


def test_many_mutes_do_not_fill_the_screen():
    mutes = Mutes(sessions={f"{n}": None for n in range(300)})
    assert len(one(build(mutes=mutes), "mute").children) < 20


@pytest.mark.parametrize(
    ("duration", "end"),
    [
        (Duration.HALF_HOUR, NOON + 1800),
        (Duration.HOUR, NOON + HOUR),
        (Duration.TOMORROW, NOON + 19 * HOUR),
        (Duration.UNMUTED, None),
    ],
)
def test_when_a_mute_ends(duration, end):
    assert ends_at(duration, NOON) == end


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (NOON + 59, "until 12:00"),
        (NOON + 13 * HOUR, "until tomorrow 01:00"),
        (NOON + 100 * HOUR, "until Fri 16:00"),
        (NOON + 1000 * HOUR, "until 2026-05-11 04:00"),
        (1e300, "until unmuted"),
        (float("inf"), "until unmuted"),
        (None, "until unmuted"),
    ],
)
def test_how_an_end_is_said(end, said):
    assert prose.until(end, NOON) == said


@pytest.mark.parametrize(
    ("setting", "off", "on"),
    [
        ("notifications", Settings(notifications=False), True),
        ("show_details", Settings(show_details=False), True),
        ("alerts.turn_over.enabled",
         Settings(alerts=Alerts(turn_over=AlertSettings(enabled=False))), True),
        ("holds.presence", Settings(holds=Holds(presence=0)), 30.0),
        ("sessions.background", Settings(sessions=Sessions(background=False)), True),
    ],
)  # fmt: skip
def test_each_setting_can_be_switched(setting, off, on):
    switched_on = one(build(settings=Settings()), f"setting:{setting}")
    assert (switched_on.checked, switched_on.action) == (True, Action.SET)
    assert (switched_on.setting, switched_on.value) == (setting, type(on)())
    switched_off = one(build(settings=off), f"setting:{setting}")
    assert (switched_off.checked, switched_off.value) == (False, on)


def test_reminders_are_off_until_switched_on():
    line = one(build(), "setting:remind_after")
    assert (line.checked, line.value) == (False, 10.0)
    line = one(build(settings=Settings(remind_after=3)), "setting:remind_after")
    assert (line.checked, line.value) == (True, 0.0)


def test_without_notifications_their_settings_rest():
    lines = one(build(settings=Settings(notifications=False)), "settings").children
    assert [line.setting for line in lines if line.enabled] == [
        "notifications",
        "sessions.background",
    ]


@pytest.mark.parametrize(
    ("on", "enabled", "checked", "value"),
    [(True, True, True, False), (False, True, False, True), (None, False, False, True)],
)
def test_start_at_login(on, enabled, checked, value):
    line = one(build(autostart=on), "autostart")
    assert (line.enabled, line.checked, line.value) == (enabled, checked, value)


def test_mark_all_seen_needs_something_unseen():
    assert not one(build(session()), "all-seen").enabled
    assert one(build(session(), session(unseen=True)), "all-seen").enabled


def test_recent_sessions_can_be_resumed():
    recent = (
        Recent("id-a", "/r", "/r/a", NOON - 2 * HOUR, "/src/shop", "Fix login"),
        Recent("0123456789", "/r", "/r/b", NOON, None, None),
    )
    lines = one(build(recent=recent), "recent").children
    assert [(e.label, e.action, e.session) for e in lines] == [
        ("shop — Fix login (2 h ago)", Action.RESUME, "id-a"),
        ("no project — 01234567… (just now)", Action.RESUME, "0123456789"),
    ]
    assert not one(build(), "recent").enabled


def test_about_says_the_version_and_opens_files_only():
    about = one(build(version="9.9", page="https://example.org/bell"), "about")
    assert about.label == "About sessionbell 9.9"
    assert [e.action for e in about.children if e.action] == [
        Action.OPEN_SETTINGS,
        Action.OPEN_LOG,
    ]
    page = one(about.children, "about:page")
    assert (page.label, page.action, page.enabled) == ("https://example.org/bell", None, False)


def test_two_hundred_sessions_have_twelve_submenus_and_unique_keys():
    sessions = [asks(project=f"p{n}", cwd=f"/src/p{n}") for n in range(200)]
    entries = flat(build(*sessions, mutes=Mutes(everything=(None,), sessions={"x": None})))
    actions = one(build(*sessions), "actions")
    assert len(actions.children) == 13
    assert actions.children[-1].label == "188 more: sessionbell list"
    keys = [entry.key for entry in entries]
    assert len(keys) == len(set(keys))


HOSTILE = ["\x1b[31mred\x1b[0m", "a\nb\r\tc", "\u202egnp.exe", "\x00", "\ud800", "x" * 50_000]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_becomes_short_printable_lines(text):
    bad = asks(
        text, project=text, branch=text, name=text, title=text, cwd=f"/{text}", session_id=text
    )
    failed = session(State.NEEDS_INPUT, Reason.ERROR, detail=text, project=text)
    recent = (Recent(text, "/r", "/r/a", NOON, f"/{text}", text),)
    mutes = Mutes(projects={f"/{text}": None}, sessions={text: None})
    entries = flat(build(bad, failed, recent=recent, mutes=mutes))
    for entry in entries:
        assert entry.label.isprintable()
        assert len(entry.label) <= 200
        entry.label.encode()


def tree(items: Items, entries: Sequence[Entry]) -> Node:
    return Node("", {}, nodes(items.menu(entries), None))


def find(node: Node, key: str) -> Node:
    if node.key == key:
        return node
    found = (find(child, key) for child in node.children)
    return next((one for one in found if one.key), Node(""))


def test_check_marks_reach_the_tray():
    root = tree(Items(print), build(settings=Settings(show_details=False), autostart=True))
    marks = {
        key: find(root, key).properties
        for key in ("autostart", "setting:notifications", "setting:show_details", "all-seen")
    }
    assert [p.get("toggle-type") for p in marks.values()] == ["checkmark"] * 3 + [None]
    assert [p.get("toggle-state") for p in marks.values()] == [1, 1, 0, None]


def test_in_an_open_menu_a_click_never_comes_to_mean_another_ask():
    told: list[Entry] = []
    items, shown = Items(told.append), MenuTree()
    first = asks("rm -r build", ask="s1")
    second = Observation(**{
        name: getattr(first, name) for name in first.__struct_fields__
    } | {"ask": Ask("s2", Reason.PERMISSION, "Bash", "rm -r src")})  # fmt: skip
    shown.want(tree(items, build(first)))
    shown.hold()
    snooze = f"actions:{first.key}:snooze:{first.session_id}/s1:1h"
    before = shown.ids()
    change = shown.want(tree(items, build(second)))
    assert not change.layout
    assert shown.ids() == before
    held = {n.key: n for n in map(shown.node, shown.ids())}
    assert held[snooze].properties["enabled"] is False
    assert held[snooze].act is None
    # The old text stays whole, and the new one comes with the next opening.
    assert held[f"actions:{first.key}:s1:0"].properties["label"] == "rm -r build"
    assert held[f"actions:{first.key}:{Action.GO}"].properties.get("enabled", True)
    shown.release()
    assert find(tree(items, build(second)), f"actions:{first.key}:s2:0").key


def test_a_click_tells_the_entry_that_was_shown_last():
    told: list[Entry] = []
    items = Items(told.append)
    on = tree(items, build(autostart=True))
    off = tree(items, build(autostart=False))
    find(on, "autostart").act()
    find(off, "autostart").act()
    assert [entry.value for entry in told] == [False, True]


def test_what_did_not_change_is_not_made_anew_and_what_did_is():
    items = Items(print)
    still, moves = session(), session()
    moved = Observation(**{
        name: getattr(moves, name) for name in moves.__struct_fields__
    } | {"unseen": True, "state": State.IDLE})  # fmt: skip
    before = tree(items, build(still, moves))
    after = tree(items, build(still, moved))
    for key, same in (
        (f"actions:{still.key}", True),
        ("settings", True),
        ("about", True),
        (f"actions:{moves.key}", False),
        ("all-seen", False),
    ):
        assert (find(before, key) is find(after, key)) is same, key
    assert find(after, "all-seen").properties.get("enabled", True)


def test_equal_keys_do_not_become_one_line():
    twice = (Entry("same", "a"), Entry("x", "x", children=(Entry("same", "b"),)))
    items = Items(print)
    for _ in range(2):
        root = tree(items, twice)
        assert [root.children[0].key, root.children[1].children[0].key] == ["same", "x/0"]
    swapped = tree(items, twice[::-1])
    keys = [n.key for n in (*swapped.children, swapped.children[0].children[0])]
    assert len(set(keys)) == 3


def test_the_menu_reads_no_files(monkeypatch: pytest.MonkeyPatch):
    def refused(*_arguments: object, **_options: object) -> None:
        raise AssertionError("the menu is a function of what it is given")

    for name in ("open", "stat", "listdir", "scandir"):
        monkeypatch.setattr(os, name, refused)
    build(asks(), recent=(Recent("i", "/r", "/r/a", NOON, "/gone", "t"),))


def test_quiet_hours_are_seen_in_the_menu():
    entries = menu.build((), (), 0.0, controls=menu.Controls(quiet_until="07:30"))
    assert "Quiet hours until 07:30" in [entry.label for entry in entries]

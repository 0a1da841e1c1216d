"""What browsing does with each key, in each state. No screen is needed for it."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.history.browsing import (
    Copy,
    Effect,
    Elsewhere,
    Event,
    ForkIt,
    Go,
    GoThere,
    Key,
    Loaded,
    OpenFolder,
    Plan,
    Planned,
    Pointed,
    Quit,
    Reload,
    Resized,
    Resume,
    Searched,
    StartSearch,
    State,
    StopSearch,
    Told,
    step,
)
from tray.history.catalog import Catalog
from tray.history.past import Past
from tray.history.search import Found


def past(name: str, **more: object) -> Past:
    known = {"transcript": f"/t/{name}", "session_id": name, "title": f"title {name}", "cwd": "/w"}
    return Past(**(known | more))  # type: ignore[arg-type]


SESSIONS = (
    past("child-one", forked_from="parent"),
    past("live", live=True, state="working", pid=7),
    past("parent", forked_from="root"),
    past("child-two", forked_from="parent"),
    past("grandchild", forked_from="child-two"),
    past("root"),
    past("alone"),
    past("orphan", forked_from="long-gone"),
)


def loaded(*sessions: Past, page: int = 3) -> State:
    state, _ = step(State(), Resized(page))
    state, effect = step(state, Loaded(Catalog(sessions or SESSIONS), whole=True))
    assert effect is None
    return state


def press(state: State, *keys: str) -> tuple[State, Effect | None]:
    """Press keys; what is no key's name is typed."""
    effect: Effect | None = None
    for key in keys:
        if key in NAMED or key.startswith("ctrl+"):
            state, effect = step(state, Key(key))
        else:
            for char in key:
                state, effect = step(state, Key(char, char))
    return state, effect


NAMED = {
    *("up", "down", "pageup", "pagedown", "home", "end", "left", "right", "enter", "escape"),
    *("backspace", "f1", "f5", "tab"),
}


def listed(state: State) -> list[str]:
    return [state.catalog.sessions[place].session_id for place in state.rows]


def current(state: State) -> str | None:
    return state.current.session_id if state.current is not None else None


def at(state: State, name: str) -> State:
    while current(state) != name:
        before = state
        state, _ = press(state, "down")
        assert state.cursor > before.cursor, name
    return state


def searched(state: State, effect: Effect | None, *names: str) -> State:
    assert isinstance(effect, StartSearch)
    found = [Found(one, 2, ()) for one in effect.sessions if one.session_id in names]
    state, nothing = step(state, Searched(effect.token, found))
    assert nothing is None
    return state


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (("down",), 1),
        (("up",), 0),
        (("down", "down", "up"), 1),
        (("pagedown",), 3),
        (("pagedown", "pagedown", "pagedown"), 7),
        (("end",), 7),
        (("end", "down"), 7),
        (("end", "pageup"), 4),
        (("end", "home"), 0),
        (("tab",), 0),
    ],
)
def test_moves_within_the_list(keys: tuple[str, ...], cursor: int) -> None:
    state, effect = press(loaded(), *keys)
    assert (state.cursor, effect) == (cursor, None)


EMPTY_KEYS = [
    *sorted(NAMED),
    *("ctrl+s", "ctrl+f", "ctrl+o", "ctrl+y", "ctrl+u", "ctrl+w", "x", "/", " "),
]


@pytest.mark.parametrize("key", sorted(EMPTY_KEYS))
def test_no_key_does_anything_to_a_session_where_there_is_none(key: str) -> None:
    state, _ = step(State(), Loaded(Catalog(), whole=True))
    state, effect = press(state, key)
    assert effect is None or isinstance(effect, Reload)
    assert (state.question, state.current) == (None, None)


@pytest.mark.parametrize("quits", ["ctrl+c", "ctrl+q"])
@pytest.mark.parametrize("before", [(), ("x",), ("ctrl+s",), ("ctrl+f",), ("f1",)])
def test_quits_from_anywhere(before: tuple[str, ...], quits: str) -> None:
    state, _ = press(loaded(), *before)
    assert press(state, quits)[1] == Quit()


@pytest.mark.parametrize(
    ("keys", "text", "names"),
    [
        (("child",), "child", ["child-one", "child-two", "grandchild"]),
        (("/", "child"), "child", ["child-one", "child-two", "grandchild"]),
        (("/", "/"), "/", []),
        (("a/b",), "a/b", []),
        (("CHILD",), "CHILD", ["child-one", "child-two", "grandchild"]),
        (("child t",), "child t", ["child-one", "child-two", "grandchild"]),
        (("childx", "backspace"), "child", ["child-one", "child-two", "grandchild"]),
        (("one two", "ctrl+w"), "one", ["child-one", "alone"]),
        (("q1", "ctrl+u"), "", [one.session_id for one in SESSIONS]),
        ((" ",), "", [one.session_id for one in SESSIONS]),
        (("x", "escape"), "", [one.session_id for one in SESSIONS]),
        (("/", "escape"), "", [one.session_id for one in SESSIONS]),
    ],
)
def test_filters_by_what_is_typed(keys: tuple[str, ...], text: str, names: list[str]) -> None:
    state, _ = press(loaded(), *keys)
    assert state.level.filter == text
    assert sorted(listed(state)) == sorted(names)


def test_the_slash_opens_the_line_and_escape_or_backspace_close_it() -> None:
    for closing in ("escape", "backspace"):
        state, _ = press(loaded(), "/")
        assert state.level.typing
        state, _ = press(state, closing)
        assert not state.level.typing


def test_a_filter_begins_at_the_best_and_leaves_the_cursor_where_it_was_chosen() -> None:
    state, _ = press(at(loaded(), "alone"), "child", "down")
    chosen = current(state)
    assert chosen == "child-two"
    state, _ = press(state, "escape")
    assert current(state) == chosen
    assert listed(state) == [one.session_id for one in SESSIONS]


def test_a_filter_has_an_end() -> None:
    state, _ = press(loaded(), "x" * 500)
    assert len(state.level.filter) == 200


def test_what_is_pasted_is_filtered_by_at_once() -> None:
    state, _ = step(loaded(), Key("paste", "grandchild"))
    assert listed(state) == ["grandchild"]


@pytest.mark.parametrize(
    ("start", "family"),
    [
        ("parent", ["root", "child-one", "child-two"]),  # not the grandchild
        ("root", ["parent"]),
        ("grandchild", ["child-two"]),
    ],
)
def test_the_right_arrow_lists_the_parent_and_the_direct_forks(
    start: str, family: list[str]
) -> None:
    state, _ = press(at(loaded(), start), "right")
    assert listed(state) == family
    assert state.family is not None
    assert state.family.session_id == start


@pytest.mark.parametrize("start", ["alone", "orphan"])
def test_the_right_arrow_says_that_there_is_no_family(start: str) -> None:
    state, _ = press(at(loaded(), start), "right")
    assert len(state.levels) == 1
    assert "fork" in state.notice


def test_left_goes_back_one_by_one_and_escape_to_the_root() -> None:
    state, _ = press(at(loaded(), "root"), "right", "right")
    assert listed(state) == ["root", "child-one", "child-two"]
    back, _ = press(state, "left")
    assert (listed(back), current(back)) == (["parent"], "parent")
    back, _ = press(back, "left")
    assert (len(back.levels), current(back)) == (1, "root")
    assert press(back, "left")[0].levels == back.levels
    out, _ = press(state, "escape")
    assert (len(out.levels), current(out)) == (1, "root")


def test_with_a_filter_the_arrows_do_not_drill() -> None:
    state, _ = press(loaded(), "parent")
    assert current(state) == "parent"
    assert press(state, "right")[0].levels == state.levels
    inside, _ = press(at(loaded(), "parent"), "right", "child")
    assert press(inside, "left")[0].levels == inside.levels


def test_what_was_forked_in_a_circle_is_listed_once() -> None:
    state = loaded(past("a", forked_from="b"), past("b", forked_from="a"), past("c"))
    state, _ = press(state, "right")
    assert listed(state) == ["b"]


def test_ctrl_s_searches_for_the_filter_in_all_that_is_loaded() -> None:
    state, effect = press(loaded(), "child", "ctrl+s")
    assert isinstance(effect, StartSearch)
    assert (effect.text, effect.sessions) == ("child", SESSIONS)
    assert (listed(state), state.level.filter) == ([], "")
    state = searched(state, effect, "alone", "root")
    assert listed(state) == ["root", "alone"]
    assert state.found is not None
    assert state.found.count == 2


def test_ctrl_s_in_a_fork_view_searches_that() -> None:
    state, effect = press(at(loaded(), "parent"), "right", "ctrl+s", "x", "enter")
    assert isinstance(effect, StartSearch)
    assert [one.session_id for one in effect.sessions] == ["root", "child-one", "child-two"]
    assert listed(searched(state, effect, "root", "alone")) == ["root"]


@pytest.mark.parametrize("runs", ["enter", "ctrl+s"])
def test_without_a_filter_ctrl_s_asks_for_words(runs: str) -> None:
    state, effect = press(loaded(), "ctrl+s", "two words/x", "backspace", runs)
    assert isinstance(effect, StartSearch)
    assert effect.text == "two words/"
    assert state.wanted is None
    assert state.level.filter == ""


@pytest.mark.parametrize("ends", [("escape",), ("enter",), (" ", "enter")])
def test_a_search_for_nothing_is_none(ends: tuple[str, ...]) -> None:
    state, effect = press(loaded(), "ctrl+s", *ends)
    assert (effect, state.level.search, state.wanted) == (None, None, None)
    assert len(state.rows) == len(SESSIONS)


def test_escape_ends_the_search_then_the_filter_then_the_fork_view() -> None:
    state, _ = press(at(loaded(), "parent"), "right")
    state, effect = press(state, "child", "ctrl+s")
    state = searched(state, effect, "root", "child-two")
    state, _ = press(state, "two")
    assert listed(state) == ["child-two"]

    state, effect = press(state, "escape")
    assert (state.level.search, state.level.filter, effect) == (None, "child", None)
    assert listed(state) == ["child-one", "child-two"]
    state, _ = press(state, "escape")
    assert (state.level.filter, len(state.levels)) == ("", 2)
    assert listed(state) == ["root", "child-one", "child-two"]
    state, _ = press(state, "escape")
    assert len(state.levels) == 1
    assert listed(state) == [one.session_id for one in SESSIONS]
    assert press(state, "escape") == (state, None)


def test_escape_stops_a_search_and_what_it_finds_later_is_dropped() -> None:
    state, started = press(loaded(), "child", "ctrl+s")
    state, effect = press(state, "escape")
    assert effect == StopSearch()
    assert state.level.filter == "child"
    assert isinstance(started, StartSearch)
    late, _ = step(state, Searched(started.token, [Found(SESSIONS[0], 1, ())]))
    assert listed(late) == listed(state)


def test_only_the_last_search_counts_and_the_first_filter_comes_back() -> None:
    state, first = press(loaded(), "child", "ctrl+s")
    state, second = press(state, "x", "ctrl+s")
    assert isinstance(first, StartSearch)
    state, _ = step(state, Searched(first.token, [Found(SESSIONS[0], 1, ())]))
    assert listed(state) == []
    state = searched(state, second, "alone")
    assert listed(state) == ["alone"]
    assert press(state, "escape")[0].level.filter == "child"


def test_a_search_goes_on_while_its_forks_are_looked_at() -> None:
    state, effect = press(loaded(), "ctrl+s", "x", "enter")
    state = searched(state, effect, "parent")
    state, _ = press(state, "right")
    assert listed(state) == ["root", "child-one", "child-two"]
    assert listed(press(state, "left")[0]) == ["parent"]


def test_enter_looks_how_to_resume_and_then_resumes() -> None:
    state, effect = press(loaded(), "enter")
    assert effect == Plan(SESSIONS[0], fork=False)
    _, effect = step(state, Planned(SESSIONS[0], fork=False, gone=None, nearest="/w"))
    assert effect == Resume(SESSIONS[0], fork=False)


def test_enter_in_a_filter_resumes_the_best() -> None:
    _, effect = press(loaded(), "alone", "enter")
    assert effect == Plan(past("alone"), fork=False)


def test_a_live_session_is_not_resumed_but_gone_to_or_forked() -> None:
    live = SESSIONS[1]
    state, effect = press(at(loaded(), "live"), "enter")
    assert (state.question, effect) == (GoThere(live), None)
    assert press(state, "enter")[1] == Go(live)
    assert press(state, "ctrl+f")[1] == Plan(live, fork=True)
    left, effect = press(state, "escape")
    assert (left.question, effect) == (None, None)


def test_a_session_that_became_live_meanwhile_is_not_resumed() -> None:
    state, _ = press(loaded(), "enter")
    now = past("child-one", live=True, pid=9)
    state, effect = step(state, Planned(now, fork=False, gone=None, nearest="/w"))
    assert (state.question, effect) == (GoThere(now), None)
    _, effect = step(state, Planned(now, fork=True, gone=None, nearest="/w"))
    assert effect == Resume(now, fork=True)  # a fork has a transcript of its own


@pytest.mark.parametrize("fork", [False, True])
def test_a_gone_directory_is_told_and_the_nearest_is_offered(fork: bool) -> None:
    state = loaded()
    one = SESSIONS[0]
    state, effect = step(state, Planned(one, fork=fork, gone="/w/gone", nearest="/w"))
    assert (state.question, effect) == (Elsewhere(one, "/w/gone", "/w", fork), None)
    assert press(state, "enter")[1] == Resume(one, fork)
    state, effect = press(state, "escape")
    assert (state.question, effect) == (None, None)


@pytest.mark.parametrize(
    ("answer", "effect"),
    [
        ("enter", Plan(SESSIONS[0], fork=True)),
        ("y", Plan(SESSIONS[0], fork=True)),
        ("Y", Plan(SESSIONS[0], fork=True)),
        ("n", None),
        ("escape", None),
    ],
)
def test_a_fork_is_asked_for_first(answer: str, effect: Effect | None) -> None:
    state, nothing = press(loaded(), "ctrl+f")
    assert (state.question, nothing) == (ForkIt(SESSIONS[0]), None)
    state, found = press(state, answer)
    assert (state.question, found) == (None, effect)


@pytest.mark.parametrize("key", ["x", "down", "right", "ctrl+s", "f1", "ctrl+o", "ctrl+f"])
def test_a_question_waits_for_its_answer(key: str) -> None:
    state, _ = press(loaded(), "ctrl+f")
    assert press(state, key) == (state, None)


def test_folder_id_reload() -> None:
    assert press(loaded(), "ctrl+o")[1] == OpenFolder(SESSIONS[0])
    assert press(loaded(), "ctrl+y")[1] == Copy("child-one")
    assert press(loaded(), "f5")[1] == Reload()


def test_help_is_left_by_any_key_which_does_nothing_else() -> None:
    state, _ = press(loaded(), "f1")
    assert state.helps
    state, effect = press(state, "enter")
    assert (state.helps, effect) == (False, None)


def test_a_click_points_and_a_second_one_opens() -> None:
    state, effect = step(loaded(), Pointed(6))
    assert (current(state), effect) == ("alone", None)
    assert step(state, Pointed(6, opened=True))[1] == Plan(past("alone"), fork=False)
    state, _ = step(state, Pointed(1, opened=True))
    assert isinstance(state.question, GoThere)
    assert step(state, Pointed(6)) == (state, None)  # a question waits for its answer


def test_a_click_below_the_list_is_none() -> None:
    state = loaded()
    assert step(state, Pointed(len(SESSIONS), opened=True)) == (state, None)


def test_new_sessions_leave_the_cursor_at_its_session() -> None:
    state = at(loaded(), "alone")
    state, _ = step(state, Loaded(Catalog((past("new"), *SESSIONS)), whole=True))
    assert (current(state), state.cursor) == ("alone", 7)


def test_a_session_that_vanishes_leaves_the_cursor_where_it_was() -> None:
    state = at(loaded(), "alone")
    rest = [one for one in SESSIONS if one.session_id != "alone"]
    state, _ = step(state, Loaded(Catalog(rest), whole=True))
    assert (current(state), state.cursor) == ("orphan", 6)


def test_filter_search_and_forks_outlive_new_sessions() -> None:
    state, effect = press(at(loaded(), "parent"), "right", "ctrl+s", "x", "enter")
    state = searched(state, effect, "root", "child-two")
    state, _ = press(state, "two")
    state, _ = step(state, Loaded(Catalog(reversed(SESSIONS)), whole=True))
    assert listed(state) == ["child-two"]
    # All of that family is gone, and the list is empty, not wrong.
    state, _ = step(state, Loaded(Catalog([past("new")]), whole=True))
    assert listed(state) == []
    assert listed(press(state, "escape", "escape", "escape")[0]) == ["new"]


def test_what_the_index_remembers_does_not_replace_what_is_known() -> None:
    state, _ = step(State(), Loaded(Catalog(SESSIONS[:2]), whole=False))
    assert (len(state.rows), state.loaded) == (2, False)
    state, _ = step(state, Loaded(Catalog(SESSIONS), whole=True))
    assert (len(state.rows), state.loaded) == (len(SESSIONS), True)
    assert step(state, Loaded(Catalog(), whole=False)) == (state, None)


def test_a_notice_stays_until_the_next_key() -> None:
    state, _ = step(loaded(), Told("it cannot be"))
    assert state.notice == "it cannot be"
    assert press(state, "down")[0].notice == ""


_KEYS = st.sampled_from([*EMPTY_KEYS, *string.ascii_lowercase[:8], "ctrl+backspace"])
_EVENTS = st.one_of(
    _KEYS.map(lambda key: Key(key, key if len(key) == 1 else None)),
    st.builds(Pointed, st.integers(-2, 12), st.booleans()),
    st.builds(Resized, st.integers(-1, 40)),
    st.integers(0, 8).map(lambda count: Loaded(Catalog(SESSIONS[:count]), whole=True)),
    st.builds(Told, st.text(max_size=5)),
    st.integers(0, 4).map(lambda token: Searched(token, [Found(SESSIONS[token], 1, ())])),
    st.builds(Planned, st.sampled_from(SESSIONS), st.booleans(), st.just("/x"), st.just("/")),
)


@given(st.lists(_EVENTS, max_size=30))
def test_whatever_happens_the_state_holds_together(events: list[Event]) -> None:
    state = loaded()
    for event in events:
        state, effect = step(state, event)
        assert len(set(state.rows)) == len(state.rows)
        assert all(0 <= place < len(state.catalog.sessions) for place in state.rows)
        assert 0 <= state.cursor < max(len(state.rows), 1)
        assert state.levels
        assert state.levels[0].of is None
        # Nothing live is ever resumed, only forked.
        assert not (isinstance(effect, Resume) and effect.session.live and not effect.fork)

"""What menu and tooltip say."""

from __future__ import annotations

import itertools

import pytest

from tray.desktop import menu
from tray.desktop.icon import Look
from tray.session import Kind, Observation, Problem, Reason, State

NOW = 1_000_000.0
_numbers = itertools.count(1)


def session(state: State = State.IDLE, reason: Reason | None = None, **fields) -> Observation:
    number = next(_numbers)
    given = {"key": f"{number}:1", "pid": number, "project": "shop", "branch": "main", **fields}
    return Observation(state=state, reason=reason, **given)


def blocked(detail: str = "Bash: ls", **fields) -> Observation:
    return session(State.NEEDS_INPUT, Reason.PERMISSION, detail=detail, **fields)


def rows(*sessions: Observation) -> list[menu.Entry]:
    return [entry for entry in menu.build(sessions, (), NOW) if entry.action == "row"]


def label(**fields) -> str:
    return rows(session(**fields))[0].label


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {
                "state": State.NEEDS_INPUT,
                "reason": Reason.PERMISSION,
                "detail": "Bash: npm publish",
                "since": NOW - 300,
            },
            "shop · main — permission: Bash: npm publish (5 min)",
        ),
        (
            {"state": State.NEEDS_INPUT, "reason": Reason.QUESTION, "detail": "Which one?"},
            "shop · main — question: Which one?",
        ),
        (
            {"state": State.NEEDS_INPUT, "reason": Reason.PLAN, "detail": "Add caching"},
            "shop · main — plan: Add caching",
        ),
        ({"state": State.NEEDS_INPUT, "reason": Reason.INPUT}, "shop · main — input"),
        (
            {
                "state": State.NEEDS_INPUT,
                "reason": Reason.ERROR,
                "detail": "API error: overloaded",
                "unseen": True,
            },
            "shop · main — failed: API error: overloaded",
        ),
        (
            {
                "state": State.NEEDS_INPUT,
                "reason": Reason.TURN_OVER,
                "unseen": True,
                "preview": "All tests pass.",
            },
            "shop · main — finished: All tests pass.",
        ),
        (
            {"unseen": True, "preview": "Done.", "since": NOW - 7200},
            "shop · main — finished: Done. (2 h)",
        ),
        ({"state": State.WORKING, "since": NOW - 59}, "shop · main — working"),
        ({"state": State.WORKING, "title": "Parser"}, "shop · main — working: Parser"),
        (
            {"background": ("npm run dev",)},
            "shop · main — idle, still running: npm run dev",
        ),
        (
            {"background": ("npm run dev", "watch")},
            "shop · main — idle, still running: npm run dev and 1 more",
        ),
        ({"detail": "suspended"}, "shop · main — idle: suspended"),
        (
            {"state": State.UNKNOWN, "detail": "this client does not say"},
            "shop · main — unknown: this client does not say",
        ),
        (
            {"state": State.WORKING, "kind": Kind.BACKGROUND, "since": NOW - 60},
            "shop · main — working (background, 1 min)",
        ),
        (
            {"state": State.WORKING, "kind": Kind.HEADLESS},
            "shop · main — working (headless)",
        ),
        ({"verified": False}, "shop · main — idle (out of sight)"),
        ({"name": "release"}, "shop · main · release — idle"),
        ({"branch": None, "worktree": "wt-1"}, "shop · wt-1 — idle"),
        ({"branch": None}, "shop — idle"),
        ({"project": None, "branch": None}, "no project — idle"),
        ({"since": NOW - 3 * 86400}, "shop · main — idle (3 d)"),
        ({"since": NOW + 3600}, "shop · main — idle"),
        ({"state": State.ENDED}, "shop · main — ended"),
    ],
)
def test_a_row_says_where_what_and_since_when(fields, expected):
    assert label(**fields) == expected


def test_a_row_can_be_clicked_and_names_its_session():
    asks = blocked(key="42:7")
    (row,) = rows(asks)
    assert (row.key, row.action, row.session, row.look) == (
        "session:42:7", "row", "42:7", Look.BLOCKED,
    )  # fmt: skip
    assert row.enabled
    assert not row.children


def test_rows_come_blocked_first_by_longest_wait_then_finished_working_idle():
    ranked = [
        blocked(since=NOW - 90),
        blocked(since=NOW - 10),
        session(State.NEEDS_INPUT, Reason.ERROR),
        session(State.IDLE, unseen=True, since=NOW - 500),
        session(State.NEEDS_INPUT, Reason.TURN_OVER, unseen=True, since=NOW - 5),
        session(State.WORKING),
        session(State.IDLE),
        session(State.UNKNOWN),
    ]
    for order in (ranked, ranked[::-1]):
        assert [row.session for row in rows(*order)] == [s.key for s in ranked]


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ((), "No Claude Code session"),
        (
            (
                blocked(),
                blocked(),
                session(unseen=True),
                session(State.WORKING),
                session(State.WORKING),
                session(State.WORKING),
            ),
            "2 blocked, 1 finished, 3 working",
        ),
        (
            (
                session(State.NEEDS_INPUT, Reason.ERROR, unseen=True),
                session(State.NEEDS_INPUT, Reason.TURN_OVER),
                session(State.UNKNOWN),
                session(State.ENDED),
                blocked(kind=Kind.HEADLESS),
            ),
            "1 failed, 1 idle, 1 unknown, 1 headless, 1 ended",
        ),
    ],
)
def test_the_head_line_counts(sessions, expected):
    assert menu.headline(sessions) == expected
    head = menu.build(sessions, (), NOW)[0]
    assert (head.label, head.enabled) == (expected, False)


def test_twelve_rows_at_most_then_the_others_by_project():
    sessions = [
        session(State.WORKING, project=f"p{number % 3}", since=NOW + number) for number in range(20)
    ]
    entries = menu.build(sessions, (), NOW)
    assert sum(entry.action == "row" for entry in entries) == 12
    (more,) = [entry for entry in entries if entry.children]
    assert (more.key, more.label) == ("more", "8 more")
    assert [group.label for group in more.children] == ["p0 (3)", "p1 (3)", "p2 (2)"]
    inner = [row.session for group in more.children for row in group.children]
    assert sorted(inner) == sorted(s.key for s in sessions[12:])


def test_a_single_project_needs_no_groups_and_a_single_session_no_submenu():
    thirteen = [session(State.WORKING, since=NOW + number) for number in range(14)]
    (more,) = [entry for entry in menu.build(thirteen, (), NOW) if entry.children]
    assert [row.action for row in more.children] == ["row", "row"]
    lone = [*thirteen, session(State.WORKING, since=NOW + 99, project="lone")]
    (more,) = [entry for entry in menu.build(lone, (), NOW) if entry.children]
    assert [entry.action for entry in more.children] == [None, "row"]


def test_exactly_twelve_sessions_fit():
    entries = menu.build([session() for _ in range(12)], (), NOW)
    assert not any(entry.children for entry in entries)


def flat(entries) -> list[menu.Entry]:
    return [found for entry in entries for found in (entry, *flat(entry.children))]


def test_keys_are_unique_and_stay_when_states_change():
    sessions = [session(State.WORKING, project=f"p{n}") for n in range(200)]
    problems = [Problem("a", "x " * 90), Problem("b", "y")]
    before = flat(menu.build(sessions, problems, NOW, message="copied"))
    keys = [entry.key for entry in before]
    assert len(keys) == len(set(keys))
    asks = Observation(sessions[150].key, State.NEEDS_INPUT, reason=Reason.PLAN, project="p150")
    after = flat(menu.build([asks, *sessions[:150], *sessions[151:]], problems, NOW))
    assert {e.key for e in after if e.action} == {e.key for e in before if e.action}


@pytest.mark.parametrize(
    ("sessions", "chosen"),
    [
        (
            [
                blocked(key="later", since=NOW - 5),
                blocked(key="first", since=NOW - 50),
                session(unseen=True, since=NOW),
            ],
            "first",
        ),
        (
            [
                session(key="old", unseen=True, since=NOW - 50),
                session(State.NEEDS_INPUT, Reason.TURN_OVER, key="new", unseen=True, since=NOW - 5),
                session(State.WORKING, since=NOW),
            ],
            "new",
        ),
        ([session(State.WORKING), session()], None),
        ([blocked(kind=Kind.HEADLESS)], None),
    ],
)
def test_the_default_is_the_longest_wait_else_what_finished_last(sessions, chosen):
    defaults = [entry.session for entry in flat(menu.build(sessions, (), NOW)) if entry.default]
    assert defaults == ([chosen] if chosen else [])


def test_sessions_in_one_place_are_told_apart():
    labels = [
        row.label
        for row in rows(
            blocked(title="Fix login", since=1, pid=5),
            blocked(pid=6, since=2),
            blocked(branch="other", title="Fix login", since=3),
            session(State.WORKING, title="Fix login"),
        )
    ]
    assert labels[0].startswith("shop · main · Fix login — ")
    assert labels[1].startswith("shop · main · process 6 — ")
    assert labels[2].startswith("shop · other — ")
    assert labels[3] == "shop · main — working: Fix login"


def test_problems_are_lines_that_cannot_be_clicked():
    problem = Problem("inotify", "no more watches: " + "changes are seen late " * 6)
    lines = [e for e in menu.build((), (problem,), NOW) if e.key.startswith("problem:")]
    assert len(lines) > 1
    assert lines[0].label.startswith("⚠ no more watches")
    assert not any(line.enabled or line.action for line in lines)
    assert all(len(line.label) <= 80 for line in lines)


def test_many_problems_do_not_fill_the_screen():
    problems = [Problem(f"p{n}", "long " * 100) for n in range(50)]
    assert len(menu.build((), problems, NOW)) < 15


def test_a_message_stands_below_the_head_line_whole():
    path = "/home/me/" + "a-rather-long-folder/" * 9
    entries = menu.build((blocked(),), (), NOW, message=f"shop: it runs in {path} (copied)")
    lines = [entry for entry in entries if entry.key.startswith("message:")]
    assert entries[1 : 1 + len(lines)] == tuple(lines)
    assert not any(line.enabled for line in lines)
    assert path in "".join(line.label for line in lines)


def test_the_menu_ends_with_quit():
    *_, rule, last = menu.build((), (), NOW)
    assert rule.separator
    assert (last.key, last.action) == ("quit", "quit")


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "a\nb\r\tc",
    "\u202egnp.exe",
    "\x00nul",
    "\ud800lone",
    "x" * 100_000,
    "<b>&amp;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_becomes_one_short_printable_line(text):
    bad = blocked(
        project=text, branch=text, name=text, detail=text, title=text, preview=text, worktree=text
    )
    twin = session(State.IDLE, background=(text,), project=text, branch=text, name=text, title=text)
    entries = menu.build((bad, twin), (Problem("x", text),), NOW, message=text)
    told = [entry.label for entry in flat(entries)]
    told += menu.tooltip((bad, twin), (Problem("x", text),), NOW).split("\n")
    for line in told:
        assert line.isprintable()
        assert len(line) <= 200
        line.encode()


def test_a_row_in_a_script_from_right_to_left_keeps_its_parts_in_order():
    assert label(project="مرحبا") == "\u200eمرحبا · main — idle"
    assert menu.tooltip((blocked(project="שלום"),), (), NOW).split("\n")[1][0] == "\u200e"


def test_the_tooltip_tells_who_calls():
    asks = blocked(since=NOW - 60, project="api")
    done = session(unseen=True, preview="Done.")
    text = menu.tooltip((session(State.WORKING), done, asks), (), NOW)
    assert text.split("\n") == [
        "1 blocked, 1 finished, 1 working",
        "api · main — permission: Bash: ls (1 min)",
        "shop · main — finished: Done.",
    ]


def test_the_tooltip_stays_small():
    text = menu.tooltip([blocked() for _ in range(200)], [Problem("x", "y")] * 9, NOW)
    lines = text.split("\n")
    assert len(lines) == 9
    assert lines[6] == "195 more"

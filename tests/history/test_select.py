"""Which sessions are meant, and how they descend from each other."""

from __future__ import annotations

import datetime as dt

import pytest
from msgspec.structs import replace

from tray.history.forks import Forks
from tray.history.live import mark
from tray.history.past import Past
from tray.history.select import Filter, arranged, matching, moment
from tray.session import Observation, State

NOW = dt.datetime(2026, 5, 22, 14, 30).timestamp()  # noqa: DTZ001 - local time


def past(session_id: str, **fields: object) -> Past:
    return replace(Past(f"/r/projects/p/{session_id}.jsonl", session_id), **fields)


ALPHA = past("aaaa1111", name="Alpha", title="Alpha", project="shop-API", cwd="/w/shop", turns=3)
BETA = past("aaaa2222", title="beta", tag="Später", branch="dev", cwd="/w/shopping", modified=5.0)
GAMMA = past("cccc3333", title="aaaa1111", modified=9.0, source="far")
EVERY = (ALPHA, BETA, GAMMA)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("aaaa1111", (ALPHA,)),
        ("AAAA1111", (ALPHA,)),
        ("alpha", (ALPHA,)),
        ("aaaa", (ALPHA, BETA)),
        ("aaa", (GAMMA,)),
        ("BETA", (BETA,)),
        ("/r/projects/p/cccc3333.jsonl", (GAMMA,)),
        ("", ()),
        ("delta", ()),
    ],
)
def test_one_by_its_name(wanted: str, found: tuple[Past, ...]) -> None:
    assert matching(EVERY, wanted) == found


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, EVERY),
        ({"project": "api"}, (ALPHA,)),
        ({"project": "/w/shop"}, (ALPHA,)),
        ({"project": "/w"}, (ALPHA, BETA)),
        ({"branch": "dev"}, (BETA,)),
        ({"tag": "SPÄTER"}, (BETA,)),
        ({"source": "far"}, (GAMMA,)),
        ({"named": True}, (ALPHA,)),
        ({"live": True}, ()),
        ({"min_turns": 3}, (ALPHA,)),
        ({"since": 5.0}, (BETA, GAMMA)),
        ({"until": 9.0}, (ALPHA, BETA)),
        ({"since": 5.0, "until": 9.0}, (BETA,)),
    ],
)
def test_filters(fields: dict[str, object], found: tuple[Past, ...]) -> None:
    wanted = Filter(**fields)  # type: ignore[arg-type]
    assert tuple(one for one in EVERY if wanted.fits(one)) == found


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("3d", NOW - 3 * 86_400),
        ("90m", NOW - 5400),
        ("2w", NOW - 14 * 86_400),
        ("today", NOW - 14.5 * 3600),
        ("yesterday", NOW - 38.5 * 3600),
        ("2026-05-22", NOW - 14.5 * 3600),
        ("2026-05-22T14:00", NOW - 1800),
        ("1970-01-01T00:00:10Z", 10.0),
        ("soon", None),
        ("", None),
        ("99999-01-01", None),
    ],
)
def test_moments(text: str, at: float | None) -> None:
    assert moment(text, NOW) == at


def test_orders() -> None:
    assert arranged(EVERY, "turns")[0] is ALPHA
    assert arranged(EVERY, "title") == (GAMMA, ALPHA, BETA)
    assert arranged(EVERY, "modified") == EVERY


def test_forks() -> None:
    root = past("root")
    first, second = past("f1", forked_from="root"), past("f2", forked_from="root")
    deep, orphan = past("deep", forked_from="f1"), past("orphan", forked_from="gone")
    forks = Forks([deep, orphan, second, first, root])
    assert forks.parent(deep) is first
    assert forks.parent(orphan) is None
    assert forks.children(root) == (second, first)
    assert [forks.has_family(one) for one in (root, deep, orphan)] == [True, True, True]
    assert not Forks([past("alone")]).has_family(past("alone"))
    shown = [(depth, one.session_id) for depth, one in forks.tree()]
    assert shown == [(0, "orphan"), (0, "root"), (1, "f2"), (1, "f1"), (2, "deep")]


def test_forks_in_a_circle_are_shown_once() -> None:
    one, two = past("1", forked_from="2"), past("2", forked_from="1")
    itself = past("3", forked_from="3")
    shown = [(depth, session.session_id) for depth, session in Forks([one, two, itself]).tree()]
    assert shown == [(0, "3"), (0, "1"), (1, "2")]


def test_a_session_in_two_files_is_one_parent() -> None:
    child = past("c", forked_from="p")
    copies = [past("p"), replace(past("p"), transcript="/elsewhere/p.jsonl")]
    assert [depth for depth, _ in Forks([*copies, child]).tree()] == [0, 1, 0]


def test_live_sessions_are_marked_with_their_state() -> None:
    live = (
        Observation("1:1", State.WORKING, pid=1, session_id="aaaa1111"),
        Observation("2:2", State.IDLE, pid=2, session_id="new", transcript=BETA.transcript),
        Observation("3:3", State.ENDED, pid=3, session_id="cccc3333"),
    )
    marked = mark((*EVERY, replace(ALPHA, source="far")), live)
    assert [(one.live, one.state, one.pid) for one in marked] == [
        (True, "working", 1),
        (True, "idle", 2),
        (False, None, None),
        (False, None, None),
    ]

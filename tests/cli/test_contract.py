"""What scripts read: field names, values and times never change."""

from __future__ import annotations

import json

import pytest

from tray.cli import contract
from tray.session import (
    Ask,
    EventKind,
    How,
    Kind,
    Observation,
    Problem,
    Reason,
    Source,
    State,
    Transition,
)

ASKING = Observation(
    key="10:20",
    state=State.NEEDS_INPUT,
    pid=10,
    session_id="0b1c",
    name="publish",
    title="Publish it",
    project="shop-api",
    cwd="/home/me/shop-api",
    worktree="fast",
    branch="main",
    reason=Reason.PERMISSION,
    detail="Bash: npm publish",
    ask=Ask("s1", Reason.PERMISSION, "Bash", "npm publish", ("Yes", "No"), 1_700_000_000.5),
    background=("npm run dev",),
    preview="Ready.",
    since=1_700_000_000.25,
    started=1_699_999_000.0,
    kind=Kind.BACKGROUND,
    entrypoint="cli",
    version="2.1.332",
    source=Source.REGISTRY,
    transcript="/home/me/.claude/projects/-x/0b1c.jsonl",
    config_root="/home/me/.claude",
    tty="/dev/pts/3",
)
PUBLISHED = {
    "pid": 10,
    "session_id": "0b1c",
    "name": "publish",
    "title": "Publish it",
    "project": "shop-api",
    "cwd": "/home/me/shop-api",
    "worktree": "fast",
    "branch": "main",
    "state": "needs_input",
    "reason": "permission",
    "detail": "Bash: npm publish",
    "unseen": False,
    "background": ["npm run dev"],
    "preview": "Ready.",
    "since": "2023-11-14T22:13:20.250Z",
    "started": "2023-11-14T21:56:40.000Z",
    "kind": "background",
    "entrypoint": "cli",
    "version": "2.1.332",
    "source": "registry",
    "transcript": "/home/me/.claude/projects/-x/0b1c.jsonl",
    "config_root": "/home/me/.claude",
    "tty": "/dev/pts/3",
}


def parsed(value: object) -> object:
    return json.loads(contract.document(value))


def test_a_session_has_exactly_the_published_fields_in_their_order() -> None:
    found = parsed(contract.session(ASKING))
    assert found == PUBLISHED
    assert list(found) == list(PUBLISHED)


def test_what_is_not_known_is_null() -> None:
    found = parsed(contract.session(Observation(key="1:2", state=State.UNKNOWN)))
    known = {"state": "unknown", "unseen": False, "background": [], "kind": "interactive"}
    assert found == dict.fromkeys(PUBLISHED) | known | {"source": "process"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000.1239, "2023-11-14T22:13:20.123Z"),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        (1e300, None),
    ],
)
def test_times_are_utc_with_milliseconds(seconds: float | None, text: str | None) -> None:
    assert contract.timestamp(seconds) == text


def test_a_path_of_any_bytes_can_be_printed() -> None:
    odd = Observation(key="1:2", state=State.IDLE, cwd="/tmp/\udcff", background=("\ud800x",))
    found = parsed(contract.session(odd))
    assert found["cwd"] == "/tmp/?"
    assert found["background"] == ["?x"]


def test_sessions_are_in_the_order_of_every_list() -> None:
    rows = [
        Observation(key=key, pid=number, state=state, reason=reason, since=since)
        for number, (key, state, reason, since) in enumerate(
            [
                ("ended", State.ENDED, None, 1.0),
                ("unknown", State.UNKNOWN, None, 1.0),
                ("idle", State.IDLE, None, 1.0),
                ("working", State.WORKING, None, 1.0),
                ("over", State.NEEDS_INPUT, Reason.TURN_OVER, 1.0),
                ("error", State.NEEDS_INPUT, Reason.ERROR, 9.0),
                ("later", State.NEEDS_INPUT, Reason.PLAN, 3.0),
                ("longest", State.NEEDS_INPUT, Reason.INPUT, 2.0),
            ]
        )
    ]
    assert [row["pid"] for row in contract.sessions(rows)] == [7, 6, 5, 4, 3, 2, 1, 0]


def test_the_whole_ask_is_told_of_one_session() -> None:
    assert parsed(contract.detailed(ASKING)) == PUBLISHED | {
        "ask": {
            "id": "s1",
            "reason": "permission",
            "tool": "Bash",
            "text": "npm publish",
            "options": ["Yes", "No"],
            "since": "2023-11-14T22:13:20.500Z",
        }
    }
    assert contract.detailed(Observation(key="1:2", state=State.IDLE))["ask"] is None


@pytest.mark.parametrize(
    ("transition", "expected"),
    [
        (
            Transition(
                EventKind.TRANSITION,
                1_700_000_000.0,
                ASKING,
                from_state=State.WORKING,
                fields=("state", "reason"),
            ),
            {
                "event": "transition",
                "from": {"state": "working", "reason": None},
                "fields": ["state", "reason"],
            },
        ),
        (Transition(EventKind.APPEARED, 1_700_000_000.0, ASKING), {"event": "appeared"}),
        (
            Transition(EventKind.CHANGED, 1_700_000_000.0, ASKING, fields=("branch",)),
            {"event": "changed", "fields": ["branch"]},
        ),
        (
            Transition(EventKind.ENDED, 1_700_000_000.0, ASKING, how=How.KILLED),
            {"event": "ended", "how": "killed"},
        ),
        (
            Transition(EventKind.ENDED, 1_700_000_000.0, ASKING, how=How.IGNORED),
            {"event": "ended", "how": "ignored"},
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Transition) else "",
)
def test_each_change_is_one_line(transition: Transition, expected: dict[str, object]) -> None:
    line = contract.line(contract.event(transition))
    assert line.count(b"\n") == 1
    assert json.loads(line) == expected | {"at": "2023-11-14T22:13:20.000Z", "session": PUBLISHED}


def test_hello_snapshot_health_and_heartbeat() -> None:
    at = "2023-11-14T22:13:20.000Z"
    assert contract.hello("0.1.0") == {"event": "hello", "schema": 1, "version": "0.1.0"}
    assert parsed(contract.snapshot(1_700_000_000.0, [ASKING])) == {
        "event": "snapshot",
        "at": at,
        "sessions": [PUBLISHED],
    }
    problem = Problem("inotify-watches", "no more watches")
    assert contract.health(1_700_000_000.0, problem, ok=False) == {
        "event": "health",
        "at": at,
        "ok": False,
        "code": "inotify-watches",
        "message": "no more watches",
    }
    assert contract.heartbeat(1_700_000_000.0) == {"event": "heartbeat", "at": at}

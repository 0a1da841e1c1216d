"""Which session `focus --next` goes to, and what is remembered of it."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray.desktop.focus.route import Outcome, Route
from tray.desktop.guide import Guide, after, stop_of, waiting
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from pathlib import Path


def asking(key: str, since: float) -> Observation:
    ask = Ask(f"ask of {key}", Reason.PERMISSION, since=since)
    return Observation(
        key, State.NEEDS_INPUT, reason=Reason.PERMISSION, ask=ask, since=since, pid=1
    )


def over(key: str, since: float) -> Observation:
    return Observation(
        key, State.NEEDS_INPUT, reason=Reason.TURN_OVER, unseen=True, since=since, pid=1
    )


WORKING = Observation("w", State.WORKING, since=1.0)
IDLE = Observation("i", State.IDLE, since=1.0)
A, B, C, D = asking("a", 10), asking("b", 20), over("c", 5), over("d", 15)
ALL = (WORKING, D, B, IDLE, C, A)


def test_the_longest_wait_first_then_the_newest_turns() -> None:
    assert [one.key for one in waiting(ALL)] == ["a", "b", "d", "c"]
    assert waiting((WORKING, IDLE)) == []


@pytest.mark.parametrize(
    ("sessions", "last", "found"),
    [
        ((), None, None),
        ((WORKING, IDLE), None, None),
        ((WORKING, IDLE), A, None),
        (ALL, None, A),
        (ALL, A, B),
        (ALL, B, D),
        (ALL, D, C),
        (ALL, C, A),
        ((A, WORKING), A, A),
        ((B, C), A, B),
        # It asks anew: that is another stop, and the first of all again.
        ((replace(A, ask=replace(A.ask, id="another")), B), A, A),
    ],
)
def test_the_one_after_the_last(sessions, last, found) -> None:
    got = after(sessions, stop_of(last) if last is not None else None)
    assert (got.key if got else None) == (found.key if found else None)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> dict[str, Outcome]:
    """What comes of going to each session."""
    outcomes: dict[str, Outcome] = {}

    class Way(Route):
        def __init__(self, key: str) -> None:
            super().__init__()
            self._key = key

        def go(self, token: str | None = None) -> Outcome:
            return outcomes.get(self._key, Outcome(done=True, message=f"at {token}"))

    monkeypatch.setattr("tray.desktop.focus.route.find", lambda session, _: Way(session.key))
    return outcomes


def test_each_key_press_goes_on(ways: dict[str, Outcome], tmp_path: Path) -> None:
    ways["b"] = Outcome(done=False, message="runs over ssh")
    gone = []
    for _ in range(5):
        guide = Guide({}, str(tmp_path))
        found = guide.next(ALL)
        assert found is not None
        gone.append(found.key)
        guide.go(found)
    assert gone == ["a", "b", "d", "c", "a"]


@pytest.mark.usefixtures("ways")
def test_the_token_is_handed_on() -> None:
    assert Guide({}).go(A, "token").message == "at token"


@pytest.mark.usefixtures("ways")
def test_what_is_kept_is_the_persons_own(tmp_path: Path) -> None:
    Guide({}, str(tmp_path)).go(A)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"last": stop_of(A), "before": None}


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"last": 3, "before": "x"}', "\0"])
@pytest.mark.usefixtures("ways")
def test_what_was_kept_may_be_broken(tmp_path: Path, text: str) -> None:
    (tmp_path / "sessionbell-focus.json").write_text(text)
    guide = Guide({}, str(tmp_path))
    assert guide.next(ALL) == A
    assert not guide.back().done
    assert guide.go(A).done


@pytest.mark.usefixtures("ways")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    guide = Guide({}, str(tmp_path / "none"))
    assert guide.go(A).done
    assert guide.next(ALL) == B


def test_no_way_back_without_a_window_of_before() -> None:
    outcome = Guide({}).back()
    assert not outcome.done
    assert "no window of before" in outcome.message

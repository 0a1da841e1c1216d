"""The engine surveys at once, again and again, and whatever dies."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray import engine as engine_module
from tray.config import Holds, Projects, Settings
from tray.engine import Engine, Update
from tray.session import Ask, Observation, Problem, Reason, Snapshot, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

IDLE = Observation(key="1:1", state=State.IDLE)


class Stage:
    """A surveyor that sees what a test puts before it, and what its engine publishes."""

    def __init__(self) -> None:
        self.sessions: tuple[Observation, ...] = (IDLE,)
        self.problems: tuple[Problem, ...] = ()
        self.next_look: float | None = None
        self.idle_after = 0.0
        self.watched: frozenset[str] = frozenset()
        self.surveys = 0
        self.fault: type[BaseException] | None = None
        self.updates: list[Update] = []
        self.engine = Engine(self, self.publish)

    def survey(self, now: float | None = None) -> Snapshot:
        self.surveys += 1
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return Snapshot(0.0, self.sessions, self.problems)

    def folders(self) -> frozenset[str]:
        return self.watched

    def pids(self) -> frozenset[tuple[int, int]]:
        return frozenset()

    def publish(self, update: Update) -> None:
        self.updates.append(update)

    def show(self, **fields: object) -> None:
        self.sessions = (replace(IDLE, **fields),)  # type: ignore[arg-type]

    @property
    def state(self) -> State | None:
        return self.updates[-1].tracked.sessions[0].state if self.updates else None


@pytest.fixture
def stage() -> Iterator[Stage]:
    found = Stage()
    yield found
    found.engine.stop()
    assert not [t for t in threading.enumerate() if t.name in ("engine", "process-poller")]


def test_the_first_survey_comes_by_itself(stage: Stage, wait_until: Callable[..., object]) -> None:
    stage.engine.start()
    wait_until(lambda: stage.updates)
    assert stage.updates[0].transitions == ()
    assert not stage.engine.stalled()


def test_a_wake_up_is_answered_and_nothing_new_is_not_published(
    stage: Stage, wait_until: Callable[..., object]
) -> None:
    stage.engine.start()
    wait_until(lambda: stage.updates)
    seen = stage.surveys
    stage.engine.wake()
    wait_until(lambda: stage.surveys > seen)
    stage.show(state=State.WORKING)
    stage.engine.wake()
    wait_until(lambda: stage.state is State.WORKING)
    assert len(stage.updates) == 2


def test_a_change_of_a_file_wakes_it(
    stage: Stage, tmp_path: Path, wait_until: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "TICK", 3600.0)
    stage.watched = frozenset({str(tmp_path)})
    stage.engine.start()
    wait_until(lambda: stage.updates)
    stage.show(state=State.WORKING)
    (tmp_path / "1.json").write_text("{}")
    wait_until(lambda: stage.state is State.WORKING)


def test_without_any_event_it_looks_again(
    monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., object]
) -> None:
    monkeypatch.setattr(engine_module, "TICK", 0.05)
    stage = Stage()
    stage.engine.start()
    wait_until(lambda: stage.updates)
    stage.show(state=State.WORKING)
    wait_until(lambda: stage.state is State.WORKING)
    stage.engine.stop()


def test_it_looks_again_when_the_surveyor_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., object]
) -> None:
    monkeypatch.setattr(engine_module, "TICK", 3600.0)
    stage.next_look = 1.0
    stage.engine.start()
    wait_until(lambda: stage.surveys > 3)


def test_a_storm_of_wake_ups_is_few_surveys(
    stage: Stage, wait_until: Callable[..., object]
) -> None:
    stage.engine.start()
    wait_until(lambda: stage.updates)
    for _ in range(1000):
        stage.engine.wake()
    wait_until(lambda: not stage.engine._awake.is_set())
    assert stage.surveys < 20


def test_a_survey_that_fails_is_tried_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., object]
) -> None:
    monkeypatch.setattr(engine_module, "TICK", 0.05)
    stage.fault = RuntimeError
    stage.engine.start()
    wait_until(lambda: stage.updates)


def test_a_publisher_that_fails_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., object]
) -> None:
    stage = Stage()
    calls: list[Update] = []

    def publish(update: Update) -> None:
        calls.append(update)
        raise RuntimeError

    stage.engine = Engine(stage, publish)
    stage.engine.start()
    wait_until(lambda: len(calls) == 1)
    stage.show(state=State.WORKING)
    stage.engine.wake()
    wait_until(lambda: len(calls) == 2)
    stage.engine.stop()


class Death(BaseException):
    """Ends a thread as nothing else can."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_dead_engine_thread_is_started_again(
    monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., object]
) -> None:
    monkeypatch.setattr(engine_module, "TICK", 0.05)
    stage = Stage()
    stage.fault = Death
    stage.engine.start()
    wait_until(lambda: stage.updates)
    assert stage.engine.restarts == 1
    assert [problem.code for problem in stage.updates[0].problems] == ["thread-restarted"]
    stage.engine.stop()


def test_a_dead_poller_is_started_again(
    monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., object]
) -> None:
    monkeypatch.setattr(engine_module, "TICK", 0.05)
    stage = Stage()
    stage.engine.start()
    wait_until(lambda: stage.updates)
    stage.engine._poller.stop()
    wait_until(lambda: stage.engine.restarts == 1 and stage.engine._poller.is_alive())
    stage.engine.stop()


def test_a_problem_is_published_and_so_is_its_end(
    stage: Stage, wait_until: Callable[..., object]
) -> None:
    stage.engine.start()
    wait_until(lambda: stage.updates)
    stage.problems = (Problem("x", "x is wrong"),)
    stage.engine.wake()
    wait_until(lambda: stage.updates[-1].problems)
    stage.problems = ()
    stage.engine.wake()
    wait_until(lambda: not stage.updates[-1].problems)


def test_no_survey_for_long_is_noticed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.engine.surveyed_at = 100.0
    monkeypatch.setattr(engine_module.time, "monotonic", lambda: 111.0)
    assert stage.engine.stalled()
    monkeypatch.setattr(engine_module.time, "monotonic", lambda: 109.0)
    assert not stage.engine.stalled()
    monkeypatch.undo()


def test_settings_hold_from_the_next_survey_on(
    stage: Stage, wait_until: Callable[..., object]
) -> None:
    stage.show(project="shop")
    stage.engine.start()
    wait_until(lambda: stage.updates)
    assert stage.idle_after == Settings().idle_after
    stage.engine.configure(Settings(idle_after=7.0))
    wait_until(lambda: stage.idle_after == 7.0)
    stage.engine.configure(Settings(projects=Projects(ignore=("shop",))))
    wait_until(lambda: stage.updates[-1].tracked.sessions == ())
    assert stage.updates[-1].snapshot.sessions == ()


def test_holds_are_the_settings_own_and_begin_anew_after_a_sleep(
    stage: Stage, wait_until: Callable[..., object]
) -> None:
    stage.engine.configure(Settings(holds=Holds(ask=500.0)))
    stage.engine.start()
    wait_until(lambda: stage.updates)
    ask = Ask("s1", Reason.PERMISSION)
    stage.show(state=State.NEEDS_INPUT, reason=Reason.PERMISSION, ask=ask)
    stage.engine.wake()
    wait_until(lambda: stage.state is State.NEEDS_INPUT)
    (before,) = stage.updates[-1].tracked.tracks
    assert before.alert is not None
    assert before.alert_seen is not None
    assert (before.alert.ripe, before.due) == (False, before.alert_seen + 500.0)
    stage.engine.woke()
    wait_until(lambda: stage.updates[-1].tracked.tracks[0].due != before.due)
    (after,) = stage.updates[-1].tracked.tracks
    assert after.due is not None
    assert after.due > before.alert_seen + 500.0

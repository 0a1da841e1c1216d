"""The state machine: what is told, when, and what never is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tray.machine import (
    ANSWER_LAG,
    ASK_HOLD,
    DEATH_HOLD,
    DECIDING_HOLD,
    ENDED_FOR,
    EXIT_LAG,
    INFERRED_HOLD,
    TURN_HOLD,
    AlertKind,
    Tracked,
    restart_holds,
    step,
)
from tray.session import (
    Ask,
    EventKind,
    How,
    Kind,
    Observation,
    Reason,
    Snapshot,
    Source,
    State,
    Transition,
    TurnEnd,
)

WALL = 1_800_000_000.0

IDLE = Observation(key="1:1", state=State.IDLE, pid=1, session_id="a", record="/r/1.json")
WORKING = replace(IDLE, state=State.WORKING)


def asks(ask_id: str, reason: Reason = Reason.PERMISSION, **ask: object) -> Observation:
    return replace(
        IDLE,
        state=State.NEEDS_INPUT,
        reason=reason,
        source=Source.REGISTRY,
        detail="Bash: npm publish",
        ask=Ask(ask_id, reason, **ask),  # type: ignore[arg-type]
    )


def over(at: float, **fields: object) -> Observation:
    return replace(
        IDLE,
        state=State.NEEDS_INPUT,
        reason=Reason.TURN_OVER,
        turn_end=TurnEnd.COMPLETED,
        turn_ended_at=at,
        unseen=True,
        **fields,  # type: ignore[arg-type]
    )


class Run:
    """A machine fed by hand, with its own clock."""

    def __init__(self, *first: Observation) -> None:
        self.now = 100.0
        self.tracked: Tracked | None = None
        self.told: tuple[Transition, ...] = ()
        self.see(*first)

    def see(
        self, *sessions: Observation, after: float = 0.0, leftover: frozenset[str] = frozenset()
    ) -> tuple[Transition, ...]:
        self.now += after
        snapshot = Snapshot(at=WALL + self.now, sessions=sessions, leftover=leftover)
        self.tracked, self.told = step(self.tracked, snapshot, self.now)
        return self.told

    @property
    def track(self):
        assert self.tracked is not None
        (track,) = self.tracked.tracks
        return track

    @property
    def ripe(self) -> AlertKind | None:
        """The kind of the one session's alert, once its hold is over."""
        alert = self.track.alert
        return alert.kind if alert is not None and alert.ripe else None


@pytest.mark.parametrize(
    ("session", "hold", "kind"),
    [
        (asks("s1"), ASK_HOLD, AlertKind.PERMISSION),
        (asks("s1", Reason.QUESTION), ASK_HOLD, AlertKind.QUESTION),
        (asks("s1", Reason.PLAN), ASK_HOLD, AlertKind.PLAN),
        (asks("s1", Reason.INPUT), ASK_HOLD, AlertKind.INPUT),
        (asks("s1", deciding=True), DECIDING_HOLD, AlertKind.PERMISSION),
        (
            replace(asks("t1"), source=Source.TRANSCRIPT),
            INFERRED_HOLD,
            AlertKind.PERMISSION,
        ),
        (replace(over(5.0), reason=Reason.ERROR), ASK_HOLD, AlertKind.ERROR),
        (over(5.0), TURN_HOLD, AlertKind.TURN_OVER),
        (over(5.0, kind=Kind.BACKGROUND), TURN_HOLD, AlertKind.JOB_DONE),
        (
            replace(over(5.0, kind=Kind.BACKGROUND), reason=Reason.ERROR),
            ASK_HOLD,
            AlertKind.JOB_FAILED,
        ),
    ],
)
def test_an_alert_waits_out_its_hold(session: Observation, hold: float, kind: AlertKind) -> None:
    run = Run(WORKING)
    run.see(session)
    assert run.ripe is None
    assert run.tracked is not None
    assert run.tracked.wake_at == run.now + hold
    run.see(session, after=hold - 0.01)
    assert run.ripe is None
    run.see(session, after=0.02)
    assert run.ripe is kind
    assert run.tracked.wake_at is None


def test_the_state_shows_at_once() -> None:
    run = Run(WORKING)
    (transition,) = run.see(asks("s1"))
    assert run.track.session.state is State.NEEDS_INPUT
    assert transition.kind is EventKind.TRANSITION
    assert (transition.from_state, transition.from_reason) == (State.WORKING, None)
    assert {"state", "reason", "detail"} <= set(transition.fields)


def test_a_flip_flop_is_never_told() -> None:
    run = Run(WORKING)
    run.see(asks("s1"))
    run.see(WORKING, after=ASK_HOLD - 0.1)
    run.see(WORKING, after=5)
    assert run.track.alert is None


def test_the_hold_begins_anew_with_the_end_of_the_hook_that_decides() -> None:
    run = Run(WORKING)
    run.see(asks("s1", deciding=True))
    run.see(asks("s1", deciding=True), after=4)
    run.see(asks("s1"), after=0.1)
    run.see(asks("s1"), after=ASK_HOLD)
    assert run.ripe is None
    run.see(asks("s1"), after=ANSWER_LAG)
    assert run.ripe is AlertKind.PERMISSION


def test_a_hook_that_approves_is_never_told() -> None:
    run = Run(WORKING)
    run.see(asks("s1", deciding=True))
    run.see(asks("s1", deciding=True), after=9.9)
    run.see(asks("s1"), after=0.05)
    run.see(WORKING, after=0.4)
    assert run.track.alert is None


def test_a_ripe_alert_stays_ripe_when_a_child_starts_late() -> None:
    run = Run(WORKING)
    run.see(asks("s1"))
    run.see(asks("s1"), after=1)
    run.see(asks("s1", deciding=True), after=1)
    assert run.ripe is AlertKind.PERMISSION


def test_a_second_ask_is_told_anew_though_the_state_never_changed() -> None:
    run = Run(WORKING)
    run.see(asks("s1"))
    run.see(asks("s1"), after=1)
    assert run.track.alert is not None
    assert run.track.alert.id == "s1"
    (transition,) = run.see(asks("s2"), after=10)
    assert transition.kind is EventKind.TRANSITION
    assert transition.from_reason is Reason.PERMISSION
    assert run.track.alert.id == "s2"
    assert run.ripe is None
    run.see(asks("s2"), after=ASK_HOLD)
    assert run.ripe is AlertKind.PERMISSION


def test_a_detail_learnt_later_is_the_same_ask() -> None:
    run = Run(WORKING)
    run.see(replace(asks("s1"), detail=None))
    (change,) = run.see(asks("s1"), after=0.1)
    assert (change.kind, change.fields) == (EventKind.CHANGED, ("detail",))
    run.see(asks("s1"), after=ASK_HOLD - 0.1)
    assert run.ripe is AlertKind.PERMISSION


def test_an_input_that_turns_out_a_question_is_the_same_ask() -> None:
    run = Run(WORKING)
    run.see(asks("s1", Reason.INPUT))
    run.see(asks("s1", Reason.QUESTION), after=ASK_HOLD)
    assert run.ripe is AlertKind.QUESTION


def test_the_first_snapshot_is_marked_and_silent_for_watch() -> None:
    run = Run(asks("s1"))
    assert run.told == ()
    assert run.track.alert is not None
    assert run.track.alert.first
    run.see(asks("s1"), after=1)
    assert run.track.alert.first
    run.see(asks("s2"), after=1)
    assert not run.track.alert.first


def test_a_session_that_appears_blocked_is_told() -> None:
    run = Run()
    (appeared,) = run.see(asks("s1"), after=1)
    assert appeared.kind is EventKind.APPEARED
    assert run.track.alert is not None
    assert not run.track.alert.first


def test_a_finished_turn_stays_told_until_somebody_looked() -> None:
    run = Run(WORKING)
    run.see(over(5.0))
    run.see(over(5.0), after=TURN_HOLD)
    decayed = replace(over(5.0), state=State.IDLE, reason=None)
    run.see(decayed, after=60)
    assert run.ripe is AlertKind.TURN_OVER
    run.see(replace(decayed, unseen=False), after=60)
    assert run.track.alert is None


def test_a_session_found_idle_and_unseen_is_no_news() -> None:
    run = Run()
    run.see(replace(over(5.0), state=State.IDLE, reason=None), after=1)
    assert run.track.alert is None


@pytest.mark.parametrize(
    ("first", "then", "known"),
    [
        (None, None, None),
        (-5.0, None, -5.0),
        (-5.0, 30.0, 30.0),
        (-5.0, 30.9, 30.9),
        (-5.0, 3600.0, -5.0),
        (3600.0, None, None),
        (3600.0, 20.0, 20.0),
    ],
)
def test_an_act_that_is_still_to_come_is_none(first, then, known) -> None:
    def at(seconds: float | None) -> float | None:
        return None if seconds is None else WALL + 100 + seconds

    run = Run(replace(WORKING, last_act=at(first)))
    run.see(replace(WORKING, last_act=at(then)), after=30)
    assert run.track.last_act == at(known)


def test_an_act_from_before_the_clock_was_set_back_is_forgotten() -> None:
    run = Run(replace(WORKING, last_act=WALL))
    assert run.track.last_act == WALL
    earlier = Snapshot(WALL - 3600, (replace(WORKING, last_act=WALL),))
    tracked, _ = step(run.tracked, earlier, run.now + 1)
    assert tracked.tracks[0].last_act is None


@pytest.mark.parametrize("session", [WORKING, IDLE, asks("s1"), over(5.0)])
@pytest.mark.parametrize("leftover", [frozenset(), frozenset({"/r/1.json"})])
@pytest.mark.parametrize("key", ["1:1", "job:1"])
def test_a_session_that_is_to_be_ignored_lives_on_unseen(session, leftover, key) -> None:
    run = Run(session)
    # It may have become a background job meanwhile, whose front it was.
    ignored = frozenset({key, "1:1"})
    at = WALL + run.now + 1
    tracked, told = step(run.tracked, Snapshot(at, leftover=leftover, ignored=ignored), run.now + 1)
    (ended,) = told
    assert (ended.kind, ended.how, ended.session) == (EventKind.ENDED, How.IGNORED, session)
    assert (tracked.tracks, tracked.leaving) == ((), ())
    tracked, told = step(tracked, Snapshot(at + 1, (session,)), run.now + 2)
    (appeared,) = told
    assert appeared.kind is EventKind.APPEARED


def test_an_answer_is_an_act_of_the_person() -> None:
    run = Run(replace(WORKING, last_act=7.0))
    run.see(replace(asks("s1"), last_act=7.0), after=30)
    assert run.track.last_act == 7.0
    run.see(replace(WORKING, last_act=7.0), after=30)
    assert run.track.last_act == WALL + run.now


def test_a_clean_exit_leaves_nothing() -> None:
    run = Run(WORKING)
    (ended,) = run.see(after=1)
    assert (ended.kind, ended.how) == (EventKind.ENDED, How.EXIT)
    assert run.tracked == Tracked()


UNRECORDED = replace(IDLE, state=State.UNKNOWN, record=None, session_id=None)


def test_an_exit_after_the_record_is_gone_is_one_change() -> None:
    run = Run(over(5.0))
    assert run.see(UNRECORDED, after=0.2) == ()
    assert run.track.session == over(5.0)
    assert run.see(UNRECORDED, after=0.3) == ()
    assert run.tracked is not None
    assert run.tracked.wake_at == pytest.approx(run.now - 0.3 + EXIT_LAG)
    (ended,) = run.see(after=0.1)
    assert (ended.kind, ended.how, ended.session.state) == (
        EventKind.ENDED,
        How.EXIT,
        State.NEEDS_INPUT,
    )


def test_one_that_lives_on_without_its_record_is_unknown() -> None:
    run = Run(IDLE)
    run.see(UNRECORDED, after=1)
    (changed,) = run.see(UNRECORDED, after=EXIT_LAG)
    assert (changed.from_state, changed.session.state) == (State.IDLE, State.UNKNOWN)
    assert run.track.exiting is None
    (back,) = run.see(IDLE, after=1)
    assert back.session.state is State.IDLE


@pytest.mark.parametrize("session", [WORKING, asks("s1")])
def test_an_unclean_end_is_told_and_listed_for_ten_minutes(session: Observation) -> None:
    run = Run(session)
    left = frozenset({"/r/1.json"})
    assert run.see(after=1, leftover=left) == ()
    assert run.track.session.state is State.ENDED
    assert run.ripe is None
    (ended,) = run.see(after=DEATH_HOLD, leftover=left)
    assert (ended.kind, ended.how) == (EventKind.ENDED, How.KILLED)
    assert run.ripe is AlertKind.DIED
    assert run.see(after=5) == (), "another client cleaned up the record: still listed"
    assert run.track.session.state is State.ENDED
    run.see(after=ENDED_FOR - DEATH_HOLD - 6)
    assert run.ripe is AlertKind.DIED
    run.see(after=2)
    assert run.tracked == Tracked()


def test_a_record_removed_within_the_hold_was_a_clean_exit() -> None:
    run = Run(WORKING)
    run.see(after=1, leftover=frozenset({"/r/1.json"}))
    (ended,) = run.see(after=0.3)
    assert ended.how is How.EXIT
    assert run.tracked == Tracked()


def test_a_kill_at_rest_is_an_end_but_no_alarm() -> None:
    run = Run(IDLE)
    left = frozenset({"/r/1.json"})
    assert run.see(after=1, leftover=left) == ()
    assert run.tracked is not None
    assert run.tracked.tracks == ()
    assert run.tracked.wake_at == run.now + DEATH_HOLD
    (ended,) = run.see(after=DEATH_HOLD, leftover=left)
    assert ended.how is How.KILLED
    assert run.tracked == Tracked()


def test_a_record_at_rest_removed_within_the_hold_was_a_clean_exit() -> None:
    run = Run(IDLE)
    run.see(after=1, leftover=frozenset({"/r/1.json"}))
    (ended,) = run.see(after=0.3)
    assert ended.how is How.EXIT
    assert run.tracked == Tracked()


def test_a_dead_session_is_listed_no_more_once_it_is_resumed() -> None:
    run = Run(WORKING)
    left = frozenset({"/r/1.json"})
    run.see(after=1, leftover=left)
    run.see(after=DEATH_HOLD, leftover=left)
    assert run.ripe is AlertKind.DIED
    resumed = replace(IDLE, key="2:2", record="/r/2.json")
    (appeared,) = run.see(resumed, after=5, leftover=left)
    assert (appeared.kind, appeared.session.key) == (EventKind.APPEARED, "2:2")
    assert run.track.session == resumed


def test_one_of_two_terminals_of_a_session_that_dies_is_an_end_but_no_alarm() -> None:
    other = replace(IDLE, key="2:2", record="/r/2.json")
    run = Run(WORKING, other)
    left = frozenset({"/r/1.json"})
    assert run.see(other, after=1, leftover=left) == ()
    assert run.track.session == other
    (ended,) = run.see(other, after=DEATH_HOLD, leftover=left)
    assert (ended.session.key, ended.how) == ("1:1", How.KILLED)


def test_an_ended_row_of_the_survey_is_followed() -> None:
    run = Run(WORKING)
    row = replace(WORKING, state=State.ENDED, since=WALL)
    assert run.see(row, after=1) == ()
    assert run.ripe is None
    (ended,) = run.see(row, after=DEATH_HOLD)
    assert ended.how is How.KILLED
    assert run.ripe is AlertKind.DIED


def test_an_ended_row_may_be_known_by_its_record_alone() -> None:
    working = replace(WORKING, record="/c/sessions/7.json")
    run = Run(working)
    row = replace(working, key="7:/c/sessions/7.json", state=State.ENDED, since=WALL)
    assert run.see(row, after=1) == ()
    (ended,) = run.see(row, after=DEATH_HOLD)
    assert (ended.kind, ended.how) == (EventKind.ENDED, How.KILLED)


def test_a_row_already_ended_at_start_is_listed_but_not_told() -> None:
    run = Run(replace(WORKING, state=State.ENDED))
    assert run.track.alert is None
    assert run.see(replace(WORKING, state=State.ENDED), after=2) == ()


def test_one_that_was_never_seen_to_live_is_listed_but_not_told() -> None:
    run = Run()
    row = replace(WORKING, state=State.ENDED)
    (appeared,) = run.see(row, after=1)
    assert appeared.kind is EventKind.APPEARED
    assert run.see(row, after=DEATH_HOLD + 1) == ()
    assert (run.track.session, run.track.alert) == (row, None)
    assert run.see(after=1, leftover=frozenset({"/r/1.json"})) == ()
    assert run.tracked == Tracked()


def test_a_row_that_the_survey_goes_on_listing_asks_for_no_step() -> None:
    run = Run(WORKING)
    row = replace(WORKING, state=State.ENDED)
    run.see(row, after=1)
    run.see(row, after=ENDED_FOR + 1)
    assert run.tracked is not None
    assert run.tracked.wake_at is None


def test_clear_ends_one_session_and_begins_another() -> None:
    run = Run(IDLE)
    ended, appeared = run.see(replace(IDLE, session_id="b"), after=1)
    assert (ended.kind, ended.how, ended.session.session_id) == (
        EventKind.ENDED,
        How.CLEARED,
        "a",
    )
    assert (appeared.kind, appeared.session.session_id) == (EventKind.APPEARED, "b")


def test_a_session_sent_to_the_background_is_followed_under_its_new_key() -> None:
    run = Run(asks("s1"))
    moved = replace(asks("s1"), key="job:j", aliases=("1:1",))
    run.see(moved, after=1)
    assert run.track.session.key == "job:j"
    assert run.track.alert is not None
    assert run.track.alert.first, "the same ask, already there at the start"


def test_nothing_new_is_nothing_told() -> None:
    run = Run(asks("s1"), replace(WORKING, key="2:2", session_id="c"))
    before = run.tracked
    assert run.see(*(track.session for track in before.tracks), after=0) == ()  # type: ignore[union-attr]
    assert run.tracked == before


def test_two_hundred_sessions_keep_their_order() -> None:
    sessions = [
        replace(asks(f"s{n}") if n % 2 else WORKING, key=f"{n}:1", since=1000.0 - n)
        for n in range(200)
    ]
    run = Run(*sessions)
    assert run.tracked is not None
    rows = run.tracked.sessions
    assert [row.key for row in rows[:2]] == ["199:1", "197:1"]
    assert rows[100].state is State.WORKING


@pytest.mark.parametrize(
    ("session", "hold"),
    [
        (asks("s1"), ASK_HOLD),
        (asks("s1", deciding=True), DECIDING_HOLD),
        (over(5.0), TURN_HOLD),
    ],
)
def test_a_sleep_begins_the_hold_anew(session: Observation, hold: float) -> None:
    run = Run(WORKING)
    run.see(session)
    assert run.tracked is not None
    run.now += hold - 0.1
    run.tracked = restart_holds(run.tracked, run.now)
    assert run.tracked.wake_at == pytest.approx(run.now + hold)
    run.see(session, after=hold - 0.01)
    assert run.ripe is None
    run.see(session, after=0.02)
    assert run.ripe is not None


def test_a_sleep_changes_nothing_for_what_was_ripe_or_has_died() -> None:
    ripe = Run(WORKING)
    ripe.see(asks("s1"))
    ripe.see(asks("s1"), after=ASK_HOLD)
    dying = Run(WORKING)
    dying.see(leftover=frozenset({"/r/1.json"}))
    for run in (ripe, dying, Run(IDLE)):
        assert run.tracked is not None
        assert restart_holds(run.tracked, run.now + 50) == run.tracked

"""The alert policy: which bubbles stand on the screen, when, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tray.desktop.alerts import Bubble, Memory, Urgency, dismissed, plan
from tray.desktop.circumstances import Circumstances
from tray.machine import BLOCKING_ALERTS, AlertKind, Tracked, step
from tray.session import Ask, Kind, Observation, Reason, Snapshot, State, TurnEnd

WALL = 1_800_000_000.0
"""Unix time at the scripts' second 0."""
EXPIRY = 10.0


def session(key: str = "1", **fields: object) -> Observation:
    values = {"state": State.IDLE, "project": f"p{key}", "last_act": WALL - 600, **fields}
    return Observation(key=key, **values)  # type: ignore[arg-type]


def working(key: str = "1", **fields: object) -> Observation:
    return session(key, **{"state": State.WORKING, **fields})


def asks(
    key: str = "1", ask: str = "a", reason: Reason = Reason.PERMISSION, **fields: object
) -> Observation:
    values = {
        "state": State.NEEDS_INPUT,
        "reason": reason,
        "detail": "Bash: npm publish",
        "ask": Ask(ask, reason),
        **fields,
    }
    return session(key, **values)


def over(key: str = "1", at: float = 0.0, **fields: object) -> Observation:
    values = {
        "state": State.NEEDS_INPUT,
        "reason": Reason.TURN_OVER,
        "turn_end": TurnEnd.COMPLETED,
        "turn_ended_at": WALL + at,
        "since": WALL + at,
        "unseen": True,
        "preview": "All tests pass.",
        **fields,
    }
    return session(key, **values)


def failed(key: str = "1", at: float = 0.0, **fields: object) -> Observation:
    values = {
        "reason": Reason.ERROR,
        "turn_end": TurnEnd.FAILED,
        "detail": "API error: overloaded",
        "error": "overloaded",
        **fields,
    }
    return over(key, at, **values)


@dataclass
class Showing:
    """One bubble's time on the screen."""

    shown: float
    bubble: Bubble
    closed: float | None = None


class Screen:
    """A person's screen: the machine and the policy on a clock of their own, seconds from 0.

    Quiet bubbles leave it after ten seconds, as a notification server lets them.
    """

    def __init__(self, *first: Observation) -> None:
        self.now = 0.0
        self.tracked: Tracked | None = None
        self.memory = Memory()
        self.sessions: tuple[Observation, ...] = ()
        self.leftover: frozenset[str] = frozenset()
        self.standing: dict[str, Showing] = {}
        self.history: list[Showing] = []
        self.see(*first)

    def see(self, *sessions: Observation) -> None:
        self.sessions = sessions
        self._look()

    def at(self, time: float, *sessions: Observation) -> None:
        """Let time pass until `time`, then see `sessions`."""
        self.until(time)
        self.see(*sessions)

    def until(self, time: float) -> None:
        while True:
            assert self.tracked is not None
            due = [self.tracked.wake_at] if self.tracked.wake_at is not None else []
            due += [s.shown + EXPIRY for s in self.standing.values() if s.bubble.expires]
            if not due or min(due) > time:
                break
            self.now = min(due)
            for showing in list(self.standing.values()):
                if showing.bubble.expires and showing.shown + EXPIRY <= self.now:
                    self.dismiss(showing.bubble.id)
            self._look()
        self.now = time

    def dismiss(self, bubble_id: str) -> None:
        showing = self.standing.pop(bubble_id)
        showing.closed = self.now
        self.memory = dismissed(self.memory, showing.bubble)
        self._look()

    def _look(self) -> None:
        snapshot = Snapshot(at=WALL + self.now, sessions=self.sessions, leftover=self.leftover)
        self.tracked, _ = step(self.tracked, snapshot, self.now)
        made = plan(self.memory, self.tracked, self.now, Circumstances(wall=WALL + self.now))
        self.memory, wanted = made.memory, made.bubbles
        assert len({bubble.id for bubble in wanted}) == len(wanted)
        for gone in self.standing.keys() - {bubble.id for bubble in wanted}:
            self.standing.pop(gone).closed = self.now
        for bubble in wanted:
            if bubble.id in self.standing:
                self.standing[bubble.id].bubble = bubble
            else:
                self.standing[bubble.id] = Showing(self.now, bubble)
                self.history.append(self.standing[bubble.id])

    @property
    def bubbles(self) -> list[Bubble]:
        return [showing.bubble for showing in self.standing.values()]

    @property
    def titles(self) -> list[str]:
        return [bubble.title for bubble in self.bubbles]

    @property
    def only(self) -> Bubble:
        (bubble,) = self.bubbles
        return bubble


def told(*sessions: Observation) -> list[Bubble]:
    """Return the bubbles long after `sessions` came to this state from working."""
    screen = Screen(*(working(s.key, project=s.project) for s in sessions))
    screen.at(60.0, *sessions)
    screen.until(65.0)
    return screen.bubbles


@pytest.mark.parametrize(
    ("seen", "title", "body", "urgency", "expires", "category"),
    [
        (
            asks(branch="main", name="release"),
            "p1 needs permission",
            "Bash: npm publish\nmain · release",
            Urgency.NORMAL,
            False,
            "x-sessionbell.ask",
        ),
        (
            asks(reason=Reason.QUESTION, detail="Which port? 80, 8080", title="Serve the docs"),
            "p1 asks a question",
            "Which port? 80, 8080\nServe the docs",
            Urgency.NORMAL,
            False,
            "x-sessionbell.ask",
        ),
        (
            asks(reason=Reason.PLAN, detail="Split the parser", worktree="wt"),
            "p1 has a plan to approve",
            "Split the parser\nwt",
            Urgency.NORMAL,
            False,
            "x-sessionbell.ask",
        ),
        (
            asks(reason=Reason.INPUT, detail=None, project=None),
            "A session needs input",
            "",
            Urgency.NORMAL,
            False,
            "x-sessionbell.ask",
        ),
        (
            over(at=60, branch="main"),
            "p1 has finished",
            "All tests pass.\nmain",
            Urgency.LOW,
            True,
            "x-sessionbell.turn-over",
        ),
        (
            failed(at=60),
            "p1 stopped with an error",
            "API error: overloaded",
            Urgency.NORMAL,
            False,
            "x-sessionbell.error",
        ),
        (
            session(state=State.ENDED, detail="died while working"),
            "p1 ended unexpectedly",
            "died while working",
            Urgency.NORMAL,
            False,
            "x-sessionbell.died",
        ),
        (
            over(at=60, kind=Kind.BACKGROUND),
            "p1: background job done",
            "All tests pass.",
            Urgency.LOW,
            True,
            "x-sessionbell.job",
        ),
        (
            over(at=60, kind=Kind.BACKGROUND, outcome="failed", detail="exit code 1"),
            "p1: background job failed",
            "exit code 1",
            Urgency.NORMAL,
            False,
            "x-sessionbell.job",
        ),
    ],
)
def test_what_a_bubble_says(seen, title, body, urgency, expires, category) -> None:
    (bubble,) = told(seen)
    assert (bubble.title, bubble.body) == (title, body)
    assert (bubble.urgency, bubble.expires, bubble.category) == (urgency, expires, category)
    assert bubble.keys == ("1",)


@pytest.mark.parametrize(
    "seen",
    [
        asks(kind=Kind.HEADLESS),
        over(at=60, kind=Kind.HEADLESS),
        failed(at=60, kind=Kind.HEADLESS),
        session(state=State.IDLE),
        session(state=State.UNKNOWN, detail="no records"),
        over(at=60, unseen=False),
        failed(at=60, unseen=False),
        over(at=60, last_act=WALL + 60 - 19.9),
    ],
)
def test_what_is_never_told(seen) -> None:
    assert told(seen) == []


@pytest.mark.parametrize(
    ("last_act", "is_told"),
    [(None, True), (-600.0, True), (40.0, True), (40.1, False), (59.0, False), (61.0, False)],
)
def test_the_end_of_a_turn_is_told_only_to_who_left_20_s_before(last_act, is_told) -> None:
    seen = over(at=60, last_act=None if last_act is None else WALL + last_act)
    screen = Screen(working(last_act=None))
    screen.at(60.0, seen)
    screen.until(62.0)
    assert bool(screen.bubbles) is is_told


def test_an_answer_the_machine_saw_counts_as_an_act() -> None:
    screen = Screen(asks(last_act=None))
    screen.at(50.0, working(last_act=None))
    screen.at(69.0, over(at=69.0, last_act=None))
    screen.until(75.0)
    assert screen.bubbles == []


def test_no_text_is_longer_than_a_bubble_can_hold() -> None:
    long = "x" * 5000
    everything = [
        asks(str(n), detail=long, project=long, name=long, title=long, branch=long, reason=reason)
        for n, reason in enumerate([Reason.PERMISSION, Reason.QUESTION, Reason.PLAN] * 5)
    ]
    for bubbles in (told(everything[0]), told(*everything), told(failed(error=long, detail=long))):
        for bubble in bubbles:
            assert len(bubble.title) <= 120
            assert len(bubble.body) <= 1000


class TestAsks:
    def test_is_withdrawn_the_moment_it_is_answered(self) -> None:
        screen = Screen(working())
        screen.at(60.0, asks())
        screen.until(60.2)
        assert screen.bubbles == []
        screen.until(300.0)
        assert screen.titles == ["p1 needs permission"]
        screen.see(working())
        assert screen.bubbles == []

    def test_the_next_ask_is_told_anew_even_at_once(self) -> None:
        screen = Screen(working())
        screen.at(60.0, asks(ask="a"))
        screen.at(61.0, asks(ask="b", detail="Bash: rm x"))
        screen.until(62.0)
        first, second = screen.history
        assert first.closed == 61.0
        assert second.bubble.body == "Bash: rm x"
        assert first.bubble.id != second.bubble.id

    def test_a_detail_learnt_later_replaces_the_text_in_place(self) -> None:
        screen = Screen(working())
        screen.at(60.0, asks(reason=Reason.INPUT, detail=None))
        screen.until(61.0)
        before = screen.only
        screen.see(asks(reason=Reason.QUESTION, detail="Which port?"))
        assert (screen.only.title, screen.only.body) == ("p1 asks a question", "Which port?")
        assert (screen.only.id, screen.only.asks) == (before.id, before.asks)
        assert len(screen.history) == 1

    @pytest.mark.parametrize("dismiss", [True, False])
    def test_one_that_was_suspended_is_not_told_again(self, *, dismiss: bool) -> None:
        screen = Screen(working())
        screen.at(60.0, asks())
        screen.until(61.0)
        if dismiss:
            screen.dismiss(screen.only.id)
        screen.at(62.0, session(detail="suspended"))
        assert screen.bubbles == []
        screen.at(63.0, asks())
        screen.until(70.0)
        assert screen.bubbles == []
        screen.see(asks(ask="b"))
        screen.until(71.0)
        assert screen.titles == ["p1 needs permission"]

    def test_once_dismissed_it_does_not_come_back_for_that_ask(self) -> None:
        screen = Screen(working())
        screen.at(60.0, asks(detail=None))
        screen.until(61.0)
        screen.dismiss(screen.only.id)
        screen.at(62.0, asks(detail="Bash: npm publish"))
        screen.at(63.0, working())
        screen.at(64.0, asks())
        screen.until(70.0)
        assert screen.bubbles == []
        screen.see(asks(ask="b"))
        screen.until(71.0)
        assert screen.titles == ["p1 needs permission"]

    def test_a_session_sent_to_the_background_keeps_its_bubble(self) -> None:
        screen = Screen(working())
        screen.at(60.0, asks())
        screen.until(61.0)
        screen.see(asks("job:7", aliases=("1",), project="p1", kind=Kind.BACKGROUND))
        screen.until(62.0)
        assert len(screen.history) == 1
        assert screen.only.keys == ("job:7",)


class TestBurst:
    """Three bubbles at once; a fourth within ten seconds makes one summary of them."""

    def crowd(self, *times: float) -> Screen:
        """Let sessions 1, 2, ... ask at `times`."""
        screen = Screen(*(working(str(n + 1)) for n in range(len(times))))
        seen = {str(n + 1): working(str(n + 1)) for n in range(len(times))}
        for n, time in enumerate(times):
            seen[str(n + 1)] = asks(str(n + 1), since=WALL + time)
            screen.at(time, *seen.values())
        screen.until(times[-1] + 0.3)
        return screen

    def answer(self, screen: Screen, *keys: str) -> None:
        screen.see(*(working(s.key) if s.key in keys else s for s in screen.sessions))

    @pytest.mark.parametrize(
        ("times", "bubbles"),
        [
            ((60, 60, 60), 3),
            ((60, 60, 60, 60), 1),
            ((60, 62, 64, 70), 1),
            ((60, 62, 64, 70.1), 4),
            ((60, 60, 60, 61, 61, 61, 61), 1),
            ((60, 60, 60, 61, 70, 79), 1),
            ((60, 60, 60, 61, 72), 2),
            ((60, 60, 60, 61, 80, 81, 82, 83), 2),
        ],
    )
    def test_how_many_bubbles(self, times, bubbles) -> None:
        assert len(self.crowd(*times).bubbles) == bubbles

    def test_names_and_counts(self) -> None:
        screen = self.crowd(60, 60, 60, 61)
        assert screen.only.title == "4 sessions are waiting for you"
        assert screen.only.body.splitlines() == [f"p{n}: Bash: npm publish" for n in (1, 2, 3, 4)]
        assert screen.only.keys == ("1", "2", "3", "4")
        assert not screen.only.expires
        assert [showing.closed for showing in screen.history] == [61.3] * 3 + [None]

    def test_names_few_of_many(self) -> None:
        screen = self.crowd(*[60.0] * 12)
        lines = screen.only.body.splitlines()
        assert screen.only.title == "12 sessions are waiting for you"
        assert len(lines) == 6
        assert lines[-1] == "7 more"

    def test_tells_two_sessions_of_one_project_apart(self) -> None:
        screen = Screen(*(working(str(n)) for n in range(4)))
        screen.at(
            60.0,
            asks("0", project="web", branch="main"),
            asks("1", project="web", branch="fix"),
            asks("2", project="api", detail=None, reason=Reason.PLAN),
            asks("3", project="web"),
        )
        screen.until(61.0)
        assert screen.only.body.splitlines() == [
            "web (main): Bash: npm publish",
            "web (fix): Bash: npm publish",
            "api: plan",
            "web: Bash: npm publish",
        ]

    def test_shrinks_is_single_again_at_one_and_closes_at_none(self) -> None:
        screen = self.crowd(60, 60, 60, 61)
        summary = screen.only.id
        self.answer(screen, "2")
        assert screen.only.title == "3 sessions are waiting for you"
        self.answer(screen, "1", "4")
        assert (screen.only.title, screen.only.id) == ("p3 needs permission", summary)
        assert screen.only.body == "Bash: npm publish"
        self.answer(screen, "3")
        assert screen.bubbles == []
        assert len(screen.history) == 4

    def test_answered_asks_do_not_count(self) -> None:
        screen = Screen(working("1"), working("2"))
        for n in range(6):
            screen.at(60.0 + n, asks("1", ask=f"a{n}"), asks("2"))
        screen.until(66.0)
        assert sorted(screen.titles) == ["p1 needs permission", "p2 needs permission"]

    def test_dismissed_asks_do_not_count(self) -> None:
        screen = self.crowd(60, 60, 60)
        for bubble in screen.bubbles:
            screen.dismiss(bubble.id)
        screen.at(62.0, *screen.sessions, asks("4"))
        screen.at(63.0, *screen.sessions, asks("5"))
        screen.until(64.0)
        assert screen.titles == ["p4 needs permission", "p5 needs permission"]

    def test_a_dismissed_summary_stays_away_but_a_new_ask_does_not(self) -> None:
        screen = self.crowd(60, 60, 60, 61)
        screen.dismiss(screen.only.id)
        self.answer(screen, "1")
        assert screen.bubbles == []
        screen.at(65.0, *screen.sessions, asks("5"))
        screen.until(66.0)
        assert screen.titles == ["p5 needs permission"]

    def test_the_others_are_told_after_the_first_was_followed(self) -> None:
        screen = self.crowd(60, 60, 60, 61)
        followed = screen.only
        assert followed.one_by_one
        screen.memory = dismissed(screen.memory, replace(followed, asks=followed.asks[:1]))
        screen.see(*screen.sessions)
        assert screen.only.title == "3 sessions are waiting for you"
        assert screen.only.keys == ("2", "3", "4")

    def test_only_what_waits_is_followed_one_by_one(self) -> None:
        at_start = Screen(asks("1"), asks("2"))
        at_start.until(5.0)
        errors = Screen(working("1"), working("2"))
        errors.at(60.0, failed("1", 60), failed("2", 60))
        errors.until(65.0)
        for screen in (at_start, errors):
            assert len(screen.only.keys) == 2
            assert not screen.only.one_by_one

    def test_what_joined_while_it_was_being_dismissed_is_still_told(self) -> None:
        screen = self.crowd(60, 60, 60, 61)
        on_screen = screen.only
        screen.at(62.0, *screen.sessions, asks("5"))
        screen.until(62.5)
        screen.memory = dismissed(screen.memory, on_screen)
        screen.see(*screen.sessions)
        assert screen.only.title == "p5 needs permission"


class TestTurnOver:
    def test_once_until_the_person_acts_again(self) -> None:
        screen = Screen(working())
        screen.at(60.0, over(at=60.0))
        screen.until(75.0)
        assert screen.bubbles == []
        for start in (100.0, 200.0):
            screen.at(start, working(turn_by_person=False))
            screen.at(start + 30, over(at=start + 30, turn_by_person=False))
            screen.until(start + 50)
        assert [(s.shown, s.closed) for s in screen.history] == [(61.0, 71.0)]
        screen.at(300.0, working(last_act=WALL + 300))
        screen.at(330.0, over(at=330.0, last_act=WALL + 300))
        screen.until(335.0)
        assert [s.shown for s in screen.history] == [61.0, 331.0]

    def test_a_later_end_replaces_the_text_while_it_is_on_the_screen(self) -> None:
        screen = Screen(working())
        screen.at(60.0, over(at=60.0))
        screen.at(62.0, working(turn_by_person=False, preview="Let me look."))
        assert screen.only.body == "All tests pass."
        screen.at(65.0, over(at=65.0, turn_by_person=False, preview="The build is green too."))
        screen.until(66.0)
        assert screen.only.body == "The build is green too."
        assert len(screen.history) == 1

    def test_is_withdrawn_when_the_person_comes(self) -> None:
        for here in (
            over(at=60.0, unseen=False),
            over(at=60.0, last_act=WALL + 62),
            working(last_act=WALL + 62),
            session(),
        ):
            screen = Screen(working())
            screen.at(60.0, over(at=60.0))
            screen.until(62.0)
            assert screen.titles == ["p1 has finished"]
            screen.see(here)
            assert screen.bubbles == []

    def test_an_ask_of_the_same_session_takes_its_place(self) -> None:
        screen = Screen(working())
        screen.at(60.0, over(at=60.0))
        screen.at(62.0, working(turn_by_person=False))
        screen.at(63.0, asks())
        screen.until(64.0)
        assert screen.titles == ["p1 needs permission"]

    def test_that_turns_out_a_failure_is_told_as_one(self) -> None:
        screen = Screen(working())
        screen.at(60.0, over(at=60.0))
        screen.at(62.0, failed(at=60.0))
        screen.until(63.0)
        assert screen.titles == ["p1 stopped with an error"]

    def test_several_each_have_their_own(self) -> None:
        bubbles = told(*(over(str(n), at=60) for n in range(5)))
        assert len(bubbles) == 5


class TestErrors:
    def test_the_same_error_in_several_sessions_is_one_bubble(self) -> None:
        screen = Screen(working("1"), working("2"), working("3"))
        screen.at(60.0, failed("1", 60), working("2"), working("3"))
        screen.until(61.0)
        first = screen.only.id
        screen.at(65.0, failed("1", 60), failed("2", 65), failed("3", 65, error="limit"))
        screen.until(66.0)
        assert sorted(screen.titles) == [
            "2 sessions stopped with an error",
            "p3 stopped with an error",
        ]
        shared = next(b for b in screen.bubbles if b.id == first)
        assert shared.body == "API error: overloaded\np1, p2"
        assert shared.keys == ("1", "2")
        screen.see(working("1"), failed("2", 65), working("3"))
        assert screen.titles == ["p2 stopped with an error"]

    def test_stays_until_the_next_prompt_and_a_new_failure_is_new(self) -> None:
        screen = Screen(working())
        screen.at(60.0, failed(at=60))
        screen.until(3000.0)
        assert screen.titles == ["p1 stopped with an error"]
        screen.at(3001.0, working(last_act=WALL + 3001))
        assert screen.bubbles == []
        screen.at(3050.0, failed(at=3050, last_act=WALL + 3001))
        screen.until(3051.0)
        assert screen.titles == ["p1 stopped with an error"]

    def test_dismissed_it_stays_away_while_another_session_fails(self) -> None:
        screen = Screen(working("1"), working("2"))
        screen.at(60.0, failed("1", 60), working("2"))
        screen.until(61.0)
        screen.dismiss(screen.only.id)
        screen.at(65.0, failed("1", 60), failed("2", 65))
        screen.until(66.0)
        assert screen.titles == ["p2 stopped with an error"]


class TestStart:
    """What was there before the tray: one quiet summary of what is blocked."""

    def test_one_quiet_summary(self) -> None:
        screen = Screen(
            asks("1"), asks("2"), over("3", -5), failed("4", -5), session("5", state=State.ENDED)
        )
        screen.until(5.0)
        assert screen.only.title == "2 sessions are waiting for you"
        assert (screen.only.urgency, screen.only.expires) == (Urgency.LOW, False)
        screen.until(100.0)
        assert screen.only.title == "2 sessions are waiting for you", "it stays until answered"
        screen.see(working("1"), working("2"))
        assert screen.bubbles == []

    def test_one_blocked_session_is_named(self) -> None:
        screen = Screen(asks("1"), working("2"))
        screen.until(5.0)
        assert (screen.only.title, screen.only.urgency) == ("p1 needs permission", Urgency.LOW)
        screen.see(working("1"), working("2"))
        assert screen.bubbles == []

    def test_shrinks_and_is_silent_where_nothing_is_blocked(self) -> None:
        screen = Screen(asks("1"), asks("2"))
        screen.until(2.0)
        screen.see(asks("1"), working("2"))
        assert screen.titles == ["p1 needs permission"]
        quiet = Screen(over("3", -5), failed("4", -5), working("5"))
        quiet.until(30.0)
        assert quiet.history == []

    def test_what_comes_after_is_told_and_not_counted_in(self) -> None:
        screen = Screen(*(asks(str(n)) for n in range(5)), working("9"))
        screen.until(2.0)
        screen.see(*(asks(str(n)) for n in range(5)), asks("9"))
        screen.until(3.0)
        assert screen.titles == ["5 sessions are waiting for you", "p9 needs permission"]
        screen.at(5.0, asks("1", ask="next"), asks("9"))
        screen.until(6.0)
        assert sorted(screen.titles) == ["p1 needs permission", "p9 needs permission"]


def test_a_death_is_told_once_and_its_row_takes_it_along() -> None:
    screen = Screen(working(record="/r/1.json"))
    screen.leftover = frozenset({"/r/1.json"})
    screen.at(60.0)
    screen.until(62.0)
    assert (screen.only.title, screen.only.body) == ("p1 ended unexpectedly", "died while working")
    screen.until(800.0)
    assert len(screen.history) == 1
    assert screen.bubbles == []


def test_memory_does_not_grow_with_time() -> None:
    screen = Screen(working())
    for hour in range(50):
        now = 3600.0 * (hour + 1)
        screen.at(now, asks(ask=f"a{hour}"))
        screen.at(now + 60, working(last_act=WALL + now + 60))
        screen.at(now + 600, over(at=now + 600, last_act=WALL + now + 60))
        screen.at(now + 900, failed(at=now + 900, last_act=WALL + now + 60))
    assert len(screen.history) > 100
    assert len(screen.memory.told) <= 2
    screen.at(screen.now + 1)
    assert screen.memory == Memory()


def test_memory_does_not_grow_with_asks_that_follow_each_other_directly() -> None:
    screen = Screen(working())
    for number in range(20):
        screen.at(10.0 * number + 10, asks(ask=f"a{number}"))
        screen.until(10.0 * number + 15)
    assert len(screen.history) == 20
    assert len(screen.memory.told) == 1


def test_an_afternoon() -> None:
    """Timed snapshots in; the hand-written list of what a person saw out."""
    web, api, docs = "web", "api", "docs"

    def p(observation: Observation) -> Observation:
        return structs.replace(observation, project=observation.key)

    start = WALL - 30
    screen = Screen(p(asks(web, "w1", detail="Bash: npm ci")), p(working(api, last_act=start)))
    script: list[tuple[float, list[Observation]]] = [
        # The person answers web; api asks, and gets its answer while the person is looking.
        (4, [working(web, last_act=WALL + 4), working(api, last_act=start)]),
        (30, [working(web), asks(api, "a1", detail=None)]),
        (30.1, [working(web), asks(api, "a1", detail="Edit: app.py")]),
        (36, [working(web), working(api)]),
        # web is done within 20 s of the last prompt there: not told.
        (40, [over(web, 40, last_act=WALL + 30), working(api)]),
        (110, [session(web, unseen=True, turn_end=TurnEnd.COMPLETED, turn_ended_at=WALL + 40)]),
        # Everybody leaves. docs runs long, asks twice in a row, then finishes twice.
        (200, [session(web), working(docs, last_act=WALL + 200)]),
        (300, [session(web), asks(docs, "d1", detail="Bash: make html")]),
        (400.0, [session(web), asks(docs, "d2", detail="Bash: make pdf")]),
        (500, [session(web), working(docs, last_act=WALL + 500)]),
        (600, [session(web), over(docs, 600, last_act=WALL + 500, preview="Built.")]),
        (605, [session(web), working(docs, last_act=WALL + 500, turn_by_person=False)]),
        (
            608,
            [session(web), over(docs, 608, last_act=WALL + 500, preview="Built, and checked.")],
        ),
        (700, [session(web), working(docs, last_act=WALL + 500, turn_by_person=False)]),
        (730, [session(web), over(docs, 730, last_act=WALL + 500, preview="Idle now.")]),
        # A hook answers this one by itself: never seen.
        (900, [structs.replace(asks(web), ask=Ask("w2", Reason.PERMISSION, deciding=True))]),
        (902, [working(web)]),
        # A flicker shorter than the hold.
        (950, [asks(web, "w3")]),
        (950.2, [working(web)]),
        # The API is overloaded for two of them.
        (1000, [failed(web, 1000), working(api)]),
        (1003, [failed(web, 1000), failed(api, 1003)]),
        (1060, [working(web), failed(api, 1003)]),
        (1070, [working(web), working(api)]),
    ]
    for time, sessions in script:
        screen.at(time, *(p(each) for each in sessions))
    screen.until(1200)
    assert [
        (round(s.shown, 1), s.bubble.title, s.bubble.body, s.closed) for s in screen.history
    ] == [
        (0.3, "web needs permission", "Bash: npm ci", 4.0),
        (30.3, "api needs permission", "Edit: app.py", 36.0),
        (300.3, "docs needs permission", "Bash: make html", 400.0),
        (400.3, "docs needs permission", "Bash: make pdf", 500.0),
        (601.0, "docs has finished", "Built, and checked.", 611.0),
        (1000.3, "api stopped with an error", "API error: overloaded", 1070.0),
    ]
    assert screen.bubbles == []


@pytest.mark.parametrize("kind", list(AlertKind))
def test_every_kind_of_alert_can_be_told(kind) -> None:
    samples = {
        AlertKind.PERMISSION: asks(),
        AlertKind.QUESTION: asks(reason=Reason.QUESTION),
        AlertKind.PLAN: asks(reason=Reason.PLAN),
        AlertKind.INPUT: asks(reason=Reason.INPUT),
        AlertKind.TURN_OVER: over(at=60),
        AlertKind.ERROR: failed(at=60),
        AlertKind.DIED: session(state=State.ENDED),
        AlertKind.JOB_DONE: over(at=60, kind=Kind.BACKGROUND),
        AlertKind.JOB_FAILED: failed(at=60, kind=Kind.BACKGROUND),
    }
    assert len(told(samples[kind])) == 1


DOINGS = st.tuples(
    st.sampled_from(["asks", "asks again", "works", "over", "fails", "answered", "dismiss"]),
    st.integers(0, 5),
    st.sampled_from([0.1, 0.5, 2.0, 9.0, 25.0]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(DOINGS, min_size=20, max_size=40))
def test_whatever_happens_each_open_ask_stands_in_one_bubble_until_dismissed(doings) -> None:
    screen = Screen(*(working(str(n)) for n in range(6)))
    seen = {s.key: s for s in screen.sessions}
    dismissed_asks: set[str] = set()
    for count, (doing, number, pause) in enumerate(doings):
        key, now = str(number), screen.now + pause
        if doing == "dismiss":
            screen.until(now)
            if screen.bubbles:
                bubble = screen.bubbles[number % len(screen.bubbles)]
                dismissed_asks.update(bubble.asks)
                screen.dismiss(bubble.id)
        else:
            seen[key] = {
                "works": working(key),
                "answered": working(key, last_act=WALL + now),
                "asks": asks(key, ask="same"),
                "asks again": asks(key, ask=f"new {count}"),
                "over": over(key, now),
                "fails": failed(key, now),
            }[doing]
            screen.at(now, *seen.values())
        told_asks = [ask for bubble in screen.bubbles for ask in bubble.asks]
        assert len(told_asks) == len(set(told_asks))
        assert screen.tracked is not None
        blocked = {
            f"{track.session.key}/{track.alert.id}"
            for track in screen.tracked.tracks
            if track.alert and track.alert.ripe and track.alert.kind in BLOCKING_ALERTS
        }
        assert blocked <= set(told_asks) | dismissed_asks
        for bubble in screen.bubbles:
            assert bubble.title
            if bubble.category == "x-sessionbell.ask":
                assert blocked.issuperset(bubble.asks)

"""What the person's wishes and whereabouts change in what is told."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from tray.config import Alerts, AlertSettings, Holds, Projects, QuietHours, Settings
from tray.desktop.alerts import SHOW, Memory, dismissed, plan
from tray.desktop.circumstances import Circumstances
from tray.desktop.quiet import is_quiet, next_change
from tray.machine import Alert, AlertKind, Track, Tracked
from tray.mutes import Mutes
from tray.session import Ask, Observation, Reason, State, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Iterator

WALL = 1_800_000_000.0


def waiting(key: str = "1") -> Track:
    session = Observation(
        key=key, state=State.NEEDS_INPUT, session_id=f"s{key}", project="shop", cwd="/src/shop",
        reason=Reason.PERMISSION, detail="Bash: ls", ask=Ask("a", Reason.PERMISSION),
    )  # fmt: skip
    return Track(session, Alert("a", AlertKind.PERMISSION, ripe=True, at=WALL), alert_seen=0.0)


def around(now: float = 1.0, **fields: object) -> Circumstances:
    return Circumstances(wall=WALL + now, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"settings": Settings(notifications=False)},
        {"settings": Settings(alerts=Alerts(permission=AlertSettings(enabled=False)))},
        {"settings": Settings(projects=Projects(mute=("/src/*",)))},
        {"quiet": True},
        {"present": frozenset({"1"})},
        {"mutes": Mutes(everything=(None,))},
        {"mutes": Mutes(projects={"/src/shop": None})},
        {"mutes": Mutes(sessions={"s1": None})},
        {"mutes": Mutes(snoozed={"s1/a": WALL + 100})},
    ],
)
def test_what_keeps_an_ask_off_the_screen_withdraws_nothing_for_good(fields) -> None:
    tracked = Tracked((waiting(),))
    held = plan(Memory(), tracked, 1.0, around(**fields))
    assert (held.bubbles, held.told) == ((), ())
    after = plan(held.memory, tracked, 2.0, around(2.0))
    assert [bubble.title for bubble in after.bubbles] == ["shop needs permission"]
    assert len(after.told) == 1
    assert plan(after.memory, tracked, 3.0, around(3.0)).told == ()


def test_presence_holds_an_ask_for_30_s_at_most_and_no_other() -> None:
    tracked = Tracked((waiting("1"), waiting("2")))
    first = plan(Memory(), tracked, 1.0, around(present=frozenset({"1"})))
    assert [bubble.keys for bubble in first.bubbles] == [("2",)]
    assert (first.wake_at, first.watching) == (30.0, frozenset({"1"}))
    last = plan(first.memory, tracked, 30.0, around(30.0, present=frozenset({"1"})))
    assert len(last.bubbles) == 2
    off = Settings(holds=Holds(presence=0))
    assert plan(Memory(), tracked, 1.0, around(settings=off, present=frozenset({"1"}))).bubbles


def test_a_snoozed_ask_comes_back_with_its_original_wait() -> None:
    tracked = Tracked((waiting(),))
    shown = plan(Memory(), tracked, 1.0, around())
    memory = dismissed(shown.memory, shown.bubbles[0])
    mutes = Mutes(snoozed={"s1/a": WALL + 2820})
    held = plan(memory, tracked, 2.0, around(2.0, mutes=mutes))
    assert held.bubbles == ()
    assert held.wake_at == pytest.approx(2820, abs=0.1)
    (back,) = plan(held.memory, tracked, 2820.01, around(2820.01, mutes=mutes)).bubbles
    assert "Waiting for 47 min" in back.body


def test_who_comes_back_gets_one_bubble() -> None:
    tracked = Tracked((waiting("1"), waiting("2")))
    away = plan(Memory(), tracked, 1.0, around(away=True))
    assert len(away.bubbles) == 2
    back = plan(away.memory, tracked, 900.0, around(900.0))
    assert [bubble.title for bubble in back.bubbles] == ["2 sessions are waiting for you"]
    assert plan(back.memory, tracked, 901.0, around(901.0)).bubbles == back.bubbles


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"locked": True}, "shop needs permission"),
        ({"inhibited": True}, "shop needs permission"),
        ({"settings": Settings(show_details=False)}, "A session needs permission"),
    ],
)
def test_titles_only(fields, title) -> None:
    (bubble,) = plan(Memory(), Tracked((waiting(),)), 1.0, around(**fields)).bubbles
    assert (bubble.title, bubble.body) == (title, "")


def test_a_reminder_comes_even_after_it_was_dismissed() -> None:
    tracked, settings = Tracked((waiting(),)), Settings(remind_after=5)
    shown = plan(Memory(), tracked, 1.0, around(settings=settings))
    assert shown.wake_at == 301.0
    memory = dismissed(shown.memory, shown.bubbles[0])
    assert plan(memory, tracked, 300.0, around(300.0, settings=settings)).bubbles == ()
    again = plan(memory, tracked, 301.0, around(301.0, settings=settings))
    assert (again.bubbles[0].body, again.told) == ("Bash: ls\nWaiting for 5 min", ())


def test_quiet_hours_go_over_midnight() -> None:
    hours = QuietHours(start="22:00", end="07:00")
    day = dt.datetime.fromisoformat("2026-03-01")
    quiet = [hour for hour in range(24) if is_quiet(hours, day.replace(hour=hour))]
    assert quiet == [0, 1, 2, 3, 4, 5, 6, 22, 23]
    assert next_change(hours, day.replace(hour=23)) == dt.datetime.fromisoformat("2026-03-02T07:00")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("start", "end", "now", "quiet", "change"),
    [
        # On 25 October 2026 the hour from 2 to 3 came twice: at +02:00, then at +01:00.
        ("22:00", "02:30", "2026-10-25T01:50+02:00", True, "2026-10-25T02:30+02:00"),
        ("22:00", "02:30", "2026-10-25T02:40+02:00", False, "2026-10-25T02:00+01:00"),
        ("22:00", "02:30", "2026-10-25T02:10+01:00", True, "2026-10-25T02:30+01:00"),
        ("22:00", "02:30", "2026-10-25T02:40+01:00", False, "2026-10-25T22:00+01:00"),
        ("02:10", "02:50", "2026-10-25T02:20+01:00", True, "2026-10-25T02:50+01:00"),
        ("02:10", "02:50", "2026-10-25T02:55+01:00", False, "2026-10-26T02:10+01:00"),
        # On 29 March it was left out.
        ("22:00", "02:30", "2026-03-29T01:40+01:00", True, "2026-03-29T03:00+02:00"),
        ("02:30", "07:00", "2026-03-29T01:40+01:00", False, "2026-03-29T03:00+02:00"),
        ("02:10", "02:50", "2026-03-29T01:40+01:00", False, "2026-03-30T02:10+02:00"),
        ("22:00", "07:00", "2026-03-28T23:00+01:00", True, "2026-03-29T07:00+02:00"),
    ],
)
def test_quiet_hours_change_also_where_clocks_do(start, end, now, quiet, change) -> None:
    hours = QuietHours(start=start, end=end)
    local = dt.datetime.fromtimestamp(dt.datetime.fromisoformat(now).timestamp())  # noqa: DTZ006
    assert is_quiet(hours, local) is quiet
    found = next_change(hours, local)
    assert found is not None
    assert found.timestamp() == dt.datetime.fromisoformat(change).timestamp()


def finished(key: str = "9") -> Track:
    session = Observation(
        key=key, state=State.IDLE, session_id=f"s{key}", project="docs", unseen=True,
        turn_end=TurnEnd.COMPLETED, turn_ended_at=WALL, preview="Done.",
    )  # fmt: skip
    alert = Alert(f"turn:{WALL}", AlertKind.TURN_OVER, ripe=True, at=WALL)
    return Track(session, alert, alert_seen=0.0)


ONE, TWO, OWN = (
    "1 session is waiting for you, 1 has finished",
    "2 sessions are waiting for you, 1 has finished",
    ["docs has finished", "shop needs permission", "shop needs permission"],
)
ALL = frozenset({"1", "2", "9"})


@pytest.mark.parametrize(
    ("meanwhile", "during", "after"),
    [
        ({"mutes": Mutes(everything=(None,))}, [], [TWO]),
        ({"mutes": Mutes(projects={"/src/shop": None})}, OWN[:1], ["2 sessions", OWN[0]]),
        ({"mutes": Mutes(sessions={"s1": None})}, OWN[:2], OWN),
        ({"mutes": Mutes(snoozed={"s1/a": WALL + 90})}, OWN[:2], OWN),
        ({"quiet": True}, [], [TWO]),
        ({"settings": Settings(notifications=False)}, [], [TWO]),
        ({"locked": True, "away": True}, OWN, [TWO]),
        ({"away": True}, OWN, [TWO]),
        ({"inhibited": True}, OWN, OWN),
        # Who is there already sees the end of a turn; an ask that is on the screen stays there.
        ({"present": ALL}, OWN[1:], OWN[1:]),
    ],
)
@pytest.mark.parametrize("told_before", [True, False])
def test_begin_and_end(meanwhile, during, after, *, told_before: bool) -> None:
    """What stands on the screen while it lasts, and what is told at its end, each once."""
    tracked, memory, told = Tracked((waiting("1"), waiting("2"), finished())), Memory(), []
    if told_before:
        before = plan(memory, tracked, 1.0, around())
        assert sorted(bubble.title for bubble in before.bubbles) == OWN
        memory, told = before.memory, [each.title for each in before.told]
    in_it = plan(memory, tracked, 2.0, around(2.0, **meanwhile))
    told += [each.title for each in in_it.told]
    if told_before or "present" not in meanwhile:
        assert sorted(bubble.title for bubble in in_it.bubbles) == during
    else:
        assert in_it.bubbles == ()
    at_end = plan(in_it.memory, tracked, 20.0, around(20.0))
    told += [each.title for each in at_end.told]
    titles = sorted(bubble.title for bubble in at_end.bubbles)
    assert [title[: len(said)] for title, said in zip(titles, after, strict=True)] == after
    later = plan(at_end.memory, tracked, 21.0, around(21.0))
    assert (later.bubbles, later.told) == (at_end.bubbles, ())
    # A command runs once, whether it was told before, in it or after it.
    assert sorted(told) == (OWN if told_before or "present" not in meanwhile else OWN[1:])


@pytest.mark.parametrize(
    "meanwhile",
    [{"quiet": True}, {"mutes": Mutes(everything=(None,))}, {"locked": True, "away": True}],
)
def test_what_is_answered_meanwhile_is_not_told_at_the_end(meanwhile) -> None:
    both = plan(Memory(), Tracked((waiting("1"), waiting("2"))), 1.0, around())
    in_it = plan(both.memory, Tracked((waiting("1"), waiting("2"))), 2.0, around(2.0, **meanwhile))
    after = plan(in_it.memory, Tracked((waiting("2"),)), 20.0, around(20.0))
    assert [bubble.keys for bubble in after.bubbles] == [("2",)]
    assert plan(in_it.memory, Tracked(()), 20.0, around(20.0)).bubbles == ()


def test_an_end_the_person_was_present_at_is_not_told_on_their_return() -> None:
    tracked = Tracked((finished(), waiting("1")))
    here = plan(Memory(), tracked, 1.0, around(present=frozenset({"9"})))
    gone = plan(here.memory, tracked, 2.0, around(2.0, away=True))
    (back,) = plan(gone.memory, tracked, 900.0, around(900.0)).bubbles
    assert back.keys == ("1",)


def test_an_end_the_person_came_to_see_is_not_told_on_their_return() -> None:
    tracked = Tracked((finished(),))
    shown = plan(Memory(), tracked, 700.0, around(700.0))
    seen = plan(shown.memory, tracked, 705.0, around(705.0, present=frozenset({"9"})))
    assert seen.bubbles == ()
    away = plan(seen.memory, tracked, 1000.0, around(1000.0, away=True))
    assert plan(away.memory, tracked, 2000.0, around(2000.0)).bubbles == ()


def test_an_end_told_before_the_lock_is_not_told_again_one_before_the_idle_time_is() -> None:
    tracked = Tracked((finished(),))
    shown = plan(Memory(), tracked, 700.0, around(700.0))
    expired = dismissed(shown.memory, shown.bubbles[0])
    for locked, again in ((True, 0), (False, 1)):
        away = plan(expired, tracked, 900.0, around(900.0, away=True, locked=locked))
        back = plan(away.memory, tracked, 2000.0, around(2000.0))
        assert len(back.bubbles) == again


def test_what_began_before_the_return_joins_its_one_bubble_what_comes_later_does_not() -> None:
    away = plan(Memory(), Tracked((waiting("1"),)), 1.0, around(away=True))
    back = plan(away.memory, Tracked((waiting("1"),)), 2.0, around(2.0))
    new = waiting("3")
    assert new.alert is not None
    late = structs.replace(new, alert=structs.replace(new.alert, at=WALL + 2.5))
    both = Tracked((waiting("1"), waiting("2")))
    after = plan(back.memory, both, 3.0, around(3.0))
    assert [bubble.keys for bubble in after.bubbles] == [("1", "2")]
    later = plan(after.memory, Tracked((*both.tracks, late)), 13.5, around(13.5))
    assert [bubble.keys for bubble in later.bubbles] == [("1", "2"), ("3",)]


def test_reminders_begin_with_the_setting_end_with_it_and_wait_for_the_person() -> None:
    tracked, on = Tracked((waiting(),)), Settings(remind_after=5)
    shown = plan(Memory(), tracked, 1.0, around())
    memory = dismissed(shown.memory, shown.bubbles[0])
    assert plan(memory, tracked, 900.0, around(900.0)).bubbles == ()
    assert plan(memory, tracked, 900.0, around(900.0, settings=on)).bubbles
    away = plan(memory, tracked, 900.0, around(900.0, settings=on, away=True))
    assert (away.bubbles, away.wake_at) == ((), None)
    there = plan(memory, tracked, 900.0, around(900.0, settings=on, present=frozenset({"1"})))
    # It is told when the person leaves: to wake up for it before would be a busy loop.
    assert (there.bubbles, there.watching, there.wake_at) == ((), frozenset({"1"}), None)


def test_a_summary_has_one_button_and_says_each_in_words() -> None:
    tracked = Tracked((waiting("1"), finished()))
    away = plan(Memory(), tracked, 1.0, around(away=True))
    (back,) = plan(away.memory, tracked, 9.0, around(9.0)).bubbles
    assert back.title == ONE
    assert back.body == "shop: Bash: ls\ndocs: Done."
    assert back.actions == (SHOW,)


def test_the_error_of_several_in_a_joint_bubble_is_counted() -> None:
    one = finished()
    failed = structs.replace(
        one, session=structs.replace(one.session, error="limit", detail="Usage limit"),
        alert=Alert("t", AlertKind.ERROR, ripe=True, at=WALL),
    )  # fmt: skip
    tracked = Tracked((failed, structs.replace(failed, session=structs.replace(
        failed.session, key="8"))))  # fmt: skip
    quiet = plan(Memory(), tracked, 1.0, around(quiet=True))
    (after,) = plan(quiet.memory, tracked, 2.0, around(2.0)).bubbles
    assert after.title == "2 sessions stopped with an error"
    assert after.body == "docs: Usage limit\ndocs: Usage limit"

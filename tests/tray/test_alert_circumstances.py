"""What the person's wishes and whereabouts change in what is told."""

from __future__ import annotations

import datetime as dt

import pytest

from tray.config import Alerts, AlertSettings, Holds, Projects, QuietHours, Settings
from tray.desktop.alerts import Memory, dismissed, plan
from tray.desktop.circumstances import Circumstances
from tray.desktop.quiet import is_quiet, next_change
from tray.machine import Alert, AlertKind, Track, Tracked
from tray.mutes import Mutes
from tray.session import Ask, Observation, Reason, State

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

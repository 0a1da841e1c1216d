"""Every setting that concerns alerts: a row each that shows what it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import fields, replace

from tray.config import (
    EVENTS,
    Alerts,
    AlertSettings,
    Holds,
    Projects,
    QuietHours,
    Sessions,
    Settings,
)
from tray.desktop.alerts import Bubble, Memory, Plan, plan
from tray.desktop.bubbles import MUTE, SHOW, SNOOZE, Urgency
from tray.desktop.circumstances import Circumstances
from tray.machine import Alert, AlertKind, Track, Tracked, step
from tray.projects import narrowed, shown
from tray.session import Ask, Kind, Observation, Reason, Snapshot, Source, State, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Callable

WALL = 1_800_000_000.0
KINDS = {
    "permission": (AlertKind.PERMISSION, Reason.PERMISSION),
    "question": (AlertKind.QUESTION, Reason.QUESTION),
    "plan": (AlertKind.PLAN, Reason.PLAN),
    "input": (AlertKind.INPUT, Reason.INPUT),
    "turn_over": (AlertKind.TURN_OVER, Reason.TURN_OVER),
    "error": (AlertKind.ERROR, Reason.ERROR),
    "died": (AlertKind.DIED, None),
}


def track(event: str, **changes: object) -> Track:
    kind, reason = KINDS[event]
    blocking = event in EVENTS[:4]
    session = Observation(
        key="1", session_id="s", project="shop", cwd="/home/me/src/shop", last_act=WALL - 600,
        state=State.ENDED if reason is None else State.NEEDS_INPUT, reason=reason,
        detail="Bash: ls", preview="Done.", ask=Ask("a", reason) if blocking and reason else None,
        unseen=not blocking, turn_end=None if blocking else TurnEnd.COMPLETED,
        turn_ended_at=None if blocking else WALL,
    )  # fmt: skip
    session = replace(session, **changes)
    return Track(session, Alert("a", kind, ripe=True, at=WALL), alert_seen=0.0)


def made(settings: Settings, *tracks: Track, now: float = 2.0, **around: object) -> Plan:
    circumstances = Circumstances(wall=WALL + now, settings=settings, **around)  # type: ignore[arg-type]
    return plan(Memory(), Tracked(tracks), now, circumstances)


def only(settings: Settings, one: Track, **around: object) -> Bubble:
    (bubble,) = made(settings, one, **around).bubbles
    return bubble


def with_(event: str, **changes: object) -> Settings:
    default = getattr(Alerts(), event)
    return Settings(alerts=replace(Alerts(), **{event: replace(default, **changes)}))


@pytest.mark.parametrize("event", EVENTS)
class TestEachKind:
    """`[alerts.<kind>]`: the rows hold for each of the seven, and change no other."""

    def test_enabled(self, event: str) -> None:
        other = EVENTS[(EVENTS.index(event) + 1) % len(EVENTS)]
        assert made(with_(event, enabled=True), track(event)).bubbles
        off = made(with_(event, enabled=False), track(event))
        assert (off.bubbles, off.told) == ((), ())
        assert made(with_(event, enabled=False), track(other)).bubbles

    @pytest.mark.parametrize("urgency", ["low", "normal", "critical"])
    def test_urgency(self, event: str, urgency: str) -> None:
        assert only(with_(event, urgency=urgency), track(event)).urgency is Urgency(urgency)

    def test_sound(self, event: str) -> None:
        assert only(Settings(), track(event)).sound == ""
        assert only(with_(event, sound="bell"), track(event)).sound == "bell"

    @pytest.mark.parametrize(("timeout", "expires"), [(0.0, False), (7.5, True), (-1.0, True)])
    def test_timeout(self, event: str, timeout: float, *, expires: bool) -> None:
        bubble = only(with_(event, timeout=timeout), track(event))
        assert (bubble.timeout, bubble.expires) == (timeout, expires)

    def test_command(self, event: str) -> None:
        """What is told names the kind whose command is run, with the bubble's words."""
        (told,) = made(with_(event, command=("say",)), track(event)).told
        bubble = only(Settings(), track(event))
        assert (told.event, told.title, told.body) == (event, bubble.title, bubble.body)
        assert told.session.key == "1"

    def test_buttons(self, event: str) -> None:
        actions = (SHOW, MUTE, SNOOZE) if event in EVENTS[:4] else (SHOW, MUTE)
        assert only(Settings(), track(event)).actions == actions


def test_a_job_counts_as_turn_over_and_its_failure_as_error() -> None:
    for kind, event in ((AlertKind.JOB_DONE, "turn_over"), (AlertKind.JOB_FAILED, "error")):
        job = track(event, kind=Kind.BACKGROUND)
        assert job.alert is not None
        job = replace(job, alert=replace(job.alert, kind=kind))
        assert made(with_(event, enabled=False), job).bubbles == ()
        assert [told.event for told in made(Settings(), job).told] == [event]


def test_the_defaults() -> None:
    settings = Settings()
    quiet = {"turn_over"}
    for event in EVENTS:
        bubble = only(settings, track(event))
        assert bubble.urgency is (Urgency.LOW if event in quiet else Urgency.NORMAL)
        assert bubble.timeout == (-1 if event in quiet else 0)


@pytest.mark.parametrize(
    ("settings", "one", "is_told"),
    [
        (Settings(notifications=False), track("permission"), False),
        (Settings(), track("permission", kind=Kind.BACKGROUND), True),
        (
            Settings(sessions=Sessions(background=False)),
            track("permission", kind=Kind.BACKGROUND),
            False,
        ),
        (Settings(), track("error", kind=Kind.HEADLESS), False),
        (Settings(sessions=Sessions(headless=True)), track("error", kind=Kind.HEADLESS), True),
        (Settings(projects=Projects(mute=("shop",))), track("question"), False),
        (Settings(projects=Projects(mute=("/home/me/src/*",))), track("question"), False),
        (Settings(projects=Projects(mute=("/home/me/play/*",))), track("question"), True),
        (Settings(projects=Projects(ignore=("sho?",))), track("question"), False),
        (Settings(turn_over_after=20), track("turn_over", last_act=WALL - 19), False),
        (Settings(turn_over_after=20), track("turn_over", last_act=WALL - 21), True),
        (Settings(turn_over_after=0), track("turn_over", last_act=WALL - 1), True),
        (Settings(turn_over_after=900), track("turn_over"), False),
    ],
)
def test_what_is_told_at_all(settings: Settings, one: Track, *, is_told: bool) -> None:
    # The threshold counts to a prompt before the turn, which the track remembers.
    one = replace(one, last_act=one.session.last_act)
    done = made(settings, one)
    assert (bool(done.bubbles), bool(done.told)) == (is_told, is_told)


def test_projects_to_ignore_are_not_shown_and_those_to_mute_are() -> None:
    session = track("question").session
    assert shown((session,), Settings(projects=Projects(ignore=("shop",)))) == ()
    assert shown((session,), Settings(projects=Projects(mute=("shop",)))) == (session,)


def test_what_is_ignored_is_known_by_all_its_keys() -> None:
    shop = replace(track("question").session, key="job:1", aliases=("4:2",))
    docs = replace(shop, key="5:5", aliases=(), project="docs", cwd="/src/docs")
    snapshot = Snapshot(WALL, (shop, docs))
    assert narrowed(snapshot, Settings()) is snapshot
    found = narrowed(snapshot, Settings(projects=Projects(ignore=("shop",))))
    assert (found.sessions, found.ignored) == ((docs,), frozenset({"job:1", "4:2"}))


def test_a_glob_may_begin_at_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for glob, hidden in (("~/src/*", True), ("~/play/*", False)):
        ignored = shown((track("question").session,), Settings(projects=Projects(ignore=(glob,))))
        assert (ignored == ()) is hidden


@pytest.mark.parametrize("event", EVENTS)
def test_show_details(event: str) -> None:
    open_, closed = only(Settings(), track(event)), only(Settings(show_details=False), track(event))
    assert "shop" in open_.title
    assert open_.body
    assert "shop" not in closed.title
    assert closed.body == ""
    several = [replace(track(event), session=replace(track(event).session, key=str(n)))
               for n in range(5)]  # fmt: skip
    for bubble in made(Settings(show_details=False), *several).bubbles:
        assert "shop" not in bubble.title + bubble.body
        assert "Bash" not in bubble.title + bubble.body


@pytest.mark.parametrize(
    ("holds", "session", "seconds"),
    [
        (Holds(ask=2.0), track("permission").session, 2.0),
        (Holds(ask=0.0), track("question").session, 0.0),
        (Holds(ask=2.0), track("error").session, 2.0),
        (Holds(hook=4.0), track("permission", ask=Ask("a", Reason.PERMISSION, deciding=True))
         .session, 4.0),
        (Holds(turn_over=5.0), track("turn_over").session, 5.0),
        (Holds(ask=3.0), track("permission", source=Source.TRANSCRIPT).session, 3.0),
        (Holds(ask=0.2), track("permission", source=Source.TRANSCRIPT).session, 1.0),
    ],
)  # fmt: skip
def test_holds(holds: Holds, session: Observation, seconds: float) -> None:
    before, _ = step(None, Snapshot(at=WALL), 0.0, holds)
    tracked, _ = step(before, Snapshot(at=WALL, sessions=(session,)), 10.0, holds)
    (found,) = tracked.tracks
    assert found.alert is not None
    assert found.alert.ripe is (seconds == 0)
    assert found.due == (None if seconds == 0 else 10.0 + seconds)


@pytest.mark.parametrize(("presence", "held_until"), [(30.0, 30.0), (5.0, 5.0), (0.0, None)])
def test_holds_presence(presence: float, held_until: float | None) -> None:
    settings = Settings(holds=Holds(presence=presence))
    done = made(settings, track("permission"), present=frozenset({"1"}))
    assert bool(done.bubbles) is (held_until is None)
    assert done.wake_at == held_until
    assert done.watching == (frozenset() if held_until is None else frozenset({"1"}))


@pytest.mark.parametrize(("minutes", "wake_at"), [(0.0, None), (5.0, 302.0), (0.5, 32.0)])
def test_remind_after(minutes: float, wake_at: float | None) -> None:
    assert made(Settings(remind_after=minutes), track("plan")).wake_at == wake_at
    assert made(Settings(remind_after=minutes), track("error")).wake_at is None


def test_quiet_hours_wake_the_policy_at_their_ends() -> None:
    settings = Settings(quiet_hours=QuietHours(start="00:00", end="12:00"))
    wake_at = made(settings, track("plan")).wake_at
    assert wake_at is not None
    assert 2.0 < wake_at <= 12 * 3600 + 2.1


ELSEWHERE = {
    "idle_after": "tests/test_engine.py",
    "command_timeout": "tests/tray/test_event_commands.py",
    "terminal": "no alert",
    "colors": "no alert",
}


def test_no_setting_is_without_a_row() -> None:
    """A setting that is added has its effect shown here, or says where it is."""
    rows: dict[str, Callable[..., None]] = dict(globals())
    text = " ".join(rows) + " ".join(vars(TestEachKind))
    for setting in fields(AlertSettings):
        assert f"test_{setting.name}" in text
    told_at_all = {"notifications", "turn_over_after", "projects", "sessions", "alerts"}
    for setting in fields(Settings):
        name = setting.name
        assert f"test_{name}" in text or name in ELSEWHERE or name in told_at_all, name

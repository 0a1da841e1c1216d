"""What holds whatever happens, in whatever circumstances."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tray.config import Alerts, AlertSettings, QuietHours, Settings
from tray.desktop.alerts import Memory, Plan, dismissed, plan
from tray.desktop.circumstances import Circumstances
from tray.desktop.hush import hushed, presence_ends
from tray.desktop.quiet import is_quiet
from tray.machine import BLOCKING_ALERTS, Tracked, restart_holds, step
from tray.mutes import Mutes, Scope, mute, unmute
from tray.session import Ask, Observation, Reason, Snapshot, State, TurnEnd

WALL = dt.datetime.fromisoformat("2026-03-02T11:55").timestamp()
KEYS = ("1", "2", "3", "4", "5")
DOINGS = (
    "asks", "asks anew", "works", "ends", "fails", "prompts", "leaves", "dismiss", "away", "locked",
    "inhibited", "present", "mute all", "mute one", "snooze", "unmute", "reminders", "switch off",
    "sleep", "wait",
)  # fmt: skip


@dataclass
class Life:
    """Sessions and circumstances that do as they are told, and what is made of them."""

    now: float = 0.0
    asleep_for: float = 0.0
    count: int = 0
    seen: dict[str, Observation] = field(default_factory=dict)
    tracked: Tracked | None = None
    memory: Memory = field(default_factory=Memory)
    around: dict[str, object] = field(default_factory=dict)
    mutes: Mutes = field(default_factory=Mutes)
    settings: Settings = field(
        default_factory=lambda: Settings(quiet_hours=QuietHours(start="12:00", end="12:03"))
    )
    closed: set[str] = field(default_factory=set)
    made: Plan | None = None

    @property
    def wall(self) -> float:
        return WALL + self.asleep_for + self.now

    def circumstances(self) -> Circumstances:
        local = dt.datetime.fromtimestamp(self.wall)  # noqa: DTZ006
        return Circumstances(
            wall=self.wall,
            settings=self.settings,
            mutes=self.mutes,
            quiet=is_quiet(self.settings.quiet_hours, local),
            **self.around,  # type: ignore[arg-type]
        )

    def do(self, doing: str, key: str) -> None:
        self.count += 1
        self._session_does(doing, key)
        self._person_does(doing)
        self._wishes(doing, key)

    def _session_does(self, doing: str, key: str) -> None:
        session = Observation(
            key=key, state=State.WORKING, session_id=f"s{key}", project=f"p{key}",
            last_act=WALL - 600,
        )  # fmt: skip
        ended = {
            "turn_end": TurnEnd.COMPLETED, "turn_ended_at": self.wall, "unseen": True,
        }  # fmt: skip
        waits = State.NEEDS_INPUT
        match doing:
            case "asks" | "asks anew":
                name = "a" if doing == "asks" else f"a{self.count}"
                ask = Ask(name, Reason.PERMISSION)
                self.seen[key] = replace(
                    session, state=waits, reason=ask.reason, ask=ask, since=self.wall
                )
            case "works":
                self.seen[key] = session
            case "prompts":
                self.seen[key] = replace(session, last_act=self.wall)
            case "ends":
                self.seen[key] = replace(session, state=waits, reason=Reason.TURN_OVER, **ended)
            case "fails":
                self.seen[key] = replace(
                    session, state=waits, reason=Reason.ERROR, error="limit", **ended
                )
            case "leaves":
                self.seen.pop(key, None)

    def _person_does(self, doing: str) -> None:
        match doing:
            case "dismiss":
                if self.made is not None and self.made.bubbles:
                    bubble = self.made.bubbles[self.count % len(self.made.bubbles)]
                    self.closed.update(bubble.asks)
                    self.memory = dismissed(self.memory, bubble)
            case "away" | "locked" | "inhibited":
                self.around[doing] = not self.around.get(doing, False)
            case "sleep":
                self.asleep_for += 300
                if self.tracked is not None:
                    self.tracked = restart_holds(self.tracked, self.now)

    def _wishes(self, doing: str, key: str) -> None:
        match doing:
            case "present":
                here = self.around.get("present", frozenset())
                self.around["present"] = frozenset() if here else frozenset({key})
            case "mute all":
                self.mutes = mute(self.mutes, Scope.EVERYTHING, "", self.wall + 40)
            case "mute one":
                self.mutes = mute(self.mutes, Scope.SESSION, f"s{key}", self.wall + 60)
            case "snooze":
                self.mutes = mute(self.mutes, Scope.ASK, f"s{key}/a", self.wall + 30)
            case "unmute":
                self.mutes = unmute(self.mutes, Scope.EVERYTHING, "")
            case "reminders":
                after = 0.0 if self.settings.remind_after else 0.5
                self.settings = replace(self.settings, remind_after=after)
            case "switch off":
                off = self.settings.alerts.permission.enabled
                alerts = Alerts(permission=AlertSettings(enabled=not off))
                self.settings = replace(self.settings, alerts=alerts)

    def pass_(self, seconds: float) -> None:
        """Let time pass, waking when asked to, which must bring time forward."""
        end = self.now + seconds
        for _ in range(500):
            due = [
                at
                for at in (
                    self.made.wake_at if self.made else None,
                    self.tracked.wake_at if self.tracked else None,
                )
                if at is not None
            ]
            if not due or min(due) > end:
                self.now = end
                self.look()
                return
            self.now = max(self.now, min(due))
            self.look()
        raise AssertionError("woken 500 times within a minute or so")

    def look(self) -> None:
        snapshot = Snapshot(at=self.wall, sessions=tuple(self.seen.values()))
        self.tracked, _ = step(self.tracked, snapshot, self.now)
        around = self.circumstances()
        self.made = plan(self.memory, self.tracked, self.now, around)
        assert self.made == plan(self.memory, self.tracked, self.now, around), "pure"
        self.memory = self.made.memory
        settled = plan(self.memory, self.tracked, self.now, around)
        assert settled.bubbles == self.made.bubbles, "nothing more to do at the same moment"
        assert settled.told == ()
        self.check(self.tracked, self.made, around)

    def check(self, tracked: Tracked, made: Plan, around: Circumstances) -> None:
        assert made.wake_at is None or made.wake_at > self.now
        told = [ask for bubble in made.bubbles for ask in bubble.asks]
        assert len(told) == len(set(told)), "each in one bubble"
        assert len({bubble.id for bubble in made.bubbles}) == len(made.bubbles)
        blocked = {
            f"{track.session.key}/{track.alert.id}": track
            for track in tracked.tracks
            if track.alert is not None and track.alert.kind in BLOCKING_ALERTS
        }
        open_asks = {name for name, track in blocked.items() if track.alert and track.alert.ripe}
        for bubble in made.bubbles:
            if bubble.category == "x-sessionbell.ask" and "finished" not in bubble.title:
                answered = {ask for ask in bubble.asks if "/a" in ask} - open_asks
                assert not answered, "no bubble for an answered ask"
            if around.locked or around.inhibited:
                assert bubble.body in ("", *(f"Waiting for {n} min" for n in range(60)))
        for name in open_asks:
            track = blocked[name]
            if hushed(track, around):
                assert name not in told
            elif presence_ends(track, self.now, around) is None:
                assert name in told or name in self.closed


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(DOINGS), st.sampled_from(KEYS), st.sampled_from([0.0, 0.4, 5.0, 45.0])
        ),
        min_size=10,
        max_size=35,
    )
)
def test_nothing_is_missed_and_nothing_stays(doings: list[tuple[str, str, float]]) -> None:
    life = Life()
    life.look()
    for doing, key, seconds in doings:
        life.do(doing, key)
        life.look()
        life.pass_(seconds)

"""Five hours of a person's day with ten sessions, and every bubble they are to see.

The clock is faked: wall and monotonic time go together, but the machine's sleep counts on the wall
only. `DAY` is what happens, `SEEN` what a person wants to hear of it, written down by hand. What
runs between is real: the state machine, the policy, mutes and quiet hours.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray import mutes
from tray.config import QuietHours, Settings
from tray.desktop.alerts import Bubble, Memory, dismissed, plan
from tray.desktop.circumstances import Circumstances
from tray.desktop.quiet import is_quiet
from tray.machine import Tracked, restart_holds, step
from tray.mutes import Mutes, Scope
from tray.session import Ask, Kind, Observation, Reason, Snapshot, State, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Callable

EXPIRY = 10.0
"""Seconds after which the notification server takes a passing bubble off the screen."""
NAMES = ("web", "api", "docs", "auto", "hook", "loop", "job", "dev", "infra", "ml")


def wall(clock: str) -> float:
    return dt.datetime.fromisoformat(f"2026-03-02T{clock}").timestamp()


START = wall("13:00:00")


@dataclass
class Showing:
    """One bubble's time on the screen, Unix seconds."""

    shown: float
    title: str
    body: str
    bubble: Bubble
    changed: float
    """Monotonic seconds; the server counts anew from there."""
    closed: float | None = None


@dataclass
class Desk:
    """The person, their sessions, and the tray as the application runs it."""

    now: float = 0.0
    """Monotonic seconds."""
    asleep_for: float = 0.0
    sessions: dict[str, Observation] = field(default_factory=dict)
    leftover: frozenset[str] = frozenset()
    settings: Settings = field(
        default_factory=lambda: Settings(quiet_hours=QuietHours(start="17:00", end="17:30"))
    )
    mutes: Mutes = field(default_factory=Mutes)
    around: dict[str, object] = field(default_factory=dict)
    tracked: Tracked | None = None
    memory: Memory = field(default_factory=Memory)
    wake_at: float | None = None
    standing: dict[str, Showing] = field(default_factory=dict)
    history: list[Showing] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    looks: int = 0

    @property
    def at(self) -> float:
        """Unix seconds."""
        return START + self.asleep_for + self.now

    # What sessions do.

    def _put(self, key: str, **fields: object) -> None:
        before = self.sessions.get(key) or Observation(
            key=key, state=State.IDLE, project=key, session_id=f"id-{key}", cwd=f"/src/{key}",
            record=f"/r/{key}", last_act=START - 3600, kind=Kind.BACKGROUND if key == "job"
            else Kind.INTERACTIVE,
        )  # fmt: skip
        settled: dict[str, object] = {
            "reason": None, "ask": None, "detail": None, "unseen": False, "error": None,
            "turn_end": None, "turn_ended_at": None, "since": self.at,
        }  # fmt: skip
        self.sessions[key] = replace(before, **{**settled, **fields})

    def prompts(self, key: str) -> None:
        """The person types a prompt."""
        self._put(key, state=State.WORKING, last_act=self.at, turn_by_person=True)

    def works(self, key: str) -> None:
        """It begins to work, or goes on, without its person (or after their answer)."""
        self._put(key, state=State.WORKING, turn_by_person=False)

    def asks(
        self,
        key: str,
        detail: str,
        reason: Reason = Reason.PERMISSION,
        *,
        deciding: bool = False,
        ago: float = 0.0,
    ) -> None:
        ask = Ask(f"s{self.at:.3f}", reason, deciding=deciding)
        state, since = State.NEEDS_INPUT, self.at - ago
        self._put(key, state=state, reason=reason, detail=detail, ask=ask, since=since)

    def hook_ends(self, key: str) -> None:
        """The hook that was to decide leaves it to the person."""
        session = self.sessions[key]
        assert session.ask is not None
        self.sessions[key] = replace(session, ask=replace(session.ask, deciding=False))

    def ends(self, key: str, said: str, *running: str) -> None:
        """A turn ends by itself; `running`: commands that run on behind the prompt."""
        self._put(
            key, state=State.NEEDS_INPUT, reason=Reason.TURN_OVER, turn_end=TurnEnd.COMPLETED,
            turn_ended_at=self.at, unseen=True, preview=said, background=running,
        )  # fmt: skip

    def fails(self, key: str, detail: str) -> None:
        self._put(
            key, state=State.NEEDS_INPUT, reason=Reason.ERROR, turn_end=TurnEnd.FAILED,
            turn_ended_at=self.at, unseen=True, detail=detail, error=detail,
        )  # fmt: skip

    def decays(self, key: str) -> None:
        """A finished turn is idle after a minute."""
        self.sessions[key] = replace(self.sessions[key], state=State.IDLE, reason=None)

    def looks_at(self, key: str) -> None:
        """The person types something there."""
        self.sessions[key] = replace(self.sessions[key], unseen=False, last_act=self.at)

    def is_killed(self, key: str) -> None:
        del self.sessions[key]
        self.leftover |= {f"/r/{key}"}

    # What the person and the machine do.

    def is_(self, **around: object) -> None:
        self.around.update(around)

    def is_at(self, *keys: str) -> None:
        """The person sits at these sessions."""
        self.around["present"] = frozenset(keys)

    def mutes_(self, scope: Scope, what: str, until: str | None) -> None:
        end = None if until is None else wall(until)
        self.mutes = mutes.mute(self.mutes, scope, what, end)

    def unmutes(self, scope: Scope, what: str) -> None:
        self.mutes = mutes.unmute(self.mutes, scope, what)

    def snoozes(self, key: str, until: str) -> None:
        ask = mutes.ask_of(self.sessions[key])
        assert ask is not None
        self.mutes_(Scope.ASK, ask, until)
        self.closes(key)

    def closes(self, key: str) -> None:
        """The person closes the bubble about this session."""
        (found,) = [s for s in self.standing.values() if s.bubble.keys == (key,)]
        self._leave(found)

    def sleeps_until(self, clock: str) -> None:
        """The machine sleeps; monotonic time stands still."""
        self.around["away"] = True
        self._look()
        self.asleep_for += wall(clock) - self.at
        self.around["away"] = False
        assert self.tracked is not None
        self.tracked = restart_holds(self.tracked, self.now)

    def restarts_the_tray(self) -> None:
        for showing in list(self.standing.values()):
            self.standing.pop(showing.bubble.id).closed = self.at
        self.tracked, self.memory = None, Memory()

    def sets(self, **values: object) -> None:
        self.settings = replace(self.settings, **values)

    # The application.

    def until(self, at: float) -> None:
        """Let time pass as the application does: it looks when it asked to be woken, not before."""
        end = at - START - self.asleep_for
        while True:
            due = [self.wake_at] if self.wake_at is not None else []
            if self.tracked is not None and self.tracked.wake_at is not None:
                due.append(self.tracked.wake_at)
            expiring = [s for s in self.standing.values() if s.bubble.expires]
            due += [showing.changed + EXPIRY for showing in expiring]
            if not due or min(due) > end:
                break
            assert min(due) >= self.now, "woken for the past"
            self.now = min(due)
            for showing in expiring:
                if showing.changed + EXPIRY <= self.now:
                    self._leave(showing)
            self._look()
        self.now = end

    def _leave(self, showing: Showing) -> None:
        self.standing.pop(showing.bubble.id).closed = self.at
        self.memory = dismissed(self.memory, showing.bubble)

    def _look(self) -> None:
        self.looks += 1
        snapshot = Snapshot(
            at=self.at, sessions=tuple(self.sessions.values()), leftover=self.leftover
        )
        self.tracked, _ = step(self.tracked, snapshot, self.now, self.settings.holds)
        local = dt.datetime.fromtimestamp(self.at)  # noqa: DTZ006
        circumstances = Circumstances(
            wall=self.at,
            settings=self.settings,
            mutes=self.mutes,
            quiet=is_quiet(self.settings.quiet_hours, local),
            **self.around,  # type: ignore[arg-type]
        )
        made = plan(self.memory, self.tracked, self.now, circumstances)
        self.memory, self.wake_at = made.memory, made.wake_at
        self.commands += [f"{told.event} {told.session.key}" for told in made.told]
        wanted = {bubble.id: bubble for bubble in made.bubbles}
        for gone in self.standing.keys() - wanted.keys():
            self.standing.pop(gone).closed = self.at
        for bubble in made.bubbles:
            found = self.standing.get(bubble.id)
            if found is None:
                made_now = Showing(self.at, bubble.title, bubble.body, bubble, self.now)
                self.standing[bubble.id] = made_now
                self.history.append(made_now)
            elif found.bubble != bubble:
                found.bubble, found.changed = bubble, self.now

    def live(self, day: list[tuple[str, Callable[[Desk], object]]]) -> None:
        for clock, act in day:
            at = wall(clock)
            assert at >= self.at, f"{clock} is past"
            self.until(at)
            act(self)
            self._look()


QUESTION, PLAN = Reason.QUESTION, Reason.PLAN
Act = tuple[str, "Callable[[Desk], object]"]


def every_ten_minutes(key: str, first: str, last: str, said: str) -> list[Act]:
    """Return what a session under /loop does: 40 s of work each time, and no prompt."""
    acts: list[Act] = []
    at, end = wall(first), wall(last)
    while at <= end:
        for after, act in (
            (0, lambda d: d.works(key)),
            (40, lambda d: d.ends(key, said)),
            (100, lambda d: d.decays(key)),
        ):
            clock = dt.datetime.fromtimestamp(at + after)  # noqa: DTZ006
            acts.append((f"{clock:%H:%M:%S}", act))
        at += 600
    return acts


DAY: list[Act] = [
    # The tray starts; web has waited for two minutes already.
    ("13:00:00", lambda d: [d.prompts(name) for name in NAMES]),
    ("13:00:00", lambda d: (d.restarts_the_tray(), d.asks("web", "Bash: npm ci", ago=120))),
    ("13:00:05", lambda d: d.works("web")),
    # A hook decides for the person; then one does not.
    ("13:02:00", lambda d: d.asks("hook", "Bash: ls", deciding=True)),
    ("13:02:03", lambda d: d.works("hook")),
    ("13:03:00", lambda d: d.asks("hook", "Edit: a.py", deciding=True)),
    ("13:03:04", lambda d: d.hook_ends("hook")),
    ("13:03:20", lambda d: d.works("hook")),
    # Auto mode never asks. It ends, goes on with a finished task by itself, and ends again.
    ("13:05:00", lambda d: d.ends("auto", "Refactored.")),
    ("13:05:30", lambda d: d.works("auto")),
    ("13:06:00", lambda d: d.ends("auto", "And tested.")),
    # A short turn, under the person's eyes.
    ("13:07:00", lambda d: d.prompts("auto")),
    ("13:07:12", lambda d: d.ends("auto", "Renamed.")),
    # A dev server goes on behind the prompt.
    ("13:08:00", lambda d: d.ends("dev", "It serves on 5173.", "npm run dev")),
    ("13:09:00", lambda d: d.decays("dev")),
    # /loop: the person starts it, and hears of its first end, not of every ten minutes.
    ("13:09:00", lambda d: d.prompts("loop")),
    ("13:09:50", lambda d: d.ends("loop", "No new issue.")),
    ("13:10:50", lambda d: d.decays("loop")),
    # The person is at api's own terminal.
    ("13:12:00", lambda d: (d.is_at("api"), d.asks("api", "Bash: pytest -x"))),
    ("13:12:08", lambda d: d.works("api")),
    ("13:13:00", lambda d: d.asks("api", "Bash: pytest")),
    ("13:13:10", lambda d: d.asks("docs", "Edit: index.md")),
    ("13:13:40", lambda d: d.works("api")),
    ("13:13:50", lambda d: d.works("docs")),
    ("13:14:00", lambda d: d.asks("api", "Bash: git push")),
    ("13:14:06", lambda d: d.is_at()),
    ("13:14:30", lambda d: (d.is_at("api"), d.prompts("api"))),
    ("13:15:00", lambda d: d.ends("api", "Pushed.")),
    ("13:15:20", lambda d: d.is_at()),
    ("13:16:00", lambda d: d.prompts("api")),
    *every_ten_minutes("loop", "13:19:00", "13:19:00", "No new issue."),
    # Four ask within six seconds.
    ("13:21:00", lambda d: d.asks("docs", "Bash: make html")),
    ("13:21:02", lambda d: d.asks("infra", "Bash: terraform plan")),
    ("13:21:04", lambda d: d.asks("ml", "Bash: nvidia-smi")),
    ("13:21:06", lambda d: d.asks("web", "Bash: npm test")),
    ("13:21:20", lambda d: d.works("docs")),
    ("13:21:30", lambda d: d.works("infra")),
    ("13:21:40", lambda d: d.works("ml")),
    ("13:21:50", lambda d: d.works("web")),
    # Closed by hand: it does not come back, the next one does.
    ("13:25:00", lambda d: d.asks("docs", "Which theme?", QUESTION)),
    ("13:25:10", lambda d: d.closes("docs")),
    ("13:28:00", lambda d: d.works("docs")),
    # The loop asks: what follows on an answer is news again.
    ("13:29:00", lambda d: d.works("loop")),
    ("13:29:10", lambda d: d.asks("loop", "Bash: gh pr list")),
    ("13:29:30", lambda d: d.works("loop")),
    ("13:30:10", lambda d: d.ends("loop", "One new issue.")),
    ("13:31:10", lambda d: d.decays("loop")),
    ("13:35:00", lambda d: d.ends("job", "Report written.")),
    ("13:36:00", lambda d: d.decays("job")),
    ("13:37:00", lambda d: d.prompts("job")),
    # The usage limit stops four of them.
    ("13:38:00", lambda d: d.prompts("auto")),
    *every_ten_minutes("loop", "13:39:00", "13:39:00", "No new issue."),
    ("13:42:00", lambda d: d.fails("infra", "Usage limit reached")),
    ("13:42:03", lambda d: d.fails("ml", "Usage limit reached")),
    ("13:43:00", lambda d: d.fails("auto", "Usage limit reached")),
    ("13:44:00", lambda d: d.fails("job", "Usage limit reached")),
    *every_ten_minutes("loop", "13:49:00", "13:49:00", "No new issue."),
    ("13:55:00", lambda d: d.prompts("infra")),
    ("13:55:10", lambda d: d.prompts("ml")),
    ("13:55:20", lambda d: d.prompts("auto")),
    ("13:55:30", lambda d: d.prompts("job")),
    # Lunch: nobody is there from 14:00 on, which is known at 14:10.
    ("14:02:00", lambda d: d.asks("docs", "Bash: make")),
    ("14:05:00", lambda d: d.ends("web", "The shop page is done.")),
    ("14:06:00", lambda d: d.decays("web")),
    ("14:10:00", lambda d: d.is_(away=True)),
    ("14:15:00", lambda d: d.asks("api", "Which port?", QUESTION)),
    ("14:20:00", lambda d: d.is_(away=False)),
    ("14:20:30", lambda d: d.works("docs")),
    ("14:20:45", lambda d: d.works("api")),
    ("14:21:00", lambda d: d.prompts("web")),
    # Locked: anybody may read the screen.
    ("14:30:00", lambda d: d.is_(locked=True, away=True)),
    ("14:31:00", lambda d: d.asks("docs", "Bash: rm -rf build")),
    ("14:35:00", lambda d: d.ends("auto", "Moved the tests.")),
    ("14:36:00", lambda d: (d.decays("auto"), d.asks("ml", "Split the loader", PLAN))),
    ("14:37:00", lambda d: d.works("ml")),
    ("14:40:00", lambda d: d.is_(locked=False, away=False)),
    ("14:40:20", lambda d: d.works("docs")),
    # Do not disturb: the server keeps bubbles back, and shows them in its list.
    ("14:45:00", lambda d: d.is_(inhibited=True)),
    ("14:46:00", lambda d: d.asks("web", "Bash: npm audit")),
    ("14:50:00", lambda d: d.is_(inhibited=False)),
    ("14:50:30", lambda d: d.works("web")),
    # The lid closes, with two asks too young to have been told.
    ("14:58:00", lambda d: d.asks("docs", "Edit: conf.py")),
    ("14:59:59.8", lambda d: d.asks("infra", "Bash: terraform apply")),
    ("14:59:59.9", lambda d: d.asks("api", "Bash: curl -I localhost")),
    ("15:00:00", lambda d: d.sleeps_until("15:40:00")),
    ("15:40:05", lambda d: (d.fails("web", "Connection lost"), d.fails("ml", "Connection lost"))),
    ("15:40:30", lambda d: d.works("docs")),
    ("15:40:40", lambda d: d.works("api")),
    ("15:40:50", lambda d: d.works("infra")),
    ("15:41:00", lambda d: d.prompts("web")),
    ("15:41:10", lambda d: d.prompts("ml")),
    # The tray is restarted: what still waits once, and quietly; what was told is not told again.
    ("15:43:00", lambda d: d.ends("web", "Fixed the audit.")),
    ("15:44:00", lambda d: (d.decays("web"), d.asks("docs", "Bash: make pdf"))),
    ("15:45:00", lambda d: d.restarts_the_tray()),
    ("15:46:00", lambda d: d.works("docs")),
    # In a call: everything is muted for half an hour.
    ("15:49:30", lambda d: d.asks("api", "Bash: ./deploy")),
    ("15:50:00", lambda d: d.mutes_(Scope.EVERYTHING, "", "16:20:00")),
    ("15:55:00", lambda d: d.ends("docs", "Written.")),
    ("15:56:00", lambda d: d.decays("docs")),
    ("16:00:00", lambda d: d.asks("hook", "Edit: b.py", deciding=True)),
    ("16:00:20", lambda d: d.hook_ends("hook")),
    ("16:05:00", lambda d: d.asks("infra", "Bash: ls")),
    ("16:06:00", lambda d: d.works("infra")),
    ("16:20:30", lambda d: d.works("api")),
    ("16:20:40", lambda d: d.works("hook")),
    # web is muted from its bubble, into the quiet hours.
    ("16:25:00", lambda d: d.asks("web", "Bash: npm publish")),
    ("16:25:10", lambda d: (d.mutes_(Scope.SESSION, "id-web", "17:25:10"), d.closes("web"))),
    # ml's ask is put off.
    ("16:28:00", lambda d: d.asks("ml", "Bash: python train.py")),
    ("16:28:05", lambda d: d.snoozes("ml", "16:58:05")),
    # Reminders are switched on.
    ("16:35:00", lambda d: d.sets(remind_after=10.0)),
    ("16:36:00", lambda d: d.asks("api", "Which database?", QUESTION)),
    ("16:36:10", lambda d: d.closes("api")),
    ("16:46:30", lambda d: d.works("api")),
    # One session is muted until further notice, and let speak again.
    ("16:48:00", lambda d: d.mutes_(Scope.SESSION, "id-job", None)),
    ("16:49:00", lambda d: d.asks("job", "Bash: scp report")),
    ("16:52:00", lambda d: d.unmutes(Scope.SESSION, "id-job")),
    ("16:52:30", lambda d: d.works("job")),
    ("16:58:30", lambda d: d.works("ml")),
    # Quiet hours, 17:00 to 17:30.
    ("16:59:00", lambda d: d.asks("docs", "Bash: make clean")),
    ("17:10:00", lambda d: d.asks("infra", "Bash: terraform destroy")),
    ("17:12:00", lambda d: d.works("loop")),
    ("17:12:40", lambda d: d.ends("loop", "No new issue.")),
    ("17:15:00", lambda d: d.fails("auto", "Overloaded")),
    ("17:20:00", lambda d: d.works("docs")),
    ("17:35:00", lambda d: d.works("web")),
    ("17:35:10", lambda d: d.works("infra")),
    ("17:35:20", lambda d: d.prompts("auto")),
    # One is killed at work.
    ("17:39:00", lambda d: d.prompts("dev")),
    ("17:40:00", lambda d: d.is_killed("dev")),
    ("17:41:00", lambda d: d.closes("dev")),
    # Away and back, and nothing waits.
    ("17:45:00", lambda d: d.is_(away=True)),
    ("17:55:00", lambda d: d.is_(away=False)),
    ("18:00:00", lambda d: None),
]

SEEN: list[tuple[str, str, str, str]] = [
    ("13:00:00.3", "web needs permission", "Bash: npm ci", "13:00:05"),
    ("13:03:05.0", "hook needs permission", "Edit: a.py", "13:03:20"),
    ("13:05:01.0", "auto has finished", "Refactored.", "13:05:11"),
    ("13:08:01.0", "dev has finished", "It serves on 5173.", "13:08:11"),
    ("13:09:51.0", "loop has finished", "No new issue.", "13:10:01"),
    ("13:13:10.3", "docs needs permission", "Edit: index.md", "13:13:50"),
    ("13:13:30.0", "api needs permission", "Bash: pytest", "13:13:40"),
    ("13:14:06.0", "api needs permission", "Bash: git push", "13:14:30"),
    ("13:21:00.3", "docs needs permission", "Bash: make html", "13:21:06.3"),
    ("13:21:02.3", "infra needs permission", "Bash: terraform plan", "13:21:06.3"),
    ("13:21:04.3", "ml needs permission", "Bash: nvidia-smi", "13:21:06.3"),
    (
        "13:21:06.3",
        "4 sessions are waiting for you",
        (
            "docs: Bash: make html\ninfra: Bash: terraform plan\nml: Bash: nvidia-smi\n"
            "web: Bash: npm test"
        ),
        "13:21:50",
    ),
    ("13:25:00.3", "docs asks a question", "Which theme?", "13:25:10"),
    ("13:29:10.3", "loop needs permission", "Bash: gh pr list", "13:29:30"),
    ("13:30:11.0", "loop has finished", "One new issue.", "13:30:21"),
    ("13:35:01.0", "job: background job done", "Report written.", "13:35:11"),
    ("13:42:00.3", "infra stopped with an error", "Usage limit reached", "13:55:30"),
    ("14:02:00.3", "docs needs permission", "Bash: make", "14:20:00"),
    ("14:05:01.0", "web has finished", "The shop page is done.", "14:05:11"),
    ("14:15:00.3", "api asks a question", "Which port?", "14:20:00"),
    (
        "14:20:00.0",
        "2 sessions are waiting for you, 1 has finished",
        "docs: Bash: make\napi: Which port?\nweb: The shop page is done.",
        "14:20:55",
    ),
    ("14:31:00.3", "docs needs permission", "", "14:40:00"),
    ("14:35:01.0", "auto has finished", "", "14:35:11"),
    ("14:36:00.3", "ml has a plan to approve", "", "14:37:00"),
    (
        "14:40:00.0",
        "1 session is waiting for you, 1 has finished",
        "docs: Bash: rm -rf build\nauto: Moved the tests.",
        "14:40:30",
    ),
    ("14:46:00.3", "web needs permission", "", "14:50:30"),
    ("14:58:00.3", "docs needs permission", "Edit: conf.py", "15:40:00"),
    ("15:40:00.0", "docs needs permission", "Edit: conf.py", "15:40:50"),
    (
        "15:40:05.3",
        "2 sessions stopped with an error",
        "Connection lost\nml, web",
        "15:41:10",
    ),
    ("15:43:01.0", "web has finished", "Fixed the audit.", "15:43:11"),
    ("15:44:00.3", "docs needs permission", "Bash: make pdf", "15:45:00"),
    ("15:45:00.3", "docs needs permission", "Bash: make pdf", "15:46:00.0"),
    ("15:49:30.3", "api needs permission", "Bash: ./deploy", "15:50:00"),
    (
        "16:20:00.0",
        "2 sessions are waiting for you, 1 has finished",
        "api: Bash: ./deploy\nhook: Edit: b.py\ndocs: Written.",
        "16:20:50",
    ),
    ("16:25:00.3", "web needs permission", "Bash: npm publish", "16:25:10"),
    ("16:28:00.3", "ml needs permission", "Bash: python train.py", "16:28:05"),
    ("16:36:00.3", "api asks a question", "Which database?", "16:36:10"),
    ("16:46:00.3", "api asks a question", "Which database?\nWaiting for 10 min", "16:46:30"),
    ("16:52:00.0", "job needs permission", "Bash: scp report\nWaiting for 3 min", "16:52:30"),
    ("16:58:05.0", "ml needs permission", "Bash: python train.py\nWaiting for 30 min", "16:58:30"),
    ("16:59:00.3", "docs needs permission", "Bash: make clean", "17:00:00"),
    (
        "17:30:00.0",
        # The loop's end: the tray that was restarted does not know that it was told before.
        "2 sessions are waiting for you, 1 stopped with an error, 1 has finished",
        (
            "web: Bash: npm publish\ninfra: Bash: terraform destroy\nauto: Overloaded\n"
            "loop: No new issue."
        ),
        "17:35:30",
    ),
    ("17:40:01.0", "dev ended unexpectedly", "died while working", "17:41:00"),
]


def clock(at: float | None) -> str:
    if at is None:
        return "never"
    # A wake-up for the wall clock comes a hundredth late.
    tenths = int((at - wall("00:00:00")) * 10 + 0.5)
    return f"{tenths // 36000:02}:{tenths // 600 % 60:02}:{tenths // 10 % 60:02}.{tenths % 10}"


def test_five_hours() -> None:
    desk = Desk()
    desk.live(DAY)
    saw = [(clock(s.shown), s.title, s.body, clock(s.closed)) for s in desk.history]
    expected = [
        (clock(wall(shown)), title, body, clock(wall(closed)))
        for shown, title, body, closed in SEEN
    ]
    assert saw == expected
    assert desk.standing == {}


def test_what_a_sleep_left_untold_comes_as_one_summary() -> None:
    desk = Desk()
    desk.live([act for act in DAY if act[0] <= "15:00:00"])
    desk.until(wall("15:40:04"))
    (waiting,) = desk.standing.values()
    assert waiting.bubble.title == "3 sessions are waiting for you"
    assert waiting.bubble.body.splitlines() == [
        "docs: Edit: conf.py",
        "infra: Bash: terraform apply",
        "api: Bash: curl -I localhost",
    ]


def test_what_is_told_runs_its_command_once() -> None:
    desk = Desk()
    desk.live(DAY)
    told = {
        name: [each.split()[0] for each in desk.commands if each.endswith(f" {name}")]
        for name in NAMES
    }
    # None for what waited before the tray or its restart; one, at its end, for all of a mute.
    ask, end = "permission", "turn_over"
    assert told["docs"] == [ask, ask, "question", ask, ask, ask, ask, end, ask]
    assert told["web"] == [ask, end, ask, "error", end, ask]
    assert told["job"] == [end, "error", ask]
    assert told["loop"] == [end, ask, end, end]
    assert told["dev"] == [end, "died"]


def test_a_day_costs_few_looks() -> None:
    desk = Desk()
    desk.live(DAY)
    assert desk.looks < 3 * len(DAY)

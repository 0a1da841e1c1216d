"""The tray application: one asyncio loop that wires engine, tray item, notifications and bus name.

The engine works on its own threads and hands each update to the loop; everything else lives on
the loop. Nothing here decides anything: states come from the engine, bubbles from `alerts`, rows
from `menu`, and what a person asks for is done by `controller`.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import signal
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray import __version__
from tray.configfile import SETTLE, SettingsFile
from tray.desktop import alerts, icon, looks, menu
from tray.desktop.bounded import run_once
from tray.desktop.bus_object import Told
from tray.desktop.circumstances import Circumstances
from tray.desktop.controller import Controller
from tray.desktop.doctor.health import Health, encode
from tray.desktop.event_commands import EventCommands
from tray.desktop.guide import find_way
from tray.desktop.noticing import Noticing
from tray.desktop.notifier import Notifier
from tray.desktop.person.watch import Person
from tray.desktop.presence import Presence, Watcher
from tray.desktop.quiet import is_quiet
from tray.desktop.recent import RecentSessions
from tray.desktop.service import Service
from tray.desktop.settings_watch import SettingsSurveyor
from tray.desktop.sni import TrayIcon
from tray.engine import STALLED, Engine
from tray.mutefile import MuteFile
from tray.mutes import carried, everything_muted, expired, looked_at
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tray.desktop.alerts import Bubble
    from tray.engine import Update
    from tray.machine import Tracked
    from tray.session import Observation

log = logging.getLogger(__name__)

HEALTH_EACH = 5.0
"""Seconds between two looks at the engine, the settings file and the mutes."""
HOST_PATIENCE = 3.0
"""Seconds after the start for which a missing tray host is not worth a word."""
MESSAGE_FOR = 30.0
"""Seconds for which the answer to a click is shown."""
RETRY_PLAN = 2.0
"""Seconds after which bubbles are tried again that could not be told."""
CLOCK_SET = 1.0
"""Seconds by which the wall clock must have moved against the other to count as set."""
PLAN_FAILS = Problem(
    "alerts",
    "what there is to tell could not be told, so notifications may be missing: it is tried again"
    " each 2 s; see the icon and `sessionbell list` meanwhile, and the log for the cause",
)
DRAW_EACH = 0.25
"""Seconds between two drawings at least: busy sessions change more often than an eye follows."""


def run(
    *,
    roots: Sequence[str] | None = None,
    table: Callable[[Update], None] | None = None,
    say: Callable[[str], None],
    document: Callable[[Sequence[Observation]], bytes],
    log_path: str,
    folder: str | None = None,
) -> int:
    """Run the tray until it is told to end; return the exit code.

    `roots` limits it to these config roots; `table` is handed every update as long as there is
    no tray host to show it; `say` prints one line for a person; `document` makes of sessions
    what `list --json` prints; `log_path` is the log file that the menu opens; `folder` is the
    runtime folder.
    """
    return asyncio.run(_App(roots, table, say, document, log_path, folder).run())


class _App:
    def __init__(
        self,
        roots: Sequence[str] | None,
        table: Callable[[Update], None] | None,
        say: Callable[[str], None],
        document: Callable[[Sequence[Observation]], bytes],
        log_path: str,
        folder: str | None,
    ) -> None:
        self._started = time.time()
        self._folder = folder
        self._table = table
        self._say = say
        self._settings = SettingsFile()
        self._settings.read()
        self._mutes = MuteFile(on_loop=True)
        self._mutes.read()
        self._engine = Engine(
            SettingsSurveyor(roots, self._settings.path, self._saved), self._publish
        )
        self._recent = RecentSessions(self._draw_soon, roots=roots)
        self._commands = EventCommands(on_problems=self._draw_soon)
        self._person = Person(on_change=self._replan, on_wake=self._engine.woke)
        self._watcher = Watcher(
            Presence(find_way, os.environ), self._person, on_change=self._replan
        )
        self._noticing = Noticing()
        self._service = Service(
            self._controller(log_path), document=document, on_problems=self._draw_soon
        )
        self._memory = alerts.Memory()
        self._update: Update | None = None
        self._message: Bubble | None = None
        self._message_timer: asyncio.TimerHandle | None = None
        self._plan_timer: asyncio.TimerHandle | None = None
        self._draw_timer: asyncio.TimerHandle | None = None
        self._drawn_at = float("-inf")
        self._host_was_missing = False
        self._stalled = False
        self._plan_fails = False
        self._looking: asyncio.Task[None] | None = None
        self._clocks = time.time() - time.monotonic()

    def _controller(self, log_path: str) -> Controller:
        self._control = Controller(
            sessions=self._sessions,
            mutes=self._mutes,
            settings=self._settings,
            recent=self._recent,
            tell=self._tell,
            changed=self._changed,
            end=lambda: self._ending.set(),
            health=self._health,
            folder=self._folder,
            log_path=log_path,
        )
        return self._control

    async def run(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._ending.set)
        self._icon = TrayIcon(
            on_action=lambda entry: self._control.act(entry, self._icon.take_token()),
            on_change=self._draw,
        )
        self._notifier = Notifier(
            on_click=lambda bubble: self._control.clicked(bubble, self._token(bubble)),
            on_action=lambda bubble, action: self._control.pressed(
                bubble, action, self._token(bubble)
            ),
            on_dismiss=self._dismissed,
            on_problems=lambda _problems: self._draw_soon(),
        )
        self._apply_settings()
        self._engine.start()
        try:
            # A bus that hangs must not keep us from ending.
            started = asyncio.gather(
                self._icon.start(),
                self._notifier.start(),
                self._service.start(),
                self._person.start(),
            )
            self._loop.call_later(HOST_PATIENCE, self._host_missing)
            self._loop.call_later(HEALTH_EACH, self._check)
            await self._ending.wait()
            started.cancel()
        finally:
            await asyncio.gather(
                run_once("the engine", self._engine.stop, 1.0),
                self._icon.close(),
                self._notifier.close(),
                self._service.close(),
                self._watcher.close(),
                self._person.close(),
                self._commands.close(),
                self._control.close(),
                self._recent.close(),
            )
        return 0

    # What the engine tells.

    def _publish(self, update: Update) -> None:
        """Hand an update from the engine's thread to the loop."""
        self._loop.call_soon_threadsafe(self._updated, update)

    def _updated(self, update: Update) -> None:
        before = self._update
        if before is not None:
            self._carry(before.tracked.sessions, update.tracked.sessions)
        self._update = update
        # Drawn whatever becomes of the bubbles, but not before they are on their way.
        self._draw_soon()
        self._replan()
        self._loop.call_soon(self._show_in_table, update)
        self._recent.follow(update.tracked.sessions)

    def _carry(self, before: Sequence[Observation], now: Sequence[Observation]) -> None:
        """Let mutes follow their sessions into a new id."""
        mutes = self._mutes.mutes
        if carried(mutes, before, now) is not mutes:
            self._mutes.update(lambda mutes: carried(mutes, before, now))

    # Bubbles.

    def _replan(self) -> None:
        """Bring the bubbles up to date with sessions, settings, mutes and the person."""
        if self._update is None:
            return
        if self._plan_timer is not None:
            self._plan_timer.cancel()
            self._plan_timer = None
        try:
            wake_at = self._tell_all(self._marked(self._update.tracked))
        except Exception:
            log.exception("what to tell could not be told; it is tried again")
            wake_at = self._loop.time() + RETRY_PLAN
            if not self._plan_fails:
                self._plan_fails = True
                self._draw_soon()
        else:
            if self._plan_fails:
                self._plan_fails = False
                self._draw_soon()
        if wake_at is not None:
            # The loop's clock is `time.monotonic` (asyncio's base event loop).
            self._plan_timer = self._loop.call_at(wake_at, self._replan)

    def _tell_all(self, tracked: Tracked) -> float | None:
        """Show the bubbles wanted now; return when time alone changes that, monotonic seconds."""
        plan = alerts.plan(self._memory, tracked, time.monotonic(), self._circumstances())
        self._memory = plan.memory
        wanted = plan.bubbles if self._message is None else (*plan.bubbles, self._message)
        self._notifier.show(wanted)
        for told in plan.told:
            self._commands.run(told, self._settings.settings)
        self._watcher.watch(s for s in tracked.sessions if s.key in plan.watching)
        return plan.wake_at

    def _marked(self, tracked: Tracked) -> Tracked:
        """Return `tracked` without what the person has marked as seen."""
        seen = self._mutes.mutes.seen
        if not seen or not any(session.unseen for session in tracked.sessions):
            return tracked
        mutes = self._mutes.mutes
        return replace(
            tracked,
            tracks=tuple(
                replace(track, session=looked_at(mutes, track.session)) for track in tracked.tracks
            ),
        )

    def _circumstances(self) -> Circumstances:
        wall = time.time()
        settings = self._settings.settings
        person = self._person
        return Circumstances(
            wall=wall,
            settings=settings,
            mutes=self._mutes.mutes,
            quiet=self._quiet(wall),
            present=self._watcher.present,
            locked=person.locked,
            away=person.away,
            inhibited=person.inhibited,
        )

    def _quiet(self, wall: float) -> bool:
        # Quiet hours are meant in local time.
        local = dt.datetime.fromtimestamp(wall)  # noqa: DTZ006
        return is_quiet(self._settings.settings.quiet_hours, local)

    def _token(self, bubble: Bubble) -> str | None:
        return self._notifier.take_token(bubble)

    def _dismissed(self, bubble: Bubble) -> None:
        if bubble is self._message:
            self._message = None
        self._memory = alerts.dismissed(self._memory, bubble)
        self._replan()

    def _tell(self, message: Bubble | None) -> None:
        """Show a message in a bubble and in the menu, for a while."""
        self._message = message
        if self._message_timer is not None:
            self._message_timer.cancel()
            self._message_timer = None
        if message is not None:
            self._message_timer = self._loop.call_later(MESSAGE_FOR, self._tell, None)
        self._replan()
        self._draw()

    # Icon, menu and bus.

    def _draw_soon(self) -> None:
        """Draw at once, but not more often than anybody sees."""
        if self._draw_timer is None:
            due = max(self._drawn_at + DRAW_EACH, self._loop.time())
            self._draw_timer = self._loop.call_at(due, self._draw)

    def _draw(self) -> None:
        """Bring icon, tooltip, menu and bus up to date."""
        if self._draw_timer is not None:
            self._draw_timer.cancel()
            self._draw_timer = None
        self._drawn_at = self._loop.time()
        update = self._update
        if update is None:
            return
        stalled = self._stalled = self._engine.stalled()
        now = time.time()
        sessions = self._marked(update.tracked).sessions
        settings, mutes = self._settings.settings, expired(self._mutes.mutes, now)
        problems = self._problems(update, stalled=stalled)
        counted = looks.counted(sessions, settings.sessions)
        quiet = self._quiet(now)
        silent = everything_muted(mutes, now) or not settings.notifications or quiet
        controls = menu.Controls(
            mutes=mutes,
            settings=settings,
            autostart=self._control.autostart,
            recent=self._recent.sessions,
            quiet_until=settings.quiet_hours.end if quiet else "",
        )
        self._icon.show(
            looks.look(counted, healthy=not stalled),
            badge=looks.badge(counted),
            tooltip=menu.tooltip(sessions, problems, now),
            entries=menu.build(
                sessions,
                problems,
                now,
                message=self._message.body if self._message is not None else None,
                controls=controls,
            ),
            muted=silent,
        )
        count = looks.counts(counted)
        self._service.show(
            Told(
                sessions,
                mutes,
                menu.headline(sessions),
                count["blocked"],
                count["unseen"],
                count["working"],
                muted=silent,
            )
        )

    def _problems(self, update: Update, *, stalled: bool) -> tuple[Problem, ...]:
        found = (
            *((STALLED,) if stalled else ()),
            *((PLAN_FAILS,) if self._plan_fails else ()),
            *update.problems,
            *self._settings.problems,
            *self._mutes.problems,
            *self._notifier.problems,
            *self._icon.problems,
            *self._service.problems,
            *self._commands.problems,
            *self._person.problems,
        )
        # A missing bus is told by everybody who needs one.
        return tuple({problem.code: problem for problem in found}.values())

    def _health(self) -> str:
        """Return how the application is, for `doctor`."""
        update, engine = self._update, self._engine
        surveyed = engine.surveyed_at
        return encode(
            Health(
                __version__,
                os.getpid(),
                self._started,
                surveyed_ago=time.monotonic() - surveyed if surveyed is not None else None,
                sessions=len(self._sessions()),
                restarts=engine.restarts,
                problems=self._problems(update, stalled=engine.stalled()) if update else (),
            )
        )

    def _show_in_table(self, update: Update) -> None:
        """Hand every single update to the table: what changed stands in one of them only."""
        if self._table is not None and self._host_was_missing:
            self._table(update)

    def _host_missing(self) -> None:
        problems = self._icon.problems
        if problems and not self._host_was_missing:
            self._host_was_missing = True
            self._say(problems[0].message)
            if self._update is not None:
                self._show_in_table(self._update)

    # Settings and health.

    def _saved(self) -> None:
        """Take in, on the engine's thread, that the settings file may be another one."""
        self._loop.call_soon_threadsafe(self._reread)

    def _reread(self) -> None:
        if self._settings.check():
            self._changed()
        if self._settings.settling:
            # An editor may be in the middle of writing it.
            self._loop.call_later(SETTLE, self._reread)

    def _check(self) -> None:
        self._loop.call_later(HEALTH_EACH, self._check)
        self._reread()
        if self._mutes.changed():
            self._mutes.read()
            self._changed()
        if self._engine.stalled() is not self._stalled:
            self._draw()
        clocks = time.time() - time.monotonic()
        if abs(clocks - self._clocks) > CLOCK_SET:
            # Mutes and quiet hours end by the wall clock, timers run by the other.
            self._clocks = clocks
            self._changed()
        unseen = [s for s in self._sessions() if s.unseen]
        if unseen and self._looking is None and not self._person.away:
            self._looking = self._loop.create_task(self._look_whether_seen(unseen))
            self._looking.add_done_callback(self._looked)

    async def _look_whether_seen(self, unseen: Sequence[Observation]) -> None:
        """Take a finished turn as seen whose terminal has the focus of a person who is there."""
        idle = await self._person.idle_seconds()
        locked = self._person.locked
        self._control.mark_seen(await self._noticing.seen(unseen, locked=locked, idle=idle))

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("whether a turn was seen cannot be told", exc_info=error)

    def _sessions(self) -> tuple[Observation, ...]:
        """Return the sessions as they are shown."""
        return self._marked(self._update.tracked).sessions if self._update is not None else ()

    def _changed(self) -> None:
        """Take in that settings, mutes or the start at login are others now."""
        self._apply_settings()
        self._replan()
        self._draw_soon()

    def _apply_settings(self) -> None:
        settings = self._settings.settings
        self._engine.configure(settings)
        icon.recolour({look.value: getattr(settings.colors, look.value) for look in looks.Look})

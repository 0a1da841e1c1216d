"""The tray application: one asyncio loop that wires engine, tray item and notifications.

The engine works on its own threads and hands each update to the loop; tray item and notifier
live on the loop. Nothing here decides anything: states come from the engine, bubbles from
`alerts`, rows from `menu`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from typing import TYPE_CHECKING

from tray.claude.survey import Surveyor
from tray.desktop import alerts, clipboard, icon, menu
from tray.desktop.directions import directions, signpost, tmux_pane
from tray.desktop.notifier import Notifier
from tray.desktop.sni import TrayIcon
from tray.engine import STALLED, Engine
from tray.system.processes import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tray.desktop.alerts import Bubble
    from tray.desktop.menu import Entry
    from tray.engine import Update
    from tray.machine import Tracked
    from tray.session import Observation

log = logging.getLogger(__name__)

HEALTH_EACH = 5.0
"""Seconds between two looks at whether the engine still surveys."""
HOST_PATIENCE = 3.0
"""Seconds after the start for which a missing tray host is not worth a word."""
MESSAGE_FOR = 30.0
"""Seconds for which the way to a session is shown."""


def run(
    *,
    roots: Sequence[str] | None = None,
    table: Callable[[Update], None] | None = None,
    say: Callable[[str], None],
) -> int:
    """Run the tray until it is told to end; return the exit code.

    `roots` limits it to these config roots; `table` is handed every update as long as there is
    no tray host to show it; `say` prints one line for a person.
    """
    return asyncio.run(_App(roots, table, say).run())


class _App:
    def __init__(
        self,
        roots: Sequence[str] | None,
        table: Callable[[Update], None] | None,
        say: Callable[[str], None],
    ) -> None:
        self._table = table
        self._say = say
        self._engine = Engine(Surveyor(roots=roots), self._publish)
        self._memory = alerts.Memory()
        self._update: Update | None = None
        self._message: Bubble | None = None
        self._message_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._host_was_missing = False
        self._stalled = False

    async def run(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._ending.set)
        self._icon = TrayIcon(on_action=self._acted, on_change=self._draw)
        self._notifier = Notifier(
            on_click=self._clicked,
            on_action=lambda bubble, _action: self._clicked(bubble),
            on_dismiss=self._dismissed,
            on_problems=lambda _problems: self._draw(),
        )
        self._engine.start()
        try:
            # A bus that hangs must not keep us from ending.
            started = asyncio.gather(self._icon.start(), self._notifier.start())
            self._loop.call_later(HOST_PATIENCE, self._host_missing)
            self._loop.call_later(HEALTH_EACH, self._check)
            await self._ending.wait()
            started.cancel()
        finally:
            await asyncio.gather(
                asyncio.to_thread(self._engine.stop), self._icon.close(), self._notifier.close()
            )
        return 0

    def _publish(self, update: Update) -> None:
        """Hand an update from the engine's thread to the loop."""
        self._loop.call_soon_threadsafe(self._updated, update)

    def _updated(self, update: Update) -> None:
        self._update = update
        self._notify(update.tracked)
        # Not before the bubbles are on their way.
        self._loop.call_soon(self._draw)
        self._loop.call_soon(self._show_in_table, update)

    def _notify(self, tracked: Tracked) -> None:
        self._memory, wanted = alerts.plan(self._memory, tracked, time.monotonic())
        if self._message is not None:
            wanted = (*wanted, self._message)
        self._notifier.show(wanted)

    def _draw(self) -> None:
        """Bring icon, tooltip and menu up to date."""
        update = self._update
        if update is None:
            return
        stalled = self._stalled = self._engine.stalled()
        found = (*update.problems, *self._notifier.problems, *self._icon.problems)
        if stalled:
            found = (STALLED, *found)
        # A missing bus is told by everybody who needs one.
        problems = tuple({problem.code: problem for problem in found}.values())
        sessions = update.tracked.sessions
        now = time.time()
        self._icon.show(
            icon.look(sessions, healthy=not stalled),
            badge=icon.badge(sessions),
            tooltip=menu.tooltip(sessions, problems, now),
            entries=menu.build(
                sessions, problems, now, message=self._message.body if self._message else None
            ),
        )

    def _show_in_table(self, update: Update) -> None:
        """Hand every single update to the table: what changed stands in one of them only."""
        if self._table is not None and self._host_was_missing:
            self._table(update)

    def _check(self) -> None:
        self._loop.call_later(HEALTH_EACH, self._check)
        if self._engine.stalled() is not self._stalled:
            self._draw()

    def _host_missing(self) -> None:
        problems = self._icon.problems
        if problems and not self._host_was_missing:
            self._host_was_missing = True
            self._say(problems[0].message)
            if self._update is not None:
                self._show_in_table(self._update)

    def _acted(self, entry: Entry) -> None:
        if entry.action == "quit":
            self._ending.set()
        elif entry.session is not None:
            self._point_to(entry.session)

    def _clicked(self, bubble: Bubble) -> None:
        self._point_to(bubble.keys[0])

    def _dismissed(self, bubble: Bubble) -> None:
        if bubble is self._message:
            self._message = None
        self._memory = alerts.dismissed(self._memory, bubble)
        if self._update is not None:
            self._notify(self._update.tracked)

    def _point_to(self, key: str) -> None:
        """Show the way to the session of that key, and copy it."""
        session = self._session(key)
        if session is not None:
            task = self._loop.create_task(self._direct(session))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _direct(self, session: Observation) -> None:
        pane = None
        if session.pid is not None:
            pane = tmux_pane(environment(session.pid, frozenset({"TMUX", "TMUX_PANE"})))
        way = directions(session, pane)
        copied = await clipboard.copy(way.copy)
        self._tell(signpost(session, way, copied=copied))

    def _tell(self, message: Bubble | None) -> None:
        """Show a message in a bubble and in the menu, for a while."""
        self._message = message
        if self._message_timer is not None:
            self._message_timer.cancel()
            self._message_timer = None
        if message is not None:
            self._message_timer = self._loop.call_later(MESSAGE_FOR, self._tell, None)
        if self._update is not None:
            self._notify(self._update.tracked)
        self._draw()

    def _session(self, key: str) -> Observation | None:
        if self._update is None:
            return None
        for session in self._update.tracked.sessions:
            if key in (session.key, *session.aliases):
                return session
        return None

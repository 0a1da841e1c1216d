"""What a person asks for, in the menu, on a bubble or over the bus, and the doing of it.

Lives on the application's loop. What takes long (a program, a window system, the disk) is done
on a thread and may hang there; what came of it is said in a bubble.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import time
from typing import TYPE_CHECKING

from tray import configedit
from tray.configfile import ConfigError
from tray.desktop import autostart, clipboard
from tray.desktop.autostart import AutostartError
from tray.desktop.bounded import Bounded
from tray.desktop.bubbles import MUTE, SHOW, SNOOZE
from tray.desktop.entry import Action, ends_at
from tray.desktop.guide import Guide
from tray.desktop.messages import message
from tray.desktop.opening import OpenError, open_path
from tray.desktop.recent import resumption
from tray.desktop.terminal import TerminalError, open_terminal, see_that_it_runs
from tray.history.resuming import resume_environment
from tray.mutes import Scope, ask_of, id_of, mark_seen, mute, unmute
from tray.untrusted import identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from tray.configfile import SettingsFile
    from tray.desktop.alerts import Bubble
    from tray.desktop.entry import Entry
    from tray.desktop.focus.route import Outcome
    from tray.desktop.recent import RecentSessions
    from tray.mutefile import MuteFile
    from tray.mutes import Mutes
    from tray.session import Observation

log = logging.getLogger(__name__)

MUTE_FOR = 3600.0
"""Seconds for which a bubble's button mutes its session."""
SNOOZE_FOR = 1800.0
"""Seconds for which a bubble's button snoozes an ask."""
_LIMIT = 10.0
"""Seconds for which anything that is asked for is waited for; what is called has limits of its
own, which are shorter."""
_SAVED_WITHIN = 0.5
"""Seconds at the end for a change of the settings that is under way."""
_PROGRAMS = 4
"""Programs that are started, and files that are opened, at the same time."""
_NO_WAY = "a terminal or the desktop does not answer"


class Controller:
    """Does what is asked for; `bus_object.Actions` is what it does for the bus."""

    def __init__(
        self,
        *,
        sessions: Callable[[], Sequence[Observation]],
        mutes: MuteFile,
        settings: SettingsFile,
        recent: RecentSessions,
        tell: Callable[[Bubble], None],
        changed: Callable[[], None],
        end: Callable[[], None],
        health: Callable[[], str],
        folder: str | None,
        log_path: str,
    ) -> None:
        """Do nothing yet.

        `sessions` are those shown now; `tell` shows a message in a bubble for a while; `changed`
        is called when mutes, settings or the start at login are others; `end` ends the
        application; `health` tells how it is, for `doctor`; `folder` is the runtime folder.
        """
        self.health = health
        self._sessions = sessions
        self._mutes = mutes
        self._settings = settings
        self._recent = recent
        self._tell = tell
        self._changed = changed
        self._end = end
        self._log_path = log_path
        self._guide = Guide(os.environ, folder)
        self._ways = Bounded("ways")
        self._programs = Bounded("programs", _PROGRAMS)
        self._files = Bounded("settings-file")
        self._tasks: set[asyncio.Task[None]] = set()
        self.autostart: bool | None = None
        """Whether the application starts at login; `None`: cannot be told."""
        self._read_autostart()

    async def close(self) -> None:
        """Give up what is under way, but for what the person has just set."""
        if self._files.busy and self._tasks:
            await asyncio.wait(self._tasks, timeout=_SAVED_WITHIN)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)

    # The menu.

    def act(self, entry: Entry, token: str | None = None) -> None:
        """Do what a click on a line of the menu asks for; `token` came with it, if any did."""
        session = self._session(entry.session) if entry.session is not None else None
        match entry.action:
            case Action.QUIT:
                self._end()
            case Action.MUTE if entry.scope is not None and entry.duration is not None:
                self.mute(entry.scope, entry.what, ends_at(entry.duration, time.time()))
            case Action.UNMUTE if entry.scope is not None:
                self.unmute(entry.scope, entry.what)
            case Action.MARK_ALL_SEEN:
                self.mark_seen(self._sessions())
            case Action.RESUME if entry.session is not None:
                self._start(self._resume(entry.session))
            case _ if session is not None:
                self._act_on(session, entry.action, token)
            case _:
                self._act_on_itself(entry)

    def _act_on_itself(self, entry: Entry) -> None:
        match entry.action:
            case Action.SET if entry.setting is not None and entry.value is not None:
                self._start(self._set(entry.setting, entry.value))
            case Action.AUTOSTART:
                self._switch_autostart(on=bool(entry.value))
            case Action.OPEN_SETTINGS:
                self._start(self._open_settings())
            case Action.OPEN_LOG:
                self._start(self._open(self._log_path))

    def _act_on(self, session: Observation, action: str | None, token: str | None) -> None:
        match action:
            case Action.ROW | Action.GO:
                self._start(self._go(session, token))
            case Action.OPEN_FOLDER if session.cwd is not None:
                self._start(self._open(session.cwd))
            case Action.COPY_ID if session.session_id is not None:
                self._start(self._copy(session, session.session_id, "session id"))
            case Action.COPY_RESUME if (known := identifier(session.session_id)) is not None:
                command = f"claude --resume {known}"
                if session.cwd:
                    command = f"cd {shlex.quote(session.cwd)} && {command}"
                self._start(self._copy(session, command, "command"))
            case Action.MARK_SEEN:
                self.mark_seen((session,))

    # Bubbles.

    def clicked(self, bubble: Bubble, token: str | None) -> None:
        """Do what a click on a bubble asks for: go to the (first) session it is about."""
        session = self._session(bubble.keys[0]) if bubble.keys else None
        if session is not None:
            self._start(self._go(session, token))

    def pressed(self, bubble: Bubble, action: str, token: str | None) -> None:
        """Do what a button of a bubble asks for."""
        session = self._session(bubble.keys[0]) if bubble.keys else None
        if action == SHOW.key:
            self.clicked(bubble, token)
        elif session is not None and action == MUTE.key:
            self.mute(Scope.SESSION, id_of(session), time.time() + MUTE_FOR)
        elif session is not None and action == SNOOZE.key and _tells(bubble, session):
            self.snooze(session, time.time() + SNOOZE_FOR)

    # The bus (and all others).

    def mute(self, scope: Scope, what: str, until: float | None) -> None:
        """Mute `what` of that scope until then (Unix seconds)."""
        self._update(lambda mutes: mute(mutes, scope, what, until))

    def unmute(self, scope: Scope, what: str) -> None:
        """Undo that."""
        self._update(lambda mutes: unmute(mutes, scope, what))

    def snooze(self, session: Observation, until: float) -> None:
        """Let the open ask of `session` come back then."""
        ask = ask_of(session)
        if ask is not None:
            self.mute(Scope.ASK, ask, until)

    def mark_seen(self, sessions: Sequence[Observation]) -> None:
        """Take it that the person has seen how these sessions' turns ended."""
        if mark_seen(self._mutes.mutes, sessions) is not self._mutes.mutes:
            self._update(lambda mutes: mark_seen(mutes, sessions))

    def quit(self) -> None:
        """End the application."""
        self._end()

    async def focus(self, session: Observation, token: str) -> tuple[bool, str]:
        """Go to `session`; return whether that was done, and one line about it."""
        try:
            outcome = await self._lead(session, token or None)
        except TimeoutError:
            return False, _NO_WAY
        if outcome.done:
            self.mark_seen((session,))
        return outcome.done, outcome.message

    async def focus_next(self, token: str) -> tuple[bool, str]:
        """Go to the session that waits longest or, asked again, to the next one."""
        session = self._guide.next(self._sessions())
        if session is None:
            return True, "nothing waits for you"
        done, said = await self.focus(session, token)
        if not done:
            # Whoever pressed a key sees no terminal.
            self._tell(message(session, "The way to", said))
        return done, said

    async def focus_back(self) -> tuple[bool, str]:
        """Go to the window of before."""
        try:
            outcome = await self._ways.run_in_turn(self._guide.back, _LIMIT)
        except TimeoutError:
            return False, _NO_WAY
        return outcome.done, outcome.message

    # How.

    async def _go(self, session: Observation, token: str | None) -> None:
        try:
            outcome = await self._lead(session, token)
        except TimeoutError:
            self._tell(message(session, "The way to", _NO_WAY))
            return
        if outcome.done:
            self.mark_seen((session,))
            if outcome.seek:
                self._tell(message(session, "Look for", outcome.message))
            return
        if outcome.argv:
            cwd = session.cwd or os.environ.get("HOME", "/")
            environ = resume_environment(session.config_root, os.environ)
            try:
                await self._open_terminal(outcome.argv, cwd, environ)
            except TerminalError as error:
                await self._copy(session, shlex.join(outcome.argv), "command", cause=str(error))
            return
        self._tell(message(session, "The way to", outcome.message))

    async def _lead(self, session: Observation, token: str | None) -> Outcome:
        """Go to `session`; raises `TimeoutError`."""
        return await self._ways.run_in_turn(lambda: self._guide.go(session, token), _LIMIT)

    async def _open_terminal(
        self, argv: Sequence[str], cwd: str, environ: Mapping[str, str]
    ) -> None:
        """Open a terminal; raises `TerminalError`."""
        setting = self._settings.settings.terminal
        try:
            await self._programs.run_in_turn(
                lambda: _open_terminal(argv, cwd, environ, setting), _LIMIT
            )
        except TimeoutError:
            raise TerminalError(f"a terminal does not start within {_LIMIT:g} s") from None

    async def _resume(self, session_id: str) -> None:
        recent = self._recent.find(session_id)
        if recent is None:
            return
        how = resumption(recent, os.environ)
        try:
            await self._open_terminal(how.argv, how.cwd, how.environ)
        except TerminalError as error:
            command = f"cd {shlex.quote(how.cwd)} && {shlex.join(how.argv)}"
            await self._copy(None, command, "command", cause=str(error))
        else:
            if how.warning is not None:
                self._tell(message(None, "Resumed elsewhere", how.warning))

    async def _copy(
        self, session: Observation | None, text: str, what: str, *, cause: str = ""
    ) -> None:
        copied = await clipboard.copy(text)
        said = f"{what} copied: {text}" if copied else f"no clipboard is to be had; {what}: {text}"
        self._tell(message(session, "", "\n".join(filter(None, (cause, said)))))

    async def _set(self, key: str, value: bool | float) -> None:  # noqa: FBT001 - a setting's
        try:
            await self._edit(lambda: configedit.change({key: value}, self._settings.path))
        except ConfigError as error:
            self._tell(
                message(None, "The setting was not changed", f"{self._settings.path}: {error}")
            )
        self._settings.read()
        self._changed()

    def _switch_autostart(self, *, on: bool) -> None:
        try:
            autostart.switch(on=on)
        except AutostartError as error:
            self._tell(message(None, "Start at login", str(error)))
        self._read_autostart()
        self._changed()

    def _read_autostart(self) -> None:
        try:
            self.autostart = autostart.current().state is autostart.Start.ON
        except (AutostartError, OSError):
            log.warning("whether sessionbell starts at login cannot be told", exc_info=True)
            self.autostart = None

    async def _edit(self, change: Callable[[], object]) -> None:
        """Change the settings file; raises `ConfigError` and whatever `change` does."""
        try:
            await self._files.run_in_turn(change, _LIMIT)
        except TimeoutError:
            raise ConfigError("the disk does not answer") from None

    async def _open_settings(self) -> None:
        path = self._settings.path
        try:
            with contextlib.suppress(FileExistsError):
                await self._edit(lambda: configedit.create(path))
        except ConfigError as error:
            self._tell(message(None, "The settings file", str(error)))
            return
        await self._open(path)

    async def _open(self, path: str) -> None:
        try:
            await self._programs.run_in_turn(lambda: open_path(path, os.environ), _LIMIT)
        except (OpenError, TimeoutError) as error:
            cause = str(error) if isinstance(error, OpenError) else f"{path} cannot be opened now"
            await self._copy(None, path, "path", cause=cause)

    def _update(self, change: Callable[[Mutes], Mutes]) -> None:
        self._mutes.update(change)
        self._changed()

    def _session(self, key: str) -> Observation | None:
        for session in self._sessions():
            if key in (session.key, *session.aliases):
                return session
        return None

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what was asked for failed", exc_info=error)
            self._tell(message(None, "That failed", "see the log: sessionbell doctor"))


def _tells(bubble: Bubble, session: Observation) -> bool:
    """Whether `bubble` is about what `session` asks now: a snooze is not for the next ask."""
    return session.ask is not None and any(
        ask.endswith(f"/{session.ask.id}") for ask in bubble.asks
    )


def _open_terminal(
    argv: Sequence[str], cwd: str, environ: Mapping[str, str], setting: Sequence[str]
) -> None:
    see_that_it_runs(argv, environ)
    open_terminal(argv, cwd, environ, setting)

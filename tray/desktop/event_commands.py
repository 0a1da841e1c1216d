"""The person's own programs, run when something is told (`alerts.<kind>.command`).

A program gets what was told in environment variables and nothing on its command line: no text
of a session ever becomes an argument, let alone a shell's. It is the person's own, so it hears
details also where bubbles show none. Whatever it does, bubbles do not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import tempfile
from asyncio.subprocess import DEVNULL
from collections import deque
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import msgspec

from tray.machine import AlertKind
from tray.session import Observation, Problem
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tray.config import Settings

log = logging.getLogger(__name__)

AT_ONCE = 4
"""Programs that run at the same time."""
WAITING = 50
"""Programs that wait for their turn; what comes on top is not run."""
GRACE = 1.0
"""Seconds between the request to end and the end."""
_GRACE_AT_CLOSE = 0.3
"""The same where the application ends: it is waited for."""
_KILLED_WITHIN = 0.5
"""Seconds for which a killed program is waited for: on a broken file system it may stay."""
_TEXT = 500
"""Characters of a variable at most."""
_LONGEST = 4096
"""Characters of a path at most, as the kernel has it."""
_LOGGED = 2000
"""Characters of a program's output in the log."""


class Told(msgspec.Struct, frozen=True):
    """One alert as it was told."""

    event: str
    """One of `tray.config.EVENTS`."""
    session: Observation
    title: str = ""
    """The bubble's title."""
    body: str = ""
    """The bubble's text, lines separated by line feeds; empty where it is to tell no details."""


def event_of(kind: AlertKind) -> str:
    """Return the kind of settings that an alert falls under, one of `tray.config.EVENTS`."""
    if kind is AlertKind.JOB_DONE:
        return AlertKind.TURN_OVER.value
    if kind is AlertKind.JOB_FAILED:
        return AlertKind.ERROR.value
    return kind.value


def environment(told: Told, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return a program's environment: the tray's own, and what was told.

    Every value is one printable line; what is not known is empty, so that a script may rely on
    each. A path is whole and as it is, or empty: any change would make it another's. Nothing in
    it makes a Claude Code that the program starts think it is nested.
    """
    session = told.session
    own = {
        "EVENT": told.event,
        "TITLE": told.title,
        "PROJECT": session.project,
        "BRANCH": session.branch,
        "WORKTREE": session.worktree,
        "SESSION_ID": session.session_id,
        "SESSION_NAME": session.name or session.title,
        "STATE": session.state.value,
        "REASON": session.reason.value if session.reason is not None else None,
        "DETAIL": session.detail,
        "TOOL": session.ask.tool if session.ask is not None else None,
        "KIND": session.kind.value,
        "PID": str(session.pid) if session.pid is not None else None,
        "TTY": session.tty,
    }
    kept = {
        name: value
        for name, value in inherited.items()
        if name != "CLAUDECODE" and not name.startswith(("CLAUDE_CODE_", "SESSIONBELL_"))
    }
    paths = {"CWD": session.cwd, "TRANSCRIPT": session.transcript}
    return (
        kept
        | {f"SESSIONBELL_{name}": one_line(value or "", _TEXT) for name, value in own.items()}
        | {f"SESSIONBELL_{name}": _path(value or "") for name, value in paths.items()}
    )


def _path(path: str) -> str:
    return path if path.isprintable() and len(path) <= _LONGEST else ""


class EventCommands:
    """Runs the programs of `settings`, a few at a time; lives on the running loop."""

    def __init__(self, *, on_problems: Callable[[], object] = lambda: None) -> None:
        """Run nothing yet; `on_problems` is called after each change of `problems`."""
        self._on_problems = on_problems
        self._waiting: deque[tuple[Told, tuple[str, ...], float]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._problems: dict[str, Problem] = {}
        self._closing = False

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong with the newest run of each event's program."""
        return tuple(self._problems.values())

    def run(self, told: Told, settings: Settings) -> None:
        """Run the program for `told`, if the settings name one; returns at once, never raises."""
        argv = getattr(settings.alerts, told.event).command
        if self._closing:
            return
        if not argv:
            self._report(told.event, None)
        elif len(self._waiting) >= WAITING:
            self._fail(told.event, argv, f"{WAITING} others wait for their turn")
        else:
            self._waiting.append((told, argv, settings.command_timeout))
            self._start_next()

    async def close(self) -> None:
        """Run no more, and end what runs."""
        self._closing = True
        self._waiting.clear()
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    def _start_next(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            task = asyncio.get_running_loop().create_task(self._run(*self._waiting.popleft()))
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            if error := task.exception():
                log.error("a command could not be run", exc_info=error)
            self._start_next()

    async def _run(self, told: Told, argv: tuple[str, ...], limit: float) -> None:
        # A pipe would have to be read for as long as any child of the program holds it.
        with tempfile.TemporaryFile() if log.isEnabledFor(logging.DEBUG) else _nowhere() as output:
            try:
                process = await asyncio.create_subprocess_exec(
                    _expanded(argv[0]),
                    *argv[1:],
                    stdin=DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=environment(told, os.environ),
                    # A session's own folder may hold programs and settings of strangers.
                    cwd=_expanded("~"),
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                self._fail(told.event, argv, getattr(error, "strerror", None) or str(error))
                return
            try:
                async with asyncio.timeout(limit):
                    code = await process.wait()
            except TimeoutError:
                self._fail(told.event, argv, f"it was ended after {limit:g} s")
                return
            finally:
                if process.returncode is None:
                    await _end(process, _GRACE_AT_CLOSE if self._closing else GRACE)
                self._log_output(argv, output)
        if code == 0:
            self._report(told.event, None)
        else:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._fail(told.event, argv, f"it ended with {how}")

    def _log_output(self, argv: tuple[str, ...], output: IO[bytes]) -> None:
        if output.readable():
            output.seek(0)
            said = output.read(_LOGGED).decode(errors="replace")
            log.debug("%s said: %s", argv[0], one_line(said, _LOGGED))

    def _fail(self, event: str, argv: tuple[str, ...], cause: str) -> None:
        message = (
            f"alerts.{event}.command: {one_line(argv[0])}: {cause}; alerts are shown all the same."
            " Change or remove it: `sessionbell config path`"
        )
        log.warning(message)
        self._report(event, Problem("event-command", message))

    def _report(self, event: str, problem: Problem | None) -> None:
        if self._problems.get(event) == problem:
            return
        self._problems.pop(event, None)
        if problem is not None:
            self._problems[event] = problem
        try:
            self._on_problems()
        except Exception:
            log.exception("the callback for problems failed")


def _expanded(path: str) -> str:
    """Put the home directory for a leading `~`: there is no shell that would."""
    return os.path.expanduser(path)


def _nowhere() -> IO[bytes]:
    return open(os.devnull, "wb")


async def _end(process: asyncio.subprocess.Process, grace: float) -> None:
    """End a program with all that it has started in its group: asked first, then made to."""
    _signal_group(process.pid, signal.SIGTERM)
    ended = asyncio.ensure_future(process.wait())
    # Cancelled or not, it is not left behind.
    with suppress(asyncio.CancelledError):
        await asyncio.wait((ended,), timeout=grace)
    _signal_group(process.pid, signal.SIGKILL)
    with suppress(asyncio.CancelledError):
        await asyncio.wait((ended,), timeout=_KILLED_WITHIN)
    ended.cancel()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)

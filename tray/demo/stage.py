"""A throw-away configuration root with live make-believe sessions in it.

Each session is a real process called `claude` at a pseudo-terminal of its own, with a registry
record and a transcript in Claude Code's format. Nothing outside the stage's own temporary
folder is written, and everything is gone when the stage is left, however that happens: the
kernel hangs up the terminals, and with them ends the processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from typing import TYPE_CHECKING, Self

from tray.demo import lines
from tray.system.processes import pid_domain, read_process

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

_PROGRAM = b"""\
import fcntl, os, signal, termios
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
os.dup2(1, 0)
while True:
    signal.pause()
"""
"""What the process does: take its terminal, and wait to be hung up."""


class Stage:
    """The temporary folder and all sessions in it; a context manager."""

    def __init__(self) -> None:
        self._cleanup = contextlib.ExitStack()
        self._sessions: list[Session] = []

    def __enter__(self) -> Self:
        folder = self._cleanup.enter_context(
            tempfile.TemporaryDirectory(prefix="sessionbell-demo-", ignore_cleanup_errors=True)
        )
        self.folder = os.path.realpath(folder)
        self.root = os.path.join(self.folder, "claude")
        """The configuration root."""
        for name in ("claude/sessions", "claude/projects", "work", "bin"):
            os.makedirs(os.path.join(self.folder, name))
        # A process is called as the file it was started from: `claude`, though it is Python.
        self.program = os.path.join(self.folder, "bin", "claude")
        os.symlink(sys.executable, self.program)
        self._cleanup.callback(self.clear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def session(
        self, project: str, branch: str = "main", *, worktree: str | None = None
    ) -> Session:
        """Start a session in a checkout of `project`, or in its linked `worktree`."""
        cwd = self._checkout(project, branch, worktree)
        session = Session(self, cwd, branch)
        self._sessions.append(session)
        return session

    def clear(self) -> None:
        """End all sessions and forget what they wrote."""
        for session in self._sessions:
            session.quit()
        self._sessions.clear()

    def _checkout(self, project: str, branch: str, worktree: str | None) -> str:
        """Make as much of a git checkout as its branch is read from; return its path."""
        cwd = os.path.join(self.folder, "work", project)
        git = os.path.join(cwd, ".git")
        for name in ("objects", "refs/heads"):
            os.makedirs(os.path.join(git, name), exist_ok=True)
        _write(os.path.join(git, "HEAD"), f"ref: refs/heads/{branch if not worktree else 'main'}\n")
        if worktree is None:
            return cwd
        linked = os.path.join(self.folder, "work", worktree)
        admin = os.path.join(git, "worktrees", worktree)
        os.makedirs(admin, exist_ok=True)
        os.makedirs(linked, exist_ok=True)
        _write(os.path.join(admin, "HEAD"), f"ref: refs/heads/{branch}\n")
        _write(os.path.join(admin, "commondir"), "../..\n")
        _write(os.path.join(admin, "gitdir"), f"{linked}/.git\n")
        _write(os.path.join(linked, ".git"), f"gitdir: {admin}\n")
        return linked


_UNTOUCHED = 60.0
"""Seconds ago that a new session's terminal is said to have been used last."""


class Session:
    """One make-believe session: what its client would do to the world.

    `ago` (seconds) dates an act back, so that a stage can open in the middle of things.
    Raises OSError where the process, its terminal or its files cannot be made.
    """

    def __init__(self, stage: Stage, cwd: str, branch: str) -> None:
        self.origin = lines.Origin(str(uuid.uuid4()), cwd, branch)
        self._master, self.terminal, self._process = _start(stage, cwd)
        found = read_process(self.pid)
        if found is None:
            raise ProcessLookupError("a make-believe session ended at once")
        self._life = lines.Life(found.pid, found.start_ticks, pid_domain(), found.started)
        self.record = os.path.join(stage.root, "sessions", f"{self.pid}.json")
        folder = os.path.join(stage.root, "projects", re.sub(r"[^A-Za-z0-9]", "-", cwd))
        os.makedirs(folder, exist_ok=True)
        self.transcript = os.path.join(folder, f"{self.origin.session_id}.jsonl")
        self._parent: str | None = None
        self._open: str | None = None
        self._prompted = found.started
        # Nobody has sat at a terminal that was made a moment ago.
        self.typed(ago=_UNTOUCHED)
        self.idle()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def typed(self, ago: float) -> None:
        """Date the last keystroke at the session's terminal."""
        then = time.time() - ago
        os.utime(self.terminal, (then, then))

    def idle(self, ago: float = 0) -> None:
        """Stand at the prompt."""
        self.status("idle", ago=ago)

    def prompt(self, text: str, ago: float = 0) -> None:
        """Take a typed prompt and work on it."""
        self._prompted = time.time() - ago
        self._message("user", lines.prompt(text), ago)
        self.status("busy", ago=ago)

    def title(self, text: str) -> None:
        """Give the conversation a title."""
        self._append(lines.title(self.origin, text))

    def ask(self, tool: str, tool_input: Mapping[str, object], ago: float = 0) -> None:
        """Ask the person: a question, a plan's approval, or permission to use a tool."""
        self._open = f"toolu_{uuid.uuid4().hex[:24]}"
        block = {"type": "tool_use", "id": self._open, "name": tool, "input": dict(tool_input)}
        self._message("assistant", lines.answer(_message_id(), block, "tool_use"), ago)
        waiting_for = "input needed" if tool == "AskUserQuestion" else "permission prompt"
        self.status("waiting", waiting_for, ago=ago)

    def answered(self, result: str) -> None:
        """Take the person's answer and go on working."""
        if self._open is not None:
            self._message("user", lines.tool_result(self._open, result))
        self._open = None
        self.status("busy")

    def finish(self, text: str, ago: float = 0) -> None:
        """End the turn with some last words."""
        block = {"type": "text", "text": text}
        self._message("assistant", lines.answer(_message_id(), block, "end_turn"), ago)
        self._end_turn(ago)

    def fail(self, text: str, ago: float = 0) -> None:
        """End the turn with an API error."""
        self._message("assistant", lines.api_error(_message_id(), text), ago)
        self._end_turn(ago)

    def status(self, status: str, waiting_for: str | None = None, *, ago: float = 0) -> None:
        """Write the registry record, in place as the client does."""
        since = time.time() - ago
        data = lines.record(self._life, self.origin, status, waiting_for, since)
        _write(self.record, json.dumps(data))

    def quit(self) -> None:
        """Exit as a client does that is told to: neither process nor record stays."""
        self.kill()
        # At once: whoever looks because the process has ended must not find its record any more.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.record)

    def kill(self) -> None:
        """Die in the middle of whatever it was; the record stays behind."""
        self._process.kill()
        self._process.wait()
        if self._master is not None:
            os.close(self._master)
            self._master = None

    def _end_turn(self, ago: float) -> None:
        lasted = time.time() - ago - self._prompted
        self._message("system", lines.turn_duration(int(lasted * 1000)), ago)
        self.idle(ago)

    def _message(self, kind: str, content: lines.Line, ago: float = 0) -> None:
        own = str(uuid.uuid4())
        frame = lines.message(self.origin, kind, own, self._parent, time.time() - ago)
        self._append(frame | content)
        self._parent = own

    def _append(self, line: lines.Line) -> None:
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _start(stage: Stage, cwd: str) -> tuple[int | None, str, subprocess.Popen[bytes]]:
    """Start a process called `claude` at a new terminal; return that terminal's two ends."""
    master, slave = os.openpty()
    program, writer = os.pipe()
    try:
        os.write(writer, _PROGRAM)
        os.close(writer)
        process = subprocess.Popen(
            ["claude"],
            executable=stage.program,
            cwd=cwd,
            # A Python that is started under another name cannot find its own library.
            env={
                "PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
                "CLAUDE_CONFIG_DIR": stage.root,
            },
            stdin=program,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        return master, os.ttyname(slave), process
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(program)
        os.close(slave)


def _message_id() -> str:
    return f"msg_{uuid.uuid4().hex[:24]}"


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)

"""A config root in a temporary folder, and real processes that look like clients."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from tray.claude.survey import Surveyor
from tray.system.processes import Process, environment, pid_domain, read_process

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from tray.session import Observation, Snapshot

VERSION = "2.1.332"


def session_id(number: int) -> str:
    """A session's id that is easy to tell from another."""
    return f"{number:08d}-0000-4000-8000-000000000000"


@dataclass
class Client:
    """A process that looks like a client, and what it would write."""

    world: World
    popen: subprocess.Popen[bytes]
    process: Process
    cwd: Path
    master: int | None = None
    session_id: str = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def key(self) -> str:
        return f"{self.pid}:{self.process.start_ticks}"

    @property
    def record_path(self) -> Path:
        return self.world.root / "sessions" / f"{self.pid}.json"

    def record(self, status: str | None = "busy", **fields: Any) -> Path:
        """Write the record of a client of 2.1.332; without a status, that of 2.1.81."""
        found: dict[str, Any] = {
            "pid": self.pid,
            "sessionId": self.session_id,
            "cwd": str(self.cwd),
            "startedAt": int(self.process.started * 1000),
        }
        if status is not None:
            now = int(time.time() * 1000)
            found |= {
                "procStart": str(self.process.start_ticks),
                "version": VERSION,
                "kind": "interactive",
                "entrypoint": "cli",
                "pidDomain": pid_domain(),
                "status": status,
                "updatedAt": now,
                "statusUpdatedAt": now,
            }
        found |= fields
        self.record_path.parent.mkdir(parents=True, exist_ok=True)
        self.record_path.write_text(json.dumps(found))
        return self.record_path

    def transcript(self, *lines: dict[str, Any], of: str | None = None) -> Path:
        """Append lines to the transcript of its session, or of that one."""
        path = self.world.transcript_path(self.cwd, of or self.session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            for line in lines:
                file.write(json.dumps({"cwd": str(self.cwd), **line}) + "\n")
        return path

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()

    def suspend(self) -> None:
        self.popen.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)


@dataclass
class World:
    """The folder, and the clients in it; a context manager."""

    folder: Path
    clients: list[Client] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "claude"

    def __enter__(self) -> Self:
        (self.folder / "bin").mkdir(parents=True)
        self.root.mkdir()
        (self.folder / "bin" / "claude").symlink_to(shutil.which("sleep") or "/bin/sleep")
        # As node does: a program that is given the client's script.
        (self.folder / "bin" / "node").symlink_to(sys.executable)
        (self.folder / "script").mkdir()
        (self.folder / "script" / "claude").write_text("import signal\nsignal.pause()\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self.clients:
            client.kill()
            if client.master is not None:
                os.close(client.master)

    def client(
        self,
        *arguments: str,
        cwd: str = "work",
        terminal: bool = False,
        environ: dict[str, str] | None = None,
    ) -> Client:
        """Start a client; arguments make it one that runs by an interpreter."""
        directory = self.folder / cwd
        directory.mkdir(parents=True, exist_ok=True)
        program = str(self.folder / "bin" / ("node" if arguments else "claude"))
        words = [str(self.folder / "script" / "claude"), *arguments] if arguments else ["86400"]
        master = slave = None
        command = [program, *words]
        if terminal:
            master, slave = os.openpty()
            command = ["setsid", "--ctty", *command]
        popen = subprocess.Popen(
            command,
            cwd=directory,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
                "CLAUDE_CONFIG_DIR": str(self.root),
                **(environ or {}),
            },
            stdin=slave if slave is not None else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if slave is not None:
            os.close(slave)
        process = _exec_ed(popen.pid, os.path.basename(program))
        number = len(self.clients) + 1
        client = Client(self, popen, process, directory.resolve(), master, session_id(number))
        self.clients.append(client)
        return client

    def transcript_path(self, cwd: Path, of: str) -> Path:
        return self.root / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd)) / f"{of}.jsonl"

    def surveyor(self, **options: Any) -> Surveyor:
        return Surveyor(roots=[str(self.root)], home=str(self.folder), environ={}, **options)

    def survey(self, now: float | None = None) -> Snapshot:
        return self.surveyor().survey(now)

    def rows(self, now: float | None = None) -> dict[str, Observation]:
        """What a first look finds, by key."""
        snapshot = self.survey(now)
        assert snapshot.problems == ()
        return {row.key: row for row in snapshot.sessions}


def _exec_ed(pid: int, comm: str) -> Process:
    """Wait until a started process has become the program it is to be."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        process = read_process(pid)
        # Its name comes first, then its command line, then its environment.
        named = process is not None and process.comm == comm and process.argv
        if process is not None and named and environment(pid, {"PATH"}):
            return process
        os.sched_yield()
    raise TimeoutError(comm)

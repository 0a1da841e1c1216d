"""A terminal of any name: it has one pseudo-terminal, and answers on the bus what was recorded."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.conftest import wait_until
from tray.desktop.focus.place import Seat
from tray.system.processes import parent_chain, read_process

PROCESS = str(Path(__file__).with_name("terminal_process.py"))


class FakeTerminal:
    """A running stand-in; `shell` is the process at its tty, `calls` what it was called for.

    `answers`: `{"path member": [signature, body]}`, in which `"SHELL"` is the pid of the shell.
    """

    def __init__(self, folder, name, variables=None, bus=None, names=(), answers=None):
        self._log = folder / f"{name}.calls"
        program = folder / name
        program.write_text(
            f"#!{sys.executable}\nimport runpy, sys\n"
            f"runpy.run_path({PROCESS!r}, run_name='__main__')\n"
        )
        program.chmod(0o700)
        given = {
            "variables": variables or {},
            "bus": bus,
            "names": list(names),
            "answers": answers or {},
            "log": str(self._log),
        }
        self._process = subprocess.Popen(
            [program, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        line = self._process.stdout.readline()
        assert line, "the stand-in did not start"
        self.shell = int(line)
        wait_until(self._runs, what="the session runs")

    def _runs(self) -> bool:
        # In the middle of an exec the name is the new one, and the environment is not there yet.
        renamed = read_process(self.shell).comm == "sleep"
        return renamed and bool(Path(f"/proc/{self.shell}/environ").read_bytes())

    @property
    def calls(self) -> list[list]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(line) for line in lines]

    def seat(self):
        process = read_process(self.shell)
        assert process is not None
        return Seat(process=process, ancestors=parent_chain(self.shell))

    def end_shell(self) -> None:
        os.kill(self.shell, signal.SIGKILL)
        wait_until(lambda: read_process(self.shell) is None, what="the session has ended")

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

"""How soon a keyboard shortcut has the window in front: from the process's start to the focus."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.bench.desk import SESSIONBELL, client_environment
from tests.conftest import wait_until
from tests.desktop.focus.panes import Tmux, Xterms
from tests.desktop.focus.tabs import terminals
from tray.cli import remote
from tray.demo import stage as stages
from tray.system.processes import read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.desktop.focus.tabs import Terminals

RUNS = 40
SESSIONS = 10
BUDGET = 150
"""Milliseconds, the 95th percentile."""
COMMAND = (sys.executable, "-c", "from tray.cli.start import main; main()")
_CLAUDE = """\
#!/bin/bash
export PYTHONHOME={home} CLAUDE_CONFIG_DIR={root}
echo $$ >"$1.new" && mv "$1.new" "$1"
exec -a claude {program} -c 'import signal; signal.pause()'
"""


class _InTerminal:
    """What a session's process is to the stage, where a terminal has started it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        wait_until(lambda: read_process(self.pid) is None, what="the session has ended")


def _sessions(xterms: Xterms, stage: stages.Stage, kind: str, folder: Path) -> int:
    """Put sessions that ask into terminals; return a window that has none."""
    script = folder / "claude.sh"
    home = f"{sys.base_prefix}:{sys.base_exec_prefix}"
    script.write_text(
        _CLAUDE.format(home=shlex.quote(home), root=stage.root, program=stage.program)
    )
    script.chmod(0o700)
    tmux = Tmux(xterms.on)

    def start(_stage: stages.Stage, cwd: str) -> tuple[None, str, _InTerminal]:
        told = folder / f"{os.path.basename(cwd)}.pid"
        if kind == "xterm":
            xterms.run(str(script), str(told))
        elif not told.parent.joinpath("project-0.pid").exists():
            tmux.ask("new-session", "-d", "-s", "one", str(script), str(told))
        else:
            tmux.ask("new-window", "-d", "-t", "one:", str(script), str(told))
        wait_until(told.exists, within=20, what="the session runs")
        pid = int(told.read_text())
        wait_until(lambda: read_process(pid).comm == "claude", what="it is a client")
        return None, str(read_process(pid).tty), _InTerminal(pid)

    stages._start, kept = start, stages._start
    try:
        for number in range(SESSIONS):
            session = stage.session(f"project-{number}")
            session.prompt("publish", ago=100 - number)
            session.ask("Bash", {"command": "npm publish"}, ago=90 - number)
    finally:
        stages._start = kept
    if kind == "tmux":
        xterms.run(*tmux.command("attach-session", "-t", "one"))
        wait_until(lambda: tmux.clients() == 1, what="the client is attached")
    return xterms.run("sleep", "600")


@contextlib.contextmanager
def _tray(on: Terminals, stage: stages.Stage) -> Iterator[None]:
    argv = [*SESSIONBELL, "run", "--root", stage.root]
    process = on.desktop.run("tray", argv)
    wait_until(lambda: on.desktop.owned(remote.NAME), within=20, what="the tray is on the bus")
    yield
    assert process.poll() is None, on.desktop.log("tray")
    process.terminate()
    process.wait(5)


@pytest.mark.parametrize("kind", ["xterm", "tmux"])
@pytest.mark.parametrize("with_tray", [True, False], ids=["tray", "alone"])
def test_next(kind: str, with_tray: bool, tmp_path: Path, report: Callable[[str], None]) -> None:
    with contextlib.ExitStack() as stack:
        on = stack.enter_context(contextlib.contextmanager(terminals)(tmp_path, "xterm", kind))
        stage = stack.enter_context(stages.Stage())
        run = on.desktop.environment["XDG_RUNTIME_DIR"]
        on.desktop.environment |= client_environment(stage) | {"TMUX_TMPDIR": run}
        xterms = Xterms(on)
        stack.callback(xterms.close)
        stack.callback(Tmux(on).kill)
        neutral = _sessions(xterms, stage, kind, tmp_path)
        if with_tray:
            stack.enter_context(_tray(on, stage))
            command = [*COMMAND, "focus", "project-3"]
            done = lambda: subprocess.run(command, env=on.desktop.environment).returncode == 0  # noqa: E731
            wait_until(done, within=20, what="the tray knows the sessions")
        # Alone it would find other sessions that happen to be on this machine.
        rest = [] if with_tray else ["--root", stage.root]
        for arguments in (["--next", *rest], ["project-7", *rest]):
            times = sorted(1000 * _seconds(on, neutral, arguments) for _ in range(RUNS))
            p50, p95 = times[RUNS // 2], times[RUNS * 95 // 100 - 1]
            told = "with the tray" if with_tray else "without the tray"
            report(
                f"focus {arguments[0]} {told}, {SESSIONS} sessions in {kind}, {RUNS} times:"
                f" p50 {p50:.0f} ms, p95 {p95:.0f} ms (budget {BUDGET})"
            )


def _seconds(on: Terminals, neutral: int, arguments: list[str]) -> float:
    """Run the command in front of a window that is no session's; return when that has changed."""
    on.activate(neutral)
    start = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, "focus", *arguments], env=on.desktop.environment, stdout=subprocess.DEVNULL
    )
    while on.focused() in (neutral, 0):
        assert time.perf_counter() - start < 5, "the focus has not changed"
        time.sleep(0.001)
    taken = time.perf_counter() - start
    assert process.wait(5) == 0
    return taken

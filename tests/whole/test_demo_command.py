"""`run` and `demo` where there is no desktop: they say so, and show the table instead."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tray.demo.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CODE = """
from tray.desktop import app
app.HOST_PATIENCE = 0.1
from tray.cli import demo
demo.FAST = 12.0
from tray.cli.main import main
main()
"""
COMMAND = (sys.executable, "-c", CODE)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment without a bus, and with temporary files where they can be counted."""
    dropped = ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "COLUMNS", "LINES")
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "tmp").mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "TMPDIR": str(tmp_path / "tmp"),
        "TERM": "xterm",
    }


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        made.session("shop-api").prompt("publish it", ago=30)
        yield made


class Terminal:
    """A pseudo-terminal with a command on it, and everything that it has shown."""

    def __init__(self, *arguments: str, environ: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        subprocess.run(["stty", "cols", "90", "rows", "30"], stdin=slave, check=True)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environ,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def shows(self, text: str) -> bool:
        if select.select([self._master], [], [], 0.02)[0]:
            self.seen += os.read(self._master, 65536).decode()
        return text in self.seen

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_without_a_desktop_shows_the_table_on_a_terminal(
    stage: Stage,
    environ: dict[str, str],
    wait_until: Callable[..., object],
    number: signal.Signals,
) -> None:
    terminal = Terminal("run", "--root", stage.root, environ=environ)
    try:
        wait_until(lambda: terminal.shows("● working"), within=15)
        wait_until(lambda: terminal.shows("Ctrl-C"), within=5)
        # One line said what is missing before the table came.
        assert "tray" in terminal.seen.split("STATE")[0]
        terminal.process.send_signal(number)
        wait_until(lambda: terminal.shows("\x1b[?25h"), within=5)
        assert terminal.process.wait(timeout=5) == 0
        assert "Traceback" not in terminal.seen
    finally:
        terminal.close()


def test_run_in_a_pipe_prints_one_look_and_what_is_missing(
    stage: Stage, environ: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", "--root", stage.root],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        text=True,
    )
    with process:
        try:
            assert process.stdout.readline().startswith("STATE")
            assert re.match(r"● working +shop-api", process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, out) == (0, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("sessionbell: ")


def test_the_demo_shows_everything_and_cleans_up(environ: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "demo", "--once", "--fast"],
        capture_output=True,
        env=environ,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    # What happens while the program starts stands in the table, the rest in lines of its own.
    for seen in (
        "working",
        "permission.*Bash: npm publish --access public",
        "question.*What should happen to a contact",
        "plan.*Split the guides by reader",
        "finished",
        "error.*API error",
        "billing: working",
        r"infra: ended \(killed\)",
        r"notes: ended \(exit\)",
        "shop-api: finished",
    ):
        assert re.search(seen, done.stdout)
    assert os.listdir(tmp_path / "tmp") == []


def test_the_demo_ends_in_time_and_on_ctrl_c(
    environ: dict[str, str], tmp_path: Path, wait_until: Callable[..., object]
) -> None:
    command = [*COMMAND, "demo", "--seconds", "0.5"]
    assert subprocess.run(command, capture_output=True, env=environ, timeout=30).returncode == 0
    terminal = Terminal("demo", environ=environ)
    try:
        wait_until(lambda: terminal.shows("sessionbell list --root"), within=10)
        assert os.listdir(tmp_path / "tmp")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(timeout=10) == 0
    finally:
        terminal.close()
    assert os.listdir(tmp_path / "tmp") == []

"""The application ends soon whatever hangs, and first does what the person has set."""

# ruff: noqa: F811 - fixtures of another module

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import session_bus
from tests.desktop.screen import Screen
from tests.whole.test_app import bus, click, daemon, host, stage, until  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.session_bus import SessionBus
    from tests.tray.notification_daemon import Daemon
    from tests.tray.tray_host import Host
    from tray.demo.stage import Stage

    Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING)),
]
WITHIN = 3.0
"""Seconds for the end; a session manager kills whoever takes five."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("run", "state", "home"):
        (tmp_path / name).mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def start(tmp_path: Path, home: Path, stage: Stage, bus: SessionBus) -> Iterator[Start]:
    """Start it with `environment` on top; it is killed at the end."""
    trays: list[subprocess.Popen[bytes]] = []

    def run(**environment: str) -> subprocess.Popen[bytes]:
        own = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(tmp_path / "run"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
        }
        program = Path(sys.executable).with_name("sessionbell")
        with (tmp_path / "tray.log").open("ab") as log:
            trays.append(
                subprocess.Popen(
                    [program, "run", "--root", stage.root],
                    env=own | environment,
                    stdout=log,
                    stderr=log,
                )
            )
        return trays[-1]

    yield run
    for tray in trays:
        tray.kill()
        tray.wait()


async def ends(tray: subprocess.Popen[bytes]) -> bool:
    """Ask it to end, as a desktop does; return whether it did, and well, in time."""
    tray.send_signal(signal.SIGTERM)
    try:
        return await asyncio.to_thread(tray.wait, WITHIN) == 0
    except subprocess.TimeoutExpired:
        return False


async def shown(host: Host, label: str) -> None:
    """Wait for a line of the menu that begins with `label`."""
    deadline = asyncio.get_running_loop().time() + 20
    while not any(line.label.startswith(label) for line in (await host.layout()).all()):
        assert asyncio.get_running_loop().time() < deadline, f"no {label} in the menu"
        await asyncio.sleep(0.02)


def hangs(folder: Path, name: str) -> tuple[str, Path]:
    """Make a program that stays; return a `PATH` with it first, and what tells that it runs."""
    programs, mark = folder / "programs", folder / "runs"
    programs.mkdir()
    program = programs / name
    program.write_text(f"#!/bin/sh\ntrap '' TERM\n: >{mark}\nexec sleep 60\n")
    program.chmod(0o755)
    return f"{programs}:{os.environ['PATH']}", mark


async def test_while_a_file_is_opened_by_a_program_that_stays(
    stage: Stage,
    host: Host,
    start: Start,
    tmp_path: Path,
) -> None:
    path, mark = hangs(tmp_path, "xdg-open")
    stage.session("shop").prompt("go", ago=5)
    tray = start(PATH=path)
    await until(lambda: host.registered)
    await click(host, "Open folder")
    await until(mark.exists)
    assert await ends(tray)


async def test_while_the_settings_are_locked(
    stage: Stage,
    host: Host,
    start: Start,
    home: Path,
) -> None:
    stage.session("shop").prompt("go", ago=5)
    folder = home / ".config/sessionbell"
    folder.mkdir(parents=True)
    tray = start()
    await until(lambda: host.registered)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        await click(host, "Show what is asked")
        await until(lambda: opens(tray.pid, folder), "it waits for the lock")
        assert await ends(tray)
    finally:
        os.close(descriptor)


async def test_what_was_set_is_kept(
    stage: Stage,
    host: Host,
    start: Start,
    home: Path,
) -> None:
    stage.session("shop").prompt("go", ago=5)
    tray = start()
    await until(lambda: host.registered)
    await click(host, "Show what is asked")
    assert await ends(tray)
    assert "show_details" in (home / ".config/sessionbell/config.toml").read_text()


async def test_while_a_command_runs_that_does_not_want_to_end(
    stage: Stage,
    host: Host,
    daemon: Daemon,
    start: Start,
    home: Path,
    tmp_path: Path,
) -> None:
    path, mark = hangs(tmp_path, "ring")
    folder = home / ".config/sessionbell"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[alerts.permission]\ncommand = ["ring"]\n')
    session = stage.session("shop")
    session.prompt("go", ago=5)
    tray = start(PATH=path)
    await until(lambda: host.registered)
    # What asked before the start is told otherwise.
    await shown(host, "shop")
    session.ask("Bash", {"command": "make"})
    await until(mark.exists)
    assert await ends(tray)


async def test_while_the_x_server_does_not_answer(
    stage: Stage,
    host: Host,
    start: Start,
    home: Path,
    tmp_path: Path,
) -> None:
    if shutil.which("Xvfb") is None:
        pytest.skip("not installed: xvfb")
    screen = Screen()
    server = screen.start_x(tmp_path / "Xvfb.log")
    try:
        stage.session("shop").prompt("go", ago=5)
        tray = start(DISPLAY=screen.display)
        await until(lambda: host.registered)
        server.send_signal(signal.SIGSTOP)
        for _ in range(8):
            await click(host, "shop")
        # Nothing else waits for that.
        await click(host, "Show what is asked")
        await until((home / ".config/sessionbell/config.toml").exists)
        assert await ends(tray)
    finally:
        server.kill()
        server.wait()


def opens(pid: int, path: Path) -> bool:
    """Whether a process has a file or folder open."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if link.readlink() == path:
                return True
        except OSError:
            continue
    return False

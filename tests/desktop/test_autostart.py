"""The start at login, as a session manager does it: dex in a session that has just begun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop import xfce
from tests.desktop.xfce import Xfce
from tray.desktop.autostart import Launcher, turn_on
from tray.desktop.autostart import place as autostart_place

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(sys.executable).with_name("sessionbell")
PACKAGING = Path(__file__).parents[2] / "packaging"
ENTRY = "autostart/io.github.sessionbell.SessionBell.desktop"


def needs(*programs: str) -> None:
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Xfce]:
    """A session with nothing in it yet but the X server, the bus and a window manager."""
    absent = xfce.missing()
    if absent is not None:
        pytest.skip(absent)
    needs("dex")
    (tmp_path / "desk").mkdir()
    desktop = Xfce(tmp_path / "desk").start(panel=False)
    desktop.environment["XDG_CONFIG_DIRS"] = str(tmp_path / "xdg")
    yield desktop
    end_trays(desktop)
    desktop.stop()


def trays(desktop: Xfce) -> list[int]:
    """The trays of that session, by its bus."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
                environ = (entry / "environ").read_bytes()
            except OSError:
                continue
            ours = f"DBUS_SESSION_BUS_ADDRESS={desktop.bus_address}".encode()
            if b"run" in argv and ours in environ.split(b"\0"):
                found.append(int(entry.name))
    return found


def end_trays(desktop: Xfce) -> None:
    for pid in trays(desktop):
        os.kill(pid, 15)
    wait_until(lambda: not trays(desktop), within=10, what="the tray has ended")


def autostart(desktop: Xfce, *arguments: str, program: Path = PROGRAM) -> str:
    done = subprocess.run(
        [program, "autostart", *arguments],
        env=desktop.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def begin_session(desktop: Xfce) -> None:
    """Start what is to be started at login, as a session manager does."""
    subprocess.run(
        ["dex", "--autostart", "--environment", "XFCE"],
        env=desktop.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=20,
    )


def test_the_icon_comes_though_the_panel_starts_after_the_tray(login: Xfce) -> None:
    autostart(login, "on")
    begin_session(login)
    (tray,) = wait_until(lambda: trays(login), within=10, what="dex has started the tray")
    # It is on the bus and waits: only then does the panel come.
    log = Path(login.environment["XDG_STATE_HOME"], "sessionbell/log")
    wait_until(
        lambda: log.is_file() and "no system tray" in log.read_text(),
        within=15,
        what="the tray misses its host",
    )
    login.start_panel()
    login.icon(within=15)
    assert trays(login) == [tray]


def test_a_bus_that_comes_late_is_waited_for(login: Xfce) -> None:
    autostart(login, "on")
    login._bus.stop()
    begin_session(login)
    (tray,) = wait_until(lambda: trays(login), within=10, what="dex has started the tray")
    log = Path(login.environment["XDG_STATE_HOME"], "sessionbell/log")
    wait_until(
        lambda: log.is_file() and "bus cannot be reached" in log.read_text(),
        within=15,
        what="the tray misses the bus",
    )
    login._bus.start(login.environment)
    login.start_panel()
    login.icon(within=15)
    assert trays(login) == [tray]


def test_off_means_off(login: Xfce) -> None:
    autostart(login, "on")
    entry = Path(login.environment["XDG_CONFIG_HOME"], ENTRY)
    assert entry.is_file()
    # For everybody, too: then a file of the person's must say no.
    system = Path(login.environment["XDG_CONFIG_DIRS"], ENTRY)
    system.parent.mkdir(parents=True)
    shutil.copy(entry, system)
    autostart(login, "off")
    witness = Path(login.environment["HOME"], "started")
    (system.parent / "witness.desktop").write_text(
        f"[Desktop Entry]\nType=Application\nName=w\nExec=touch {witness}\n"
    )
    begin_session(login)
    wait_until(witness.exists, within=10, what="dex has started the other one")
    assert trays(login) == []


DEX = ("dex", "--autostart", "--environment", "XFCE")
GIO = ("gio", "launch")
"""GLib, as GNOME and the programs of XFCE start such files."""


@pytest.mark.parametrize(
    ("starter", "name"),
    [
        # dex 0.9 knows neither escapes within quotes nor `%%`.
        *((DEX, name) for name in ("a b", "it's", "é;&")),
        *((GIO, name) for name in ("a b", 'say "hi"', "100%u", "back\\slash", "$HOME", "it's;`")),
    ],
)
def test_a_folder_of_any_name_is_started_from(
    starter: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    needs(starter[0])
    program = tmp_path / name / "sessionbell"
    program.parent.mkdir()
    started = tmp_path / "started"
    program.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >'{started}.new'\n"
        f"mv '{started}.new' '{started}'\n"
    )
    program.chmod(0o755)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    place = autostart_place(environment, flatpak=False)
    turn_on(place, Launcher((str(program),)))
    argv = [*starter, place.own] if starter is GIO else starter
    subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=20)
    wait_until(started.exists, within=10, what=f"{starter[0]} has started it")
    assert started.read_text() == f"{program}\nrun\n"


def test_the_desktop_files_are_valid(login: Xfce) -> None:
    needs("desktop-file-validate")
    autostart(login, "on")
    entry = Path(login.environment["XDG_CONFIG_HOME"], ENTRY)
    for file in (entry, PACKAGING / "io.github.sessionbell.SessionBell.desktop"):
        done = subprocess.run(
            ["desktop-file-validate", file], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_user_unit_is_valid(tmp_path: Path) -> None:
    needs("systemd-analyze")
    program = tmp_path / ".local/bin/sessionbell"
    program.parent.mkdir(parents=True)
    program.symlink_to("/bin/true")
    (tmp_path / "run").mkdir(mode=0o700)

    def verify() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["systemd-analyze", "--user", "verify", PACKAGING / "systemd/sessionbell.service"],
            env={
                "HOME": str(tmp_path),
                "XDG_RUNTIME_DIR": str(tmp_path / "run"),
                "PATH": os.environ["PATH"],
            },
            capture_output=True,
            text=True,
            check=False,
        )

    done = verify()
    assert (done.returncode, done.stderr) == (0, "")
    program.unlink()
    assert "is not executable" in verify().stderr, "it verifies the program too"

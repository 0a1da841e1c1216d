"""The way to a window of the real KWin, under Wayland."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.session_bus import SessionBus
from tray.desktop.focus import kwin, kwin_script
from tray.desktop.focus.place import FocusError, WindowHint
from tray.system.processes import read_process

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = ("kwin_wayland", "konsole", "dbus-daemon")
ARRANGEMENTS = 50
WINDOWS = 4
_COMMON = """\
var isNew = typeof workspace.windowList === "function";
var every = isNew ? workspace.windowList() : workspace.clientList();
"""
_PUT = f"""\
{_COMMON}
function desktop(number) {{ return isNew ? workspace.desktops[number - 1] : number; }}
for (var i = 0; i < every.length; i++) {{
    var put = asked.windows[every[i].pid];
    if (put !== undefined) {{
        every[i].minimized = put.minimised;
        if (isNew) every[i].desktops = [desktop(put.desktop)];
        else every[i].desktop = desktop(put.desktop);
    }}
}}
workspace.currentDesktop = desktop(asked.current);
"""
_ACTIVE = f"""\
{_COMMON}
var active = isNew ? workspace.activeWindow : workspace.activeClient;
return active ? [active.pid, active.minimized] : null;
"""


class KWin:
    """A KWin without a screen, and windows of Konsole in it, each with a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runtime = Path(tempfile.mkdtemp(prefix="sessionbell-kwin-"))
        self._bus = SessionBus(folder)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(self._runtime),
            "XDG_CURRENT_DESKTOP": "KDE",
            "DBUS_SESSION_BUS_ADDRESS": self._bus.address,
            "KWIN_COMPOSE": "Q",
            "QT_QUICK_BACKEND": "software",
            "QT_QPA_PLATFORM": "wayland",
        }

    def start(self) -> KWin:
        self._bus.start(self.environment)
        # The installed file has a capability, which cannot be had in a container.
        program = self._runtime / "kwin_wayland"
        shutil.copy(shutil.which("kwin_wayland"), program)
        options = ["--virtual", "--no-lockscreen", "--no-global-shortcuts", "--socket", "wayland-k"]
        self.run("kwin", [str(program), *options])
        wait_until((self._runtime / "wayland-k").exists, within=20, what="KWin runs")
        self.environment["WAYLAND_DISPLAY"] = "wayland-k"

        def answers() -> bool:
            with contextlib.suppress(FocusError):
                return self.script("return true;", None)
            return False

        wait_until(answers, within=20, what="KWin runs scripts")
        return self

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._bus.stop()
        shutil.rmtree(self._runtime, ignore_errors=True)

    def run(self, name, argv) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._processes.append(process)
        return process

    def open(self, name: str) -> WindowHint:
        # All have one title: KWin then tells them apart by itself.
        process = self.run(
            name, ["konsole", "--separate", "-p", "tabtitle=same", "-e", "sleep", "600"]
        )
        wait_until(lambda: kwin._windows(self.environment, process.pid), within=20, what=name)
        found = read_process(process.pid)
        return WindowHint(found.pid, found.start_ticks)

    def script(self, body: str, asked: object):
        return kwin_script.run(self._bus.address, str(self._runtime), body, asked)


@pytest.fixture(scope="module")
def system(tmp_path_factory) -> Iterator[KWin]:
    absent = [name for name in COMMANDS if shutil.which(name) is None]
    if absent:
        pytest.skip(f"not installed: {' '.join(absent)}")
    started = KWin(tmp_path_factory.mktemp("kwin"))
    try:
        yield started.start()
    finally:
        started.stop()


def test_fifty_random_arrangements(system):
    chance = random.Random(os.environ.get("SESSIONBELL_SEED", "kwin"))
    system.script("workspace.createDesktop(1, 'two'); workspace.createDesktop(2, 'three');", None)
    windows = [system.open(f"konsole-{number}") for number in range(WINDOWS)]
    far = 0
    for _ in range(ARRANGEMENTS):
        put = {
            str(hint.pid): {"desktop": chance.randint(1, 3), "minimised": chance.random() < 0.4}
            for hint in windows
        }
        system.script(_PUT, {"windows": put, "current": chance.randint(1, 3)})
        chosen = chance.choice(windows)
        spot = kwin.LAYER.find(chosen, system.environment)
        far += spot.active() is False
        spot.show()
        assert system.script(_ACTIVE, None) == [chosen.pid, False]
        assert spot.active() is True
    assert far > ARRANGEMENTS // 2


def test_a_window_that_was_closed_is_not_gone_to(system):
    hint = system.open("closed")
    spot = kwin.LAYER.find(hint, system.environment)
    os.kill(hint.pid, signal.SIGKILL)
    system._processes[-1].wait()
    with pytest.raises(FocusError, match="has ended"):
        spot.show()
    wait_until(lambda: spot.active() is False, what="KWin has noticed")
    assert kwin.LAYER.find(hint, system.environment) is None

"""A private sway without a screen, with a bus, and programs that run in it.

sway does not run as root: there it is started as `nobody`, and only it. Everything it starts
and everything it writes is in a folder of its own, and ends with it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PIL import Image

from tests.conftest import wait_until
from tests.session_bus import SessionBus

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("sway", "swaymsg", "grim", "dbus-daemon")
_NOBODY = 65534
_CONFIG = """\
output * resolution 1280x800 background #303030 solid_color
xwayland disable
default_border normal
focus_follows_mouse no
"""


def missing(*programs: str) -> str | None:
    """Say what keeps it from being started here, if anything does."""
    absent = [name for name in (*COMMANDS, *programs) if shutil.which(name) is None]
    return f"not installed: {' '.join(absent)}" if absent else None


class Sway:
    """A running sway."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._bus = SessionBus(folder)
        # pytest's own folders are closed to others, and a socket's path must be short.
        self._runtime = Path(tempfile.mkdtemp(prefix="sessionbell-sway-"))
        self.environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(self._runtime),
            "XDG_CURRENT_DESKTOP": "sway",
            "XDG_SESSION_TYPE": "wayland",
            "DBUS_SESSION_BUS_ADDRESS": self._bus.address,
            "GSETTINGS_BACKEND": "memory",
            "NO_AT_BRIDGE": "1",
        }

    def start(self) -> Sway:
        config = self._runtime / "config"
        config.write_text(_CONFIG)
        config.chmod(0o644)
        as_user = {}
        if os.geteuid() == 0:
            os.chown(self._runtime, _NOBODY, _NOBODY)
            as_user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        headless = {
            "WLR_BACKENDS": "headless",
            "WLR_RENDERER": "pixman",
            "WLR_LIBINPUT_NO_DEVICES": "1",
        }
        try:
            self._bus.start(self.environment)
            with (self._folder / "sway.log").open("ab") as log:
                self._processes.append(
                    subprocess.Popen(
                        ["sway", "--config", str(config)],
                        env={**self.environment, **headless, "HOME": str(self._runtime)},
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        **as_user,
                    )
                )
            sockets = wait_until(
                lambda: list(self._runtime.glob("sway-ipc.*.sock")), within=15, what="sway runs"
            )
            self.environment["SWAYSOCK"] = str(sockets[0])
            display = wait_until(
                lambda: [p for p in self._runtime.glob("wayland-*") if p.suffix != ".lock"],
                what="sway has a display",
            )
            self.environment["WAYLAND_DISPLAY"] = display[0].name
            wait_until(lambda: self.message("-t", "get_outputs"), what="sway has an output")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything that was started, last first."""
        for process in reversed(self._processes):
            self.end(process)
        self._processes.clear()
        self._bus.stop()
        shutil.rmtree(self._runtime, ignore_errors=True)

    def run(self, name: str, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program in this sway, to be ended with it."""
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._processes.append(process)
        return process

    def log(self, name: str) -> str:
        """What a program has printed so far."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End a program, and wait for its end."""
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def message(self, *arguments: str):
        """What swaymsg answers."""
        done = subprocess.run(
            ["swaymsg", "--raw", *arguments],
            env=self.environment,
            capture_output=True,
            check=False,
        )
        return msgspec.json.decode(done.stdout or b"null")

    def do(self, command: str) -> None:
        """Have a command of sway's done."""
        results = self.message("--", command)
        assert all(result["success"] for result in results), (command, results)

    def windows(self) -> list[dict]:
        """The windows, each as sway's tree has it, with its workspace's name."""

        def below(node, workspace):
            workspace = node["name"] if node["type"] == "workspace" else workspace
            if node.get("pid") and not node["nodes"]:
                yield {**node, "workspace": workspace}
            for child in (*node["nodes"], *node["floating_nodes"]):
                yield from below(child, workspace)

        return list(below(self.message("-t", "get_tree"), None))

    def focused(self) -> int | None:
        """The container that has the keyboard."""
        return next((one["id"] for one in self.windows() if one["focused"]), None)

    def screenshot(self) -> Image.Image:
        """The whole screen."""
        path = self._folder / "screen.png"
        subprocess.run(["grim", str(path)], env=self.environment, check=True)
        with Image.open(path) as image:
            return image.convert("RGB")

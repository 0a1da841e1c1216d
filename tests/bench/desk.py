"""A private bus with a desktop that records: a notification server and a tray host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from dbus_fast import Message, MessageType
from dbus_fast.errors import DBusError

from tests.session_bus import SessionBus
from tests.tray.notification_daemon import Daemon
from tests.tray.tray_host import ITEM, Host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tray.demo.stage import Stage

SESSIONBELL = (sys.executable, "-c", "from tray.cli.main import main; main()")
"""What the installed command `sessionbell` runs."""
SETTLED = 12.0
"""Seconds after which a tray that was just started is at rest: no process is young any more."""


class Desk:
    """The desktop, on a thread of its own; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._bus = SessionBus(folder)
        self.address = self._bus.address
        self.calls: queue.Queue[tuple[float, str]] = queue.Queue()
        """Each call to the notification server: when it came (monotonic seconds), and what."""
        self.daemon = Daemon()
        """The notification server: what it was asked, and what stands on its screen."""
        self.registered = threading.Event()
        """Set when a tray item has come."""

    def __enter__(self) -> Self:
        self._bus.start()
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        assert ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._bus.stop()

    def wait_for(self, member: str, within: float = 5.0) -> float:
        """Return when the next call of `member` came; raises `queue.Empty` if none comes."""
        deadline = time.monotonic() + within
        while True:
            at, name = self.calls.get(timeout=max(deadline - time.monotonic(), 0))
            if name == member:
                return at

    def forget(self) -> None:
        """Drop the calls that came so far."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.calls.get_nowait()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        daemon = self.daemon
        daemon.before_reply = lambda member: self.calls.put((time.monotonic(), member))
        await daemon.start(self.address)
        panel = _Panel(self.registered)
        await panel.start(self.address)
        ready.set()
        await self._ending.wait()
        await panel.stop()
        await daemon.stop()


class _Panel(Host):
    """Reads the item again after each of its signals, as panels do: that is part of the cost."""

    def __init__(self, came: threading.Event) -> None:
        super().__init__()
        self._came = came
        self._readings: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        for reading in self._readings:
            reading.cancel()
        await asyncio.gather(*self._readings, return_exceptions=True)
        await super().stop()

    def _handle(self, message: Message) -> Message | bool | None:
        answer = super()._handle(message)
        if self.registered:
            self._came.set()
            if message.message_type is MessageType.SIGNAL and self.signals:
                self.signals.clear()
                reading = asyncio.get_running_loop().create_task(self._read(message.interface))
                self._readings.add(reading)
                reading.add_done_callback(self._readings.discard)
        return answer

    async def _read(self, interface: str) -> None:
        with contextlib.suppress(DBusError):  # the item may be gone
            await (self.get_all(ITEM) if interface == ITEM else self.layout())


@contextlib.contextmanager
def tray(stage: Stage, desk: Desk) -> Iterator[int]:
    """Run `sessionbell run` on that desktop; yield the process's id."""
    environment = client_environment(stage) | {
        "DBUS_SESSION_BUS_ADDRESS": desk.address,
        "XDG_RUNTIME_DIR": stage.folder,
    }
    log_path = os.path.join(stage.folder, "tray.log")
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            [*SESSIONBELL, "run", "--root", stage.root],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        assert desk.registered.wait(10), f"no tray item came: {_text(log_path)}"
        yield process.pid
        assert process.poll() is None, f"the tray ended: {_text(log_path)}"
    finally:
        process.terminate()
        process.wait(5)


def client_environment(stage: Stage) -> dict[str, str]:
    """A person's environment whose Claude Code has its configuration on the stage."""
    return {
        "HOME": stage.folder,
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "CLAUDE_CONFIG_DIR": stage.root,
    }


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()

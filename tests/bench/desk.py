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

from dbus_fast import Message, MessageFlag, MessageType, Variant
from dbus_fast.aio import MessageBus

from tests.tray.notification_daemon import Daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tray.demo.stage import Stage

SESSIONBELL = (sys.executable, "-c", "from tray.cli.main import main; main()")
"""What the installed command `sessionbell` runs."""
SETTLED = 6.0
"""Seconds after which a tray that was just started is at rest."""

_CONFIG = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={}</listen>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
  </policy>
</busconfig>
"""
_WATCHER = "org.kde.StatusNotifierWatcher"
_ITEM = "org.kde.StatusNotifierItem"
_MENU = "com.canonical.dbusmenu"


class Desk:
    """The desktop, on a thread of its own; a context manager.

    Like a panel it reads the item again after each of its signals, so that the tray's work for
    the host is part of every measurement.
    """

    def __init__(self, folder: Path) -> None:
        self.address = f"unix:path={folder}/bus"
        self.calls: queue.Queue[tuple[float, str]] = queue.Queue()
        """Each call to the notification server: when it came (monotonic seconds), and what."""
        self.daemon = Daemon()
        """The notification server: what it was asked, and what stands on its screen."""
        self.registered = threading.Event()
        """Set when a tray item has come."""
        self._config = folder / "bus.conf"
        self._config.write_text(_CONFIG.format(f"{folder}/bus"))

    def __enter__(self) -> Self:
        self._bus_process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self._config}", "--nofork", "--print-address"],
            stdout=subprocess.PIPE,
        )
        assert self._bus_process.stdout is not None
        assert self._bus_process.stdout.readline(), "dbus-daemon did not start"
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        assert ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._bus_process.kill()
        self._bus_process.wait()
        assert self._bus_process.stdout is not None
        self._bus_process.stdout.close()

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
        self._bus = await MessageBus(self.address).connect()
        self._bus.add_message_handler(self._handle)
        await self._bus.request_name(_WATCHER)
        self._readers: set[asyncio.Task[object]] = set()
        ready.set()
        await self._ending.wait()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._bus.disconnect()
        await self._bus.wait_for_disconnect()
        await daemon.stop()

    def _handle(self, message: Message) -> bool:
        if message.message_type is MessageType.SIGNAL:
            if message.interface == _ITEM:
                self._ask(message, "org.freedesktop.DBus.Properties", "GetAll", "s", [_ITEM])
            elif message.interface == _MENU:
                self._ask(message, _MENU, "GetLayout", "iias", [0, -1, []])
            return False
        if message.message_type is not MessageType.METHOD_CALL:
            return False
        reply = self._answer(message)
        if reply is None:
            return False
        if not message.flags & MessageFlag.NO_REPLY_EXPECTED:
            self._bus.send(reply)
        return True

    def _answer(self, message: Message) -> Message | None:
        properties: dict[str, Variant] = {
            "IsStatusNotifierHostRegistered": Variant("b", True),
            "ProtocolVersion": Variant("i", 0),
            "RegisteredStatusNotifierItems": Variant("as", []),
        }
        if message.member == "Get" and message.body[1] in properties:
            return Message.new_method_return(message, "v", [properties[message.body[1]]])
        if message.member == "GetAll":
            return Message.new_method_return(message, "a{sv}", [properties])
        if message.member == "RegisterStatusNotifierItem":
            self._watch(message.sender)
            self.registered.set()
            return Message.new_method_return(message, "", [])
        return None

    def _watch(self, sender: str) -> None:
        """Have the signals of a tray item delivered."""
        rule = f"type='signal',sender='{sender}'"
        call = Message(
            destination="org.freedesktop.DBus",
            path="/org/freedesktop/DBus",
            interface="org.freedesktop.DBus",
            member="AddMatch",
            signature="s",
            body=[rule],
        )
        self._start(call)

    def _ask(
        self, signal: Message, interface: str, member: str, signature: str, body: list[object]
    ) -> None:
        call = Message(
            destination=signal.sender,
            path=signal.path,
            interface=interface,
            member=member,
            signature=signature,
            body=body,
        )
        self._start(call)

    def _start(self, call: Message) -> None:
        reader = self._loop.create_task(self._bus.call(call))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)


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

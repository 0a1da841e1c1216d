"""The whole application as a process: sessions change, the desktop is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests import session_bus
from tests.session_bus import SessionBus
from tests.tray.notification_daemon import Daemon
from tests.tray.tray_host import Host
from tray.demo.stage import Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING)),
]
WITHIN = 20.0
"""Seconds that anything may take on a busy machine."""


async def until(condition: Callable[[], object], what: str = "") -> object:
    """Wait on the loop until `condition` holds, and return what it gave."""
    deadline = asyncio.get_running_loop().time() + WITHIN
    while not (value := condition()):
        if asyncio.get_running_loop().time() > deadline:
            pytest.fail(f"not within {WITHIN} s: {what or condition}")
        await asyncio.sleep(0.01)
    return value


async def click(host: Host, label: str) -> None:
    """Click the line of the menu that begins with `label`, once it is there."""
    deadline = asyncio.get_running_loop().time() + WITHIN
    while True:
        found = [line for line in (await host.layout()).all() if line.label.startswith(label)]
        if found:
            await host.event(found[0].id, "clicked")
            return
        assert asyncio.get_running_loop().time() < deadline, f"no {label} in the menu"
        await asyncio.sleep(0.02)


class Tray:
    """A running `sessionbell`, in a home of its own."""

    def __init__(self, folder: Path, root: str, address: str | None) -> None:
        self.folder = folder
        self._log = folder / "tray.log"
        for name in ("run", "state", "home"):
            (folder / name).mkdir(mode=0o700, exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        if address is not None:
            environment["DBUS_SESSION_BUS_ADDRESS"] = address
        program = Path(sys.executable).with_name("sessionbell")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [program, "run", "--root", root], env=environment, stdout=log, stderr=log
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it as a person or a desktop does; return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(WITHIN)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as found:
        yield found


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SessionBus]:
    found = SessionBus(tmp_path)
    found.start()
    yield found
    found.stop()


@pytest_asyncio.fixture
async def daemon(bus: SessionBus) -> AsyncIterator[Daemon]:
    found = await Daemon().start(bus.address)
    yield found
    found.bus.disconnect()


@pytest_asyncio.fixture
async def host(bus: SessionBus) -> AsyncIterator[Host]:
    found = await Host().start(bus.address)
    yield found
    found.bus.disconnect()


@pytest.fixture
def start(tmp_path: Path, stage: Stage) -> Iterator[Callable[[str | None], Tray]]:
    trays: list[Tray] = []

    def run(address: str | None) -> Tray:
        trays.append(Tray(tmp_path, stage.root, address))
        return trays[-1]

    yield run
    for tray in trays:
        tray.process.kill()
        tray.process.wait()


async def test_a_session_asks_and_is_answered(
    stage: Stage, bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop", "main")
    start(bus.address)
    await until(lambda: host.registered, "the icon is in the tray")
    session.prompt("publish it", ago=30)
    session.ask("Bash", {"command": "npm publish"})
    await until(lambda: daemon.titles == ["shop needs permission"])
    (arguments,) = daemon.screen.values()
    assert arguments[4].startswith("Bash: npm publish")
    assert await host.get("Status") == "NeedsAttention"
    session.answered("ok")
    await until(lambda: daemon.screen == {}, "the bubble is taken back")
    assert [body[0] for body in daemon.called("CloseNotification")] == [1]


async def test_what_waits_at_the_start_is_one_quiet_bubble(
    stage: Stage, bus: SessionBus, daemon: Daemon, start: Callable[..., Tray]
) -> None:
    for name in ("a", "b"):
        session = stage.session(name)
        session.prompt("go", ago=90)
        session.ask("Bash", {"command": "make"}, ago=60)
    start(bus.address)
    await until(lambda: daemon.titles == ["2 sessions are waiting for you"])
    (arguments,) = daemon.screen.values()
    assert arguments[6]["urgency"].value == 0


async def test_a_bubble_mutes_its_session_and_the_menu_undoes_it(
    stage: Stage, bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop")
    tray = start(bus.address)
    await until(lambda: host.registered)
    session.ask("Bash", {"command": "make"})
    await until(lambda: daemon.titles == ["shop needs permission"])
    daemon.press(next(iter(daemon.screen)), "mute")
    await until(lambda: daemon.screen == {}, "a muted session's bubble is taken back")
    assert await host.get("Status") == "NeedsAttention"
    kept = tray.folder / "state" / "sessionbell" / "mutes.json"
    assert session.origin.session_id in json.loads(kept.read_text())["sessions"]
    await click(host, "Unmute shop")
    await until(lambda: daemon.titles == ["shop needs permission"], "what still waits is told")


async def test_settings_are_read_again_when_they_are_saved(
    stage: Stage, bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop")
    tray = start(bus.address)
    await until(lambda: host.registered)
    session.ask("Bash", {"command": "make"})
    await until(lambda: daemon.titles == ["shop needs permission"])
    (arguments,) = daemon.screen.values()
    assert "make" in arguments[4]
    settings = tray.folder / "home" / ".config" / "sessionbell" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("show_details = false\n")
    await until(lambda: all("make" not in shown[4] for shown in daemon.screen.values()))
    await click(host, "Show notifications")
    await until(lambda: daemon.screen == {}, "there are no notifications any more")
    assert settings.read_text() == "show_details = false\nnotifications = false\n"


async def test_a_finished_turn_is_marked_as_seen(
    stage: Stage, bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop")
    session.prompt("go", ago=90)
    start(bus.address)
    await until(lambda: host.registered)
    session.finish("All is done.")
    await until(lambda: daemon.titles == ["shop has finished"])
    await click(host, "Mark all seen")
    await until(lambda: daemon.screen == {}, "a seen turn's bubble is taken back")
    deadline = asyncio.get_running_loop().time() + WITHIN
    while "1 idle" not in (await host.layout()).labels:
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.02)


async def test_a_death_at_work_is_told(
    stage: Stage, bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    session = stage.session("infra")
    session.prompt("renew", ago=30)
    start(bus.address)
    await until(lambda: host.registered)
    session.kill()
    await until(lambda: daemon.titles == ["infra ended unexpectedly"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_the_end_takes_everything_back(
    number: int,
    stage: Stage,
    bus: SessionBus,
    daemon: Daemon,
    host: Host,
    start: Callable[..., Tray],
) -> None:
    session = stage.session("shop")
    tray = start(bus.address)
    await until(lambda: host.registered)
    session.ask("Bash", {"command": "make"})
    await until(lambda: daemon.screen)
    code = await asyncio.to_thread(tray.end, number)
    assert code == 0
    await until(lambda: daemon.screen == {})
    assert "Traceback" not in tray.said


async def test_quit_in_the_menu(
    bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    tray = start(bus.address)
    await until(lambda: host.registered)
    await click(host, "Quit sessionbell")
    assert await asyncio.to_thread(tray.process.wait, WITHIN) == 0


async def test_a_click_on_a_row_shows_the_way(
    stage: Stage, bus: SessionBus, daemon: Daemon, host: Host, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop")
    session.prompt("go", ago=5)
    start(bus.address)
    await until(lambda: host.registered)
    await click(host, "shop")
    await until(lambda: daemon.titles == ["The way to shop"])
    (arguments,) = daemon.screen.values()
    terminal = session.terminal.removeprefix("/dev/")
    assert terminal in arguments[4]
    deadline = asyncio.get_running_loop().time() + WITHIN
    while not any(terminal in label for label in (await host.layout()).labels):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.02)


async def test_without_a_bus_it_says_so_once_and_ends_cleanly(
    start: Callable[..., Tray],
) -> None:
    tray = start(None)
    await until(lambda: "bus cannot be reached" in tray.said)
    assert await asyncio.to_thread(tray.end, signal.SIGINT) == 0
    assert tray.said.count("bus cannot be reached") == 1
    assert "Traceback" not in tray.said


async def test_without_a_tray_it_says_so_and_notifies_all_the_same(
    stage: Stage, bus: SessionBus, daemon: Daemon, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop")
    tray = start(bus.address)
    await until(lambda: "tray" in tray.said)
    session.ask("Bash", {"command": "make"})
    await until(lambda: daemon.titles == ["shop needs permission"])


async def test_the_bus_goes_and_comes_back(
    stage: Stage, bus: SessionBus, start: Callable[..., Tray]
) -> None:
    session = stage.session("shop")
    tray = start(bus.address)
    host = await Host().start(bus.address)
    await until(lambda: host.registered)
    bus.stop()
    bus.start()
    daemon = await Daemon().start(bus.address)
    again = await Host().start(bus.address)
    await until(lambda: again.registered, "the icon is in the new tray")
    session.ask("Bash", {"command": "make"})
    await until(lambda: daemon.titles == ["shop needs permission"])
    assert tray.process.poll() is None
    daemon.bus.disconnect()
    again.bus.disconnect()

"""The facts, gathered from real parts: a bus, peers on it, files, locks and processes."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from dbus_fast import Message as DBusMessage
from dbus_fast import MessageType, Variant
from dbus_fast.aio import MessageBus

from tests import session_bus
from tests.tray import notification_daemon
from tests.tray.notification_daemon import Daemon
from tests.tray.tray_host import Host
from tray import __version__
from tray.cli.lock import only_one
from tray.demo.stage import Stage
from tray.desktop.bus_object import Told
from tray.desktop.doctor import (
    ask,
    config_roots,
    distribution,
    examination,
    files,
    focus,
    inotify,
    installation,
    log_file,
    notifications,
    running,
    sessions,
    terminal,
    tray_host,
    trial,
)
from tray.desktop.doctor import session_bus as bus_check
from tray.desktop.doctor.check import Check, Given
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.health import Health, encode
from tray.desktop.focus.place import FocusError
from tray.desktop.service import NAME, Service
from tray.mutefile import MuteFile
from tray.mutes import Mutes, Scope, mute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from tray.session import Observation

needs_bus = pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING))
DESKTOP = {"DISPLAY": ":9", "XDG_CURRENT_DESKTOP": "XFCE", "PATH": os.environ["PATH"]}


def given(folder: Path, **more: object) -> Given:
    """Look at `folder` alone, as if it held the system."""
    plain = {
        "environ": {**DESKTOP, "XDG_DATA_HOME": str(folder / "data")},
        "home": str(folder),
        "lock_file": str(folder / "sessionbell.lock"),
        "log_file": str(folder / "log"),
        "roots": (),
        "system": str(folder),
    }
    return Given(**{**plain, **more})


@pytest_asyncio.fixture
async def bus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[session_bus.SessionBus]:
    made = session_bus.SessionBus(tmp_path)
    made.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", made.address)
    yield made
    made.stop()


@pytest.fixture
def deaf_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A bus that takes connections and never answers."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "deaf"))
        listening.listen(50)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/deaf")
        yield


async def codes(check: Check, where: Given) -> list[str]:
    facts = await asyncio.to_thread(check.gather, where)
    return [one.code for one in check.findings(facts)]


@needs_bus
@pytest.mark.asyncio
async def test_a_desktop_where_all_is_well(bus: session_bus.SessionBus, tmp_path: Path) -> None:
    daemon = await Daemon(("actions", "body", "persistence")).start(bus.address)
    host = await Host().start(bus.address)
    where = given(tmp_path)
    assert await codes(bus_check.CHECK, where) == ["bus-reached"]
    assert await codes(tray_host.CHECK, where) == ["tray-host"]
    assert await codes(notifications.CHECK, where) == ["notifications"]
    facts = await asyncio.to_thread(notifications.gather, where)
    assert (facts.name, facts.version, facts.inhibited) == ("fake", "1", False)
    assert daemon.called("Notify") == []
    assert host.registered == []
    await daemon.stop()
    await host.stop()


@needs_bus
@pytest.mark.asyncio
async def test_a_desktop_without_tray_and_notifications(
    bus: session_bus.SessionBus, tmp_path: Path
) -> None:
    where = given(tmp_path)
    assert await codes(tray_host.CHECK, where) == ["tray-missing-xfce"]
    assert await codes(notifications.CHECK, where) == ["notifications-absent"]
    assert await codes(running.CHECK, where) == ["tray-not-running"]


@needs_bus
@pytest.mark.asyncio
async def test_peers_that_hang_are_told_as_hanging(
    bus: session_bus.SessionBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "CALL_LIMIT", 0.7)
    daemon = await Daemon().start(bus.address)
    daemon.hangs = True
    assert await codes(notifications.CHECK, given(tmp_path)) == ["notifications-hang"]
    await daemon.stop()


@needs_bus
@pytest.mark.asyncio
async def test_a_watcher_without_a_panel(bus: session_bus.SessionBus, tmp_path: Path) -> None:
    host = await Host().start(bus.address)
    host.has_host = False
    assert await codes(tray_host.CHECK, given(tmp_path)) == ["tray-host-unregistered"]
    await host.stop()


@needs_bus
@pytest.mark.asyncio
async def test_the_running_tray_is_asked(bus: session_bus.SessionBus, tmp_path: Path) -> None:
    service = Service(None, document=lambda _: b"[]", on_problems=lambda: None)
    await service.start()
    service.show(Told((), Mutes(), "", 0, 0, 0, False))
    where = given(tmp_path)
    with only_one(str(tmp_path)):
        facts = await asyncio.to_thread(running.gather, where)
    await service.close()
    assert (facts.holder, facts.owner, facts.hangs) == (os.getpid(), os.getpid(), False)
    assert "tray-runs" in [one.code for one in running.findings(facts)]
    assert "tray-outdated" not in [one.code for one in running.findings(facts)]


@needs_bus
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (encode(Health(__version__, 7, 0.0, 1.0, sessions=3)), "tray-well"),
        (encode(Health(__version__, 7, 0.0, 99.0)), "tray-stalled"),
        ("no JSON", "tray-runs"),
        (None, "tray-hangs"),
    ],
)
async def test_the_trays_health(
    bus: session_bus.SessionBus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str | None,
    code: str,
) -> None:
    monkeypatch.setattr(running, "CALL_LIMIT", 0.7 if answer is None else 30.0)
    connection = await MessageBus(bus.address).connect()

    def reply(message: DBusMessage) -> DBusMessage | bool | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.member == "Get":
            return DBusMessage.new_method_return(message, "v", [Variant("s", __version__)])
        if message.member == "Health":
            told = answer is not None
            return DBusMessage.new_method_return(message, "s", [answer]) if told else True
        return None

    connection.add_message_handler(reply)
    await connection.request_name(NAME)
    found = await codes(running.CHECK, given(tmp_path))
    assert found[-1] == code
    connection.disconnect()
    await connection.wait_for_disconnect()


def test_the_lock_is_seen_and_never_taken(tmp_path: Path) -> None:
    path = tmp_path / "sessionbell.lock"
    assert running.lock_holder(str(path)) is None
    with only_one(str(tmp_path)):
        assert running.lock_holder(str(path)) == os.getpid()
    assert path.exists()
    assert running.lock_holder(str(path)) is None


@pytest.mark.usefixtures("deaf_bus")
def test_a_bus_that_hangs_costs_a_moment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (ask, bus_check):
        monkeypatch.setattr(module, "CALL_LIMIT", 0.1)
    # All checks at once; each has its own limit, so none is cut off from outside.
    found = {
        section.name: [one.code for one in section.findings]
        for section in examination.examine(given(tmp_path), limit=60.0)
    }
    assert found["session-bus"] == ["bus-hangs"]
    assert found["tray-host"] == found["notifications"] == []
    assert "tray-not-running" in found["running"]


def test_a_check_that_never_ends_is_left_behind(tmp_path: Path) -> None:
    quick = Message("quick", Status.OK, "done")
    for_ever = threading.Event()
    checks = (
        Check("stuck", "Stuck", lambda _: for_ever.wait(), lambda _: ()),
        Check("quick", "Quick", lambda _: None, lambda _: (quick.found(),)),
        Check("fails", "Fails", lambda _: 1 / 0, lambda _: ()),
    )
    logging.getLogger("tray.desktop.doctor.examination").disabled = True
    try:
        found = examination.examine(given(tmp_path), checks, limit=0.2)
    finally:
        logging.getLogger("tray.desktop.doctor.examination").disabled = False
        for_ever.set()
    assert [section.findings[0].code for section in found] == [
        "check-unfinished",
        "quick",
        "check-failed",
    ]


def test_checks_have_names_of_their_own() -> None:
    names = [check.name for check in examination.CHECKS]
    assert len(set(names)) == len(names) > 10


def test_the_way_to_each_session_is_told(tmp_path: Path) -> None:
    class Way:
        complete = True

        def explain(self) -> list[str]:
            return ["tmux: pane %3", "kitty: tab 2"]

    def find(session: Observation, desktop: dict[str, str]) -> Way | None:
        assert desktop["DISPLAY"] == ":9"
        if session.project == "broken":
            raise FocusError("kitty does not answer")
        return Way() if session.project == "shop" else None

    with Stage() as stage:
        for project in ("shop", "docs", "broken"):
            stage.session(project)
        where = given(tmp_path, roots=(stage.root,), find_way=find)
        found = {one.what.split(" ")[0]: one for one in focus.findings(focus.gather(where))}
        assert focus.gather(given(tmp_path, roots=(stage.root,))) == ()
    assert {project: one.code for project, one in found.items()} == {
        "shop": "focus",
        "docs": "focus-none",
        "broken": "focus-fails",
    }
    assert found["shop"].what.endswith(": tmux: pane %3; kitty: tab 2")
    assert found["broken"].cause == "kitty does not answer"


def test_live_sessions_and_their_folder(tmp_path: Path) -> None:
    with Stage() as stage:
        stage.session("shop")
        where = given(tmp_path, roots=(stage.root,))
        assert [one.code for one in sessions.findings(sessions.gather(where))] == ["session-tells"]
        (root,) = config_roots.gather(where).found
        assert (root.records, root.error) == (1, None)
        (link := tmp_path / ".claude").symlink_to(stage.root)
        (root,) = config_roots.gather(where).found
        assert (root.path, root.real) == (str(link), stage.root)


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to(tmp_path / "root")
    where = given(tmp_path, roots=(str(tmp_path / "root"),))
    assert [one.code for one in config_roots.findings(config_roots.gather(where))] == [
        "config-root-unreadable"
    ]


def test_a_file_in_the_place_of_the_sessions_folder(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "sessions").write_text("")
    where = given(tmp_path, roots=(str(tmp_path / "root"),))
    (root,) = config_roots.gather(where).found
    assert root.error is not None


def test_a_folder_is_watched_for_a_try(tmp_path: Path) -> None:
    facts = inotify.gather(given(tmp_path))
    assert facts.problem is None
    assert facts.watches > 0


def test_a_network_file_system_is_seen(tmp_path: Path) -> None:
    (proc := tmp_path / "proc" / "self").mkdir(parents=True)
    mounts = f"1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / {tmp_path}/ho\\040me rw - nfs4 s:/ rw\n"
    (proc / "mountinfo").write_text(mounts)
    (home := tmp_path / "ho me").mkdir()
    where = given(tmp_path, home=str(home), proc=str(tmp_path / "proc"))
    assert inotify.gather(where).network == "nfs4"
    assert inotify.gather(given(tmp_path, proc=str(tmp_path / "proc"))).network is None


def test_the_warnings_of_the_last_day_are_counted(tmp_path: Path) -> None:
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    (tmp_path / "log").write_text(
        "2020-01-01 00:00:00,000 1 WARNING tray: old\n"
        f"{now},000 1 WARNING tray: new\nTraceback\n{now},000 1 ERROR tray: new\n"
    )
    facts = log_file.gather(given(tmp_path))
    assert (facts.recent, facts.writable) == (2, True)


def test_a_log_that_cannot_be(tmp_path: Path) -> None:
    assert log_file.gather(given(tmp_path)).writable
    (tmp_path / "file").write_text("")
    where = given(tmp_path, log_file=str(tmp_path / "file" / "log"))
    assert not log_file.gather(where).writable


def test_broken_mutes_are_left_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    where = given(tmp_path)
    assert files.gather(where).mutes == 0
    MuteFile().update(lambda kept: mute(kept, Scope.PROJECT, "/p", None))
    assert files.gather(where).mutes == 1
    path = tmp_path / "sessionbell" / "mutes.json"
    path.write_text("{")
    before = sorted(path.parent.iterdir())
    assert files.gather(where).mutes is None
    assert sorted(path.parent.iterdir()) == before
    assert path.read_text() == "{"


def test_broken_settings_are_told_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    facts = files.gather(given(tmp_path))
    assert (facts.config, facts.config_error) == (False, None)
    (tmp_path / "sessionbell").mkdir()
    (tmp_path / "sessionbell" / "config.toml").write_text("show_details = true\nidle_after = 'x'\n")
    facts = files.gather(given(tmp_path))
    assert facts.config
    assert "line 2" in facts.config_error


def test_the_terminal_named_by_the_environment(tmp_path: Path) -> None:
    (program := tmp_path / "my-terminal").write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {"DISPLAY": ":9", "PATH": str(tmp_path), "TERMINAL": "my-terminal"}
    facts = terminal.gather(given(tmp_path, environ=environ))
    assert (facts.named, facts.named_path) == ("my-terminal", str(program))
    assert facts.opened == "my-terminal"


def test_marks_of_sandboxes(tmp_path: Path) -> None:
    assert installation.gather(given(tmp_path)).container is None
    (tmp_path / ".flatpak-info").touch()
    (tmp_path / ".dockerenv").touch()
    facts = installation.gather(given(tmp_path))
    assert (facts.flatpak, facts.container) == (True, "docker")


def test_an_installed_extension_of_gnome(tmp_path: Path) -> None:
    name = "appindicatorsupport@rgcjonas.gmail.com"
    (tmp_path / "usr/share/gnome-shell/extensions" / name).mkdir(parents=True)
    assert tray_host.gather(given(tmp_path)).extension == name


def test_the_distribution_is_read_from_where_the_system_begins(tmp_path: Path) -> None:
    assert distribution.families(str(tmp_path)) == ()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text("ID=arch\n")
    assert distribution.families(str(tmp_path)) == ("arch",)


@needs_bus
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda daemon, at: daemon.press(at, "default"), "trial-clicked"),
        (lambda daemon, at: daemon.press(at, "works"), "trial-pressed"),
        (lambda daemon, at: daemon.close(at, 2), "trial-dismissed"),
        (lambda daemon, at: (daemon.close(at, 2), daemon.press(at, "default")), "trial-dismissed"),
        (lambda daemon, at: (daemon.press(at, "default"), daemon.close(at, 2)), "trial-clicked"),
        (lambda daemon, at: daemon.close(at, 4), "trial-closed-early"),
    ],
)
async def test_what_comes_back_from_a_test_notification(
    bus: session_bus.SessionBus,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Daemon, int], object],
    code: str,
) -> None:
    monkeypatch.setattr(trial, "EARLY", 60.0)
    daemon = await Daemon().start(bus.address)
    loop = asyncio.get_running_loop()

    def accepted() -> None:
        loop.call_soon_threadsafe(lambda: act(daemon, next(iter(daemon.screen))))

    found = await asyncio.to_thread(trial.trial, wait=30.0, accepted=accepted)
    assert found.code == code
    assert daemon.screen == {}
    await daemon.stop()


@needs_bus
@pytest.mark.asyncio
async def test_a_test_notification_that_nobody_touches_is_withdrawn(
    bus: session_bus.SessionBus,
) -> None:
    daemon = await Daemon().start(bus.address)
    found = await asyncio.to_thread(trial.trial, wait=0.05)
    assert found.code == "trial-untouched"
    (arguments,) = daemon.called("Notify")
    assert arguments[6]["desktop-entry"].value == "io.github.sessionbell.SessionBell"
    assert daemon.screen == {}
    await daemon.stop()


@needs_bus
def test_a_server_that_the_test_notification_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (service := tmp_path / "notifications.service").write_text(
        "[D-BUS Service]\nName=org.freedesktop.Notifications\n"
        f"Exec={sys.executable} {notification_daemon.__file__} {tmp_path}/calls\n"
    )
    started = session_bus.SessionBus(tmp_path, [service])
    started.start({**os.environ, "PYTHONPATH": os.getcwd()})
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", started.address)
    try:
        (found,) = notifications.findings(notifications.gather(given(tmp_path)))
        assert found.code == "notifications-startable"
        assert not (tmp_path / "calls").exists()
        assert trial.trial(wait=0.3).code == "trial-untouched"
    finally:
        started.stop()
    assert "Notify" in (tmp_path / "calls").read_text().split()


@needs_bus
@pytest.mark.asyncio
async def test_a_server_that_ends_over_the_test_notification(bus: session_bus.SessionBus) -> None:
    daemon = await Daemon().start(bus.address)
    loop = asyncio.get_running_loop()

    def accepted() -> None:
        loop.call_soon_threadsafe(daemon.bus.disconnect)

    found = await asyncio.to_thread(trial.trial, wait=30.0, accepted=accepted)
    assert found.code == "trial-server-ended"


@needs_bus
@pytest.mark.asyncio
async def test_a_server_that_refuses_the_test_notification(bus: session_bus.SessionBus) -> None:
    daemon = await Daemon().start(bus.address)
    daemon.refuse["Notify"] = ("org.example.Error", "too many")
    found = await asyncio.to_thread(trial.trial, wait=0.05)
    assert (found.code, "too many" in found.what) == ("trial-refused", True)
    await daemon.stop()


def test_no_bus_for_the_test_notification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    assert trial.trial().code == "trial-no-bus"


def test_the_command_ends_though_a_check_does_not() -> None:
    program = (
        "import threading\n"
        "from tray.desktop.doctor import examination\n"
        "from tray.desktop.doctor.check import Check, Given\n"
        "stuck = Check('s', 'S', lambda _: threading.Event().wait(), lambda _: ())\n"
        "(found,) = examination.examine(Given({}, '/', None, '/l'), (stuck,), limit=0.1)\n"
        "print(found.findings[0].code)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert ended.stdout.strip() == "check-unfinished"

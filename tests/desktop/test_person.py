"""Where the person is, as real programs tell it: logind's and screen savers' interfaces by
python-dbusmock, an X server, and the notification servers themselves.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio
from dbus_fast import Variant

from tests.desktop.screen import Screen
from tests.session_bus import MISSING, SessionBus
from tests.tray.person.desktop_service import DesktopService, until
from tray.desktop.person import link
from tray.desktop.person.watch import Person
from tray.desktop.person.x11 import X11

pytestmark = pytest.mark.asyncio

PYTHON = "/usr/bin/python3"
SERVICES = Path("/usr/share/dbus-1/services")
XFCE4_NOTIFYD = Path("/usr/lib/x86_64-linux-gnu/xfce4/notifyd/xfce4-notifyd")
SCHEMA = Path("/usr/share/glib-2.0/schemas/org.gnome.desktop.notifications.gschema.xml")
HAS_XFCE = XFCE4_NOTIFYD.is_file() and shutil.which("xfconf-query") is not None
HAS_GSETTINGS = SCHEMA.is_file() and shutil.which("gsettings") is not None
MANAGER = "/org/freedesktop/login1"
MOCK = "org.freedesktop.DBus.Mock"
LOGIN_SESSION = f"{MANAGER}/session/c2"


class Desk:
    """Private buses and what runs on them; it shares nothing with whoever runs the tests."""

    def __init__(self, folder: Path) -> None:
        for name in ("system", "session", "home", "run"):
            (folder / name).mkdir(mode=0o700)
        offered = ("org.xfce.Xfconf.service", "ca.desrt.dconf.service")
        services = [SERVICES / name for name in offered if (SERVICES / name).is_file()]
        self.system = SessionBus(folder / "system")
        self.session = SessionBus(folder / "session", services)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "DBUS_SYSTEM_BUS_ADDRESS": self.system.address,
            "DBUS_SESSION_BUS_ADDRESS": self.session.address,
            "GSETTINGS_BACKEND": "dconf",
        }
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.person: Person | None = None
        self.told: list[object] = []

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(argv, env=self.environment, stdout=log, stderr=log)
        self._processes.append(process)
        return process

    def mock(self, template: str, *, bus: str) -> subprocess.Popen[bytes]:
        return self.start(PYTHON, "-m", "dbusmock", f"--{bus}", "--template", template)

    def run(self, *argv: str) -> None:
        subprocess.run(argv, env=self.environment, check=True, capture_output=True, timeout=10)

    async def follow(self, **more) -> Person:
        self.person = Person(
            on_change=lambda: self.told.append((self.person.locked, self.person.away)),
            on_wake=lambda: self.told.append("wake"),
            **{"desktop": {"XDG_SESSION_ID": "c2"}, **more},
        )
        await self.person.start()
        return self.person

    async def close(self) -> None:
        if self.person is not None:
            await self.person.close()
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self.session.stop()
        self.system.stop()


@pytest_asyncio.fixture
async def desk(tmp_path, monkeypatch):
    if MISSING is not None:
        pytest.skip(MISSING)
    made = Desk(tmp_path)
    for name in ("HOME", "XDG_RUNTIME_DIR", "DBUS_SYSTEM_BUS_ADDRESS",
                 "DBUS_SESSION_BUS_ADDRESS", "GSETTINGS_BACKEND"):  # fmt: skip
        monkeypatch.setenv(name, made.environment[name])
    monkeypatch.setattr(link, "_RETRY_FIRST", 0.05)
    made.system.start(made.environment)
    made.session.start(made.environment)
    yield made
    await made.close()


@pytest.fixture
def dbusmock():
    found = subprocess.run([PYTHON, "-c", "import dbusmock"], capture_output=True, check=False)
    if found.returncode != 0:
        pytest.skip("not installed: python3-dbusmock")


@pytest_asyncio.fixture
async def caller(desk):
    """Somebody who calls methods on a bus: `await caller(address, name, path, ...)`."""
    made = []

    async def call(address, name, path, interface, member, signature="", *body):
        service = DesktopService(address)
        made.append(service)
        await service.appear()
        owner = link.Owner(service.bus, name)
        return await owner.call(path, interface, member, signature, *body)

    yield call
    for service in made:
        service.vanish()


async def has_owner(caller, address, name):
    bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    async with asyncio.timeout(15):
        while await caller(address, *bus, "NameHasOwner", "s", name) != [True]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest_asyncio.fixture
async def logind(desk, dbusmock, caller):
    """A mocked logind with the session c2, to be called: `await logind(path, ...)`."""

    async def call(path, interface, member, signature="", *body):
        address = desk.system.address
        name = "org.freedesktop.login1"
        return await caller(address, name, path, interface, member, signature, *body)

    async def begin():
        process = desk.mock("logind", bus="system")
        await has_owner(caller, desk.system.address, "org.freedesktop.login1")
        await call(MANAGER, MOCK, "AddSession", "ssusb", "c2", "seat0", os.getuid(), "me", True)
        return process

    call.begin = begin
    call.process = await begin()
    return call


SESSION = "org.freedesktop.login1.Session"


async def test_logind_locks_and_unlocks(desk, logind):
    person = await desk.follow()
    await until(lambda: person._login.locked is False, within=10)
    await logind(LOGIN_SESSION, SESSION, "SetLockedHint", "b", True)
    await until(lambda: person.locked)
    await logind(LOGIN_SESSION, SESSION, "SetLockedHint", "b", False)
    await until(lambda: not person.locked)
    assert desk.told == [(True, True), (False, False)]


async def test_logind_puts_to_sleep_and_wakes(desk, logind):
    person = await desk.follow()
    await until(lambda: person._login.locked is False, within=10)
    manager = "org.freedesktop.login1.Manager"
    for asleep in (True, False):
        # A list, as the mock takes it: the arguments of the signal.
        await logind(
            MANAGER, MOCK, "EmitSignal", "sssav", manager, "PrepareForSleep", "b",
            [Variant("b", asleep)],
        )  # fmt: skip
    await until(lambda: len(desk.told) == 3)
    assert desk.told == [(False, True), "wake", (False, False)]


async def test_logind_dies_while_locked_and_returns(desk, logind):
    person = await desk.follow()
    await logind(LOGIN_SESSION, SESSION, "SetLockedHint", "b", True)
    await until(lambda: person.locked, within=10)
    logind.process.kill()
    await until(lambda: not person.locked)
    await logind.begin()
    await logind(LOGIN_SESSION, SESSION, "SetLockedHint", "b", True)
    await until(lambda: person._login.locked is not None, within=10)
    # The mock does not announce its sessions; a real one does (`SessionNew`).
    person._system.look_again("org.freedesktop.login1")
    await until(lambda: person.locked)
    assert person.problems == ()


async def test_gnomes_screen_saver_covers_and_uncovers(desk, dbusmock, caller):
    person = await desk.follow()
    desk.mock("gnome_screensaver", bus="session")
    name, path = "org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"
    address = desk.session.address
    await has_owner(caller, address, name)
    await until(lambda: any(saver.active is False for saver in person._savers))
    await caller(address, name, path, name, "SetActive", "b", True)
    await until(lambda: person.locked)
    await caller(address, name, path, name, "SetActive", "b", False)
    await until(lambda: not person.locked)
    assert desk.told == [(True, True), (False, False)]


class XServer(Screen):
    def __init__(self, log: Path) -> None:
        self.process = self.start_x(log)


@pytest.fixture
def x(tmp_path):
    if shutil.which("Xvfb") is None:
        pytest.skip("not installed: xvfb")
    server = XServer(tmp_path / "x.log")
    yield server
    server.process.terminate()
    server.process.wait()


async def test_an_x_server_tells_the_time_since_the_last_key_or_motion(x):
    server = X11(x.display)
    for touch in (lambda: x.press("a"), lambda: x.move(3, 4)):
        reached = 0.0
        while reached < 0.3:
            reached = await server.seconds()
            await asyncio.sleep(0.01)
        touch()
        assert await server.seconds() < reached
    await server.close()


async def test_an_x_server_that_ends_tells_no_more_and_its_successor_does(x, tmp_path):
    server = X11(x.display)
    assert await server.seconds() is not None
    x.process.terminate()
    x.process.wait()
    assert await server.seconds() is None
    successor = XServer(tmp_path / "successor.log")
    server._name = successor.display  # Any other number, as others may take the same.
    assert await server.seconds() is not None
    await server.close()
    successor.process.terminate()
    successor.process.wait()


async def test_nobody_touches_anything_for_long_and_then_somebody_does(desk, x, monkeypatch):
    monkeypatch.setattr("tray.desktop.person.x11.ACTIVE_EACH", 0.02)
    person = await desk.follow(desktop={"DISPLAY": x.display}, away_after=0.5)
    await until(lambda: person.away, within=10)
    x.press("a")
    await until(lambda: not person.away)
    assert desk.told[:2] == [(False, True), (False, False)]


async def test_dunst_that_is_paused_says_so(desk, x, caller):
    if shutil.which("dunst") is None:
        pytest.skip("not installed: dunst")
    desk.environment["DISPLAY"] = x.display
    desk.start("dunst")
    await has_owner(caller, desk.session.address, "org.freedesktop.Notifications")
    person = await desk.follow()
    await until(lambda: person._server.inhibited is False)
    desk.run("dunstctl", "set-paused", "true")
    await until(lambda: person.inhibited)
    desk.run("dunstctl", "set-paused", "false")
    await until(lambda: not person.inhibited)


async def test_xfces_do_not_disturb_is_followed(desk, x, caller):
    if not HAS_XFCE:
        pytest.skip("not installed: xfce4-notifyd xfconf")
    desk.environment["DISPLAY"] = x.display
    desk.start(str(XFCE4_NOTIFYD))
    await has_owner(caller, desk.session.address, "org.freedesktop.Notifications")
    person = await desk.follow()
    await until(lambda: person._server.inhibited is False)
    setting = ("xfconf-query", "-c", "xfce4-notifyd", "-p", "/do-not-disturb")
    desk.run(*setting, "-n", "-t", "bool", "-s", "true")
    await until(lambda: person.inhibited)
    desk.run(*setting, "-s", "false")
    await until(lambda: not person.inhibited)
    desk.run(*setting, "-s", "true")
    await until(lambda: person.inhibited)
    desk.run(*setting, "-r")
    await until(lambda: not person.inhibited)


async def test_gnomes_do_not_disturb_is_followed(desk, x, caller):
    if not HAS_GSETTINGS:
        pytest.skip(
            "not installed: libglib2.0-bin gsettings-desktop-schemas dconf-gsettings-backend"
        )
    shell = DesktopService(desk.session.address)
    shell.answer(
        "/org/freedesktop/Notifications", "GetServerInformation", "ssss", "gnome-shell", "", "", ""
    )
    await shell.appear("org.freedesktop.Notifications")
    person = await desk.follow()
    await until(lambda: person._server.inhibited is False)
    setting = ("gsettings", "set", "org.gnome.desktop.notifications", "show-banners")
    await asyncio.to_thread(desk.run, *setting, "false")
    await until(lambda: person.inhibited)
    await asyncio.to_thread(desk.run, *setting, "true")
    await until(lambda: not person.inhibited)
    shell.vanish()


async def test_mates_screen_saver_covers_and_uncovers(desk, x, caller):
    if shutil.which("mate-screensaver") is None:
        pytest.skip("not installed: mate-screensaver")
    desk.environment["DISPLAY"] = x.display
    person = await desk.follow()
    desk.start("mate-screensaver", "--no-daemon")
    await has_owner(caller, desk.session.address, "org.mate.ScreenSaver")
    await until(lambda: any(saver.active is False for saver in person._savers), within=10)
    await asyncio.to_thread(desk.run, "mate-screensaver-command", "--activate")
    await until(lambda: person.locked, within=10)
    await asyncio.to_thread(desk.run, "mate-screensaver-command", "--deactivate")
    await until(lambda: not person.locked, within=10)

"""Two private buses, services on them, and a person who is followed there."""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.session_bus import MISSING, SessionBus
from tests.tray.person.desktop_service import DesktopService
from tray.desktop.person import link
from tray.desktop.person.watch import Person


class Buses:
    def __init__(self, folder):
        (folder / "system").mkdir()
        (folder / "session").mkdir()
        self.system = SessionBus(folder / "system")
        self.session = SessionBus(folder / "session")


@pytest.fixture
def buses(tmp_path, monkeypatch):
    if MISSING is not None:
        pytest.skip(MISSING)
    both = Buses(tmp_path)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", both.system.address)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", both.session.address)
    monkeypatch.setattr(link, "_RETRY_FIRST", 0.01)
    both.system.start()
    both.session.start()
    yield both
    both.system.stop()
    both.session.stop()


@pytest_asyncio.fixture
async def on_system(buses):
    service = DesktopService(buses.system.address)
    yield service
    service.vanish()


@pytest_asyncio.fixture
async def on_session(buses):
    service = DesktopService(buses.session.address)
    yield service
    service.vanish()


class Followed:
    """A person, and what was told of them, in order."""

    def __init__(self):
        self.told = []
        self.person = None

    async def start(self, desktop=None, **more):
        self.person = Person(
            on_change=lambda: self.told.append(
                (self.person.locked, self.person.away, self.person.inhibited)
            ),
            on_wake=lambda: self.told.append("wake"),
            desktop=desktop or {},
            **more,
        )
        await self.person.start()
        return self.person


@pytest_asyncio.fixture
async def followed():
    made = Followed()
    yield made
    if made.person is not None:
        await made.person.close()

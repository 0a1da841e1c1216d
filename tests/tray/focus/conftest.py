"""The fixtures of the tests of the focus back ends."""

from __future__ import annotations

import pytest

from tests.session_bus import MISSING, SessionBus
from tests.tray.focus.fake_terminal import FakeTerminal


@pytest.fixture
def start(tmp_path):
    """Start stand-ins of terminals: `start(name, variables, names, answers)`."""
    started = []

    def make(name, variables=None, **more):
        started.append(FakeTerminal(tmp_path, name, variables, **more))
        return started[-1]

    yield make
    for terminal in started:
        terminal.stop()


@pytest.fixture
def session_bus(tmp_path):
    if MISSING is not None:
        pytest.skip(MISSING)
    folder = tmp_path / "session-bus"
    folder.mkdir()
    bus = SessionBus(folder)
    bus.start()
    yield bus.address
    bus.stop()

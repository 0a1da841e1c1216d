"""The way to a tab of the real Konsole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.focus.panes import check_arrival
from tests.desktop.focus.tabs import ARRANGEMENTS, Session, Terminals, randomness, terminals
from tray.desktop.focus import dbus_call, konsole
from tray.desktop.focus.place import FocusError
from tray.desktop.focus.terminal import child_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROFILE = """\
[General]
Name=Test
Command={script}
[Scrolling]
HistoryMode=0
"""


class Konsole:
    """One Konsole process with windows and tabs that run sessions."""

    def __init__(self, on: Terminals) -> None:
        self.on = on
        home = Path(on.desktop.environment["HOME"])
        self._next = home / "next"
        wrapper = home / "tab"
        wrapper.write_text(f'#!/bin/sh\nexec {on.script} "$(cat {self._next})"\n')
        wrapper.chmod(0o700)
        profiles = Path(on.desktop.environment["XDG_DATA_HOME"]) / "konsole"
        profiles.mkdir(parents=True)
        (profiles / "Test.profile").write_text(_PROFILE.format(script=wrapper))
        config = Path(on.desktop.environment["XDG_CONFIG_HOME"])
        (config / "konsolerc").write_text("[Desktop Entry]\nDefaultProfile=Test.profile\n")
        argv = ["konsole", "--separate", "--nofork"]
        self._open(lambda: setattr(self, "process", on.desktop.run("konsole", argv)))
        self.pid = self.process.pid
        self.service = f"org.kde.konsole-{self.pid}"

    def _open(self, start) -> Session:
        name = self.on.next_name()
        self._next.write_text(name)
        start()
        return self.on.arrived(name)

    def call(self, path, interface, member, signature="", body=()):
        address = self.on.desktop.bus_address
        return dbus_call.call(address, self.service, path, interface, member, signature, body)

    def children(self, path):
        data = self.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")[0]
        return [f"{path}/{name}" for name in child_nodes(data)]

    def windows(self):
        return self.children("/Windows")

    def end(self, session: Session) -> None:
        """End a session, and wait until its tab is closed."""
        self.on.end(session)
        wait_until(
            lambda: len(self.children("/Sessions")) == len(self.on.sessions),
            what="the tab is closed",
        )

    def xids(self):
        """The windows on the screen, once the window manager has them all."""
        count = len(self.windows())
        wait_until(lambda: len(self.on.windows(self.pid)) == count, what="all windows are managed")
        return self.on.windows(self.pid)

    def main_windows(self):
        return [path for path in self.children("/konsole") if "MainWindow" in path]

    def new_tab(self, window):
        return self._open(lambda: self.call(window, "org.kde.konsole.Window", "newSession"))

    def action(self, main_window, name):
        self.call(main_window, "org.kde.KMainWindow", "activateAction", "s", [name])

    def new_window(self, main_window):
        return self._open(lambda: self.action(main_window, "new-window"))


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Iterator[Konsole]:
    folder = tmp_path_factory.mktemp("konsole")
    for on in terminals(folder, "konsole", QT_X11_NO_MITSHM="1"):
        yield Konsole(on)


def go_to(program: Konsole, session: Session):
    """What a click on the session's row does."""
    spot = konsole.LAYER.find(session.seat(), program.on.desktop.environment)
    assert spot is not None
    spot.show()
    program.on.raise_window(spot.outward)
    return spot


def test_fifty_random_arrangements(program):
    chance = randomness()
    on = program.on
    moved = closed = 0
    for _ in range(ARRANGEMENTS):
        windows, mains = program.windows(), program.main_windows()
        if len(on.sessions) < 3 or (chance.random() < 0.3 and len(windows) < 4):
            program.new_window(chance.choice(mains))
        elif len(on.sessions) < 12:
            program.new_tab(chance.choice(windows))
        if chance.random() < 0.3 and len(on.sessions) > 2:
            # Out of its window into one of its own.
            on.activate(chance.choice(program.xids()))
            before = len(program.windows())
            program.action(chance.choice(program.main_windows()), "detach-tab")
            moved += len(program.windows()) > before
        if chance.random() < 0.3 and len(on.sessions) > 4:
            program.end(chance.choice(on.sessions))
            closed += 1
        window = chance.choice(program.windows())
        program.call(window, "org.kde.konsole.Window", "nextSession")
        on.activate(chance.choice(program.xids()))
        if chance.random() < 0.3:
            on.minimise(chance.choice(program.xids()))
        session = chance.choice(on.sessions)
        spot = go_to(program, session)
        assert on.who_has_the_keyboard() == session
        assert spot.active() is True
    assert moved > 3
    assert closed > 3


def test_another_tab_is_not_active(program):
    program.xids()
    window = program.windows()[0]
    first, second = program.new_tab(window), program.new_tab(window)
    go_to(program, first)
    spots = [
        konsole.LAYER.find(session.seat(), program.on.desktop.environment)
        for session in (first, second)
    ]
    assert [spot.active() for spot in spots] == [True, False]


def test_a_session_that_has_ended_is_not_gone_to(program):
    session = program.new_tab(program.windows()[0])
    spot = konsole.LAYER.find(session.seat(), program.on.desktop.environment)
    program.end(session)
    with pytest.raises(FocusError):
        spot.show()


def test_the_whole_way(program):
    """Through all layers, as `sessionbell focus` goes."""
    on = program.on
    for _ in range(2):
        program.new_window(program.main_windows()[0])
        program.new_tab(program.windows()[0])
    for session in (*on.sessions[-5:], *on.sessions[-4:]):
        on.minimise(on.focused())
        check_arrival(on, session, randomness())

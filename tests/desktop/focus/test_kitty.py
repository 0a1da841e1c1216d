"""The way to a pane of the real kitty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.conftest import wait_until
from tests.desktop.focus.panes import check_arrival
from tests.desktop.focus.tabs import ARRANGEMENTS, Session, Terminals, randomness, terminals
from tray.desktop.focus import kitty
from tray.desktop.focus.place import FocusError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTIONS = (
    "confirm_os_window_close=0",
    "update_check_interval=0",
    "enable_audio_bell=no",
    "remember_window_size=no",
    "initial_window_width=320",
    "initial_window_height=200",
    "sync_to_monitor=no",
    "repaint_delay=50",
)


class Kitty:
    """One kitty process with windows, tabs and panes that run sessions."""

    def __init__(self, on: Terminals, folder, *options: str) -> None:
        self.on = on
        self.address = f"unix:{folder}/kitty"
        chosen = [part for option in (*_OPTIONS, *options) for part in ("-o", option)]
        argv = ["kitty", "--config=NONE", *chosen, f"--listen-on={self.address}"]
        self.first = on.open(
            lambda command: setattr(
                self, "process", on.desktop.run(f"kitty-{folder.name}", [*argv, *command])
            )
        )
        self.pid = self.process.pid

    def call(self, command, **payload):
        return kitty._call(self.address, command, payload)

    def windows(self):
        return msgspec.json.decode(self.call("ls"), type=list[kitty._OsWindow])

    def launch(self, kind: str) -> Session:
        return self.on.open(lambda argv: self.call("launch", args=argv, type=kind))

    def end(self, session: Session) -> None:
        """End a session, and wait until its pane is closed."""
        self.on.end(session)
        wait_until(
            lambda: (
                len(self.on.sessions)
                == sum(len(tab.windows) for window in self.windows() for tab in window.tabs)
            ),
            what="the pane is closed",
        )

    def xids(self):
        """The windows on the screen, once the window manager has them all."""
        count = len(self.windows())
        wait_until(lambda: len(self.on.windows(self.pid)) == count, what="all windows are managed")
        return self.on.windows(self.pid)


@pytest.fixture(scope="module")
def screen(tmp_path_factory) -> Iterator[Terminals]:
    folder = tmp_path_factory.mktemp("kitty")
    yield from terminals(folder, "kitty", LIBGL_ALWAYS_SOFTWARE="1")


@pytest.fixture(scope="module")
def program(screen, tmp_path_factory) -> Kitty:
    return Kitty(screen, tmp_path_factory.mktemp("socket"), "allow_remote_control=socket-only")


def go_to(program: Kitty, session: Session):
    """What a click on the session's row does."""
    spot = kitty.LAYER.find(session.seat(), program.on.desktop.environment)
    assert spot is not None
    spot.show()
    program.on.raise_window(spot.outward)
    return spot


def test_fifty_random_arrangements(program):
    chance = randomness()
    on = program.on
    moved = closed = 0
    for _ in range(ARRANGEMENTS):
        windows = program.windows()
        if len(on.sessions) < 3 or (chance.random() < 0.3 and len(windows) < 4):
            program.launch("os-window")
        elif len(on.sessions) < 12:
            program.launch(chance.choice(["tab", "window"]))
        if chance.random() < 0.3:
            tabs = [tab.id for window in program.windows() for tab in window.tabs]
            targets = [f"id:{chance.choice(tabs)}", "new"]
            target = {"target_tab": targets[0]} if chance.random() < 0.6 else {}
            match = f"id:{chance.choice(tabs)}"
            if target.get("target_tab") != match:
                program.call("detach-tab", match=match, **target)
                moved += 1
        if chance.random() < 0.3 and len(on.sessions) > 4:
            program.end(chance.choice(on.sessions))
            closed += 1
        tabs = [tab.id for window in program.windows() for tab in window.tabs]
        program.call("focus-tab", match=f"id:{chance.choice(tabs)}")
        on.activate(chance.choice(program.xids()))
        if chance.random() < 0.3:
            on.minimise(chance.choice(program.xids()))
        session = chance.choice(on.sessions)
        spot = go_to(program, session)
        assert on.who_has_the_keyboard() == session
        assert spot.active() is True
    assert moved > 3
    assert closed > 3


def test_another_tab_and_another_pane_are_not_active(program):
    for kind in ("tab", "window"):
        first, second = program.launch(kind), program.launch(kind)
        go_to(program, first)
        spots = [
            kitty.LAYER.find(session.seat(), program.on.desktop.environment)
            for session in (first, second)
        ]
        assert [spot.active() for spot in spots] == [True, False]


def test_a_session_that_has_ended_is_not_gone_to(program):
    session = program.launch("tab")
    spot = kitty.LAYER.find(session.seat(), program.on.desktop.environment)
    program.end(session)
    with pytest.raises(FocusError):
        spot.show()


def test_without_remote_control_the_window_is_known_and_the_advice_given(screen, tmp_path):
    for options in (["allow_remote_control=no"], ["allow_remote_control=password"]):
        folder = tmp_path / options[0]
        folder.mkdir()
        refusing = Kitty(screen, folder, *options)
        spot = kitty.LAYER.find(refusing.first.seat(), screen.desktop.environment)
        assert spot is not None
        assert spot.active() is None
        spot.show()
        screen.raise_window(spot.outward)
        assert screen.who_has_the_keyboard() == refusing.first
        assert "allow_remote_control socket-only" in spot.outward.seek
        screen.end(refusing.first)


def test_the_whole_way(program):
    """Through all layers, as `sessionbell focus` goes."""
    on = program.on
    for kind in ("os-window", "tab", "window", "tab", "os-window"):
        program.launch(kind)
    for session in (*on.sessions[-5:], *on.sessions[-4:]):
        on.minimise(on.focused())
        check_arrival(on, session, randomness())

"""The way to a tab of the real GNOME Terminal, with and without its search provider."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dbus_fast import Variant

from tests.conftest import wait_until
from tests.desktop.focus.panes import check_arrival
from tests.desktop.focus.tabs import ARRANGEMENTS, Session, Terminals, randomness, terminals
from tray.desktop.focus import dbus_call, gnome_terminal, x11_request
from tray.desktop.focus.place import FocusError
from tray.desktop.focus.terminal import child_nodes
from tray.system.processes import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVERS = ("/usr/libexec/gnome-terminal-server", "/usr/lib/gnome-terminal/gnome-terminal-server")
_SETTINGS = """\
[org/gnome/terminal/legacy]
shell-integration-enabled={provider}
confirm-close=false
"""


class GnomeTerminal:
    """One gnome-terminal-server with windows and tabs that run sessions."""

    def __init__(self, on: Terminals, provider: str) -> None:
        self.on = on
        server = next((path for path in SERVERS if Path(path).exists()), None)
        if server is None:
            pytest.skip("not installed: gnome-terminal-server")
        settings = Path(on.desktop.environment["XDG_CONFIG_HOME"]) / "glib-2.0/settings/keyfile"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS.format(provider=provider))
        self.pid = on.desktop.run("gnome-terminal-server", [server]).pid
        name = "org.gnome.Terminal"
        wait_until(lambda: on.desktop.owned(name), within=20, what="GNOME Terminal is on the bus")
        self.new_window()

    def new_window(self) -> Session:
        return self.on.open(lambda command: self._client("--window", command, {}))

    def new_tab(self, beside: Session) -> Session:
        names = ("GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE")
        given = environment(beside.pid, names)
        return self.on.open(lambda command: self._client("--tab", command, given))

    def _client(self, kind, command, given) -> None:
        argv = ["gnome-terminal", kind, "--", *command]
        env = {**self.on.desktop.environment, **given}
        subprocess.run(argv, env=env, check=True, capture_output=True)

    def call(self, path, interface, member, signature="", body=()):
        address = self.on.desktop.bus_address
        name = "org.gnome.Terminal"
        return dbus_call.call(address, name, path, interface, member, signature, body)

    def children(self, path):
        interface = "org.freedesktop.DBus.Introspectable"
        return [f"{path}/{n}" for n in child_nodes(self.call(path, interface, "Introspect")[0])]

    def windows(self):
        return self.children("/org/gnome/Terminal/window")

    def end(self, session: Session) -> None:
        """End a session, and wait until its tab is closed."""
        self.on.end(session)
        wait_until(
            lambda: len(self.children("/org/gnome/Terminal/screen")) == len(self.on.sessions),
            what="the tab is closed",
        )

    def activate(self, window, action, *parameter):
        body = [action, list(parameter), {}]
        self.call(window, "org.gtk.Actions", "Activate", "sava{sv}", body)

    def xids(self):
        """The windows on the screen, once the window manager has them all."""
        wait_until(
            lambda: len(self.on.windows(self.pid)) == len(self.windows()),
            what="all windows are managed",
        )
        return self.on.windows(self.pid)


def _start(folder, provider) -> Iterator[GnomeTerminal]:
    for on in terminals(folder, "gnome-terminal", GSETTINGS_BACKEND="keyfile"):
        yield GnomeTerminal(on, provider)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Iterator[GnomeTerminal]:
    yield from _start(tmp_path_factory.mktemp("gnome-terminal"), "true")


@pytest.fixture(scope="module")
def without_provider(tmp_path_factory) -> Iterator[GnomeTerminal]:
    yield from _start(tmp_path_factory.mktemp("no-provider"), "false")


def find(program: GnomeTerminal, session: Session):
    spot = gnome_terminal.LAYER.find(session.seat(), program.on.desktop.environment)
    assert spot is not None
    return spot


def test_fifty_random_arrangements(program):
    chance = randomness()
    on = program.on
    moved = closed = 0
    for _ in range(ARRANGEMENTS):
        windows = program.windows()
        if len(on.sessions) < 3 or (chance.random() < 0.3 and len(windows) < 4):
            program.new_window()
        elif len(on.sessions) < 10:
            program.new_tab(chance.choice(on.sessions))
        if chance.random() < 0.3:
            # Out of its window into one of its own, where it has more tabs than one.
            before = len(program.windows())
            program.activate(chance.choice(program.windows()), "tab-detach")
            moved += len(program.windows()) > before
        if chance.random() < 0.3 and len(on.sessions) > 4:
            program.end(chance.choice(on.sessions))
            closed += 1
        window = chance.choice(program.windows())
        program.activate(window, "active-tab", Variant("i", chance.randrange(3)))
        on.activate(chance.choice(program.xids()))
        if chance.random() < 0.3:
            on.minimise(chance.choice(program.xids()))
        session = chance.choice(on.sessions)
        spot = find(program, session)
        spot.show()
        on.raise_window(spot.outward)
        assert on.who_has_the_keyboard() == session
        assert spot.active() in (True, None)
    assert moved > 3
    assert closed > 3


def test_a_tab_is_known_to_be_active_by_its_own_title(program):
    first, second = program.new_window(), None
    second = program.new_tab(first)
    spots = [find(program, session) for session in (first, second)]
    assert [spot.active() for spot in spots] == [None, None]  # All have the same title.
    first.entitle("one of its own")
    second.entitle("another")
    for shown, other in (spots, reversed(spots)):
        shown.show()
        wait_until(shown.active, what="the tab is active")
        assert other.active() is False


def test_a_session_that_has_ended_is_not_gone_to(program):
    session = program.new_tab(program.on.sessions[0])
    spot = find(program, session)
    program.end(session)
    with pytest.raises(FocusError):
        spot.show()


def test_without_the_provider_only_a_lone_tab_is_sure(without_provider):
    program, on = without_provider, without_provider.on
    first = on.sessions[0]
    spot = find(program, first)
    assert spot.active() is True
    assert spot.outward.seek is None
    program.new_tab(first)
    spot = find(program, first)
    assert spot.active() is None
    assert "shell-integration-enabled true" in spot.outward.seek
    before = on.focused()
    spot.show()
    assert on.focused() == before


def test_another_ones_request_is_not_taken_for_ours(program):
    on = program.on
    with x11_request.watch(on.desktop.display) as watcher:
        on.activate(program.xids()[0])
        assert watcher.window() is None
    assert x11_request.titles(":no-such-display", program.pid) is None


def test_the_whole_way(program):
    """Through all layers, as `sessionbell focus` goes."""
    on = program.on
    for _ in range(2):
        program.new_tab(program.new_window())
    for session in (*on.sessions[-5:], *on.sessions[-4:]):
        on.minimise(on.focused())
        check_arrival(on, session, randomness(), told=False)

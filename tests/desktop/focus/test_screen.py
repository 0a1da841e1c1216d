"""The whole way to windows of the real GNU screen, in real xterms."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.focus.panes import Xterms, check_arrival, way
from tests.desktop.focus.tabs import ARRANGEMENTS, Session, Terminals, randomness, terminals
from tray.system.processes import children, environment, read_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST = 7
"""Sessions at once."""


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminals]:
    folder = tmp_path_factory.mktemp("screen")
    for on in terminals(folder, "xterm", "screen"):
        sockets = folder / "sockets"
        sockets.mkdir(mode=0o700)
        on.desktop.environment["SCREENDIR"] = str(sockets)
        on.desktop.environment["SCREENRC"] = "/dev/null"
        yield on


@pytest.fixture
def xterms(on: Terminals) -> Iterator[Xterms]:
    made = Xterms(on)
    made.set_workspaces()
    yield made
    for path in sockets(on):
        say(on, path.name, "quit")
    made.close()


def sockets(on: Terminals) -> list[Path]:
    from pathlib import Path

    return list(Path(on.desktop.environment["SCREENDIR"]).iterdir())


def say(on: Terminals, name: str, *command: str) -> None:
    argv = ["screen", "-S", name, "-X", *command]
    subprocess.run(argv, env=on.desktop.environment, capture_output=True, check=False)


class Screen:
    """One session of screen, in an xterm of its own."""

    def __init__(self, on: Terminals, xterms: Xterms, name: str) -> None:
        self.on = on
        self.name = name
        self.sessions = [
            on.open(lambda command: xterms.run("screen", "-S", name, *command)),
        ]

        self.shown: Session | None = self.sessions[0]
        """What its display shows, if that is known."""

    def window(self) -> None:
        made = self.on.open(lambda command: say(self.on, self.name, "screen", *command))
        self.sessions.append(made)
        self.shown = made

    def select(self, session: Session) -> None:
        """Show a window; to show one that is shown makes a message, and screen wait for it."""
        if self.shown in (session, None):
            return
        self.shown = session
        say(self.on, self.name, "select", environment(session.pid, ("WINDOW",))["WINDOW"])

    def end(self, session: Session) -> None:
        self.on.end(session)
        self.sessions.remove(session)
        self.shown = None if self.shown == session else self.shown


def test_fifty_random_arrangements(
    on: Terminals, xterms: Xterms, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = randomness()
    screens = [Screen(on, xterms, name) for name in ("one", "two")]
    on.open(lambda command: xterms.run(*command))
    arrived = 0
    for _ in range(ARRANGEMENTS):
        screen = chance.choice(screens)
        if len(on.sessions) < MOST:
            screen.window()
        elif chance.random() < 0.3 and len(screen.sessions) > 2:
            screen.end(chance.choice(screen.sessions))
        for each in screens:
            each.select(chance.choice(each.sessions))
        xterms.shuffle(chance)
        session = chance.choice(on.sessions)
        check_arrival(on, session, chance, told=False)
        for each in screens:
            each.shown = session if session in each.sessions else each.shown
        arrived += 1
    with capsys.disabled():
        print(f"\nGNU screen: {arrived} of {ARRANGEMENTS}")


def test_a_detached_session_is_offered(on: Terminals, xterms: Xterms) -> None:
    screen = Screen(on, xterms, "away")
    screen.window()
    first, second = screen.sessions
    plain = on.open(lambda command: xterms.run(*command))
    assert way(on, plain).go().done
    say(on, "away", "detach")
    wait_until(lambda: len(on.windows()) == 1, what="the client is gone")
    for session in (first, second):
        found = way(on, session)
        assert not found.complete
        assert found.active() is not True
        outcome = found.go()
        assert not outcome.done
        assert "no terminal is attached" in outcome.message
    assert on.who_has_the_keyboard() == plain
    # What is offered leads there.
    xterms.run(*way(on, first).go().argv)
    wait_until(lambda: way(on, first).complete, what="the client is attached")
    check_arrival(on, first, told=False)
    check_arrival(on, second, told=False)


def test_the_only_window_is_known_to_be_active(on: Terminals, xterms: Xterms) -> None:
    screen = Screen(on, xterms, "one")
    check_arrival(on, screen.sessions[0])
    plain = on.open(lambda command: xterms.run(*command))
    check_arrival(on, plain)


def test_two_displays_of_one_session(on: Terminals, xterms: Xterms) -> None:
    """Nothing tells which display shows which window: never taken for active, and told so."""
    screen = Screen(on, xterms, "both")
    screen.window()
    windows = [*on.windows(), xterms.run("screen", "-x", "both")]
    display = lambda: way(on, screen.sessions[0]).seek  # noqa: E731
    wait_until(display, what="the second display is there")
    for window in windows:
        on.activate(window)
        for session in screen.sessions:
            assert way(on, session).active() is not True
    outcome = way(on, screen.sessions[0]).go()
    assert outcome.done
    assert outcome.seek
    assert outcome.message.startswith("look for window 0 of screen")
    assert on.focused() in windows


def test_a_session_that_has_ended_is_not_gone_to(on: Terminals, xterms: Xterms) -> None:
    screen = Screen(on, xterms, "one")
    screen.window()
    plain = on.open(lambda command: xterms.run(*command))
    assert way(on, plain).go().done
    found = way(on, screen.sessions[1])
    screen.end(screen.sessions[1])
    outcome = found.go()
    assert not outcome.done
    assert found.active() is not True
    assert on.who_has_the_keyboard() == plain


def test_what_has_a_tty_of_its_own_in_a_window_is_not_taken_for_it(
    on: Terminals, xterms: Xterms
) -> None:
    """`script` in a window: that the window shows the session's tty cannot be known."""
    xterms.run("screen", "-S", "one", "script", "-q", "-c", f"{on.script} within", "/dev/null")
    session = on.arrived("within")
    process = read_process(session.pid)
    assert process is not None
    assert children(process.ppid)
    found = way(on, session)
    assert not found.complete
    assert found.active() is None

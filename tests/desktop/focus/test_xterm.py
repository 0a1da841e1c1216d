"""The whole way to sessions in real xterms: other workspaces, minimised, all of one title."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.conftest import wait_until
from tests.desktop.focus.panes import Xterms, check_arrival, observed, way
from tests.desktop.focus.tabs import ARRANGEMENTS, Session, Terminals, randomness, terminals
from tray.desktop.focus import route
from tray.desktop.guide import Guide
from tray.session import Reason, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminals]:
    yield from terminals(tmp_path_factory.mktemp("xterm"), "xterm")


@pytest.fixture
def xterms(on: Terminals) -> Iterator[Xterms]:
    made = Xterms(on)
    made.set_workspaces()
    yield made
    made.close()


def opened(xterms: Xterms) -> Session:
    return xterms.on.open(lambda command: xterms.run(*command))


def test_fifty_random_arrangements(xterms: Xterms, capsys: pytest.CaptureFixture[str]) -> None:
    chance = randomness()
    for _ in range(5):
        opened(xterms)
    arrived = 0
    for _ in range(ARRANGEMENTS):
        xterms.shuffle(chance)
        check_arrival(xterms.on, chance.choice(xterms.on.sessions), chance)
        arrived += 1
    with capsys.disabled():
        print(f"\nxterm: {arrived} of {ARRANGEMENTS}")


def test_a_session_that_has_ended_is_not_gone_to(xterms: Xterms) -> None:
    first, second = opened(xterms), opened(xterms)
    there = way(xterms.on, first)
    assert there.go().done
    found = way(xterms.on, second)
    before = xterms.on.focused()
    xterms.on.end(second)
    outcome = found.go()
    assert not outcome.done
    assert "no longer at" in outcome.message
    assert xterms.on.focused() == before


def test_next_in_turn_and_back_again(xterms: Xterms, tmp_path: Path) -> None:
    on = xterms.on
    first, second, working = (opened(xterms) for _ in range(3))
    waiting = [
        replace(observed(one), state=State.NEEDS_INPUT, reason=Reason.PLAN, since=float(since))
        for since, one in enumerate((first, second))
    ]
    assert way(on, working).go().done
    for session in (first, second, first):
        # Each key press is a process of its own.
        guide = Guide(on.desktop.environment, str(tmp_path))
        found = guide.next(waiting)
        assert found is not None
        assert guide.go(found).done
        assert on.who_has_the_keyboard() == session
    assert Guide(on.desktop.environment, str(tmp_path)).back().done
    assert on.who_has_the_keyboard() == second


def test_back_to_a_window_that_is_gone(xterms: Xterms, tmp_path: Path) -> None:
    on = xterms.on
    first, second = opened(xterms), opened(xterms)
    assert way(on, first).go().done
    Guide(on.desktop.environment, str(tmp_path)).go(observed(second))
    on.end(first)
    wait_until(lambda: len(on.windows()) == 1, what="the window is closed")
    outcome = Guide(on.desktop.environment, str(tmp_path)).back()
    assert not outcome.done
    assert "gone" in outcome.message
    assert on.who_has_the_keyboard() == second


def test_without_an_x_server_nothing_is_raised(xterms: Xterms) -> None:
    on = xterms.on
    first, second = opened(xterms), opened(xterms)
    assert way(on, first).go().done
    for display in ({}, {"DISPLAY": ":no-such-display"}):
        environment = {**on.desktop.environment, "DISPLAY": "", **display}
        found = route.find(observed(second), environment)
        assert not found.complete
        assert found.active() is None
        outcome = found.go()
        assert not outcome.done
        assert "its window cannot be told" in outcome.message
        assert not Guide(environment).back().done
    assert on.who_has_the_keyboard() == first


def test_another_process_at_the_tty_is_not_gone_to(xterms: Xterms) -> None:
    """A tty is reused soon: the session's end is told by its own process."""
    on = xterms.on
    first, old = opened(xterms), opened(xterms)
    session = observed(old)
    on.end(old)
    new = opened(xterms)
    # Mostly it is the same tty, if no other test has taken it.
    session = replace(session, tty=observed(new).tty)
    assert way(on, first).go().done
    for stale in (session, replace(session, key=f"{new.pid}:1", pid=new.pid)):
        found = route.find(stale, on.desktop.environment)
        assert not found.complete
        assert not found.go().done
        assert found.active() is None
    assert on.who_has_the_keyboard() == first


_TWO_WINDOWS = """\
import pty, os, signal, sys, time
from Xlib import X, Xatom, display
open("/proc/self/comm", "w").write("lxterminal")
d = display.Display()
for name in sys.argv[2:]:
    w = d.screen().root.create_window(9, 9, 90, 90, 0, X.CopyFromParent)
    w.change_property(d.intern_atom("_NET_WM_PID"), Xatom.CARDINAL, 32, [os.getpid()])
    w.set_wm_name("the same title")
    w.map()
    if pty.fork()[0] == 0:
        os.execv(sys.argv[1], [sys.argv[1], name])
d.sync()
signal.pause()
"""


def test_two_windows_of_one_process(xterms: Xterms) -> None:
    """Which of them is the session's nobody can tell: none is raised, and it is said."""
    on = xterms.on
    first = opened(xterms)
    names = [on.next_name(), on.next_name()]
    python = [sys.executable, "-c", _TWO_WINDOWS]
    other = on.desktop.run("two", [*python, str(on.script), *names])
    sessions = [on.arrived(name) for name in names]
    wait_until(lambda: len(on.windows(other.pid)) == 2, what="both windows are managed")
    assert way(on, first).go().done
    for session in sessions:
        found = way(on, session)
        assert not found.complete
        assert found.active() is None
        outcome = found.go()
        assert not outcome.done
        tty = observed(session).tty
        assert outcome.message.endswith(f"look for the tab of {tty} in lxterminal")
    assert on.who_has_the_keyboard() == first
    on.desktop.kill("two")

"""How the layers' steps are joined, and what a person is told: with layers that are made up."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.conftest import wait_until
from tray.desktop.focus import route
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.session import Kind, Observation, State
from tray.system.processes import Process, read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROCESS = Process(100, 1, 0.0, "claude", ("claude",), 99, 0, "S", "/", "/dev/pts/7", None)
TERMINAL = replace(PROCESS, pid=99, comm="terminal", tty=None)
SEAT = Seat(PROCESS, (TERMINAL,))
HINT = WindowHint(pid=99, start_ticks=1)
SESSION = Observation("100:1", State.IDLE, pid=100, tty="/dev/pts/7", session_id="abc")
TEXT = "a\x1b]0;x\x07b\u202ec"
"""A title that would write to the person's terminal."""


class Place:
    """A spot that notes in `shown` that it was shown."""

    def __init__(self, name, outward=None, *, active=True, raises=None, **more) -> None:
        self.layer = name
        self.says = f"the {name}"
        self.outward = outward
        self._active = active
        self._raises = raises
        self._shown: list[str] = []
        self.__dict__.update(more)

    def active(self):
        return self._active

    def show(self, token=None) -> None:
        if self._raises is not None:
            raise self._raises
        self._shown.append(f"{self.layer} {token}")
        self.outward = getattr(self, "then", self.outward)


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch):
    """Find the way with made-up layers: `go(tmux=place, x11=place)`; returns way and shown."""
    monkeypatch.setattr(route, "is_there", lambda _: True)
    monkeypatch.setattr(route, "children", lambda _: ())

    def find(seat=SEAT, session=SESSION, **layers):
        shown: list[str] = []
        monkeypatch.setattr(route, "seat_of", lambda *_: seat)

        def layer(name):
            def spot(place, _desktop):
                found = layers.get(name)
                found = found(place) if callable(found) else found
                if isinstance(found, Exception):
                    raise found
                for one in (found, *getattr(found, "others", ())):
                    if one is not None:
                        one._shown = shown
                return found

            return SimpleNamespace(name=name, find=spot)

        monkeypatch.setattr(route, "_layer", layer)
        return route.find(session, {"DISPLAY": ":0"}), shown

    return find


def of(seat: Seat, place: Place) -> Callable[[object], Place | None]:
    """A layer's answer for just one seat."""
    return lambda asked: place if asked is seat else None


def test_from_the_inside_out(go) -> None:
    outer = Seat(replace(PROCESS, pid=50), (TERMINAL,))
    way, shown = go(
        tmux=of(SEAT, Place("pane", outer)),
        kitty=of(outer, Place("tab", HINT)),
        x11=Place("window"),
    )  # fmt: skip
    assert way.complete
    assert way.go("token") == route.Outcome(done=True, message="the pane")
    assert shown == ["pane token", "tab token", "window token"]


@pytest.mark.parametrize(
    ("answers", "active"),
    [
        ((True, True, True), True),
        ((False, True, True), False),
        ((True, False, True), False),
        ((True, True, False), False),
        ((None, True, True), None),
        ((True, True, None), None),
        ((None, True, False), False),
        ((False, None, None), False),
    ],
)
def test_active_only_if_all_of_it_is(go, answers, active) -> None:
    outer = Seat(replace(PROCESS, pid=50), (TERMINAL,))
    pane, tab, window = answers
    way, _ = go(
        tmux=of(SEAT, Place("pane", outer, active=pane)),
        kitty=of(outer, Place("tab", HINT, active=tab)),
        x11=Place("window", active=window),
    )
    assert way.active() is active


def test_never_active_where_the_person_must_look(go) -> None:
    way, shown = go(kitty=Place("tab", replace(HINT, seek="the tab")), x11=Place("window"))
    assert way.active() is None
    assert way.go() == route.Outcome(done=True, message="look for the tab", seek=True)
    assert shown == ["tab None", "window None"]


def test_a_terminal_that_knows_its_window_only_after_the_tab(go) -> None:
    known = replace(HINT, xid=5)
    way, shown = go(
        kitty=Place("tab", HINT, then=known),
        x11=lambda hint: Place("window") if hint == known else None,
    )
    assert way.active() is None
    assert way.go().done
    assert shown == ["tab None", "window None"]


def test_a_tab_that_is_in_another_window_by_now(go) -> None:
    moved = replace(HINT, xid=6)
    way, shown = go(
        kitty=Place("tab", replace(HINT, xid=5), then=moved),
        x11=lambda hint: Place(f"window {hint.xid}"),
    )
    assert way.go().done
    assert shown == ["tab None", "window 6 None"]


@pytest.mark.parametrize("seek", [None, "the tab of pts/7"])
def test_a_window_that_cannot_be_told(go, seek) -> None:
    way, shown = go(kitty=Place("tab", replace(HINT, seek=seek)))
    assert not way.complete
    outcome = way.go()
    assert not outcome.done
    assert outcome.message.endswith(f"look for {seek or 'the tab'}")
    assert shown == ["tab None"]
    assert any("cannot be told" in line for line in way.explain())


def test_an_unknown_terminal_with_one_window(go) -> None:
    way, shown = go(x11=Place("window"))
    assert way.go().done
    assert shown == ["window None"]
    assert way.active() is None  # It may show another tab.
    way, _ = go(x11=Place("window", active=False))
    assert way.active() is False


def test_an_unknown_terminal_with_several(go, monkeypatch) -> None:
    others = (PROCESS, replace(PROCESS, tty="/dev/pts/8"))
    monkeypatch.setattr(route, "children", lambda _: others)
    way, _ = go(x11=Place("window"))
    assert way.go() == route.Outcome(done=True, message="look for pts/7 in terminal", seek=True)


def test_detached(go) -> None:
    way, shown = go(tmux=Place("pane", None, attach=("tmux", "attach"), active=False))
    outcome = way.go()
    assert not outcome.done
    assert outcome.argv == ("tmux", "attach")
    assert outcome.message == "the pane: no terminal is attached to it"
    assert way.active() is False
    assert shown == []


def test_over_ssh_nothing_is_raised(go) -> None:
    for name in ("sshd", "sshd-session"):
        remote = Seat(
            PROCESS, (replace(TERMINAL, comm=name),), {"SSH_CONNECTION": "10.0.0.9 1 2 3"}
        )
        way, shown = go(seat=remote, x11=Place("window"))
        outcome = way.go()
        assert not outcome.done
        assert outcome.message == "runs over ssh from 10.0.0.9 on pts/7"
        assert way.active() is None
        assert shown == []


def test_a_client_here_before_one_over_ssh(go) -> None:
    remote = Seat(replace(PROCESS, pid=51), (replace(TERMINAL, comm="sshd"),))
    here = Seat(replace(PROCESS, pid=50), (TERMINAL,))
    local = Place("local pane", here)
    way, shown = go(
        tmux=of(SEAT, Place("remote pane", remote, others=(local,))),
        kitty=of(here, Place("tab", HINT)),
        x11=Place("window"),
    )
    assert way.go().done
    assert shown == ["local pane None", "tab None", "window None"]


def test_at_the_client_that_is_looked_at(go) -> None:
    first, second = (Seat(replace(PROCESS, pid=pid), (TERMINAL,)) for pid in (50, 51))
    other = Place("second pane", second)
    way, shown = go(
        tmux=of(SEAT, Place("first pane", first, others=(other,))),
        kitty=lambda seat: (
            Place("tab", replace(HINT, xid=seat.process.pid)) if seat in (first, second) else None
        ),
        x11=lambda hint: Place("window", active=hint.xid == 51),
    )
    assert way.active() is True
    assert way.go().done
    assert shown[0] == "second pane None"


def test_multiplexers_without_end(go) -> None:
    way, _ = go(tmux=lambda seat: Place("pane", seat) if isinstance(seat, Seat) else None)
    assert len(way.steps) == 6


@pytest.mark.parametrize("error", [FocusError("kitty does not answer"), KeyError("x"), OSError()])
def test_a_layer_that_fails_to_find(go, error) -> None:
    way, _ = go(kitty=error, x11=Place("window"))
    assert way.go().done
    assert any("kitty" in line for line in way.explain())


@pytest.mark.parametrize("error", [FocusError(f"gone {TEXT}"), KeyError("x"), OSError("y")])
def test_a_step_that_fails(go, error) -> None:
    way, shown = go(kitty=Place("tab", HINT, raises=error), x11=Place("window"))
    outcome = way.go()
    assert not outcome.done
    assert outcome.message.isprintable()
    assert shown == []


def test_a_layer_that_is_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "MULTIPLEXERS", ("no_such_layer",))
    assert route.first(route.MULTIPLEXERS, SEAT, {}) == (None, [])


def test_a_session_that_has_left_its_tty(go, monkeypatch) -> None:
    way, shown = go(kitty=Place("tab", HINT), x11=Place("window"))
    monkeypatch.setattr(route, "is_there", lambda _: False)
    outcome = way.go()
    assert not outcome.done
    assert "no longer at /dev/pts/7" in outcome.message
    assert shown == []


def test_what_is_hostile_is_shown_as_text(go) -> None:
    terminal = replace(TERMINAL, comm=TEXT[:15])
    seat = Seat(PROCESS, (replace(terminal, comm=TEXT),), {})
    way, _ = go(seat=seat)
    assert way.go().message.isprintable()
    way, _ = go(kitty=Place("tab", replace(HINT, seek=TEXT)), x11=Place("window"))
    assert way.go().message.isprintable()
    assert all(line.isprintable() for line in way.explain())
    remote = Seat(PROCESS, (replace(TERMINAL, comm="sshd"),), {"SSH_CONNECTION": TEXT})
    way, _ = go(seat=remote)
    assert way.go().message.isprintable()


@pytest.mark.parametrize(
    ("changes", "message", "argv"),
    [
        ({"state": State.ENDED}, "ended", ("claude", "--resume", "abc")),
        ({"state": State.ENDED, "session_id": None}, "ended", ()),
        ({"state": State.ENDED, "session_id": "--continue"}, "ended", ()),
        (
            {"kind": Kind.BACKGROUND, "tty": None, "job_id": "--help"},
            "without a terminal",
            (),
        ),
        (
            {"kind": Kind.BACKGROUND, "tty": None, "job_id": "j1"},
            "in the background",
            ("claude", "attach", "j1"),
        ),
        ({"kind": Kind.HEADLESS, "tty": None, "cwd": f"/w{TEXT}"}, "without a terminal in /w", ()),
        ({"verified": False}, "cannot be seen", ()),
        ({}, "no process of it is at /dev/pts/7", ()),
    ],
)
def test_where_there_is_no_terminal(changes, message, argv) -> None:
    # No process has the pid 2**22 by default.
    way = route.find(replace(SESSION, key=f"{2**22}:1", **changes), {})
    outcome = way.go()
    assert not outcome.done
    assert message in outcome.message
    assert outcome.message.isprintable()
    assert outcome.argv == argv
    assert not way.complete
    assert way.active() is None
    assert way.explain()


@pytest.fixture
def front() -> Iterator[Process]:
    """A process at a tty of its own."""
    master, terminal = pty.openpty()
    code = "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=terminal, start_new_session=True)
    os.close(terminal)

    def found() -> Process | None:
        read = read_process(process.pid)
        return read if read is not None and read.tty is not None else None

    at_tty = wait_until(found, what="the process has its terminal")
    assert isinstance(at_tty, Process)
    yield at_tty
    process.kill()
    process.wait()
    os.close(master)


def test_a_background_job_is_where_its_front_is(front: Process) -> None:
    own = read_process(os.getpid())
    assert own is not None
    job = Observation(
        f"{own.pid}:{own.start_ticks}",
        State.IDLE,
        aliases=(f"{front.pid}:{front.start_ticks}",),
        pid=own.pid,
        tty=front.tty,
        kind=Kind.BACKGROUND,
        job_id="j1",
    )
    assert route.find(job, {}).seat is not None
    # The tty has another process by now.
    assert route.find(replace(job, aliases=(f"{front.pid}:1",)), {}).seat is None
    assert route.find(replace(job, tty="/dev/pts/none"), {}).seat is None
    assert route.find(replace(job, aliases=("nonsense", "a:b", "")), {}).seat is None


def test_a_session_without_a_terminal_may_be_an_editors(monkeypatch):
    class Editor:
        layer, says, outward = "VS Code", "Visual Studio Code on shop", None
        shown = False

        def active(self):
            return None

        def show(self, token=None):
            self.shown = True

    spot = Editor()
    monkeypatch.setattr(
        route, "first", lambda names, *_: (spot if names is route.EDITORS else None, [])
    )
    me = read_process(os.getpid())
    session = Observation(key=f"{me.pid}:{me.start_ticks}", state=State.WORKING, pid=me.pid)
    assert route.find(session, {}).go() == route.Outcome(
        done=True, message="Visual Studio Code on shop"
    )
    assert spot.shown
    gone = Observation(key=f"{me.pid}:1", state=State.WORKING, pid=me.pid)
    assert "without a terminal" in route.find(gone, {}).go().message

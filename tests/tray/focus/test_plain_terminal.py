"""Terminals that cannot be asked for a tab."""

from __future__ import annotations

import pytest

from tests.tray.focus.test_terminal import process
from tray.desktop.focus import plain_terminal
from tray.desktop.focus.place import FocusError, Seat


def find(program):
    return plain_terminal.LAYER.find(program.seat(), {})


@pytest.mark.parametrize(
    ("name", "xid"), [("xterm", 77), ("alacritty", 77), ("foot", None), ("xfce4-terminal", None)]
)
def test_only_those_that_tell_the_window_are_believed(start, name, xid):
    program = start(name, {"WINDOWID": "77"})  # foot's and xfce4-terminal's is inherited.
    spot = find(program)
    assert (spot.outward.pid, spot.outward.xid, spot.outward.seek) == (program.pid, xid, None)
    assert spot.active() is True  # It is the only tty of the process.
    spot.show()


@pytest.mark.parametrize(
    ("name", "active", "seek"),
    [("foot", True, "the window of"), ("xfce4-terminal", None, "the tab of")],
)
def test_one_of_several_ttys_is_not_guessed(start, monkeypatch, name, active, seek):
    program = start(name)
    held = (process(1, 0, "sh"), process(2, 0, "sh", tty="/dev/pts/2"))
    monkeypatch.setattr(plain_terminal, "children", lambda pid: held)
    spot = find(program)
    assert spot.active() is active
    assert spot.outward.seek.startswith(f"{seek} /dev/pts/")


def test_the_windows_of_ptyxis_are_not_its_agents(start):
    seat = start("ptyxis-agent").seat()
    agent = seat.ancestors[0]
    window = process(5, 1, "ptyxis", tty=None)
    spot = plain_terminal.LAYER.find(Seat(process=seat.process, ancestors=(agent, window)), {})
    assert spot.outward.pid == 5
    spot = plain_terminal.LAYER.find(Seat(process=seat.process, ancestors=(agent,)), {})
    assert (spot.outward.pid, spot.outward.app) == (None, "org.gnome.Ptyxis")


def test_an_ended_session_is_refused(start):
    program = start("xterm")
    spot = find(program)
    program.end_shell()
    with pytest.raises(FocusError):
        spot.show()


def test_other_programs_are_none(start):
    assert find(start("sshd")) is None

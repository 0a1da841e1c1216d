"""Which terminal holds a session's tty, from plain data."""

from __future__ import annotations

import pytest

from tray.desktop.focus import terminal
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import Process


def process(pid, ppid, comm, tty="/dev/pts/1", exe=None):
    return Process(
        pid=pid,
        start_ticks=pid,
        started=0.0,
        comm=comm,
        argv=(comm,),
        ppid=ppid,
        uid=1000,
        state="S",
        cwd="/",
        tty=tty,
        exe=exe,
    )


KONSOLE = process(10, 1, "konsole", tty=None, exe="/usr/bin/konsole")
SHELL = process(20, 10, "bash")
SESSION = process(30, 20, "claude")


@pytest.mark.parametrize(
    ("chain", "shell"),
    [
        ((SESSION, SHELL, KONSOLE), SHELL),
        ((process(30, 10, "claude"), KONSOLE), process(30, 10, "claude")),
        # Something between has a tty of its own.
        ((SESSION, process(20, 10, "script", tty="/dev/pts/7"), KONSOLE), None),
        # A process between the two could not be read.
        ((SESSION, process(20, 15, "bash"), KONSOLE), None),
        ((process(30, 20, "claude", tty=None), SHELL, KONSOLE), None),
        ((SESSION, SHELL, process(10, 1, "sshd", tty=None)), None),
    ],
)
def test_the_terminal_holds_a_tty_by_the_process_it_started_there(chain, shell):
    found = terminal.held(Seat(process=chain[0], ancestors=chain[1:]), ("konsole",))
    assert (found.shell if found is not None else None) == shell


def test_the_innermost_terminal_counts():
    inner = process(15, 12, "konsole", tty="/dev/pts/9")
    chain = (process(20, 15, "bash"), inner, process(12, 10, "bash", tty="/dev/pts/9"), KONSOLE)
    found = terminal.held(Seat(process=chain[0], ancestors=chain[1:]), ("konsole",))
    assert found.terminal == inner
    assert found.window == WindowHint(pid=15, start_ticks=15)


@pytest.mark.parametrize(
    ("comm", "exe", "runs"),
    [
        ("gnome-terminal-", "/usr/libexec/gnome-terminal-server", True),
        ("gnome-terminal-", None, True),
        (".gnome-terminal", "/nix/store/x/libexec/.gnome-terminal-server-wrapped", True),
        ("gnome-terminal", "/usr/bin/gnome-terminal.real", False),
    ],
)
def test_a_program_is_known_by_its_shortened_name_or_its_file(comm, exe, runs):
    found = terminal.runs(process(1, 0, comm, exe=exe), ("gnome-terminal-server",))
    assert found is runs


def test_a_window_is_no_tab():
    assert terminal.held(WindowHint(pid=10), ("konsole",)) is None


def test_a_session_that_has_ended_is_refused(start):
    started = start("konsole")
    held = terminal.held(started.seat(), ("konsole",))
    terminal.check(held)
    started.end_shell()
    with pytest.raises(FocusError, match="no longer at /dev/pts/"):
        terminal.check(held)


def test_a_number_that_another_process_has_now_is_refused(start):
    started = start("konsole")
    held = terminal.held(started.seat(), ("konsole",))
    earlier = process(held.session.pid, held.session.ppid, "sleep", tty=held.session.tty)
    with pytest.raises(FocusError):
        terminal.check(terminal.Held(earlier, held.terminal, held.shell))


def test_the_children_of_an_object():
    data = '<!DOCTYPE node>\n<node>\n  <node name="Windows"/>\n <node name="x_1"/></node>'
    assert terminal.child_nodes(data) == ["Windows", "x_1"]

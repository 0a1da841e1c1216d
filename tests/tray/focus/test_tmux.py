"""What tmux says of its panes and clients, and what it is told: with a recorded tmux."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray.desktop.focus import tmux
from tray.desktop.focus.place import FocusError, Seat
from tray.system.processes import Process, read_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PROGRAM = """\
#!/bin/sh
printf '%s|' "$@" >>"{folder}/asked"; echo >>"{folder}/asked"
case "$*" in *list-panes*) cat "{folder}/said";; esac
exit "$(cat "{folder}/code")"
"""
TTY = "/dev/pts/7"


class Recorded:
    """A tmux that gives recorded answers, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        program = folder / "tmux"
        program.write_text(_PROGRAM.format(folder=folder))
        program.chmod(0o700)
        self.desktop = {"PATH": f"{folder}:/usr/bin:/bin"}
        (folder / "code").write_text("0")

    def says(self, *lines: str) -> None:
        (self._folder / "said").write_text("".join(f"{line}\n" for line in lines))

    def fails(self) -> None:
        (self._folder / "code").write_text("1")

    @property
    def asked(self) -> list[list[str]]:
        lines = (self._folder / "asked").read_text().splitlines()
        return [line.rstrip("|").split("|") for line in lines]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    made = Recorded(tmp_path)
    # As the tray runs it: by the login's PATH.
    monkeypatch.setenv("PATH", made.desktop["PATH"])
    return made


@pytest.fixture
def seat(monkeypatch: pytest.MonkeyPatch) -> Seat:
    """A session whose parent is a tmux server."""
    process = read_process(os.getpid())
    assert process is not None
    process = replace(process, tty=TTY, ppid=5)
    server = replace(process, pid=5, comm="tmux: server", tty=None, argv=("tmux", "-S", "/run/s"))
    monkeypatch.setattr(tmux, "is_there", lambda seat: seat.process.tty == TTY)
    monkeypatch.setattr(tmux, "seat_at", lambda pid, *_: Seat(replace(process, pid=pid), ()))
    return Seat(process, (server,))


@pytest.fixture
def find(recorded: Recorded, seat: Seat) -> Callable[[], tmux.PaneSpot | None]:
    return lambda: tmux.LAYER.find(seat, recorded.desktop)


def pane(number: int, session: int, *, tty: str = TTY, active: str = "1 1", dead: int = 0) -> str:
    return f"P {tty} %{number} ${session} @{number} {active} {dead} "


def client(pid: int, session: int, used: str = "1", control: int = 0, flags: str = "x") -> str:
    return f"C {pid} ${session} {used} {control} {flags} /dev/pts/{pid}"


@pytest.mark.parametrize(
    ("lines", "pid", "active"),
    [
        ([pane(1, 1) + "a", client(8, 1)], 8, True),
        ([pane(1, 1, active="0 1") + "a", client(8, 1)], 8, False),
        ([pane(1, 1, active="1 0") + "a", client(8, 1)], 8, False),
        # The client on its session, though another was used later.
        ([pane(1, 1) + "a", client(9, 2, "99"), client(8, 1)], 8, True),
        # The one that shows it, of those on its sessions.
        ([pane(1, 1, active="0 0"), pane(1, 2), client(9, 1, "99"), client(8, 2)], 8, True),
        ([pane(1, 1) + "a", client(9, 1, "5"), client(8, 1, "7")], 8, True),
        # On no client's session: the one that was used last would show it.
        ([pane(1, 1) + "a", client(9, 2, "5"), client(8, 3, "7")], 8, False),
        ([pane(1, 1) + "a", client(9, 2, ""), client(8, 3, "7")], 8, False),
        # A control-mode client shows nothing to anybody here.
        ([pane(1, 1) + "a", client(9, 1, "99", 1), client(8, 2)], 8, False),
        # Which pane has the keys of such a client, nothing tells.
        ([pane(1, 1) + "a", client(8, 1, flags="attached,active-pane")], 8, None),
        # Names are names.
        ([pane(1, 1) + "a\tb: c P /dev/pts/7 %9", client(8, 1)], 8, True),
        (["", "nonsense", "P", "C", "C x", pane(1, 1), client(8, 1)], 8, True),
    ],
)  # fmt: skip
def test_the_client_that_shows_it(recorded, find, lines, pid, active) -> None:
    recorded.says(*lines)
    spot = find()
    assert spot.outward.process.pid == pid
    assert spot.active() is active
    assert "\t" not in spot.says


@pytest.mark.parametrize(
    "lines",
    [[], [pane(1, 1, dead=1) + "a"], [pane(1, 1, tty="/dev/pts/77") + "a"], ["P /dev/pts/7 %1"]],
)
def test_no_live_pane_at_that_tty(recorded, find, lines) -> None:
    recorded.says(*lines, client(8, 1))
    with pytest.raises(FocusError):
        find()


def test_a_server_that_does_not_answer(recorded, find) -> None:
    recorded.says(pane(1, 1) + "a", client(8, 1))
    spot = find()
    recorded.fails()
    assert spot.active() is None
    with pytest.raises(FocusError):
        spot.show()
    with pytest.raises(FocusError):
        find()


def test_what_it_is_told(recorded, find) -> None:
    recorded.says(pane(1, 1, active="0 1") + "a", client(8, 1))
    find().show()
    select = ["select-window", "-t", "$1:@1", ";", "select-pane", "-t", "%1"]
    assert recorded.asked[-1] == ["-u", "-S", "/run/s", *select]
    recorded.says(pane(1, 1) + "a", client(8, 2))
    find().show()
    switch = [";", "switch-client", "-c", "/dev/pts/8", "-t", "$1"]
    assert recorded.asked[-1] == ["-u", "-S", "/run/s", *select, *switch]


def test_nothing_is_done_for_a_session_that_is_gone(recorded, find, monkeypatch) -> None:
    recorded.says(pane(1, 1) + "a", client(8, 1))
    spot = find()
    monkeypatch.setattr(tmux, "is_there", lambda _: False)
    with pytest.raises(FocusError):
        spot.show()
    assert all("select-pane" not in asked for asked in recorded.asked)


def test_detached(recorded, find) -> None:
    recorded.says(pane(3, 4) + "a")
    spot = find()
    assert spot.outward is None
    assert spot.active() is False
    assert spot.attach[:3] == ("tmux", "-S", "/run/s")
    assert spot.attach[-3:] == ("attach-session", "-t", "$4")


def test_each_client_is_a_way(recorded, find) -> None:
    recorded.says(pane(1, 1) + "a", client(7, 1, "1"), client(8, 1, "2"), client(9, 2, "3"))
    spot = find()
    pids = [one.outward.process.pid for one in (spot, *spot.others)]
    assert pids == [8, 7, 9]


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (("tmux",), "/base/tmux-{uid}/default"),
        (("tmux", "-L", "other", "new"), "/base/tmux-{uid}/other"),
        (("tmux", "-S", "/s", "new"), "/s"),
        (("tmux", "-L"), "/base/tmux-{uid}/default"),
    ],
)
def test_the_socket_by_the_command_line(
    recorded: Recorded, seat: Seat, argv: tuple[str, ...], path: str
) -> None:
    recorded.says(pane(1, 1))
    server: Process = replace(seat.ancestors[0], argv=argv, pid=2**22)
    desktop = {**recorded.desktop, "TMUX_TMPDIR": "/base"}
    tmux.LAYER.find(Seat(seat.process, (server,)), desktop)
    assert recorded.asked[-1][2] == path.format(uid=os.getuid())


def test_what_is_not_in_tmux(seat: Seat) -> None:
    shell = replace(seat.process, comm="bash", exe="/bin/bash")
    assert tmux.LAYER.find(Seat(seat.process, (shell,)), {}) is None

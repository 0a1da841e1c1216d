"""The table finds this user's wanted processes, whatever they were before."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tray.system import processes
from tray.system.processes import Process, ProcessTable, is_alive, read_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    Spawn = Callable[..., subprocess.Popen[bytes]]
    WaitUntil = Callable[..., object]


WANTED = f"wanted-{os.getpid()}"
"""The name of the processes that are looked for: of nobody else's on this machine."""


class Clock:
    """The table's clock, put forward by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self._monkeypatch = monkeypatch

    def put_forward(self, seconds: float, table: ProcessTable) -> list[int]:
        return [process.pid for process in self.scan_after(seconds, table)]

    def scan_after(self, seconds: float, table: ProcessTable) -> tuple[Process, ...]:
        self.now += seconds
        with self._monkeypatch.context() as patched:
            patched.setattr(processes.time, "monotonic", lambda: self.now)
            return table.scan()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def table_of(name: str = WANTED, proc: str = "/proc") -> ProcessTable:
    return ProcessTable(lambda comm, argv: comm == name, lambda comm: comm == name, proc)


def pids(table: ProcessTable) -> list[int]:
    return [process.pid for process in table.scan()]


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Return the path of a program of the wanted name."""
    (tmp_path / WANTED).symlink_to("/bin/sleep")
    return str(tmp_path / WANTED)


@pytest.fixture
def becoming(spawn: Spawn, program: str) -> subprocess.Popen[bytes]:
    """Return a shell that becomes the program with `become`."""
    return spawn("/bin/sh", "-c", f"read go; exec {program} 60", stdin=subprocess.PIPE)


def become(shell: subprocess.Popen[bytes], wait_until: WaitUntil) -> None:
    before = read_process(shell.pid)
    assert before is not None
    assert shell.stdin is not None
    shell.stdin.write(b"go\n")
    shell.stdin.flush()
    wait_until(lambda: (p := read_process(shell.pid)) is not None and p.comm == WANTED and p.argv)
    assert is_alive(shell.pid, before.start_ticks), "the same process, by pid and start time"


def test_what_comes_and_goes(spawn: Spawn, program: str, wait_until: WaitUntil) -> None:
    table = table_of()
    assert pids(table) == []
    children = [spawn(program, "60") for _ in range(3)]
    wait_until(lambda: pids(table) == sorted(child.pid for child in children))
    children[1].kill()
    wait_until(lambda: pids(table) == sorted([children[0].pid, children[2].pid]))


def test_state_and_directory_are_those_of_the_moment(
    spawn: Spawn, tmp_path: Path, wait_until: WaitUntil
) -> None:
    table = table_of("sh")
    child = spawn("/bin/sh", "-c", "read go; cd /; read go", stdin=subprocess.PIPE, cwd=tmp_path)

    def seen() -> tuple[str | None, str] | None:
        return next(((p.cwd, p.state) for p in table.scan() if p.pid == child.pid), None)

    wait_until(lambda: seen() == (str(tmp_path), "S"))
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    child.stdin.flush()
    wait_until(lambda: seen() == ("/", "S"))
    child.send_signal(signal.SIGSTOP)
    wait_until(lambda: seen() == ("/", "T"))


def test_a_shell_that_becomes_the_program(
    becoming: subprocess.Popen[bytes], clock: Clock, wait_until: WaitUntil
) -> None:
    table = table_of()
    assert clock.put_forward(0, table) == []
    assert clock.put_forward(processes._YOUNG - 1, table) == []
    become(becoming, wait_until)
    assert clock.put_forward(0.5, table) == [becoming.pid], "found by the next scan"


def test_an_old_shell_that_becomes_the_program_is_found_by_the_look_at_all(
    becoming: subprocess.Popen[bytes], clock: Clock, wait_until: WaitUntil
) -> None:
    table = table_of()
    assert clock.put_forward(0, table) == []
    assert clock.put_forward(processes._YOUNG, table) == []
    become(becoming, wait_until)
    assert clock.put_forward(1, table) == [], "passed over: this is what makes a scan cheap"
    assert clock.put_forward(processes._LOOK_AT_ALL, table) == [becoming.pid]


def test_one_that_is_found_stays_found_however_old(
    spawn: Spawn, program: str, clock: Clock, wait_until: WaitUntil
) -> None:
    table = table_of()
    child = spawn(program, "60")
    wait_until(lambda: clock.put_forward(0, table) == [child.pid])
    for seconds in (processes._YOUNG, 1, processes._LOOK_AT_ALL, 1):
        assert clock.put_forward(seconds, table) == [child.pid]


def test_one_that_becomes_another_program_is_lost(
    spawn: Spawn, tmp_path: Path, clock: Clock, wait_until: WaitUntil
) -> None:
    (tmp_path / WANTED).symlink_to("/bin/sh")
    table = table_of()
    child = spawn(
        str(tmp_path / WANTED), "-c", "read go; exec sleep 60", stdin=subprocess.PIPE
    )  # fmt: skip
    wait_until(lambda: clock.put_forward(0, table) == [child.pid])
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    child.stdin.flush()
    wait_until(lambda: clock.put_forward(0, table) == [])


def write_process(proc: Path, pid: int, comm: str, start_ticks: int, *, state: str = "S") -> None:
    folder = proc / str(pid)
    folder.mkdir(exist_ok=True)
    fields = [state, "1", *["0"] * 17, str(start_ticks), "0"]
    (folder / "stat").write_text(f"{pid} ({comm}) {' '.join(fields)}\n")
    (folder / "comm").write_text(f"{comm}\n")
    (folder / "cmdline").write_bytes(comm.encode() + b"\0")


def test_a_pid_that_another_process_has_now(tmp_path: Path, clock: Clock) -> None:
    table = table_of(proc=str(tmp_path))
    write_process(tmp_path, 7, WANTED, 100)
    write_process(tmp_path, 8, "shell", 100)
    assert clock.put_forward(0, table) == [7]
    assert clock.put_forward(processes._YOUNG, table) == [7]
    write_process(tmp_path, 7, "shell", 200)
    write_process(tmp_path, 8, WANTED, 200)
    assert clock.put_forward(1, table) == []
    assert clock.put_forward(processes._LOOK_AT_ALL, table) == [8]
    write_process(tmp_path, 8, WANTED, 300)
    (found,) = table.scan()
    assert found.start_ticks == 300


def test_an_old_one_is_read_whole_only_by_the_look_at_all(tmp_path: Path, clock: Clock) -> None:
    table = table_of(proc=str(tmp_path))
    write_process(tmp_path, 7, WANTED, 100)
    (tmp_path / "7" / "cwd").symlink_to("/")
    clock.put_forward(0, table)
    clock.put_forward(processes._YOUNG, table)
    write_process(tmp_path, 7, WANTED, 100, state="T")
    (tmp_path / "7" / "cmdline").write_bytes(f"{WANTED}\0else\0".encode())
    (tmp_path / "7" / "cwd").unlink()
    (tmp_path / "7" / "cwd").symlink_to("/tmp")

    def seen(seconds: float) -> tuple[str, str | None, tuple[str, ...]]:
        (found,) = clock.scan_after(seconds, table)
        return found.state, found.cwd, found.argv

    assert seen(1) == ("T", "/tmp", (WANTED,)), "this is what makes a scan cheap"
    assert seen(processes._LOOK_AT_ALL) == ("T", "/tmp", (WANTED, "else"))


def test_a_pid_that_was_free_for_a_while_is_looked_at_again(tmp_path: Path, clock: Clock) -> None:
    table = table_of(proc=str(tmp_path))
    write_process(tmp_path, 8, "shell", 100)
    clock.put_forward(0, table)
    clock.put_forward(processes._YOUNG, table)
    shutil.rmtree(tmp_path / "8")
    clock.put_forward(1, table)
    write_process(tmp_path, 8, "shell", 200)
    assert clock.put_forward(1, table) == []
    write_process(tmp_path, 8, WANTED, 200)
    assert clock.put_forward(1, table) == [8]


def test_what_is_no_process_is_passed_over(tmp_path: Path) -> None:
    for name in ("self", "٣", "4x", "-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "comm").write_text(f"{WANTED}\n")
    write_process(tmp_path, 7, WANTED, 100)
    assert pids(table_of(proc=str(tmp_path))) == [7]


def test_without_proc_there_is_nothing(tmp_path: Path) -> None:
    assert table_of(proc=str(tmp_path / "none")).scan() == ()


def test_another_users_processes_are_not_ours(
    spawn: Spawn, program: str, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    child = spawn(program, "60")
    wait_until(lambda: pids(table_of()) == [child.pid])
    monkeypatch.setattr(processes.os, "geteuid", lambda: os.getuid() + 1)
    assert pids(table_of()) == []


def test_every_process_found_is_ours() -> None:
    found = ProcessTable(lambda comm, argv: True, lambda comm: True).scan()
    assert os.getpid() in {process.pid for process in found}
    assert {process.uid for process in found} == {os.geteuid()}


def test_the_command_line_decides_after_the_name(
    spawn: Spawn, program: str, wait_until: WaitUntil
) -> None:
    kept, dropped = spawn(program, "60"), spawn(program, "61")
    table = ProcessTable(lambda comm, argv: argv[1:] == ("60",), lambda comm: comm == WANTED)
    wait_until(lambda: pids(table) == [kept.pid])
    wait_until(lambda: (p := read_process(dropped.pid)) is not None and p.argv[1:] == ("61",))
    assert pids(table) == [kept.pid]


def test_processes_that_come_and_go_all_the_time(program: str, spawn: Spawn) -> None:
    """A fork storm while scanning: nothing is raised, and what stays is found."""
    steady = spawn(program, "60")
    storm = spawn("/bin/sh", "-c", "while :; do /bin/true & /bin/true; done")
    table = ProcessTable(lambda comm, argv: True, lambda comm: True)
    for _ in range(10):
        assert {os.getpid(), steady.pid, storm.pid} <= set(pids(table))


def test_out_of_descriptors_is_not_the_end_of_the_others(
    no_descriptor_left: Callable[[], AbstractContextManager[None]],
) -> None:
    table = ProcessTable(lambda comm, argv: True, lambda comm: True)
    assert os.getpid() in pids(table)
    with no_descriptor_left(), pytest.raises(OSError, match="Too many open files"):
        table.scan()
    assert os.getpid() in pids(table)

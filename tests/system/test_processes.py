"""Processes as /proc tells them: real ones, and what happens when they go away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tray.system import processes
from tray.system.processes import (
    ProcessTable,
    children,
    environment,
    find_in_namespace,
    is_alive,
    parent_chain,
    pid_domain,
    pid_namespace,
    read_process,
    tty_access_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(*argv: str, **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(argv, **options)  # type: ignore[call-overload]
        started.append(process)
        return process

    yield run
    for process in started:
        if process.stdin is not None:
            process.stdin.close()
        process.kill()
        process.wait()


def named(tmp_path: Path, name: str, source: str = "/bin/sleep") -> str:
    """Return the path of a program under another name, as `comm` shows it."""
    path = tmp_path / name
    path.symlink_to(source)
    return str(path)


def test_a_live_process(spawn: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> None:
    before = time.time()
    child = spawn("/bin/sleep", "60", cwd=tmp_path)
    found = read_process(child.pid)
    assert found is not None
    assert (found.argv, found.comm) == (("/bin/sleep", "60"), "sleep")
    assert (found.ppid, found.uid, found.cwd) == (os.getpid(), os.getuid(), str(tmp_path))
    assert found.exe is not None
    assert abs(found.started - before) < 5
    assert is_alive(child.pid, found.start_ticks)
    assert not is_alive(child.pid, found.start_ticks + 1), "the pid is another process's now"


def test_a_killed_one_that_nobody_waited_for_is_gone(
    spawn: Callable[..., subprocess.Popen[bytes]], wait_until: Callable[..., object]
) -> None:
    child = spawn("/bin/sleep", "60")
    found = read_process(child.pid)
    assert found is not None
    child.kill()
    wait_until(lambda: read_process(child.pid) is None)
    assert os.path.exists(f"/proc/{child.pid}"), "still there as a zombie"
    assert not is_alive(child.pid, found.start_ticks)


def test_a_stopped_one_says_so(
    spawn: Callable[..., subprocess.Popen[bytes]], wait_until: Callable[..., object]
) -> None:
    child = spawn("/bin/sleep", "60")
    child.send_signal(signal.SIGSTOP)
    wait_until(lambda: (p := read_process(child.pid)) is not None and p.state == "T")


@pytest.mark.parametrize("pid", [0, 2**22 + 1, 2**40])
def test_no_such_process(pid: int) -> None:
    assert read_process(pid) is None
    assert children(pid) == ()
    assert environment(pid, {"HOME"}) == {}
    assert parent_chain(pid) == ()


@pytest.mark.parametrize(
    "name", ["a) S 1 (b", "two\nlines", "caf\u00e9", "((((", "blank blank", "\udcff"]
)
def test_any_name_is_read(
    spawn: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    name: str,
    wait_until: Callable[..., object],
) -> None:
    child = spawn(named(tmp_path, name), "60")
    found = wait_until(lambda: (p := read_process(child.pid)) and p.comm == name and p)
    assert isinstance(found, processes.Process)
    assert found.ppid == os.getpid()


def test_a_title_padded_with_blanks(
    spawn: Callable[..., subprocess.Popen[bytes]], wait_until: Callable[..., object]
) -> None:
    child = spawn("claude      ", "60", executable="/bin/sleep")
    found = wait_until(lambda: (p := read_process(child.pid)) and p.argv[0] != sys.executable and p)
    assert isinstance(found, processes.Process)
    assert found.argv[0].strip() == "claude"


def test_the_terminal(spawn: Callable[..., subprocess.Popen[bytes]]) -> None:
    leader, follower = os.openpty()
    try:
        child = spawn(
            "/bin/sleep", "60", stdin=follower, start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(follower), os.O_RDWR)),
        )  # fmt: skip
        found = read_process(child.pid)
        assert found is not None
        assert found.tty == os.ttyname(follower)
        assert tty_access_time(found.tty) is not None
    finally:
        os.close(leader)
        os.close(follower)


def test_what_is_no_terminal_has_no_access_time(tmp_path: Path) -> None:
    assert tty_access_time(str(tmp_path)) is None
    assert tty_access_time("/dev/pts/99999") is None
    assert tty_access_time("a\0b") is None


def test_only_the_named_variables_are_read(
    spawn: Callable[..., subprocess.Popen[bytes]],
) -> None:
    child = spawn("/bin/sleep", "60", env={"ROOT": "/r=x", "TOKEN": "secret", "EMPTY": ""})
    assert environment(child.pid, {"ROOT", "EMPTY", "NONE"}) == {"ROOT": "/r=x", "EMPTY": ""}


def test_children_and_parents(
    spawn: Callable[..., subprocess.Popen[bytes]], wait_until: Callable[..., object]
) -> None:
    child = spawn("/bin/sh", "-c", "/bin/sleep 60 & /bin/sleep 61 & wait")
    found = wait_until(
        lambda: len(c := [p for p in children(child.pid) if p.comm == "sleep"]) == 2 and c
    )
    assert isinstance(found, list)
    assert [p.argv[1] for p in sorted(found, key=lambda p: p.argv)] == ["60", "61"]
    assert [p.pid for p in parent_chain(found[0].pid)][:2] == [child.pid, os.getpid()]
    for process in found:
        os.kill(process.pid, signal.SIGKILL)


def test_children_without_the_kernels_list(
    spawn: Callable[..., subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = processes._read
    monkeypatch.setattr(
        processes, "_read", lambda path: None if path.endswith("/children") else real(path)
    )
    child = spawn("/bin/sleep", "60")
    assert child.pid in [process.pid for process in children(os.getpid())]


class Table:
    """A table of the processes called `wanted`."""

    def __init__(self) -> None:
        self.table = ProcessTable(
            lambda comm, argv: comm == "wanted", lambda comm: comm == "wanted"
        )

    def pids(self) -> list[int]:
        return [process.pid for process in self.table.scan()]


def test_the_table_finds_and_loses(
    spawn: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    wait_until: Callable[..., object],
) -> None:
    table = Table()
    program = named(tmp_path, "wanted")
    assert table.pids() == []
    child = spawn(program, "60")
    wait_until(lambda: table.pids() == [child.pid])
    child.kill()
    wait_until(lambda: table.pids() == [])


def test_the_table_sees_a_shell_that_becomes_another_program(
    spawn: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    wait_until: Callable[..., object],
) -> None:
    table = Table()
    program = named(tmp_path, "wanted")
    child = spawn("/bin/sh", "-c", f"read go; exec {program} 60", stdin=subprocess.PIPE)
    assert child.pid not in table.pids()
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    child.stdin.flush()
    wait_until(lambda: table.pids() == [child.pid])


def test_the_table_sees_an_old_process_change_its_name_in_time(
    spawn: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    wait_until: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Table()
    program = named(tmp_path, "wanted")
    child = spawn("/bin/sh", "-c", f"read go; exec {program} 60", stdin=subprocess.PIPE)
    assert table.pids() == []
    later = time.monotonic() + processes._YOUNG + 1
    monkeypatch.setattr(processes.time, "monotonic", lambda: later)
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    child.stdin.flush()
    wait_until(lambda: (p := read_process(child.pid)) is not None and p.comm == "wanted")
    assert table.pids() == [], "not looked at again: it is no longer young"
    monkeypatch.setattr(processes.time, "monotonic", lambda: later + processes._REREAD_ALL)
    assert table.pids() == [child.pid]


def test_another_users_process_is_not_ours(
    spawn: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., object],
) -> None:
    child = spawn(named(tmp_path, "wanted"), "60")
    wait_until(lambda: Table().pids() == [child.pid])
    monkeypatch.setattr(processes.os, "geteuid", lambda: os.getuid() + 1)
    assert Table().pids() == []


def test_processes_may_vanish_at_any_step(
    spawn: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = spawn(named(tmp_path, "wanted"), "60")
    real = processes._read
    for step in ("/stat", "/comm", "/cmdline"):
        monkeypatch.setattr(
            processes, "_read", lambda path, step=step: None if path.endswith(step) else real(path)
        )
        assert child.pid not in [p.pid for p in Table().table.scan() if p.argv]


def test_the_pid_domain_names_this_namespace() -> None:
    domain = pid_domain()
    namespace = pid_namespace()
    assert namespace is not None
    assert namespace.startswith("pid:[")
    assert domain is None or domain.endswith(namespace)


@pytest.mark.skipif(os.geteuid() != 0, reason="making a pid namespace needs root")
def test_a_process_of_a_container_is_found_under_its_own_number(
    spawn: Callable[..., subprocess.Popen[bytes]], wait_until: Callable[..., object]
) -> None:
    outer = spawn("unshare", "--pid", "--fork", "--kill-child", "/bin/sleep", "60")
    inner = wait_until(lambda: next((p for p in children(outer.pid) if p.comm == "sleep"), None))
    assert isinstance(inner, processes.Process)
    namespace = pid_namespace(inner.pid)
    assert namespace != pid_namespace()
    found = find_in_namespace(str(namespace), 1)
    assert found is not None
    assert found.pid == inner.pid
    assert find_in_namespace(str(namespace), 2) is None

"""Processes as /proc tells them: real ones, and what happens when they go away."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tray.system import processes
from tray.system.processes import (
    Process,
    boot_time,
    children,
    environment,
    find_in_namespace,
    is_alive,
    machine_id,
    parent_chain,
    pid_domain,
    pid_namespace,
    read_process,
    tty_access_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    Spawn = Callable[..., subprocess.Popen[bytes]]
    WaitUntil = Callable[..., object]

NO_SUCH_PID = 2**22 + 1  # PID_MAX_LIMIT, and one more.


def ready(pid: int) -> Process:
    """Read a process that is there; `argv` is empty for a moment while a program starts."""
    found = read_process(pid)
    assert found is not None
    return found


def start(spawn: Spawn, wait_until: WaitUntil, *argv: str, **options: object) -> Process:
    """Start a program and return what /proc tells once it runs."""
    child = spawn(*argv, **options)
    wait_until(lambda: (p := read_process(child.pid)) is not None and p.argv == argv)
    return ready(child.pid)


def test_a_live_process(spawn: Spawn, tmp_path: Path, wait_until: WaitUntil) -> None:
    before = time.time()
    found = start(spawn, wait_until, "/bin/sleep", "60", cwd=tmp_path)
    assert (found.comm, found.ppid, found.uid) == ("sleep", os.getpid(), os.geteuid())
    assert found.cwd == str(tmp_path)
    assert found.exe == os.path.realpath("/bin/sleep")
    assert found.state in {"S", "R", "D"}
    assert abs(found.started - before) < 5
    assert boot_time() < found.started


def test_a_start_time_is_always_the_same(spawn: Spawn, wait_until: WaitUntil) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    assert {ready(found.pid).started for _ in range(50)} == {found.started}


def test_a_clock_that_is_set_moves_the_start_times(
    spawn: Spawn, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    real = time.time
    with monkeypatch.context() as patched:
        patched.setattr(processes.time, "time", lambda: real() + 3600)
        assert 3599 < ready(found.pid).started - found.started < 3601
    assert abs(ready(found.pid).started - found.started) < 1


def test_a_pid_that_is_another_processs_now(spawn: Spawn, wait_until: WaitUntil) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    assert is_alive(found.pid, found.start_ticks)
    assert not is_alive(found.pid, found.start_ticks + 1)


def test_a_killed_one_that_nobody_waited_for_is_gone(spawn: Spawn, wait_until: WaitUntil) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    os.kill(found.pid, signal.SIGKILL)
    wait_until(lambda: read_process(found.pid) is None)
    assert os.path.exists(f"/proc/{found.pid}"), "still there as a zombie"
    assert not is_alive(found.pid, found.start_ticks)
    assert found.pid not in {child.pid for child in children(os.getpid())}


def test_a_stopped_one_says_so(spawn: Spawn, wait_until: WaitUntil) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    os.kill(found.pid, signal.SIGSTOP)
    wait_until(lambda: ready(found.pid).state == "T")
    assert is_alive(found.pid, found.start_ticks)
    os.kill(found.pid, signal.SIGCONT)
    wait_until(lambda: ready(found.pid).state != "T")


@pytest.mark.parametrize("pid", [-1, 0, NO_SUCH_PID, 2**40])
def test_no_such_process(pid: int) -> None:
    assert read_process(pid) is None
    assert not is_alive(pid, 0)
    assert children(pid) == ()
    assert environment(pid, {"HOME"}) == {}
    assert parent_chain(pid) == ()
    assert pid_namespace(pid) is None


@pytest.mark.parametrize(
    "name",
    ["a) S 1 (b", "two\nlines", "café", "((((", "blank blank", "\udcff", ")", "tab\t", "a\\nb"],
)
def test_any_name_is_read(spawn: Spawn, tmp_path: Path, name: str, wait_until: WaitUntil) -> None:
    (tmp_path / name).symlink_to("/bin/sleep")
    found = start(spawn, wait_until, str(tmp_path / name), "60")
    assert (found.comm, found.ppid) == (name, os.getpid())


def test_a_name_longer_than_the_kernel_keeps(
    spawn: Spawn, tmp_path: Path, wait_until: WaitUntil
) -> None:
    name = "é" * 10
    (tmp_path / name).symlink_to("/bin/sleep")
    found = start(spawn, wait_until, str(tmp_path / name), "60")
    assert os.fsencode(found.comm) == name.encode()[:15], "cut within a character"


@pytest.mark.parametrize(
    ("program", "word"),
    [("claude", "fix this "), ("", ""), ("a\nb", "two\nlines"), ("\udce9", "x")],
)
def test_any_command_line_is_read(
    spawn: Spawn, wait_until: WaitUntil, program: str, word: str
) -> None:
    argv = (program, "-c", "read line", word, "end")
    start(spawn, wait_until, *argv, executable="/bin/sh", stdin=subprocess.PIPE)


TITLED = """
import ctypes, sys, time
title, pad = sys.argv[1].encode(), sys.argv[2].encode() or bytes(1)
first, end = map(int, open("/proc/self/stat").read().split()[47:49])
ctypes.memmove(first, title.ljust(end - first - 1, pad) + bytes(1), end - first)
print(flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("padding", ["", " "])
def test_a_title_padded_to_the_old_length(
    spawn: Spawn, wait_until: WaitUntil, padding: str
) -> None:
    child = spawn(sys.executable, "-c", TITLED, "claude", padding, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert ready(child.pid).argv == ("claude",)


def test_a_long_command_line_is_read_whole(spawn: Spawn, wait_until: WaitUntil) -> None:
    start(
        spawn, wait_until, "sh", "-c", "read line", *("x" * 100_000 for _ in range(5)),
        executable="/bin/sh", stdin=subprocess.PIPE,
    )  # fmt: skip


def test_a_deleted_directory_and_program_keep_their_paths(
    spawn: Spawn, tmp_path: Path, wait_until: WaitUntil
) -> None:
    folder, program = tmp_path / "work", tmp_path / "sleep"
    folder.mkdir()
    shutil.copy("/bin/sleep", program)
    found = start(spawn, wait_until, str(program), "60", cwd=folder)
    folder.rmdir()
    program.unlink()
    found = ready(found.pid)
    assert (found.cwd, found.exe) == (str(folder), str(program))


def test_a_directory_that_is_called_deleted(
    spawn: Spawn, tmp_path: Path, wait_until: WaitUntil
) -> None:
    folder = tmp_path / "work (deleted)"
    folder.mkdir()
    assert start(spawn, wait_until, "/bin/sleep", "60", cwd=folder).cwd == str(folder)


WITH_TERMINAL = (
    "import os,pty,sys; os.execv('/bin/sleep', ['sleep','60']) if pty.fork()[0] == 0 else os.wait()"
)


@pytest.fixture
def at_terminal(spawn: Spawn, wait_until: WaitUntil) -> Process:
    """Return a process that has a terminal of its own."""
    outer = spawn(sys.executable, "-c", WITH_TERMINAL)
    wait_until(lambda: [p for p in children(outer.pid) if p.argv == ("sleep", "60")])
    return children(outer.pid)[0]


def test_the_terminal(at_terminal: Process) -> None:
    assert at_terminal.tty == os.readlink(f"/proc/{at_terminal.pid}/fd/0")
    access = tty_access_time(at_terminal.tty)
    assert access is not None
    assert abs(access - time.time()) < 60


def test_no_terminal(spawn: Spawn, wait_until: WaitUntil) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60", start_new_session=True)
    assert found.tty is None


def test_another_terminal_of_the_same_number_is_not_it(
    at_terminal: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's /dev/pts has the device numbers of this one."""
    monkeypatch.setattr(processes.os.path, "samestat", lambda here, there: False)
    assert ready(at_terminal.pid).tty is None


def test_what_is_no_terminal_has_no_access_time(tmp_path: Path) -> None:
    assert tty_access_time(str(tmp_path)) is None
    assert tty_access_time("/dev/pts/99999") is None
    assert tty_access_time("a\0b") is None


def test_only_the_named_variables_are_read(spawn: Spawn, wait_until: WaitUntil) -> None:
    variables = {
        "ROOT": "/r=x",
        "TOKEN": "secret",
        "EMPTY": "",
        "LAST": "caf\udce9",
        "BIG": "x" * 99_999,
    }
    found = start(spawn, wait_until, "/bin/sleep", "60", env=variables)
    assert environment(found.pid, {"ROOT", "EMPTY", "LAST", "NONE", "TOK"}) == {
        "ROOT": "/r=x",
        "EMPTY": "",
        "LAST": "caf\udce9",
    }


def test_children_and_ancestors(spawn: Spawn, wait_until: WaitUntil) -> None:
    outer = spawn(
        "/bin/sh", "-c", "/bin/sleep 60 & /bin/sleep 61 & read line", stdin=subprocess.PIPE
    )
    names = [("/bin/sleep", "60"), ("/bin/sleep", "61")]
    wait_until(lambda: [p.argv for p in children(outer.pid)] == names)
    inner = children(outer.pid)
    try:
        assert [p.pid for p in parent_chain(inner[1].pid)][:2] == [outer.pid, os.getpid()]
        assert parent_chain(inner[1].pid)[-1].ppid == 0, "up to the first process"
    finally:
        for process in inner:
            os.kill(process.pid, signal.SIGKILL)


def test_many_children_are_listed_whole(tmp_path: Path) -> None:
    """A busy process has more than one read gives."""
    pids = range(1_000_000, 1_002_000)
    task = tmp_path / "1" / "task" / "1"
    task.mkdir(parents=True)
    (task / "children").write_text(" ".join(map(str, pids)))
    assert processes._child_pids(1, str(tmp_path)) == set(pids)


def test_children_without_the_kernels_list(
    spawn: Spawn, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CONFIG_PROC_CHILDREN is a choice."""
    real = processes._read
    monkeypatch.setattr(
        processes,
        "_read",
        lambda path, *rest: None if path.endswith("/children") else real(path, *rest),
    )
    found = start(spawn, wait_until, "/bin/sleep", "60")
    assert found.pid in {process.pid for process in children(os.getpid())}


def test_a_pid_that_is_no_childs_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list and the look another process may have taken it."""
    monkeypatch.setattr(processes, "_child_pids", lambda pid, proc: {os.getpid()})
    assert [child.pid for child in children(os.getppid())] == [os.getpid()]
    assert children(os.getpid()) == ()


def test_ancestors_that_go_round_in_a_circle(tmp_path: Path) -> None:
    """As pids that are used again while they are read can make it look."""
    for pid, parent in ((7, 8), (8, 9), (9, 8)):
        (tmp_path / str(pid)).mkdir()
        fields = " ".join(["S", str(parent), *["0"] * 17, "100"])
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a) {fields}\n")
    assert [process.pid for process in parent_chain(7, str(tmp_path))] == [8, 9]


@pytest.mark.parametrize("step", ["stat", "", "cmdline", "cwd", "exe", "stat again"])
def test_a_process_may_vanish_at_any_step(
    spawn: Spawn, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    path = f"/proc/{found.pid}/{step}".rstrip("/").removesuffix(" again")
    nth = 2 if step == "stat again" else 1
    calls: list[str] = []

    def dying(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def call(argument: str, *rest: object, **options: object) -> object:
            if argument == path:
                calls.append(argument)
                if len(calls) == nth:
                    os.kill(found.pid, signal.SIGKILL)
                    os.waitpid(found.pid, 0)
            return real(argument, *rest, **options)

        return call

    for name in ("open", "stat", "readlink"):
        monkeypatch.setattr(processes.os, name, dying(name))
    assert read_process(found.pid) is None
    assert len(calls) >= nth


def test_out_of_descriptors_is_not_the_end_of_the_others(
    spawn: Spawn,
    wait_until: WaitUntil,
    no_descriptor_left: Callable[[], AbstractContextManager[None]],
) -> None:
    found = start(spawn, wait_until, "/bin/sleep", "60")
    for look in (
        lambda: read_process(found.pid),
        lambda: is_alive(found.pid, found.start_ticks),
        lambda: children(os.getpid()),
    ):
        with no_descriptor_left(), pytest.raises(OSError, match="Too many open files") as failure:
            look()
        assert failure.value.errno == errno.EMFILE


def test_the_pid_domain_names_this_namespace() -> None:
    namespace = pid_namespace()
    assert namespace == os.readlink("/proc/self/ns/pid")
    domain = pid_domain()
    assert domain == (f"linux:{machine_id()}:{namespace}" if machine_id() else None)


@pytest.fixture
def container(spawn: Spawn, wait_until: WaitUntil) -> Process:
    """Return a process that is number 1 of a pid namespace of its own."""
    options = ["--user", "--map-root-user"] if os.geteuid() != 0 else []
    if subprocess.run(["unshare", *options, "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("no pid namespace can be made here (unshare --pid)")
    outer = spawn("unshare", *options, "--pid", "--fork", "--kill-child", "/bin/sleep", "60")
    wait_until(lambda: [p for p in children(outer.pid) if p.argv == ("/bin/sleep", "60")])
    return children(outer.pid)[0]


def test_a_process_of_a_container_is_found_under_its_own_number(container: Process) -> None:
    namespace = pid_namespace(container.pid)
    assert namespace is not None
    assert namespace != pid_namespace()
    found = find_in_namespace(namespace, 1)
    assert found is not None
    assert found.pid == container.pid
    assert find_in_namespace(namespace, 2) is None
    assert find_in_namespace("pid:[1]", 1) is None

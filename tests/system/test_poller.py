"""The poller wakes regularly, at once on an exit, and survives everything."""

from __future__ import annotations

import errno
import gc
import glob
import os
import threading
from typing import TYPE_CHECKING

import pytest

from tray.system import poller as module
from tray.system.poller import ProcessPoller
from tray.system.processes import read_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Spawn = Callable[..., subprocess.Popen[bytes]]
    WaitUntil = Callable[..., object]
    Start = Callable[..., ProcessPoller]

NEVER = 3600.0
"""An interval that no test lasts: what wakes is no tick."""


class Counter:
    """Counts wake-ups."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a poller, which is stopped after the test."""
    started: list[ProcessPoller] = []

    def run(wake: Callable[[], None], interval: float = NEVER) -> ProcessPoller:
        poller = ProcessPoller(wake, interval)
        poller.start()
        started.append(poller)
        return poller

    yield run
    for poller in started:
        poller.stop()
        assert not poller.is_alive()


@pytest.fixture
def sleeper(spawn: Spawn) -> subprocess.Popen[bytes]:
    return spawn("/bin/sleep", "60")


def identity(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    found = read_process(process.pid)
    assert found is not None
    return process.pid, found.start_ticks


def follows(poller: ProcessPoller, *processes: tuple[int, int]) -> bool:
    """Whether the poller's thread has taken on exactly these."""
    return poller._pidfds.keys() == set(processes)


def kernel_objects() -> list[str]:
    """Return the pidfds and eventfds that this process has open."""
    gc.collect()  # The eventfd is closed with the poller.
    names = (os.readlink(entry) for entry in glob.glob("/proc/self/fd/*") if os.path.islink(entry))
    return sorted(name for name in names if name.startswith(("anon_inode:", "pidfd:")))


def test_it_wakes_again_and_again(counter: Counter, start: Start, wait_until: WaitUntil) -> None:
    start(counter, 0.01)
    wait_until(lambda: counter.count > 3)


def test_an_exit_wakes_at_once_and_once(
    sleeper: subprocess.Popen[bytes], counter: Counter, start: Start, wait_until: WaitUntil
) -> None:
    poller = start(counter)
    poller.watch([identity(sleeper)])
    wait_until(lambda: follows(poller, identity(sleeper)))
    assert counter.count == 0
    sleeper.kill()
    wait_until(lambda: counter.count == 1)
    assert os.path.exists(f"/proc/{sleeper.pid}"), "it need not be waited for"
    wait_until(lambda: follows(poller))
    sleeper.wait()
    settle(poller)
    assert counter.count == 1, "and is not polled for ever"


def settle(poller: ProcessPoller) -> None:
    """Return after the thread has gone round once more and sleeps again."""
    gone_round = threading.Event()
    real = poller._follow

    def follow() -> None:
        real()
        gone_round.set()

    poller._follow = follow  # type: ignore[method-assign]
    poller._ring()
    assert gone_round.wait(5)
    poller._follow = real  # type: ignore[method-assign]


def test_a_pid_that_another_process_has_wakes_once(
    sleeper: subprocess.Popen[bytes], counter: Counter, start: Start, wait_until: WaitUntil
) -> None:
    pid, ticks = identity(sleeper)
    poller = start(counter)
    poller.watch([(pid, ticks + 1)])
    wait_until(lambda: counter.count == 1)
    settle(poller)
    assert counter.count == 1
    assert follows(poller)


def test_one_that_is_gone_already_wakes_once(
    spawn: Spawn, counter: Counter, start: Start, wait_until: WaitUntil
) -> None:
    child = spawn("/bin/true")
    child.wait()
    poller = start(counter)
    poller.watch([(child.pid, 1)])
    wait_until(lambda: counter.count == 1)
    settle(poller)
    assert counter.count == 1


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40])
def test_what_is_no_pid_ends_nothing(
    pid: int, sleeper: subprocess.Popen[bytes], start: Start, wait_until: WaitUntil
) -> None:
    poller = start(Counter())
    poller.watch([(pid, 1), identity(sleeper)])
    wait_until(lambda: follows(poller, identity(sleeper)))


def test_the_watched_set_is_replaced(
    spawn: Spawn, counter: Counter, start: Start, wait_until: WaitUntil
) -> None:
    first, second = spawn("/bin/sleep", "60"), spawn("/bin/sleep", "60")
    poller = start(counter)
    poller.watch([identity(first)])
    wait_until(lambda: follows(poller, identity(first)))
    poller.watch([identity(second)])
    wait_until(lambda: follows(poller, identity(second)))
    first.kill()
    first.wait()
    settle(poller)
    assert counter.count == 0
    second.kill()
    wait_until(lambda: counter.count == 1)


def test_a_wake_that_raises_ends_nothing(
    sleeper: subprocess.Popen[bytes], counter: Counter, start: Start, wait_until: WaitUntil
) -> None:
    def wake() -> None:
        counter()
        raise RuntimeError

    poller = start(wake, 0.01)
    poller.watch([identity(sleeper), (sleeper.pid, 1)])
    wait_until(lambda: counter.count > 3)
    assert poller.is_alive()


def _refuse(code: int) -> Callable[[int], int]:
    def refuse(pid: int) -> int:
        raise OSError(code, os.strerror(code))

    return refuse


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOSYS, errno.EPERM])
def test_without_a_descriptor_it_goes_on_by_the_clock(
    code: int,
    sleeper: subprocess.Popen[bytes],
    counter: Counter,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: WaitUntil,
) -> None:
    monkeypatch.setattr(module.os, "pidfd_open", _refuse(code))
    poller = start(counter, 0.01)
    poller.watch([identity(sleeper)])
    wait_until(lambda: counter.count > 3)
    monkeypatch.undo()
    wait_until(lambda: follows(poller, identity(sleeper)), what="tried again at each tick")


def test_without_pidfds_it_goes_on_by_the_clock(
    sleeper: subprocess.Popen[bytes],
    counter: Counter,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: WaitUntil,
) -> None:
    monkeypatch.delattr(module.os, "pidfd_open")
    poller = start(counter, 0.01)
    poller.watch([identity(sleeper)])
    wait_until(lambda: counter.count > 3)


def test_out_of_descriptors_nobody_looks_dead(
    sleeper: subprocess.Popen[bytes],
    counter: Counter,
    start: Start,
    wait_until: WaitUntil,
    no_descriptor_left: Callable[[], AbstractContextManager[None]],
) -> None:
    process = identity(sleeper)
    poller = start(counter)
    with no_descriptor_left():
        poller.watch([process])
        settle(poller)
    assert counter.count == 0
    settle(poller)
    wait_until(lambda: follows(poller, process))


def test_no_descriptor_for_a_look_either(
    sleeper: subprocess.Popen[bytes],
    counter: Counter,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: WaitUntil,
) -> None:
    """The pidfd was the last one."""
    process = identity(sleeper)
    poller = start(counter)
    before = kernel_objects()

    def is_alive(pid: int, start_ticks: int) -> bool:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(module, "is_alive", is_alive)
        poller.watch([process])
        settle(poller)
        assert counter.count == 0
        assert kernel_objects() == before
    settle(poller)
    wait_until(lambda: follows(poller, process))


def test_stopping_twice_and_before_the_start() -> None:
    poller = ProcessPoller(Counter(), NEVER)
    poller.stop()
    poller.stop()
    poller.start()
    poller.stop()
    poller._thread.join(5)
    assert not poller.is_alive()


def test_it_can_be_stopped_from_its_own_wake(wait_until: WaitUntil) -> None:
    returned = threading.Event()

    def wake() -> None:
        poller.stop()
        returned.set()

    poller = ProcessPoller(wake, 0.01)
    poller.start()
    wait_until(lambda: not poller.is_alive())
    assert returned.is_set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_its_thread_can_die_and_says_so(wait_until: WaitUntil) -> None:
    def wake() -> None:
        raise SystemExit

    poller = ProcessPoller(wake, 0.01)
    poller.start()
    wait_until(lambda: not poller.is_alive())
    poller.watch([(1, 1)])
    poller.stop()


def test_no_descriptor_is_left_open(
    sleeper: subprocess.Popen[bytes], wait_until: WaitUntil
) -> None:
    before = kernel_objects()

    def live_and_end() -> None:
        poller = ProcessPoller(Counter(), NEVER)
        poller.start()
        poller.watch([identity(sleeper)])
        wait_until(lambda: follows(poller, identity(sleeper)))
        assert len(kernel_objects()) == len(before) + 2
        poller.stop()

    live_and_end()
    assert kernel_objects() == before

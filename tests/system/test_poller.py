"""The poller wakes regularly, at once on an exit, and survives everything."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from tray.system.poller import ProcessPoller
from tray.system.processes import read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Counter:
    """Counts wake-ups."""

    def __init__(self) -> None:
        self.count = 0
        self.woken = threading.Event()

    def __call__(self) -> None:
        self.count += 1
        self.woken.set()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/sleep", "60"])
    yield process
    process.kill()
    process.wait()


def identity(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    found = read_process(process.pid)
    assert found is not None
    return process.pid, found.start_ticks


def test_it_wakes_again_and_again(wait_until: Callable[..., object]) -> None:
    counter = Counter()
    poller = ProcessPoller(counter, interval=0.01)
    poller.start()
    wait_until(lambda: counter.count > 3)
    poller.stop()
    assert not poller.is_alive()


def test_an_exit_wakes_at_once(sleeper: subprocess.Popen[bytes]) -> None:
    counter = Counter()
    poller = ProcessPoller(counter, interval=3600)
    poller.start()
    poller.watch([identity(sleeper)])
    assert not counter.woken.wait(0.05)
    sleeper.kill()
    assert counter.woken.wait(5)
    poller.stop()


def test_one_that_is_gone_already_wakes_too(sleeper: subprocess.Popen[bytes]) -> None:
    pid, ticks = identity(sleeper)
    counter = Counter()
    poller = ProcessPoller(counter, interval=3600)
    poller.start()
    poller.watch([(pid, ticks + 1)])
    assert counter.woken.wait(5)
    poller.stop()


def test_what_is_no_longer_watched_wakes_nobody(
    sleeper: subprocess.Popen[bytes], wait_until: Callable[..., object]
) -> None:
    counter = Counter()
    poller = ProcessPoller(counter, interval=3600)
    poller.start()
    poller.watch([identity(sleeper)])
    wait_until(lambda: len(poller._pidfds) == 1)
    poller.watch([])
    wait_until(lambda: len(poller._pidfds) == 0)
    sleeper.kill()
    sleeper.wait()
    assert not counter.woken.wait(0.05)
    poller.stop()


def test_a_wake_that_raises_ends_nothing(wait_until: Callable[..., object]) -> None:
    counter = Counter()

    def wake() -> None:
        counter()
        raise RuntimeError

    poller = ProcessPoller(wake, interval=0.01)
    poller.start()
    wait_until(lambda: counter.count > 2)
    assert poller.is_alive()
    poller.stop()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOSYS])
def test_without_a_descriptor_it_goes_on_by_the_clock(
    code: int,
    sleeper: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., object],
) -> None:
    def refuse(pid: int) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "pidfd_open", refuse)
    counter = Counter()
    poller = ProcessPoller(counter, interval=0.01)
    poller.start()
    poller.watch([identity(sleeper)])
    wait_until(lambda: counter.count > 3)
    poller.stop()


def test_stopping_twice_and_before_the_start() -> None:
    poller = ProcessPoller(Counter(), interval=1)
    poller.stop()
    poller.stop()


def test_no_descriptor_is_left_open(sleeper: subprocess.Popen[bytes]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    poller = ProcessPoller(Counter(), interval=3600)
    poller.start()
    poller.watch([identity(sleeper)])
    poller.stop()
    del poller
    assert len(os.listdir("/proc/self/fd")) <= before

"""Suspend, told by the gap between two clocks alone."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.tray.person.desktop_service import until
from tests.tray.person.test_lock_and_sleep import LOGIND, logind
from tray.desktop.person.suspend import Clocks, Sleeps, read, slept


@pytest.mark.parametrize(
    ("before", "after", "seconds"),
    [
        pytest.param((10, 100), (15, 105), 0, id="awake"),
        pytest.param((10, 100), (15, 165), 60, id="asleep-for-a-minute"),
        pytest.param((10, 100), (15.0, 105.4), 0, id="read-one-after-the-other"),
        pytest.param((10, 100), (15, 28905), 28800, id="asleep-for-a-night"),
        pytest.param((10, 100), (3610, 3700), 0, id="an-hour-at-once"),
    ],
)
def test_the_machine_slept_for_as_long_as_only_one_clock_ran(before, after, seconds):
    assert slept(Clocks(*before), Clocks(*after)) == seconds


def test_the_clocks_of_this_machine_show_no_sleep_between_two_looks():
    assert slept(read(), read()) == 0
    before, found, after = time.monotonic(), read(), time.monotonic()
    assert before <= found.awake <= after
    assert found.since_boot >= before


class Machine:
    """A machine whose clocks go on with each look."""

    def __init__(self):
        self.now = Clocks(10.0, 100.0)
        self.looks = 0

    def __call__(self):
        self.looks += 1
        self.now = Clocks(self.now.awake + 5, self.now.since_boot + 5)
        return self.now

    def sleep(self, seconds):
        self.now = self.now._replace(since_boot=self.now.since_boot + seconds)


@pytest.mark.asyncio
async def test_each_sleep_is_told_once():
    machine, told = Machine(), []
    sleeps = Sleeps(told.append, clocks=machine, each=0.001)
    sleeps.run(wanted=True)
    for times in (1, 2):
        seen = machine.looks
        await until(lambda seen=seen: machine.looks > seen + 2)
        machine.sleep(3600)
        await until(lambda times=times: len(told) >= 2 * times)
    seen = machine.looks
    await until(lambda: machine.looks > seen + 2)
    sleeps.run(wanted=False)
    assert told == [True, False, True, False]


@pytest.mark.asyncio
async def test_a_person_is_told_of_a_sleep_where_there_is_no_logind(buses, followed):
    machine = Machine()
    await followed.start(clocks=machine, clocks_each=0.001)
    await until(lambda: machine.looks > 1)
    machine.sleep(60)
    await until(lambda: len(followed.told) == 3)
    assert followed.told == [(False, True, False), "wake", (False, False, False)]


@pytest.mark.asyncio
async def test_the_clocks_are_left_alone_while_logind_tells(on_system, followed):
    machine = Machine()
    await logind(on_system, locked=True).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"}, clocks=machine, clocks_each=0.001)
    await until(lambda: person.locked)
    looks = machine.looks
    await asyncio.sleep(0.02)  # That nothing happens shows in time only.
    assert machine.looks == looks
    on_system.vanish()
    await until(lambda: machine.looks > looks)

"""Blocking work with a limit, and what becomes of work that hangs."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.tray.person.desktop_service import until
from tray.desktop.bounded import Bounded, run_once

pytestmark = pytest.mark.asyncio


async def test_work_returns_and_raises():
    thread = Bounded("test")
    assert await thread.run(lambda: 7, 5) == 7
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 / 0, 5)
    assert await thread.run(lambda: 8, 5) == 8


async def test_work_that_hangs_is_left_and_nothing_is_begun_beside_it():
    thread, go, begun = Bounded("test"), threading.Event(), []
    with pytest.raises(TimeoutError):
        await thread.run(go.wait, 0.01)
    with pytest.raises(TimeoutError):
        await thread.run(lambda: begun.append(1), 5)
    assert begun == []
    go.set()
    await until(lambda: not thread.busy)
    await thread.run(lambda: begun.append(2), 5)
    assert begun == [2]


async def test_work_waits_for_its_turn_but_not_for_what_hangs():
    thread, go, begun = Bounded("test"), threading.Event(), []
    first = asyncio.create_task(thread.run_in_turn(go.wait, 5))
    second = asyncio.create_task(thread.run_in_turn(lambda: begun.append(1), 5))
    await until(lambda: thread.busy)
    assert begun == []
    go.set()
    await asyncio.gather(first, second)
    assert begun == [1]
    go.clear()
    asked = [asyncio.create_task(thread.run_in_turn(go.wait, 0.01)) for _ in range(3)]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in found] == [TimeoutError] * 3
    go.set()


async def test_so_many_at_once():
    thread, go = Bounded("test", at_once=2), threading.Event()
    hanging = asyncio.create_task(thread.run_in_turn(go.wait, 5))
    assert await thread.run_in_turn(lambda: 7, 5) == 7
    go.set()
    await hanging


async def test_once_and_left_behind(caplog):
    go = threading.Event()
    assert await run_once("the deed", lambda: 7, 5) == 7
    assert await run_once("the deed", go.wait, 0.01) is None
    assert "the deed" in caplog.text
    go.set()

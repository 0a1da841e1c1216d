"""Blocking work with a limit, and what becomes of work that hangs."""

from __future__ import annotations

import threading

import pytest

from tests.tray.person.desktop_service import until
from tray.desktop.person.bounded import Bounded

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
    await until(lambda: not thread._busy.locked())
    await thread.run(lambda: begun.append(2), 5)
    assert begun == [2]

"""Updates are handed over whole, or it is said that some are missing."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tray.cli import feed
from tray.cli.feed import Feed
from tray.engine import Update
from tray.machine import Tracked
from tray.session import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def update(number: int) -> Update:
    return Update(Snapshot(float(number)), Tracked(), (), ())


def test_what_was_published_is_delivered_once_and_in_order(tmp_path: Path) -> None:
    waiting = Feed([str(tmp_path)])
    for number in range(3):
        waiting._publish(update(number))
    delivery = waiting.wait()
    assert ([found.snapshot.at for found in delivery.updates], delivery.complete) == (
        [0.0, 1.0, 2.0],
        True,
    )
    assert waiting.wait(until=time.monotonic()).updates == ()


def test_a_reader_that_is_too_slow_costs_no_memory_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_BACKLOG", 4)
    waiting = Feed([str(tmp_path)])
    for number in range(11):
        waiting._publish(update(number))
    delivery = waiting.wait()
    assert len(delivery.updates) <= 4
    assert delivery.updates[-1].snapshot.at == 10.0
    assert not delivery.complete
    waiting._publish(update(11))
    assert waiting.wait().complete


def test_a_reader_that_leaves_ends_the_wait(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    waiting = Feed([str(tmp_path)], writer)
    assert waiting.wait(until=time.monotonic()).updates == ()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        waiting.wait(until=time.monotonic() + 5)
    os.close(writer)


def test_a_feed_surveys_as_long_as_it_is_open(
    tmp_path: Path, wait_until: Callable[..., object]
) -> None:
    with Feed([str(tmp_path)]) as opened:
        first = opened.wait().updates[0]
        assert first.snapshot.sessions == ()
        assert not opened.stalled()
    assert opened.wait(until=time.monotonic()).updates == ()

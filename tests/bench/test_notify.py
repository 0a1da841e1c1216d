"""How long after a session asks its person is called."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from tests.bench.desk import SETTLED, tray
from tests.bench.world import percentile, start_sessions, world
from tray.machine import ASK_HOLD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.bench.desk import Desk

ASKS = 60
P50, P95 = 20.0, 60.0
"""Budgets, milliseconds beyond the hold."""


def test_ask_to_notification(history: Path, desk: Desk, report: Callable[[str], None]) -> None:
    chance = random.Random(7)
    late = []
    with world(history) as stage:
        sessions = start_sessions(stage, 20)
        with tray(stage, desk):
            time.sleep(SETTLED)
            for place in range(ASKS):
                session = sessions[place % len(sessions)]
                session.prompt("Publish it")
                # At every phase of the tray's own rhythm.
                time.sleep(0.2 + chance.random())
                desk.forget()
                written = time.monotonic()
                session.ask("Bash", {"command": f"npm publish --tag next-{place}"})
                called = desk.wait_for("Notify")
                late.append(1000 * (called - written - ASK_HOLD))
                session.answered("published")
                desk.wait_for("CloseNotification")
                session.finish("It is published.")
    p50, p95 = percentile(late, 50), percentile(late, 95)
    report(
        f"ask written -> Notify, beyond the hold of {ASK_HOLD} s, {ASKS} asks:"
        f" p50 {p50:.1f} ms (budget {P50:.0f}), p95 {p95:.1f} ms (budget {P95:.0f}),"
        f" max {max(late):.1f} ms, min {min(late):.1f} ms"
    )
    assert min(late) > 0
    assert p50 < 2 * P50
    assert p95 < 2 * P95

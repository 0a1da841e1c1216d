"""What the tray holds of the machine's memory, at once and after a day."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tests.bench.desk import SETTLED, tray
from tests.bench.meter import memory
from tests.bench.world import TRANSCRIPTS, start_sessions, world

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.bench.desk import Desk
    from tray.demo.stage import Session, Stage

ROUNDS = int(os.environ.get("SESSIONBELL_BENCH_ROUNDS", "200"))
"""Rounds of the churn: in each every one of 20 sessions asks and ends a turn, and three sessions
end and begin. 200 rounds are 4,000 asks and 600 sessions: more than anybody's day."""
WARM_UP = 40
BUDGET = 40.0
GROWTH = 1.0
"""Budgets, MB."""


def test_memory(history: Path, desk: Desk, report: Callable[[str], None]) -> None:
    with world(history) as stage:
        sessions = start_sessions(stage, 20)
        with tray(stage, desk) as pid:
            time.sleep(SETTLED)
            rest = memory(pid)
            report(
                f"memory, 20 sessions, {TRANSCRIPTS} transcripts: PSS {rest.pss:.1f} MB"
                f" ({rest.alone:.1f} MB if no other Python runs; budget {BUDGET:.0f}),"
                f" private {rest.private:.1f}, RSS {rest.rss:.1f}"
            )
            course = []
            for number in range(ROUNDS):
                _churn(stage, sessions, number)
                if number % 20 == 19:
                    course.append(memory(pid).alone)
            time.sleep(SETTLED)
            last = memory(pid)
    warm = course[WARM_UP // 20 - 1] if len(course) > WARM_UP // 20 else course[0]
    growth = last.alone - warm
    report(
        f"memory over {ROUNDS} rounds ({20 * ROUNDS} asks, {3 * ROUNDS} sessions):"
        f" {growth:+.2f} MB after the warm-up (budget {GROWTH}), PSS {last.pss:.1f} MB"
        f" ({last.alone:.1f} alone); course {' '.join(f'{size:.1f}' for size in course)}"
    )
    assert rest.alone < 2 * BUDGET
    assert growth < 8 * GROWTH


def _churn(stage: Stage, sessions: list[Session], number: int) -> None:
    """Have every session ask, be answered and end its turn; end three and start others."""
    for place in range(3):
        sessions.pop(0).quit()
        sessions.extend(start_sessions(stage, 1, past=not place))
    for session in sessions:
        session.prompt(f"Go on with step {number}")
        session.ask("Bash", {"command": f"make step-{number}-{session.pid}"})
    time.sleep(0.45)  # beyond the hold: the asks are told
    for session in sessions:
        session.answered("done")
        session.finish(f"Step {number} is done.")
    time.sleep(0.1)

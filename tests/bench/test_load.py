"""What the tray costs while nothing happens, and while everything happens."""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.bench.desk import SETTLED, tray
from tests.bench.meter import Meter, thread_count
from tests.bench.world import start_sessions, without_status, world
from tray.demo import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.bench.desk import Desk
    from tray.demo.stage import Session

SECONDS = float(os.environ.get("SESSIONBELL_BENCH_SECONDS", "60"))
IDLE_SHARE, IDLE_WAKEUPS = 0.2, 1.0
"""Budgets at rest: percent of a core, wake-ups a second."""
BUSY_SHARE = 1.5
"""Budget with ten busy sessions, percent of a core."""
LINES_A_SECOND = 20


def test_idle(history: Path, desk: Desk, report: Callable[[str], None]) -> None:
    with world(history) as stage:
        start_sessions(stage, 10)
        with tray(stage, desk) as pid:
            time.sleep(SETTLED)
            meter = Meter(pid)
            time.sleep(SECONDS)
            use = meter.read()
    report(
        f"idle, 10 sessions, {use.seconds:.0f} s: {use.share:.3f} % of a core"
        f" (budget {IDLE_SHARE}), {use.wakeups_a_second:.2f} wake-ups/s (budget {IDLE_WAKEUPS}),"
        f" {use.threads} threads\n  {use}"
    )
    assert use.share < 2 * IDLE_SHARE
    assert use.wakeups_a_second < 2 * IDLE_WAKEUPS


@pytest.mark.parametrize("old", [False, True], ids=["status", "no-status"])
def test_busy(history: Path, desk: Desk, report: Callable[[str], None], *, old: bool) -> None:
    with world(history) as stage:
        sessions = start_sessions(stage, 10)
        for session in sessions:
            session.prompt("Work on this for a while")
            if old:
                without_status(session)
        with tray(stage, desk) as pid:
            _write_lines(sessions, SETTLED)
            meter = Meter(pid)
            written = _write_lines(sessions, SECONDS)
            use = meter.read()
    client = "clients without a status" if old else "sessions"
    report(
        f"10 busy {client}, {written / use.seconds / 10:.1f} lines/s each, {use.seconds:.0f} s:"
        f" {use.share:.2f} % of a core (budget {BUSY_SHARE}), {use.threads} threads\n  {use}"
    )
    # The budget is for clients that publish a status; the others are reported alone.
    assert old or use.share < 2 * BUSY_SHARE


@pytest.mark.parametrize("old", [False, True], ids=["status", "no-status"])
def test_threads(history: Path, desk: Desk, report: Callable[[str], None], *, old: bool) -> None:
    counts = []
    with world(history) as stage:
        sessions = start_sessions(stage, 1, past=False)
        if old:
            without_status(sessions[0])
        with tray(stage, desk) as pid:
            time.sleep(SETTLED)
            counts.append(thread_count(pid))
            for session in start_sessions(stage, 20, past=False):
                if old:
                    without_status(session)
            time.sleep(SETTLED)
            counts.append(thread_count(pid))
    client = "clients without a status" if old else "sessions"
    report(f"threads with 1 and with 21 {client}: {counts[0]} and {counts[1]} (budget: the same)")
    assert old or counts[0] == counts[1]


def _write_lines(sessions: Sequence[Session], seconds: float) -> int:
    """Append to every transcript as a client at work does; return how many lines it was."""
    pace = 1 / LINES_A_SECOND / len(sessions)
    started = time.monotonic()
    written = 0
    with contextlib.ExitStack() as stack:
        transcripts = [
            stack.enter_context(open(session.transcript, "ab", buffering=0)) for session in sessions
        ]
        while time.monotonic() < started + seconds:
            for session, transcript in zip(sessions, transcripts, strict=True):
                transcript.write(_line(session, written))
                written += 1
                time.sleep(max(started + written * pace - time.monotonic(), 0))
    return written


def _line(session: Session, number: int) -> bytes:
    """Half of a tool's use: the call, or its result of a few kilobytes."""
    call = f"toolu_{number // 20:024}"
    if number // 10 % 2:
        content = lines.tool_result(call, "one line of a build's output\n" * 80)
        kind = "user"
    else:
        block = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/a"}}
        content = lines.answer(f"msg_{number}", block, "tool_use")
        kind = "assistant"
    frame = lines.message(session.origin, kind, str(uuid.uuid4()), None, time.time())
    return json.dumps(frame | content).encode() + b"\n"

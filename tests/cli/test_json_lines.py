"""What `watch --json` says of each delivery of the engine's."""

from __future__ import annotations

import json

from tray.cli.feed import Delivery
from tray.cli.watch import JsonLines
from tray.engine import Update
from tray.machine import Track, Tracked
from tray.session import EventKind, Observation, Problem, Snapshot, State, Transition

IDLE = Observation(key="1:2", state=State.IDLE, pid=1)
WORKING = Observation(key="1:2", state=State.WORKING, pid=1)
FULL = Problem("inotify-watches", "no more watches")


def update(session: Observation, *events: EventKind, problems: tuple[Problem, ...] = ()) -> Update:
    told = tuple(Transition(kind, 5.0, session) for kind in events)
    return Update(Snapshot(5.0, (session,)), Tracked((Track(session),)), told, problems)


def said(
    printer: JsonLines, *updates: Update, complete: bool = True, stalled: bool = False
) -> list[tuple[object, ...]]:
    lines = printer.lines(Delivery(updates, complete), 6.0, stalled=stalled)
    return [
        (line["event"], *([line["code"], line["ok"]] if "code" in line else []))
        for line in map(json.loads, lines)
    ]


def test_the_first_delivery_is_one_snapshot_of_the_newest() -> None:
    printer = JsonLines()
    first = update(IDLE), update(WORKING, EventKind.TRANSITION)
    lines = [json.loads(line) for line in printer.lines(Delivery(first, True), 6.0, stalled=False)]
    assert [line["event"] for line in lines] == ["snapshot"]
    assert [row["state"] for row in lines[0]["sessions"]] == ["working"]
    assert said(printer, update(IDLE, EventKind.TRANSITION, EventKind.ENDED)) == [
        ("transition",),
        ("ended",),
    ]


def test_nothing_new_prints_nothing() -> None:
    printer = JsonLines()
    assert said(printer) == []
    said(printer, update(IDLE))
    assert said(printer) == []


def test_a_reader_that_was_too_slow_gets_the_whole_truth_again() -> None:
    printer = JsonLines()
    said(printer, update(IDLE))
    assert said(printer, update(WORKING, EventKind.TRANSITION), complete=False) == [("snapshot",)]


def test_each_problem_is_told_once_and_so_is_its_end() -> None:
    printer = JsonLines()
    assert said(printer, update(IDLE, problems=(FULL,))) == [
        ("snapshot",),
        ("health", "inotify-watches", False),
    ]
    assert said(printer, update(IDLE, problems=(FULL,))) == []
    assert said(printer) == []
    assert said(printer, update(IDLE)) == [("health", "inotify-watches", True)]
    assert said(printer, update(IDLE)) == []


def test_a_problem_with_another_cause_is_told_again() -> None:
    printer = JsonLines()
    said(printer, update(IDLE, problems=(FULL,)))
    other = Problem(FULL.code, "still none")
    assert said(printer, update(IDLE, problems=(other,))) == [("health", FULL.code, False)]


def test_an_engine_that_stands_still_is_a_failed_source() -> None:
    printer = JsonLines()
    said(printer, update(IDLE, problems=(FULL,)))
    assert said(printer, stalled=True) == [("health", "engine-stalled", False)]
    assert said(printer, stalled=True) == []
    assert said(printer, update(IDLE, problems=(FULL,))) == [("health", "engine-stalled", True)]
    assert said(printer, stalled=True) == [("health", "engine-stalled", False)]
    assert said(printer) == [("health", "engine-stalled", True)]

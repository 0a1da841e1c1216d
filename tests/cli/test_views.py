"""The views a person follows: bounded by the screen, and nothing told twice."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tray.cli.views import ChangeLines, LiveTable, change
from tray.engine import Update
from tray.machine import Track, Tracked
from tray.session import (
    EventKind,
    How,
    Observation,
    Problem,
    Reason,
    Snapshot,
    State,
    Transition,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKING = Observation(key="1:2", state=State.WORKING, pid=1, project="shop")
ASKING = Observation(
    key="1:2",
    state=State.NEEDS_INPUT,
    reason=Reason.PERMISSION,
    detail="Bash: npm publish",
    pid=1,
    project="shop",
)
FULL = Problem("inotify-watches", "no more watches: raise fs.inotify.max_user_watches")


def update(
    sessions: Sequence[Observation] = (WORKING,),
    *told: Transition,
    problems: tuple[Problem, ...] = (),
) -> Update:
    tracked = Tracked(tuple(Track(session) for session in sessions))
    return Update(Snapshot(5.0, tuple(sessions)), tracked, told, problems)


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=60, height=12, force_terminal=True, color_system=None)


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("transition", "words"),
    [
        (Transition(EventKind.TRANSITION, 5.0, ASKING), "shop: permission, Bash: npm publish"),
        (Transition(EventKind.APPEARED, 5.0, WORKING), "shop: working"),
        (Transition(EventKind.ENDED, 5.0, WORKING, how=How.KILLED), "shop: ended (killed)"),
        (Transition(EventKind.ENDED, 5.0, WORKING, how=How.EXIT), "shop: ended (exit)"),
        (
            Transition(EventKind.APPEARED, 5.0, Observation(key="7:1", state=State.IDLE, pid=7)),
            "7: idle",
        ),
    ],
)
def test_a_change_in_words(transition: Transition, words: str) -> None:
    assert change(transition) == words


def test_lines_tell_the_table_once_and_each_change_once(console: Console) -> None:
    lines = ChangeLines(console)
    lines.show(update())
    asks = update([ASKING], Transition(EventKind.TRANSITION, 5.0, ASKING))
    lines.show(asks)
    lines.show(asks)
    lines.show(update([ASKING], Transition(EventKind.CHANGED, 6.0, ASKING, fields=("preview",))))
    assert text(console).count("● working") == 1
    assert text(console).count("permission") == 1
    assert len(text(console).splitlines()) == 3


def test_lines_once_are_the_table_alone(console: Console) -> None:
    lines = ChangeLines(console, once=True)
    lines.show(update())
    lines.show(update([ASKING], Transition(EventKind.TRANSITION, 5.0, ASKING)))
    assert len(text(console).splitlines()) == 2


def test_lines_tell_a_problem_when_it_is_new(console: Console) -> None:
    lines = ChangeLines(console)
    for problems in ((FULL,), (FULL,), (), (FULL,)):
        lines.show(update(problems=problems))
    assert text(console).count("no more watches") == 2


def test_the_live_table_never_outgrows_the_screen(console: Console) -> None:
    many = [
        Observation(key=f"{number}:1", state=State.WORKING, project=f"p{number}")
        for number in range(200)
    ]
    with LiveTable(console) as live:
        live.show(update(many, problems=(FULL, FULL)))
    frame = text(console).split("\r\x1b[2K")[0].splitlines()  # before it is drawn again
    assert len(frame) <= 12
    assert any("more" in line for line in frame)
    assert any("max_user_watches" in line for line in frame)
    assert "Ctrl-C ends" in frame[-1]


def test_a_live_table_that_shows_nothing_leaves_no_trace(console: Console) -> None:
    with LiveTable(console):
        pass
    assert text(console) == ""


def test_what_is_said_stands_above_the_table(console: Console) -> None:
    with LiveTable(console) as live:
        live.show(update())
        live.say("no tray\x1b[31m here")
        live.show(update([ASKING]))
    assert "no tray here" in text(console)
    assert "\x1b[31m" not in text(console)

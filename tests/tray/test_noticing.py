"""A finished turn is seen only where the person certainly looks at it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tray.desktop import noticing
from tray.desktop.noticing import Noticing, looks
from tray.session import Observation, State

ONE = Observation("1:1", State.IDLE, unseen=True)
TWO = Observation("2:1", State.IDLE, unseen=True)


@pytest.mark.parametrize(
    ("active", "locked", "idle", "expected"),
    [
        (True, False, 0.0, True),
        (True, False, 60.0, True),
        (True, False, 61.0, False),
        (True, False, None, False),
        (True, True, 0.0, False),
        (None, False, 0.0, False),
        (False, False, 0.0, False),
    ],
)
def test_only_what_is_certain_counts(active, locked, idle, expected):
    assert looks(active=active, locked=locked, idle=idle) is expected


class Way:
    def __init__(self, active):
        self._active = active

    def active(self):
        if isinstance(self._active, Exception):
            raise self._active
        return self._active


def ask(answers, *, idle=1.0, locked=False):
    asked = []

    def find(session, _desktop):
        asked.append(session.key)
        return Way(answers[session.key])

    found = asyncio.run(Noticing(find, {}).seen((ONE, TWO), locked=locked, idle=idle))
    return [session.key for session in found], asked


def test_the_one_with_the_focus_is_seen():
    assert ask({"1:1": True, "2:1": None}) == (["1:1"], ["1:1", "2:1"])


def test_a_fault_is_no_answer():
    assert ask({"1:1": RuntimeError("x"), "2:1": True})[0] == ["2:1"]


@pytest.mark.parametrize("where", [{"idle": 500.0}, {"idle": None}, {"locked": True}])
def test_nothing_is_asked_where_nobody_is(where):
    assert ask({"1:1": True, "2:1": True}, **where) == ([], [])


def test_what_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(noticing, "_LIMIT", 0.05)
    over = threading.Event()

    def find(_session, _desktop):
        over.wait(10)

    try:
        assert asyncio.run(Noticing(find, {}).seen((ONE,), locked=False, idle=1.0)) == []
    finally:
        over.set()

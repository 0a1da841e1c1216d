"""The sessions that ended last: when they are looked for."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.claude.lines import prompt
from tray.desktop import recent
from tray.desktop.recent import RecentSessions, due
from tray.session import Observation, State

if TYPE_CHECKING:
    from pathlib import Path


def talk(root: Path) -> str:
    session_id = str(uuid.uuid4())
    folder = root / "projects/-src-shop"
    folder.mkdir(parents=True, exist_ok=True)
    line = json.dumps(prompt("go") | {"cwd": "/src/shop"})
    (folder / f"{session_id}.jsonl").write_text(f"{line}\n")
    return session_id


def live(session_id: str, state: State = State.WORKING) -> Observation:
    return Observation(f"{session_id[:4]}:1", state, session_id=session_id)


class Followed(RecentSessions):
    """Counts its looks, and can be waited for."""

    def __init__(self, root: Path) -> None:
        super().__init__(lambda: self.changes.append(self.ids), roots=[str(root)])
        self.changes: list[set[str]] = []
        self.looks = 0

    @property
    def ids(self) -> set[str]:
        return {one.session_id for one in self.sessions}

    async def look_at(self, *sessions: Observation) -> None:
        self.follow(sessions)
        if self._task is not None:
            self.looks += 1
            await asyncio.wait((self._task,))
        await asyncio.sleep(0)  # the callback that takes the task off


@pytest.mark.parametrize(
    ("since_last", "ended", "expected"),
    [
        (float("inf"), False, True),
        (59.0, False, False),
        (60.0, False, True),
        (2.0, True, True),
        (0.1, True, False),
    ],
)
def test_when_to_look_again(since_last, ended, expected):
    assert due(since_last, ended=ended) is expected


@pytest.mark.asyncio
async def test_it_looks_at_the_start_and_when_a_session_ends(tmp_path, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(recent.time, "monotonic", lambda: clock[0])
    before, running = talk(tmp_path), talk(tmp_path)
    followed = Followed(tmp_path)
    await followed.look_at(live(running))
    assert (followed.ids, followed.looks) == ({before}, 1)
    clock[0] += 30
    await followed.look_at(live(running))
    assert followed.looks == 1
    await followed.look_at()
    assert (followed.ids, followed.looks) == ({before, running}, 2)
    clock[0] += 61
    await followed.look_at()
    assert followed.looks == 3
    assert followed.changes == [{before}, {before, running}]


@pytest.mark.asyncio
async def test_one_that_is_resumed_is_gone_at_once_without_a_look(tmp_path):
    session_id = talk(tmp_path)
    followed = Followed(tmp_path)
    await followed.look_at()
    assert followed.find(session_id).cwd == "/src/shop"
    await followed.look_at(live(session_id))
    assert (followed.ids, followed.looks) == (set(), 1)
    assert followed.find(session_id) is None
    assert followed.changes == [{session_id}, set()]


@pytest.mark.asyncio
async def test_a_session_that_died_is_one_that_ended(tmp_path):
    session_id = talk(tmp_path)
    followed = Followed(tmp_path)
    await followed.look_at(live(session_id, State.ENDED))
    assert followed.ids == {session_id}


@pytest.mark.asyncio
async def test_a_look_that_fails_is_told_to_the_log_and_not_the_last(tmp_path, monkeypatch, caplog):
    clock = [1000.0]
    monkeypatch.setattr(recent.time, "monotonic", lambda: clock[0])
    followed = Followed(tmp_path)
    monkeypatch.setattr(followed._finder, "look", lambda *_, **__: 1 / 0)
    await followed.look_at()
    assert "cannot be looked for" in caplog.text
    monkeypatch.undo()
    session_id = talk(tmp_path)
    followed._looked_at = float("-inf")
    await followed.look_at()
    assert followed.ids == {session_id}


@pytest.mark.asyncio
async def test_closing_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    followed, go, begun = Followed(tmp_path), threading.Event(), threading.Event()

    def hang(*_args, **_more):
        begun.set()
        go.wait()
        return ()

    monkeypatch.setattr(followed._finder, "look", hang)
    followed.follow(())
    assert await asyncio.to_thread(begun.wait, 10)
    async with asyncio.timeout(10):
        await followed.close()
    go.set()

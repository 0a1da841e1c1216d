"""What a person asks for, where what would do it hangs: they are told, and nothing else waits."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tray.configfile import SettingsFile
from tray.desktop import controller
from tray.desktop.controller import Controller
from tray.desktop.entry import Action, Entry
from tray.desktop.focus.route import Outcome
from tray.desktop.recent import RecentSessions
from tray.mutefile import MuteFile
from tray.session import Observation, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio
SESSION = Observation("4:2", State.WORKING, session_id="s", cwd="/")


class Desk:
    """A controller, what it told, and a gate at which work hangs."""

    def __init__(self, folder: Path) -> None:
        self.go = threading.Event()
        self.hung = 0
        self.told: list[str] = []
        self.control = Controller(
            sessions=lambda: (SESSION,),
            mutes=MuteFile(str(folder / "mutes.json")),
            settings=SettingsFile(str(folder / "config.toml")),
            recent=RecentSessions(lambda: None, roots=()),
            tell=lambda bubble: self.told.append(f"{bubble.title}\n{bubble.body}"),
            changed=lambda: None,
            end=lambda: None,
            health=lambda: "",
            folder=None,
            log_path=str(folder / "log"),
        )

    def hang(self, *_args: object, **_more: object) -> Outcome:
        self.hung += 1
        self.go.wait()
        return Outcome(done=True, message="there")

    async def do(self, entry: Entry) -> None:
        self.control.act(entry)
        await asyncio.wait(tuple(self.control._tasks), timeout=20)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    async def copy(_text: str) -> bool:
        return True

    monkeypatch.setattr(controller, "clipboard", SimpleNamespace(copy=copy))
    monkeypatch.setattr(controller, "_LIMIT", 0.1)
    made = Desk(tmp_path)
    yield made
    made.go.set()


async def test_a_way_that_hangs_is_told_and_tried_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk.control._guide, "go", desk.hang)
    for _ in range(3):
        await desk.do(Entry("row", "", session="4:2", action=Action.ROW))
    assert [text.endswith("does not answer") for text in desk.told] == [True] * 3
    done, said = await desk.control.focus(SESSION, "")
    assert (done, said.endswith("does not answer")) == (False, True)
    assert desk.hung == 1
    # All else goes on.
    monkeypatch.setattr(controller, "_LIMIT", 20.0)
    await desk.do(Entry("set", "", action=Action.SET, setting="show_details", value=False))
    assert desk.control._settings.settings.show_details is False
    assert len(desk.told) == 3


async def test_a_disk_that_hangs_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller.configedit, "change", desk.hang)
    await desk.do(Entry("set", "", action=Action.SET, setting="show_details", value=False))
    assert "the disk does not answer" in desk.told[0]


async def test_a_folder_that_cannot_be_opened_in_time_is_copied(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "open_path", desk.hang)
    await desk.do(Entry("open", "", session="4:2", action=Action.OPEN_FOLDER))
    assert "cannot be opened now" in desk.told[0]
    assert "path copied: /" in desk.told[0]

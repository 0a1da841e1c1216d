"""The conversations that ended last."""

from __future__ import annotations

import json
import os
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.claude.lines import T0, assistant, prompt, text
from tray.claude import recent as module
from tray.claude.recent import RecentSessions

if TYPE_CHECKING:
    from pathlib import Path


class Past:
    """A config root with conversations in it; the later one is made, the older it is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._at = T0

    def file(self, name: str, *lines: dict | str, project: str = "-src-shop") -> Path:
        folder = self.root / "projects" / project
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n"
                                for one in lines), encoding="utf-8")  # fmt: skip
        os.utime(path, (self._at, self._at))
        self._at -= 3600
        return path

    def talk(self, words: str = "Fix the login", **fields) -> str:
        session_id = str(uuid.uuid4())
        cwd = {"cwd": "/src/shop", "entrypoint": "cli", **fields}
        at = self._at
        self.file(
            f"{session_id}.jsonl",
            prompt(words, at - 60) | cwd,
            assistant(text("Done."), at=at, **cwd),
        )
        return session_id

    def look(self, live=(), transcripts=(), **options) -> tuple[module.Recent, ...]:
        return RecentSessions().look([str(self.root)], live, transcripts, **options)

    def ids(self, *arguments, **options) -> list[str]:
        return [recent.session_id for recent in self.look(*arguments, **options)]


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def test_what_is_told_of_one(past, tmp_path):
    session_id = past.talk()
    (found,) = past.look()
    assert found == module.Recent(
        session_id=session_id,
        config_root=str(tmp_path),
        transcript=str(tmp_path / "projects/-src-shop" / f"{session_id}.jsonl"),
        last_at=T0,
        cwd="/src/shop",
        title="Fix the login",
    )


def test_newest_first_and_ten_at_most(past):
    made = [past.talk() for _ in range(25)]
    assert past.ids() == made[:10]


def test_live_ones_are_left_out(past, tmp_path):
    made = [past.talk() for _ in range(3)]
    path = str(tmp_path / "projects/-src-shop" / f"{made[2]}.jsonl")
    assert past.ids({made[0]}, {path}) == [made[1]]


def test_old_ones_are_left_out(past):
    made = [past.talk() for _ in range(5)]
    assert past.ids(since=T0 - 2 * 3600) == made[:3]


def test_what_no_person_can_go_on_with_is_left_out(past):
    line = prompt("x") | {"cwd": "/src/shop", "isSidechain": True}
    past.file(f"{uuid.uuid4()}.jsonl", line)
    past.file(f"agent-{uuid.uuid4()}.jsonl", prompt("x") | {"cwd": "/src/shop"})
    past.file("notes.jsonl", prompt("x") | {"cwd": "/src/shop"})
    past.file(f"{uuid.uuid4()}.jsonl")
    past.file(f"{uuid.uuid4()}.jsonl", {"type": "ai-title", "aiTitle": "Only a title"})
    past.file(f"{uuid.uuid4()}.jsonl", assistant(text("neither folder nor prompt")))
    past.file(f"{uuid.uuid4()}.jsonl", "no json at all", "\x00\xff")
    past.talk(entrypoint="sdk-cli")
    past.talk(teamName="crew", agentName="helper")
    folder = past.root / "projects/-src-shop" / f"{uuid.uuid4()}.jsonl"
    folder.mkdir()
    assert past.ids() == []
    kept = past.talk()
    assert past.ids() == [kept]


def test_where_it_began_is_where_it_is_resumed(past):
    session_id = str(uuid.uuid4())
    begun = prompt("go") | {"cwd": "/src/shop"}
    past.file(f"{session_id}.jsonl", begun, assistant(text("ok"), cwd="/src/shop/api"))
    assert past.look()[0].cwd == "/src/shop"


@pytest.mark.parametrize("cwd", ["relative", "/a\0b"])
def test_a_folder_that_can_be_none_is_not_believed(past, cwd):
    past.talk(cwd=cwd)
    assert past.look()[0].cwd is None


def test_a_title_is_one_short_line(past):
    past.talk("first\nsecond \x1b[31m" + "x" * 9000)
    title = past.look()[0].title
    assert title.isprintable()
    assert len(title) <= 200


def test_a_root_that_is_not_there_is_none(tmp_path):
    assert RecentSessions().look([str(tmp_path / "gone")], ()) == ()


def test_two_names_of_one_root_are_one(past, tmp_path):
    past.talk()
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    assert len(RecentSessions().look([str(tmp_path), str(link)], ())) == 1


def test_only_the_newest_are_opened_and_again_only_if_they_changed(past, monkeypatch):
    made = [past.talk() for _ in range(60)]
    opened: list[str] = []
    read = module._read
    monkeypatch.setattr(
        module, "_read", lambda path, *more: opened.append(path) or read(path, *more)
    )
    finder = RecentSessions()
    finder.look([str(past.root)], ())
    assert len(opened) == 20
    opened.clear()
    again = finder.look([str(past.root)], ())
    assert opened == []
    assert [recent.session_id for recent in again] == made[:10]
    changed = past.root / "projects/-src-shop" / f"{made[4]}.jsonl"
    changed.write_text(changed.read_text() + json.dumps(prompt("more", T0 + 9)) + "\n")
    os.utime(changed, (T0 + 9, T0 + 9))
    assert finder.look([str(past.root)], ())[0].session_id == made[4]
    assert opened == [str(changed)]

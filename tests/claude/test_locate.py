"""Finding transcripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tray.claude import locate
from tray.claude.locate import find_transcript, folder_name, transcripts_since

if TYPE_CHECKING:
    from pathlib import Path

ID = "d0374515-4bdd-4ca0-bf83-be675a15b095"
OTHER = "11111111-1111-4111-8111-111111111111"


def write(root: Path, folder: str, name: str, at: float = 1000.0) -> str:
    path = root / "projects" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    os.utime(path, (at, at))
    return str(path)


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("/work/shop-api", "-work-shop-api"),
        ("/a/b.c", "-a-b-c"),
        ("/a/b_c", "-a-b-c"),
        ("/home/josé/Ünï", "-home-jos---n-"),
        ("/tmp/reg/é🚀x", "-tmp-reg----x"),
        ("/a b", "-a-b"),
        ("/" + "x" * 300, "-" + "x" * 199),
    ],
)
def test_a_folder_s_name(cwd: str, expected: str) -> None:
    assert folder_name(cwd) == expected


def test_by_id_in_whatever_folder(tmp_path: Path) -> None:
    path = write(tmp_path, "-elsewhere", f"{ID}.jsonl")
    write(tmp_path, "-work", f"{OTHER}.jsonl")
    assert find_transcript(str(tmp_path), ID) == path
    assert find_transcript(str(tmp_path), ID, "/work") == path
    assert find_transcript(str(tmp_path), OTHER.replace("1", "2")) is None


def test_of_several_the_newest_but_first_that_of_its_directory(tmp_path: Path) -> None:
    write(tmp_path, "-a", f"{ID}.jsonl", at=1000)
    newest = write(tmp_path, "-b", f"{ID}.jsonl", at=3000)
    here = write(tmp_path, "-work", f"{ID}.jsonl", at=2000)
    assert find_transcript(str(tmp_path), ID) == newest
    assert find_transcript(str(tmp_path), ID, "/work") == here


@pytest.mark.parametrize("name", ["", "..", f"../../{ID}", f"{ID}/../x", f"{ID}\0", "*", ID[:-1]])
def test_only_an_id_leads_to_a_file(tmp_path: Path, name: str) -> None:
    write(tmp_path, "-work", f"{ID}.jsonl")
    assert find_transcript(str(tmp_path), name, "/work") is None


def test_a_directory_s_transcripts(tmp_path: Path) -> None:
    new = write(tmp_path, "-work", f"{ID}.jsonl", at=2000)
    write(tmp_path, "-work", f"{OTHER}.jsonl", at=500)
    write(tmp_path, "-work", "agent-a168c11.jsonl", at=2000)
    write(tmp_path, "-work", f"{OTHER}.orphaned-1.jsonl", at=2000)
    write(tmp_path, "-work-more", f"{ID}.jsonl", at=2000)
    (tmp_path / "projects" / "-work" / ID).mkdir()
    assert transcripts_since(str(tmp_path), "/work", 1000) == [new]
    assert transcripts_since(str(tmp_path), "/nowhere", 1000) == []


def test_a_long_directory_s_folder_has_a_hash_at_its_end(tmp_path: Path) -> None:
    cwd = "/" + "x" * 300
    path = write(tmp_path, f"{folder_name(cwd)}-jrsncu", f"{ID}.jsonl")
    write(tmp_path, "-" + "x" * 150, f"{OTHER}.jsonl")
    assert transcripts_since(str(tmp_path), cwd, 0) == [path]
    assert find_transcript(str(tmp_path), ID, cwd) == path


def test_when_a_tool_s_output_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "_OUTPUT", str(tmp_path))
    folder = tmp_path / "-work" / ID / "tasks"
    folder.mkdir(parents=True)
    os.utime(folder, (7, 7))
    assert locate.tool_output_changed_at(ID, "/work") == 7
    assert locate.tool_output_changed_at(OTHER, "/work") is None
    assert locate.tool_output_changed_at("..", "/work") is None

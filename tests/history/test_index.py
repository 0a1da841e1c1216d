"""The index: whatever is wrong with it, the answer is right and one warning tells."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.bench.trees import write_tree
from tests.history.test_scan import assert_true, look
from tray.claude.counting import Tally
from tray.history import index as indexing
from tray.history.counted import Progress
from tray.history.index import VERSION, Index, default_path
from tray.history.past import Past

if TYPE_CHECKING:
    from collections.abc import Callable


def corrupt(path: Path) -> None:
    path.write_bytes(b"this is no database " * 500)


def corrupt_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data) - 64, 512):
        data[at : at + 64] = b"\xff" * 64
    path.write_bytes(data)


def older(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE files")
        database.execute("CREATE TABLE files (path TEXT)")
        database.execute("PRAGMA user_version = 7")
    database.close()


def garbled_rows(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE files SET past = x'00ff', progress = x'c1'")
    database.close()


@pytest.mark.parametrize(
    ("harm", "warned"),
    [(corrupt, True), (corrupt_inside, True), (older, False), (garbled_rows, False)],
)
def test_a_harmed_index_is_made_anew(
    tmp_path: Path, harm: Callable[[Path], None], warned: bool
) -> None:
    truths = write_tree(tmp_path / "tree", 30)
    path = tmp_path / "index"
    with Index(str(path)) as index:
        look(tmp_path / "tree", index, everything=True)
    harm(path)
    with Index(str(path)) as index:
        assert_true(look(tmp_path / "tree", index, everything=True), truths)
        assert len(index.problems) == warned
    with Index(str(path)) as index:
        assert_true(look(tmp_path / "tree", index, everything=True), truths)
        assert len(index.load()) == 30
        assert not index.problems


def test_a_locked_index_means_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_PATIENCE", 0.01)
    truths = write_tree(tmp_path / "tree", 5)
    path = str(tmp_path / "index")
    with Index(path) as index:
        index.load()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with Index(path) as index:
        assert_true(look(tmp_path / "tree", index, everything=True), truths)
        assert len(index.problems) == 1
        assert "locked" in index.problems[0].message
    other.execute("ROLLBACK")
    other.close()
    assert os.path.exists(path)


def test_a_full_disk_means_one_warning(tmp_path: Path) -> None:
    truths = write_tree(tmp_path / "tree", 60)
    with Index(str(tmp_path / "index")) as index:
        index.load()
        assert index._database is not None
        index._database.execute("PRAGMA max_page_count = 5")
        assert_true(look(tmp_path / "tree", index, everything=True), truths)
        assert len(index.problems) == 1
        assert "full" in index.problems[0].message


def test_a_read_only_index_is_read_and_means_one_warning(tmp_path: Path) -> None:
    truths = write_tree(tmp_path / "tree", 6)
    with Index(str(tmp_path / "index")) as index:
        look(tmp_path / "tree", index, everything=True)
        assert index._database is not None
        Path(truths[0].path).unlink()
        index._database.execute("PRAGMA query_only = 1")
        assert_true(look(tmp_path / "tree", index, everything=True), truths[1:])
        assert len(index.problems) == 1


def test_no_folder_for_it_means_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    truths = write_tree(tmp_path / "tree", 5)
    with Index(str(tmp_path / "file" / "index")) as index:
        assert_true(look(tmp_path / "tree", index, everything=True), truths)
        assert len(index.problems) == 1


def test_it_is_for_its_person_alone(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "sessionbell" / "history.sqlite"
    with Index(str(path)) as index:
        index.remember_roots([b"/r"])
        assert index.roots() == (b"/r",)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_rows_of_other_listings_stay(tmp_path: Path) -> None:
    write_tree(tmp_path / "a", 4)
    write_tree(tmp_path / "b", 5, seed=2)
    with Index(str(tmp_path / "index")) as index:
        look(tmp_path / "a", index)
        look(tmp_path / "b", index)
        assert len(index.load()) == 9


@pytest.mark.parametrize(
    ("folder", "path"),
    [("/x/cache", "/x/cache"), ("relative", "/home/me/.cache"), ("", "/home/me/.cache")],
)
def test_where_it_is(folder: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    assert default_path() == f"{path}/sessionbell/history.sqlite"


def test_another_form_of_what_is_kept_has_another_version() -> None:
    """Fields of `Past` change the version by themselves; those of the count do not."""
    assert 0 < VERSION < 2**31
    assert Past.__struct_fields__[0] == "transcript"
    kept = (indexing.COUNTING, Tally.__struct_fields__, Progress.__struct_fields__)
    assert kept == (
        3,
        (
            *("turns", "messages", "malformed", "first_timestamp", "last_timestamp", "cwd"),
            *("last_cwd", "branch", "version", "entrypoint", "custom_title", "ai_title"),
            *("last_prompt", "summary", "first_prompt", "tag", "forked_from", "continued_in"),
            *("begun", "sidechain", "team", "marks", "starts"),
        ),
        ("device", "inode", "offset", "checksum", "state"),
    ), "raise COUNTING, then this"

"""A file is replaced as a whole or not at all, and locked for no longer than it may wait."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from tray.atomic import lock, replace_file

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(str(path), b"one")
    assert path.read_bytes() == b"one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("keep", "mode"), [(True, 0o644), (False, 0o600)])
def test_the_mode_is_kept_where_that_is_wanted(tmp_path: Path, keep: bool, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)
    replace_file(str(path), b"new", keep_mode=keep)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


def test_what_fails_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_lock_that_another_holds_is_not_waited_for_long(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "wb") as one, open(tmp_path / "lock", "wb") as other:
        lock(one.fileno(), 0.0)
        with pytest.raises(TimeoutError):
            lock(other.fileno(), 0.02)
    with open(tmp_path / "lock", "wb") as again:
        lock(again.fileno(), 0.0)

"""Folders that come, go and are replaced are watched all the same."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from watchdog.observers.inotify import InotifyObserver

from tray.system import watches
from tray.system.watches import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Watched:
    """A folder watch and what it has told."""

    def __init__(self) -> None:
        self.told = threading.Event()
        self.watch = FolderWatch(self.told.set)

    def hears(self, folder: Path) -> bool:
        """Whether a change in `folder` is told."""
        self.told.clear()
        (folder / "1.json").write_text("{}")
        return self.told.wait(5)

    def is_deaf(self, folder: Path) -> bool:
        self.told.clear()
        (folder / "1.json").write_text("{}")
        return not self.told.wait(0.1)


@pytest.fixture
def watched() -> Iterator[Watched]:
    found = Watched()
    yield found
    found.watch.stop()


def test_files_made_changed_moved_and_deleted(watched: Watched, tmp_path: Path) -> None:
    watched.watch.watch([str(tmp_path)])
    for change in (
        lambda: (tmp_path / "a").write_text("1"),
        lambda: (tmp_path / "a").write_text("2"),
        lambda: (tmp_path / "a").rename(tmp_path / "b"),
        lambda: (tmp_path / "b").unlink(),
    ):
        watched.told.clear()
        change()
        assert watched.told.wait(5)


def test_a_folder_made_later(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    watched.watch.watch([str(folder)])
    assert watched.watch.check() == ()
    folder.mkdir()
    assert watched.watch.check() == ()
    assert watched.hears(folder)


def test_a_folder_deleted_and_made_again(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    watched.watch.watch([str(folder)])
    for _ in range(3):
        shutil.rmtree(folder)
        folder.mkdir()
        assert watched.watch.check() == ()
        assert watched.hears(folder)


def test_a_folder_renamed_away_and_replaced(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    watched.watch.watch([str(folder)])
    folder.rename(tmp_path / "old")
    folder.mkdir()
    watched.watch.check()
    assert watched.hears(folder)
    assert watched.is_deaf(tmp_path / "old")


def test_a_link_that_leads_elsewhere_now(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    link = tmp_path / "sessions"
    link.symlink_to("a")
    watched.watch.watch([str(link)])
    assert watched.hears(tmp_path / "a")
    link.unlink()
    link.symlink_to("b")
    watched.watch.check()
    assert watched.hears(tmp_path / "b")


def test_what_is_no_longer_wanted_is_let_go(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    watched.watch.watch([str(tmp_path / "a"), str(tmp_path / "b")])
    assert watched.hears(tmp_path / "a")
    watched.watch.watch([str(tmp_path / "b")])
    assert watched.is_deaf(tmp_path / "a")
    assert watched.hears(tmp_path / "b")


def test_a_wake_that_raises_ends_nothing(tmp_path: Path) -> None:
    told = threading.Event()

    def wake() -> None:
        told.set()
        raise RuntimeError

    watch = FolderWatch(wake)
    watch.watch([str(tmp_path)])
    for name in "ab":
        told.clear()
        (tmp_path / name).write_text("")
        assert told.wait(5)
    watch.stop()


def test_a_dead_observer_is_replaced_and_told(watched: Watched, tmp_path: Path) -> None:
    watched.watch.watch([str(tmp_path)])
    observer = watched.watch._observer
    assert observer is not None
    observer.stop()
    observer.join(5)
    watched.told.clear()
    (problem,) = watched.watch.check()
    assert problem.code == "observer-restarted"
    assert watched.told.is_set(), "what happened meanwhile is looked at"
    assert watched.watch.restarts == 1
    assert watched.hears(tmp_path)


def test_a_dead_emitter_is_replaced(watched: Watched, tmp_path: Path) -> None:
    watched.watch.watch([str(tmp_path)])
    assert watched.watch._observer is not None
    for emitter in watched.watch._observer.emitters:
        emitter.stop()
        emitter.join(5)
    watched.watch.check()
    assert watched.watch.restarts == 1
    assert watched.hears(tmp_path)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (errno.ENOSPC, "inotify-watches"),
        (errno.EMFILE, "inotify-instances"),
        (errno.EACCES, "inotify"),
    ],
)
def test_a_limit_is_told_and_tried_again(
    code: int,
    problem: str,
    watched: Watched,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(InotifyObserver, "schedule", refuse)
        watched.watch.watch([str(tmp_path)])
        (found,) = watched.watch.check()
        assert found.code == problem
        assert "2 s late" in found.message
    monkeypatch.setattr(watches, "_RETRY", 0.0)
    assert watched.watch.check() == ()
    assert watched.hears(tmp_path)


def test_after_the_end_nothing_is_watched(watched: Watched, tmp_path: Path) -> None:
    watched.watch.watch([str(tmp_path)])
    watched.watch.stop()
    watched.watch.watch([str(tmp_path / "x")])
    assert watched.watch.check() == ()
    assert watched.is_deaf(tmp_path)


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/etc/hostname", "a\0b"])
def test_what_is_no_folder_waits(path: str, watched: Watched) -> None:
    watched.watch.watch([path])
    assert watched.watch.check() == ()

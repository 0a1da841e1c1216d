"""Folders that come, go, are replaced or cannot be watched; threads that die."""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from watchdog.observers import inotify_c
from watchdog.observers.inotify import InotifyEmitter, InotifyObserver

from tray.system import watches
from tray.system.watches import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    WaitUntil = Callable[..., object]


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

    def codes(self) -> list[str]:
        return [problem.code for problem in self.watch.check()]


@pytest.fixture
def watched() -> Iterator[Watched]:
    found = Watched()
    yield found
    found.watch.stop()
    assert under_watch() == []


def under_watch() -> list[int]:
    """Return the inodes that the kernel says are under watch by this process (proc(5))."""
    found = []
    for entry in glob.glob("/proc/self/fdinfo/*"):
        try:
            text = Path(entry).read_text()
        except FileNotFoundError:
            continue
        found += [int(inode, 16) for inode in re.findall(r"\ninotify wd:\S+ ino:(\S+)", text)]
    return sorted(found)


def inodes(*folders: Path) -> list[int]:
    return sorted(folder.stat().st_ino for folder in folders)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sessions"
    made.mkdir()
    return made


def test_files_made_changed_moved_and_deleted(watched: Watched, folder: Path) -> None:
    watched.watch.watch([str(folder)])
    for change in (
        lambda: (folder / "a").write_text("1"),
        lambda: (folder / "a").write_text("2"),
        lambda: (folder / "a").rename(folder / "b"),
        lambda: (folder / "b").rename(folder.parent / "b"),
        lambda: (folder.parent / "b").rename(folder / "c"),
        lambda: (folder / "c").unlink(),
    ):
        watched.told.clear()
        change()
        assert watched.told.wait(5)


def test_a_watch_that_begins_tells_of_what_was_before(watched: Watched, folder: Path) -> None:
    watched.watch.watch([str(folder)])
    assert watched.told.is_set()
    watched.told.clear()
    watched.watch.watch([str(folder)])
    assert watched.codes() == []
    assert not watched.told.is_set(), "nothing began"


def test_what_lies_deeper_is_not_watched(watched: Watched, folder: Path) -> None:
    (folder / "deeper").mkdir()
    watched.watch.watch([str(folder)])
    assert under_watch() == inodes(folder)


def test_the_wanted_set_is_replaced(watched: Watched, tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    for made in (a, b, c):
        made.mkdir()
    watched.watch.watch([str(a), str(b)])
    assert under_watch() == inodes(a, b)
    watched.watch.watch([str(b), str(c)])
    assert under_watch() == inodes(b, c)
    assert watched.hears(b)
    assert watched.hears(c)
    watched.watch.watch([])
    assert under_watch() == []


def test_a_folder_made_later(watched: Watched, folder: Path) -> None:
    folder.rmdir()
    watched.watch.watch([str(folder)])
    assert watched.codes() == []
    assert watched.watch._observer is None, "no thread for nothing"
    folder.mkdir()
    watched.told.clear()
    assert watched.codes() == []
    assert watched.told.is_set(), "what was made with it is looked at"
    assert watched.hears(folder)


def test_a_folder_deleted_and_made_again(
    watched: Watched, folder: Path, wait_until: WaitUntil
) -> None:
    """Even if the file system gives the new one the inode number of the old."""
    watched.watch.watch([str(folder)])
    for _ in range(3):
        shutil.rmtree(folder)
        folder.mkdir()
        wait_until(lambda: watched.codes() == [] and under_watch() == inodes(folder))
        assert watched.hears(folder)
    assert watched.watch.restarts == 0, "no thread died"


def test_a_folder_deleted_for_good(watched: Watched, folder: Path) -> None:
    watched.watch.watch([str(folder)])
    folder.rmdir()
    assert watched.codes() == []
    assert under_watch() == []


def test_a_folder_renamed_away_and_replaced(watched: Watched, folder: Path) -> None:
    watched.watch.watch([str(folder)])
    folder.rename(folder.parent / "old")
    assert watched.codes() == []
    assert under_watch() == []
    folder.mkdir()
    assert watched.codes() == []
    assert under_watch() == inodes(folder)
    assert watched.hears(folder)


def test_a_folder_above_renamed_away_and_replaced(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "root" / "sessions"
    folder.mkdir(parents=True)
    watched.watch.watch([str(folder)])
    (tmp_path / "root").rename(tmp_path / "old")
    folder.mkdir(parents=True)
    assert watched.codes() == []
    assert under_watch() == inodes(folder)
    assert watched.hears(folder)


@pytest.mark.parametrize("linked", ["sessions", "root/sessions"])
def test_a_link_that_leads_elsewhere_now(watched: Watched, tmp_path: Path, linked: str) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for made in (a, b):
        (made / "sessions").mkdir(parents=True)
    link = tmp_path / linked.split("/")[0]
    link.symlink_to(a if "/" in linked else a / "sessions")
    watched.watch.watch([str(tmp_path / linked)])
    assert watched.hears(a / "sessions")
    link.unlink()
    link.symlink_to(b if "/" in linked else b / "sessions")
    assert watched.codes() == []
    assert under_watch() == inodes(b / "sessions")
    assert watched.hears(b / "sessions")
    link.unlink()
    assert watched.codes() == []
    assert under_watch() == []


def test_two_names_of_one_folder(watched: Watched, folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    watched.watch.watch([str(folder), str(link)])
    assert under_watch() == inodes(folder)
    watched.watch.watch([str(link)])
    assert watched.hears(folder)
    assert watched.watch.restarts == 0


def test_a_file_in_a_folders_place(watched: Watched, folder: Path) -> None:
    watched.watch.watch([str(folder)])
    folder.rmdir()
    folder.write_text("")
    assert watched.codes() == []
    assert under_watch() == []


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/etc/hostname", "a\0b", "/" + "x" * 5000])
def test_what_is_no_folder_waits(path: str, watched: Watched, folder: Path) -> None:
    watched.watch.watch([path, str(folder)])
    assert watched.codes() == []
    assert under_watch() == inodes(folder)


def test_a_name_that_is_no_text(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    watched.watch.watch([str(folder)])
    assert watched.hears(folder)


def test_a_wake_that_raises_ends_nothing(folder: Path) -> None:
    told = threading.Event()

    def wake() -> None:
        told.set()
        raise RuntimeError

    watch = FolderWatch(wake)
    watch.watch([str(folder)])
    for name in "ab":
        told.clear()
        (folder / name).write_text("")
        assert told.wait(5)
    watch.stop()


dying_threads = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def _die(*arguments: object, **options: object) -> None:
    raise SystemExit


@dying_threads
@pytest.mark.parametrize(
    ("owner", "what"),
    [
        (watches._Waker, "on_any_event"),  # The observer.
        (InotifyEmitter, "queue_event"),  # The emitter of a folder.
        (inotify_c, "struct"),  # Whichever thread reads from the kernel.
    ],
    ids=["observer", "emitter", "reader"],
)
def test_a_thread_that_died_is_replaced_and_told(
    watched: Watched,
    folder: Path,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    what: str,
) -> None:
    watched.watch.watch([str(folder)])
    before = threading.active_count()
    with monkeypatch.context() as patched:
        patched.setattr(owner, what, _die)
        (folder / "a").write_text("")
        wait_until(lambda: threading.active_count() < before)
    watched.told.clear()
    assert watched.codes() == ["observer-restarted"]
    assert watched.told.is_set(), "what happened meanwhile is looked at"
    assert watched.watch.restarts == 1
    assert threading.active_count() == before
    assert under_watch() == inodes(folder)
    assert watched.hears(folder)
    assert watched.codes() == ["observer-restarted"], "for a while"
    assert watched.watch.restarts == 1
    monkeypatch.setattr(watches, "_NOTED", 0.0)
    assert watched.codes() == []


@pytest.mark.parametrize("part", ["observer", "emitters"])
def test_a_thread_that_somebody_ended_is_replaced(
    watched: Watched, folder: Path, part: str
) -> None:
    watched.watch.watch([str(folder)])
    observer = watched.watch._observer
    assert observer is not None
    for thread in (observer,) if part == "observer" else tuple(observer.emitters):
        thread.stop()
        thread.join(5)
    watched.codes()
    assert watched.hears(folder)


def _fail(code: int) -> Callable[..., None]:
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code)) if code else RuntimeError("can't start new thread")

    return fail


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (errno.ENOSPC, "inotify-watches"),
        (errno.EMFILE, "inotify-instances"),
        (errno.EIO, "inotify"),
        (0, "inotify"),
    ],
)
@pytest.mark.parametrize("step", ["__init__", "start", "schedule"])
def test_a_failure_is_told_and_tried_again(
    code: int,
    problem: str,
    step: str,
    watched: Watched,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = threading.active_count()
    with monkeypatch.context() as patched:
        patched.setattr(InotifyObserver, step, _fail(code))
        watched.watch.watch([str(folder)])
        assert watched.codes() == [problem]
        (found,) = watched.watch.check()
        assert "2 s late" in found.message
        assert threading.active_count() == before, "nothing runs for nothing"
    assert watched.codes() == [problem], "not tried again at once"
    monkeypatch.setattr(watches, "_RETRY", 0.0)
    assert watched.codes() == []
    assert watched.hears(folder)


def test_a_failure_of_one_folder_is_not_that_of_another(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    real = InotifyObserver.schedule

    def schedule(self: InotifyObserver, handler: object, path: str, **options: object) -> object:
        if path == str(bad):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, handler, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(InotifyObserver, "schedule", schedule)
    watched.watch.watch([str(good), str(bad)])
    assert watched.codes() == ["inotify-watches"]
    assert watched.hears(good)
    bad.rmdir()
    assert watched.codes() == [], "nothing is missed there any more"


def test_a_folder_that_may_not_be_read(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o311)
        with unprivileged():
            watched.watch.watch([name])
            (problem,) = watched.watch.check()
        assert problem.code == "inotify"
        assert name in problem.message
        folder.chmod(0o755)
        monkeypatch.setattr(watches, "_RETRY", 0.0)
        assert watched.codes() == []
        assert watched.hears(folder)
        watched.watch.watch([])


class unprivileged:  # noqa: N801  (reads as a statement)
    """For its time this process has no rights of root's."""

    def __enter__(self) -> None:
        self._user = os.geteuid()
        if self._user == 0:
            os.seteuid(65534)

    def __exit__(self, *error: object) -> None:
        os.seteuid(self._user)


AT_THE_LIMIT = """
import json, sys
from tray.system import watches

limit, folder = sys.argv[1:]
watches._RETRY = 0.0
watch = watches.FolderWatch(lambda: None)
found = []
for value in (0, 100):
    with open("/proc/sys/user/" + limit, "w") as setting:
        setting.write(str(value))
    watch.watch([folder])
    found.append([problem.code for problem in watch.check()])
watch.stop()
print(json.dumps(found))
"""
"""Lowers a limit of its own user namespace alone (namespaces(7))."""


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("max_inotify_watches", "inotify-watches"),
        ("max_inotify_instances", "inotify-instances"),
    ],
)
def test_a_limit_of_the_kernel_for_real(limit: str, problem: str, folder: Path) -> None:
    namespace = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespace can be made here (unshare --user)")
    done = subprocess.run(
        [*namespace, sys.executable, "-c", AT_THE_LIMIT, limit, str(folder)],
        check=True, stdout=subprocess.PIPE, cwd=Path(watches.__file__).parents[2],
    )  # fmt: skip
    assert json.loads(done.stdout) == [[problem], []]


def test_after_the_end_nothing_is_watched(watched: Watched, folder: Path) -> None:
    before = threading.active_count()
    watched.watch.watch([str(folder)])
    watched.watch.stop()
    watched.watch.stop()
    watched.watch.watch([str(folder.parent)])
    assert watched.codes() == []
    assert under_watch() == []
    assert threading.active_count() == before

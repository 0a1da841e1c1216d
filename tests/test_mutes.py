"""Mutes: what is muted until when, and the file that keeps them."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fcntl
import json
import multiprocessing
import os
import stat
import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray import mutefile, mutes
from tray.mutefile import MuteFile
from tray.mutes import Mute, Mutes, Scope
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = 1_780_000_000.0
HOUR = 3600.0


def session(key: str = "1:1", session_id: str | None = "aaa", **more: object) -> Observation:
    return Observation(key=key, state=State.WORKING, session_id=session_id, **more)


def asking(ask: str = "s1", **more: object) -> Observation:
    return session(ask=Ask(ask, Reason.PERMISSION), **more)


# --- what is muted


def test_everything_is_muted_until_its_end() -> None:
    muted = mutes.mute(Mutes(), Scope.EVERYTHING, "", NOW + HOUR)
    assert mutes.muted(muted, session(), NOW)
    assert mutes.everything_muted(muted, NOW)
    assert not mutes.muted(muted, session(), NOW + HOUR)
    assert not mutes.muted(mutes.unmute(muted, Scope.EVERYTHING, ""), session(), NOW)


def test_a_mute_without_an_end_stays() -> None:
    muted = mutes.mute(Mutes(), Scope.SESSION, "aaa", None)
    assert mutes.muted(muted, session(), NOW + 1000 * HOUR)
    assert mutes.expired(muted, NOW + 1000 * HOUR) == muted
    assert mutes.next_end(muted, NOW) is None


def test_a_session_is_muted_by_its_id_and_no_other_is() -> None:
    muted = mutes.mute(Mutes(), Scope.SESSION, "aaa", NOW + HOUR)
    assert mutes.muted(muted, session(), NOW)
    assert mutes.muted(muted, session(key="2:2"), NOW), "resumed in another process"
    assert not mutes.muted(muted, session(session_id="bbb"), NOW)
    assert not mutes.muted(muted, session(session_id=None), NOW)


def test_a_session_without_an_id_is_muted_by_its_key() -> None:
    muted = mutes.mute(Mutes(), Scope.SESSION, "1:1", NOW + HOUR)
    assert mutes.muted(muted, session(session_id=None), NOW)


@pytest.mark.parametrize(
    ("project", "found", "expected"),
    [
        ("/src/shop", {"cwd": "/src/shop", "project": "shop"}, True),
        ("/src/shop", {"cwd": "/src/shop/api", "project": "shop"}, True),
        ("/src/shop", {"cwd": "/wt/fix", "project": "shop", "worktree": "fix"}, True),
        ("/src/shop", {"cwd": "/other/shop", "project": "shop"}, False),
        ("/src/shop", {"cwd": "/src/shop-api", "project": "shop-api"}, False),
        ("/src/shop", {"cwd": "/src/shop/vendor", "project": "vendor"}, False),
        ("/home/me", {"cwd": "/home/me", "project": "me"}, True),
        ("/home/me", {"cwd": "/home/me/src/shop", "project": "shop"}, False),
        ("/src/shop", {"cwd": None, "project": "shop"}, False),
        ("shop", {"cwd": None, "project": "shop"}, True),
        ("shop", {"cwd": None, "project": None}, False),
    ],
    ids=str,
)
def test_what_belongs_to_a_muted_project(
    project: str,
    found: dict[str, str | None],
    expected: bool,
) -> None:
    muted = mutes.mute(Mutes(), Scope.PROJECT, project, NOW + HOUR)
    assert mutes.muted(muted, session(**found), NOW) is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"cwd": "/src/shop/api", "project": "shop"}, "/src/shop"),
        ({"cwd": "/src/shop/shop", "project": "shop"}, "/src/shop"),
        ({"cwd": "/wt/fix", "project": "shop", "worktree": "fix"}, "/wt/fix"),
        ({"cwd": "/", "project": "/"}, "/"),
        ({"cwd": None, "project": "shop"}, "shop"),
        ({"cwd": None, "project": None}, None),
    ],
    ids=str,
)
def test_a_project_is_muted_by_its_own_directory(
    found: dict[str, str | None], expected: str | None
) -> None:
    one = session(**found)
    assert mutes.project_of(one) == expected
    if expected is not None:
        muted = mutes.mute(Mutes(), Scope.PROJECT, expected, None)
        assert mutes.muted(muted, one, NOW)


def test_one_ask_is_snoozed_and_the_next_is_not() -> None:
    name = mutes.ask_of(asking("s1"))
    assert name is not None
    snoozed = mutes.mute(Mutes(), Scope.ASK, name, NOW + HOUR)
    assert mutes.snoozed(snoozed, asking("s1"), NOW)
    assert not mutes.muted(snoozed, asking("s1"), NOW)
    assert not mutes.snoozed(snoozed, asking("s2"), NOW)
    assert not mutes.snoozed(snoozed, asking("s1"), NOW + HOUR)
    assert not mutes.snoozed(snoozed, session(), NOW)
    with pytest.raises(ValueError, match="comes back"):
        mutes.mute(Mutes(), Scope.ASK, name, None)


def test_expired_drops_what_has_ended_and_next_end_says_when_the_next_does() -> None:
    muted = Mutes((NOW + 3,), {"/a": NOW + 1, "/b": None}, {"aaa": NOW + 4}, {"aaa/s1": NOW + 2})
    assert [mutes.next_end(muted, NOW + past) for past in range(5)] == [
        NOW + 1, NOW + 2, NOW + 3, NOW + 4, None,
    ]  # fmt: skip
    assert mutes.expired(muted, NOW + 2) == Mutes((NOW + 3,), {"/b": None}, {"aaa": NOW + 4})
    assert mutes.expired(muted, NOW + 9) == Mutes(projects={"/b": None})


def test_a_clock_that_is_set_moves_no_end() -> None:
    muted = mutes.mute(Mutes(), Scope.SESSION, "aaa", NOW + HOUR)
    assert mutes.muted(muted, session(), NOW - 24 * HOUR)
    assert not mutes.muted(muted, session(), NOW + 24 * HOUR)


def test_entries_name_all_that_is_muted_once() -> None:
    muted = Mutes((None,), {"/a": 1.0}, {"aaa": 2.0}, {"aaa/s1": 3.0})
    assert list(mutes.entries(muted)) == [
        Mute(Scope.EVERYTHING, "", None),
        Mute(Scope.PROJECT, "/a", 1.0),
        Mute(Scope.SESSION, "aaa", 2.0),
        Mute(Scope.ASK, "aaa/s1", 3.0),
    ]
    for entry in mutes.entries(muted):
        muted = mutes.unmute(muted, entry.scope, entry.what)
    assert muted == Mutes()


def test_what_scripts_see() -> None:
    muted = Mutes((None,), {"/a": 1_780_000_000.5}, snoozed={"aaa/s1": 1e300})
    assert mutes.published(muted) == [
        {"scope": "all", "what": "", "until": None},
        {"scope": "project", "what": "/a", "until": "2026-05-28T20:26:40.500Z"},
        {"scope": "ask", "what": "aaa/s1", "until": None},
    ]


# --- carried along


def test_a_mute_goes_along_over_clear() -> None:
    muted = Mutes(sessions={"aaa": NOW}, snoozed={"aaa/s1": NOW, "aab/s1": NOW})
    assert mutes.carried(muted, [session()], [session(session_id="bbb")]) == Mutes(
        sessions={"bbb": NOW}, snoozed={"bbb/s1": NOW, "aab/s1": NOW}
    )


def test_a_mute_goes_along_into_the_background() -> None:
    muted = Mutes(sessions={"aaa": None})
    job = session(key="job:7", session_id="bbb", aliases=("1:1",))
    assert mutes.carried(muted, [session()], [job]) == Mutes(sessions={"bbb": None})


def test_a_session_that_gets_its_id_late_stays_muted() -> None:
    muted = Mutes(sessions={"1:1": None})
    found = mutes.carried(muted, [session(session_id=None)], [session()])
    assert found == Mutes(sessions={"aaa": None})


def test_an_id_that_lives_on_elsewhere_stays_muted() -> None:
    muted = Mutes(sessions={"aaa": None})
    before = [session(), session(key="2:2")]
    found = mutes.carried(muted, before, [session(session_id="bbb"), session(key="2:2")])
    assert found == Mutes(sessions={"aaa": None, "bbb": None})


def test_nothing_is_carried_without_a_change() -> None:
    muted = Mutes(sessions={"aaa": None})
    assert mutes.carried(muted, [session()], [session()]) is muted
    assert mutes.carried(muted, [session()], []) is muted
    assert mutes.carried(muted, [], [session(session_id="bbb")]) is muted
    other = session(key="2:2", session_id="ccc")
    assert mutes.carried(muted, [other], [session(key="2:2", session_id="ddd")]) is muted


# --- until tomorrow


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ("2026-05-22 16:30", "2026-05-23 07:00"),
        ("2026-05-22 23:59", "2026-05-23 07:00"),
        ("2026-05-23 01:30", "2026-05-23 07:00"),
        ("2026-05-23 04:00", "2026-05-24 07:00"),
        ("2026-12-31 12:00", "2027-01-01 07:00"),
        ("2026-03-28 20:00", "2026-03-29 07:00"),  # an hour is missing in that night
        ("2026-10-24 20:00", "2026-10-25 07:00"),  # and one too many in this
    ],
)
def test_until_tomorrow_is_the_next_morning(said: str, ends: str) -> None:
    end = mutes.until_tomorrow(dt.datetime.fromisoformat(said).timestamp())
    assert f"{dt.datetime.fromtimestamp(end).astimezone():%Y-%m-%d %H:%M}" == ends


# --- the file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "mutes.json"


def later() -> float:
    return round(time.time()) + HOUR


def mute_session(file: MuteFile, name: str, until: float | None) -> Mutes:
    return file.update(lambda found: mutes.mute(found, Scope.SESSION, name, until))


def test_mutes_survive_a_restart_and_are_private(path: Path) -> None:
    end = later()
    mute_session(MuteFile(str(path)), "aaa", end)
    file = MuteFile(str(path))
    assert file.read() == Mutes(sessions={"aaa": end})
    assert file.problems == ()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(entry.name for entry in path.parent.iterdir()) == [
        "mutes.json",
        "mutes.json.lock",
    ]


def test_no_file_is_no_mutes_and_makes_none(path: Path) -> None:
    file = MuteFile(str(path))
    assert (file.read(), file.problems) == (Mutes(), ())
    assert not path.parent.exists()


def test_what_somebody_else_wrote_is_noticed_and_kept(path: Path) -> None:
    tray, command = MuteFile(str(path)), MuteFile(str(path))
    tray.read()
    assert not tray.changed()
    mute_session(command, "aaa", None)
    assert tray.changed()
    mute_session(tray, "bbb", None)
    assert not tray.changed()
    assert command.changed()
    assert command.read() == Mutes(sessions={"aaa": None, "bbb": None})


def test_what_has_ended_is_dropped_from_the_file(path: Path) -> None:
    file = MuteFile(str(path))
    mute_session(file, "old", time.time() - 1)
    assert mute_session(file, "new", None) == Mutes(sessions={"new": None})
    assert "old" not in path.read_text()


def _many(path: str, name: str) -> None:
    for number in range(20):
        mute_session(MuteFile(path), f"{name}{number}", None)


def test_no_update_is_lost_between_two_writers(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_many, args=(str(path), name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(MuteFile(str(path)).read().sessions) == 40


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"version":1,"sessions":{"a"',
        b"[]",
        b'{"sessions":{}}',
        b'{"version":2}',
        b'{"version":1,"sessions":{"a":"soon"}}',
        b'{"version":1,"everything":[1.0,2.0]}',
        b"\xff\xfe\0",
        b'{"version":1}' + b" " * 1_000_000,
    ],
    ids=lambda content: content[:40].decode(errors="replace"),
)
def test_a_file_that_is_not_ours_is_put_aside(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    file = MuteFile(str(path))
    assert file.read() == Mutes()
    (problem,) = file.problems
    assert problem.code == "mutes-broken"
    (aside,) = path.parent.glob("mutes.json.broken-*")
    assert aside.read_bytes() == content
    assert str(aside) in problem.message
    mute_session(file, "aaa", None)
    assert MuteFile(str(path)).read() == Mutes(sessions={"aaa": None})


def test_what_is_no_file_is_put_aside_and_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    file = MuteFile(str(path))
    assert mute_session(file, "aaa", None) == Mutes(sessions={"aaa": None})
    assert [problem.code for problem in file.problems] == ["mutes-broken"]
    assert json.loads(path.read_text())["sessions"] == {"aaa": None}


def test_where_nothing_can_be_written_a_mute_holds_for_this_process(path: Path) -> None:
    path.parent.write_text("a file where the folder should be")
    file = MuteFile(str(path))
    mute_session(file, "aaa", None)
    assert mute_session(file, "bbb", None) == Mutes(sessions={"aaa": None, "bbb": None})
    (problem,) = file.problems
    assert (problem.code, "forgotten" in problem.message) == ("mutes", True)
    path.parent.unlink()
    mute_session(file, "ccc", None)
    assert file.problems == ()
    assert list(MuteFile(str(path)).read().sessions) == ["aaa", "bbb", "ccc"]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that holds the lock: the kernel locks open files, not processes."""
    path.parent.mkdir(exist_ok=True)
    with open(f"{path}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("on_loop", [True, False])
def test_a_change_that_met_a_held_lock_holds_and_is_made_later(path: Path, on_loop: bool) -> None:
    file = MuteFile(str(path), on_loop=on_loop)
    with locked(path):
        assert mute_session(file, "aaa", None) == Mutes(sessions={"aaa": None})
        assert [problem.code for problem in file.problems] == ["mutes"]
        assert file.changed()
        # The other one writes, and is read although it still holds the lock.
        path.write_text('{"version":1,"sessions":{"bbb":null}}')
        assert file.read() == Mutes(sessions={"aaa": None, "bbb": None})
    assert MuteFile(str(path)).read() == Mutes(sessions={"bbb": None})
    assert file.read() == Mutes(sessions={"aaa": None, "bbb": None})
    assert (file.problems, file.changed()) == ((), False)
    assert MuteFile(str(path)).read() == file.mutes


def test_on_a_loop_neither_the_disk_nor_another_process_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_: int) -> None:
        pytest.fail("the disk was waited for")

    slept: list[float] = []
    clock = 0.0

    def sleep(seconds: float) -> None:
        nonlocal clock
        slept.append(seconds)
        clock += seconds

    monkeypatch.setattr(mutefile.os, "fsync", fsync)
    monkeypatch.setattr(mutefile.time, "sleep", sleep)
    monkeypatch.setattr(mutefile.time, "monotonic", lambda: clock)
    file = MuteFile(str(path), on_loop=True)
    mute_session(file, "aaa", None)
    with locked(path):
        mute_session(file, "bbb", None)
    assert sum(slept) <= 0.03
    assert file.read() == MuteFile(str(path)).read() == Mutes(sessions={"aaa": None, "bbb": None})


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_read_just_now_is_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    mute_session(MuteFile(str(path)), "aaa", None)
    file = MuteFile(str(path))
    before = file.read()
    real = os.open

    def fails(name: str, *rest: int) -> int:
        if name == str(path):
            raise OSError(number, os.strerror(number))
        return real(name, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(mutefile.os, "open", fails)
        assert file.read() == before
        (problem,) = file.problems
        assert problem.code == "mutes-unread"
        assert os.strerror(number) in problem.message
        assert file.changed()
        # Nor is it written over.
        assert set(mute_session(file, "bbb", None).sessions) == {"aaa", "bbb"}
        assert "bbb" not in path.read_text()
        assert [problem.code for problem in file.problems] == ["mutes-unread", "mutes"]
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]
    assert file.read() == MuteFile(str(path)).read() == Mutes(sessions={"aaa": None, "bbb": None})
    assert (file.problems, file.changed()) == ((), False)


def test_a_file_that_is_replaced_while_it_is_read_is_not_put_aside(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    path.write_text("{")
    file = MuteFile(str(path))
    content = file._content

    def replaced() -> Mutes:
        try:
            return content()
        finally:
            path.write_text('{"version":1,"sessions":{"aaa":null}}')

    with monkeypatch.context() as patch:
        patch.setattr(file, "_content", replaced)
        assert file.read() == Mutes()
    assert file.changed()
    assert file.read() == Mutes(sessions={"aaa": None})
    assert file.problems == ()


def test_a_link_stays_one(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "dotfiles.json")
    mute_session(MuteFile(str(path)), "aaa", None)
    assert path.is_symlink()
    assert "aaa" in (tmp_path / "dotfiles.json").read_text()


FINISHED = Observation(
    "1:1", State.IDLE, session_id="one", unseen=True, turn_ended_at=100.0, project="a"
)


def test_a_turn_marked_as_seen_is_seen_until_the_next_one_ends():
    marked = mutes.mark_seen(Mutes(), [FINISHED])
    assert not mutes.looked_at(marked, FINISHED).unseen
    assert mutes.looked_at(marked, replace(FINISHED, turn_ended_at=101.0)).unseen
    assert mutes.looked_at(marked, replace(FINISHED, session_id="two")).unseen


@pytest.mark.parametrize(
    ("mark", "ended", "unseen"),
    [
        (100.0, 100.0, False),
        (100.0, 101.0, True),
        # The clock was set back since: each later turn seems to have ended before the mark.
        (3700.0, 101.0, True),
        (3700.0, 3699.9, True),
        (None, 100.0, True),
    ],
)
def test_a_mark_is_about_that_very_turn(mark, ended, unseen):
    marked = Mutes(seen={} if mark is None else {"one": mark})
    turn = replace(FINISHED, turn_ended_at=ended)
    assert mutes.looked_at(marked, turn).unseen is unseen
    again = mutes.mark_seen(marked, [turn])
    assert not mutes.looked_at(again, turn).unseen


def test_marking_again_changes_nothing():
    marked = mutes.mark_seen(Mutes(), [FINISHED])
    assert mutes.mark_seen(marked, [FINISHED]) is marked
    assert mutes.mark_seen(Mutes(), [replace(FINISHED, unseen=False)]) == Mutes()


def test_what_was_seen_is_forgotten_after_a_month():
    marked = mutes.mark_seen(Mutes(), [FINISHED])
    assert mutes.expired(marked, 100.0 + mutes.SEEN_FOR - 1) == marked
    assert mutes.expired(marked, 100.0 + mutes.SEEN_FOR) == Mutes()

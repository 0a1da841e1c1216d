"""Whether the person is at a session: the decision, the asking, and the watching."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from tray.desktop import presence
from tray.desktop.presence import Presence, Watcher, is_there
from tray.session import Observation, State
from tray.system.processes import read_process


async def until(condition, *, within=5.0):
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110  (any condition)
            await asyncio.sleep(0.002)


@pytest.mark.parametrize(
    ("active", "locked", "idle", "tty_idle", "there"),
    [
        # In focus: the desktop's last input counts.
        (True, False, 0.0, None, True),
        (True, False, 60.0, 5000.0, True),
        (True, False, 60.1, None, False),
        (True, False, 60.1, 3.0, False),
        # In focus, but the desktop does not tell: the terminal's.
        (True, False, None, 60.0, True),
        (True, False, None, 60.1, False),
        (True, False, None, None, False),
        # Another tab, pane or window has the focus, whatever is typed.
        (False, False, 0.0, 0.0, False),
        (False, False, None, 0.0, False),
        # Focus cannot be known: a keystroke in its own terminal.
        (None, False, None, 16.0, True),
        (None, False, 0.0, 16.0, True),
        (None, False, 0.0, 16.1, False),
        (None, False, 0.0, None, False),
        # Locked: nobody is.
        (True, True, 0.0, 0.0, False),
        (None, True, None, 0.0, False),
    ],
)
def test_who_is_there(active, locked, idle, tty_idle, there):
    assert is_there(active, locked=locked, idle=idle, tty_idle=tty_idle) is there


class Place:
    """What shows a session: `find` is the way to it."""

    def __init__(self, active=True):
        self.focused = active
        self.found = []
        self.asked = 0
        self.fails = None

    def find(self, session, desktop):
        if self.fails == "find":
            raise RuntimeError
        self.found.append((session.key, dict(desktop)))
        return self

    def active(self):
        self.asked += 1
        if self.fails == "active":
            raise RuntimeError
        return self.focused


def session(key="job:1", **more):
    return Observation(key=key, state=State.WORKING, **more)


@pytest.fixture
def terminal():
    """A pseudo-terminal that nobody has read from for an hour."""
    leader, follower = os.openpty()
    path = os.ttyname(follower)

    def read(at):
        os.utime(path, (at, at))

    yield path, read
    os.close(follower)
    os.close(leader)


def asked(place, **more):
    return Presence(place.find, {"DISPLAY": ":7"}, **more)


def test_the_way_is_asked_with_the_logins_environment():
    place = Place()
    assert asked(place).check([session()], locked=False, idle=1.0) == {"job:1"}
    assert place.found == [("job:1", {"DISPLAY": ":7"})]


def test_only_the_session_in_focus_has_the_person():
    places = {"job:1": Place(), "job:2": Place(active=False), "job:3": Place(active=None)}
    checked = Presence(lambda one, _desktop: places[one.key], {})
    sessions = [session(key) for key in places]
    assert checked.check(sessions, locked=False, idle=1.0) == {"job:1"}


def test_nothing_is_asked_for_other_sessions_or_while_locked():
    place = Place()
    checked = asked(place)
    assert checked.check([], locked=False, idle=1.0) == frozenset()
    assert checked.check([session()], locked=True, idle=1.0) == frozenset()
    assert place.found == []


def test_where_focus_cannot_be_known_the_terminal_tells(terminal):
    tty, read = terminal
    place = Place(active=None)
    checked = asked(place, wall=lambda: 10_000.0)
    one = session(tty=tty)
    for read_at, there in ((9_990, True), (9_980, False), (10_100, False)):
        read(read_at)
        assert bool(checked.check([one], locked=False, idle=1.0)) is there


def test_a_session_without_a_way_is_told_by_its_terminal(terminal):
    tty, read = terminal
    read(9_990)
    checked = Presence(lambda *_: None, {}, wall=lambda: 10_000.0)
    assert checked.check([session(tty=tty)], locked=False, idle=None) == {"job:1"}


@pytest.mark.parametrize("fails", ["find", "active"])
def test_a_way_that_fails_is_no_way_and_looked_for_again(fails):
    place = Place()
    place.fails = fails
    checked = asked(place)
    assert checked.check([session()], locked=False, idle=1.0) == frozenset()
    place.fails = None
    found = len(place.found)
    assert checked.check([session()], locked=False, idle=1.0) == {"job:1"}
    assert len(place.found) == found + 1


def test_a_way_is_kept_while_the_session_stays_where_it_is():
    now = [0.0]
    place = Place()
    checked = asked(place, clock=lambda: now[0])
    for one in (session(tty="/dev/pts/1"), session(tty="/dev/pts/1")):
        checked.check([one], locked=False, idle=1.0)
    assert (len(place.found), place.asked) == (1, 2)
    checked.check([session(tty="/dev/pts/2")], locked=False, idle=1.0)
    checked.check([session(tty="/dev/pts/2", pid=4)], locked=False, idle=1.0)
    assert len(place.found) == 3
    now[0] = 10.0
    checked.check([session(tty="/dev/pts/2", pid=4)], locked=False, idle=1.0)
    assert len(place.found) == 4
    checked.keep_only(["job:9"])
    checked.check([session(tty="/dev/pts/2", pid=4)], locked=False, idle=1.0)
    assert len(place.found) == 5


def test_a_process_that_has_another_ones_pid_is_not_asked_about():
    myself = read_process(os.getpid())
    place = Place()
    checked = asked(place)
    mine = session(f"{myself.pid}:{myself.start_ticks}")
    earlier = session(f"{myself.pid}:{myself.start_ticks - 1}")
    assert checked.check([mine, earlier], locked=False, idle=1.0) == {mine.key}
    assert [key for key, _ in place.found] == [mine.key]


class Where:
    locked = False

    def __init__(self, idle=1.0):
        self.idle = idle
        self.asked = 0

    async def idle_seconds(self):
        self.asked += 1
        return self.idle


class Watched:
    """A watcher over scripted places."""

    def __init__(self, **places):
        self.places = {f"job:{name}": place for name, place in places.items()}
        self.where = Where()
        self.told = []
        self.now = None
        self.watcher = Watcher(
            Presence(lambda one, _desktop: self.places[one.key], {}),
            self.where,
            on_change=lambda: self.told.append(set(self.watcher.present)),
            each=0.01,
            clock=lambda: self.now if self.now is not None else asyncio.get_running_loop().time(),
        )

    def watch(self, *names):
        self.watcher.watch([session(f"job:{name}") for name in names])


@pytest.mark.asyncio
async def test_nothing_is_asked_before_a_session_is_watched_and_after():
    desk = Watched(a=Place())
    assert desk.watcher.present == frozenset()
    desk.watch("a")
    await until(lambda: desk.watcher.present == {"job:a"})
    desk.watch()
    assert desk.watcher.present == frozenset()
    asked_before = (desk.places["job:a"].asked, desk.where.asked)
    await asyncio.sleep(0.03)  # That nothing happens shows in time only.
    assert (desk.places["job:a"].asked, desk.where.asked) == asked_before
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_coming_and_going_is_told():
    desk = Watched(a=Place(active=False), b=Place())
    desk.watch("a", "b")
    await until(lambda: desk.told == [{"job:b"}])
    desk.places["job:a"].focused, desk.places["job:b"].focused = True, False
    await until(lambda: desk.watcher.present == {"job:a"})
    desk.where.idle = 61.0
    await until(lambda: desk.watcher.present == frozenset())
    assert desk.told[-1] == set()
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_a_session_that_joins_is_checked_at_once():
    desk = Watched(a=Place(), b=Place())
    desk.watcher._each = 3600
    desk.watch("a")
    await until(lambda: desk.watcher.present == {"job:a"})
    desk.watch("a", "b")
    await until(lambda: desk.watcher.present == {"job:a", "job:b"})
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_a_lock_counts_at_once():
    desk = Watched(a=Place())
    desk.watch("a")
    await until(lambda: desk.watcher.present)
    desk.where.locked = True
    assert desk.watcher.present == frozenset()
    await desk.watcher.close()


class Hanging(Place):
    def __init__(self, *, calls):
        super().__init__()
        self._calls = calls
        self.go = threading.Event()

    def active(self):
        if self.asked >= self._calls:
            self.asked += 1
            self.go.wait()
        return super().active()


@pytest.mark.asyncio
async def test_a_terminal_that_hangs_holds_nothing_back_and_delays_no_other(monkeypatch):
    monkeypatch.setattr(presence, "FRESH", 0.2)
    hanging = Hanging(calls=1)
    desk = Watched(a=hanging, b=Place())
    desk.watch("a", "b")
    await until(lambda: {"job:a", "job:b"} in desk.told)
    await until(lambda: desk.told[-1] == {"job:b"})
    assert desk.watcher.present == {"job:b"}
    asked_before = desk.places["job:b"].asked
    await until(lambda: desk.places["job:b"].asked > asked_before + 2)
    assert hanging.asked == 2, "no second thread hangs beside the first"
    hanging.go.set()
    await until(lambda: desk.watcher.present == {"job:a", "job:b"})
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_a_session_that_hangs_and_is_asked_about_again_leaves_one_thread(monkeypatch):
    monkeypatch.setattr(presence, "FRESH", 0.05)
    hanging = Hanging(calls=0)
    desk = Watched(a=hanging, b=Place())
    desk.watch("a", "b")
    await until(lambda: hanging.asked)
    for _ in range(3):
        desk.watch("b")
        asked_before = desk.places["job:b"].asked
        desk.watch("a", "b")
        await until(lambda before=asked_before: desk.places["job:b"].asked > before + 1)
    assert hanging.asked == 1
    hanging.go.set()
    await until(lambda: desk.watcher.present == {"job:a", "job:b"})
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_where_nothing_answers_only_so_many_threads_are_left(monkeypatch):
    monkeypatch.setattr(presence, "FRESH", 0.05)
    monkeypatch.setattr(presence, "HANGING", 2)
    desk = Watched(a=Hanging(calls=0), b=Hanging(calls=0), c=Hanging(calls=0))
    for name in "abc":
        desk.watch(name)
        # The idle time is asked before each round of checks.
        asked_before = desk.where.asked
        await until(lambda before=asked_before: desk.where.asked > before + 10)
    assert [place.asked for place in desk.places.values()] == [1, 1, 0]
    desk.places["job:a"].go.set()
    await until(lambda: desk.places["job:c"].asked == 1)
    for place in desk.places.values():
        place.go.set()
    await until(lambda: desk.watcher.present == {"job:c"})
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_an_answer_that_grows_old_is_told(monkeypatch):
    monkeypatch.setattr(presence, "FRESH", 0.05)
    hanging = Hanging(calls=1)
    desk = Watched(a=hanging)
    desk.watch("a")
    await until(lambda: desk.told == [{"job:a"}, set()])
    hanging.go.set()
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_an_old_answer_does_not_count():
    desk = Watched(a=Place())
    desk.watcher._each = 3600
    desk.now = 100.0
    desk.watch("a")
    await until(lambda: desk.watcher.present)
    desk.now = 102.0
    assert desk.watcher.present == {"job:a"}
    desk.now = 102.1
    assert desk.watcher.present == frozenset()
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_a_desktop_that_does_not_tell_its_idle_time_in_time_is_not_waited_for(
    monkeypatch, terminal
):
    monkeypatch.setattr(presence, "_IDLE_LIMIT", 0.01)
    desk = Watched(a=Place())

    async def hang():
        await asyncio.get_running_loop().create_future()

    desk.where.idle_seconds = hang
    tty, _ = terminal
    os.utime(tty)
    desk.watcher.watch([session("job:a", tty=tty)])
    await until(lambda: desk.watcher.present == {"job:a"})
    await desk.watcher.close()


@pytest.mark.asyncio
async def test_a_listener_that_fails_does_not_end_the_watch(caplog):
    desk = Watched(a=Place())
    told = []

    def fail():
        told.append(1)
        raise RuntimeError

    desk.watcher._on_change = fail
    desk.watch("a")
    await until(lambda: told)
    desk.places["job:a"].focused = False
    await until(lambda: len(told) == 2)
    await desk.watcher.close()
    assert [record.message for record in caplog.records] == ["the callback for presence failed"] * 2

"""How long there has been no input: which source is asked, how often, and what is made of it."""

from __future__ import annotations

import asyncio
import time

import pytest
from dbus_fast import Variant

from tests.tray.person.desktop_service import Silence, until
from tests.tray.person.test_lock_and_sleep import LOGIND, SESSION, logind
from tray.desktop.person import idle, link, x11
from tray.desktop.person.idle import Idle

pytestmark = pytest.mark.asyncio

MONITOR = "org.gnome.Mutter.IdleMonitor"
CORE = "/org/gnome/Mutter/IdleMonitor/Core"


class Source:
    """A scripted source; `seconds` are given one a look, the last for ever."""

    def __init__(self, *seconds):
        self._seconds = list(seconds)
        self.asked = 0
        self.active = asyncio.Event()

    async def seconds(self):
        self.asked += 1
        return self._seconds.pop(0) if len(self._seconds) > 1 else self._seconds[0]

    async def until_active(self):
        await self.active.wait()
        self.active.clear()


async def following(*sources, after=600.0):
    told = []
    made = Idle(sources, lambda: told.append(made.long), after)
    made.start()
    return made, told


async def test_the_first_source_that_knows_is_believed():
    made, _ = await following(Source(None), Source(7.0), Source(900.0))
    assert await made.seconds() == 7.0
    await made.close()


async def test_where_no_source_knows_nobody_is_away():
    source = Source(None)
    made, told = await following(source)
    await until(lambda: source.asked)
    assert await made.seconds() is None
    assert (made.long, told) == (False, [])
    await made.close()


async def test_a_person_at_work_is_looked_at_once_in_ten_minutes(monkeypatch):
    waits = []

    async def wait(self, source, limit):
        waits.append((source, limit))
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(Idle, "_wait", wait)
    made, _ = await following(Source(5.0))
    await until(lambda: waits)
    assert waits == [(None, 595.0)]
    await made.close()


async def test_the_way_from_work_to_absence_and_back(monkeypatch):
    monkeypatch.setattr(idle, "_SOONEST", 0.01)
    source = Source(599.995, 600.0, 0.1)
    made, told = await following(source)
    await until(lambda: told)
    assert told == [True]
    assert source.asked == 2
    source.active.set()
    await until(lambda: len(told) == 2)
    assert told == [True, False]
    await made.close()


async def test_input_that_was_none_leaves_the_person_away():
    source = Source(700.0)
    made, told = await following(source)
    await until(lambda: told)
    source.active.set()
    await until(lambda: source.asked == 2)
    assert told == [True]
    await made.close()


@pytest.mark.parametrize("name", idle.MONITORS)
async def test_the_window_managers_monitor_is_asked_in_milliseconds(name, on_session, followed):
    path = "/" + name.replace(".", "/") + "/Core"
    on_session.answer(path, "GetIdletime", "t", 61_500)
    await on_session.appear(name)
    person = await followed.start()
    await until(lambda: len(on_session.called("GetIdletime")) > 1)
    assert await person.idle_seconds() == 61.5
    assert not person.away
    on_session.vanish()
    await until(lambda: not person._idle._sources[idle.MONITORS.index(name)]._owner)
    assert await person.idle_seconds() is None


async def test_the_monitor_tells_the_return_without_being_asked_again(on_session, followed):
    on_session.answer(CORE, "GetIdletime", "t", 600_000)
    on_session.answer(CORE, "AddUserActiveWatch", "u", 3)
    await on_session.appear(MONITOR)
    person = await followed.start()
    await until(lambda: person.away)
    await until(lambda: on_session.called("AddUserActiveWatch"))
    asked = len(on_session.called("GetIdletime"))
    (follower,) = {call.sender for call in on_session.calls}
    on_session.answer(CORE, "GetIdletime", "t", 12)
    on_session.emit(CORE, MONITOR, "WatchFired", "u", 3, to=follower)
    await until(lambda: not person.away)
    assert len(on_session.called("GetIdletime")) == asked + 1
    assert followed.told == [(False, True, False), (False, False, False)]


async def test_a_monitor_that_goes_takes_the_absence_with_it(on_session, followed):
    on_session.answer(CORE, "GetIdletime", "t", 600_000)
    on_session.answer(CORE, "AddUserActiveWatch", "u", 3)
    await on_session.appear(MONITOR)
    person = await followed.start()
    await until(lambda: person.away)
    on_session.vanish()
    await until(lambda: not person.away)


async def test_a_monitor_that_hangs_is_not_waited_for_for_ever(on_session, followed, monkeypatch):
    on_session.answer(CORE, "GetIdletime", "t", 1000)
    await on_session.appear(MONITOR)
    person = await followed.start()
    await until(lambda: len(on_session.called("GetIdletime")) > 1)
    monkeypatch.setattr(link, "REPLY_LIMIT", 0.05)
    on_session.answers[CORE, "GetIdletime"] = Silence
    assert await person.idle_seconds() is None


async def test_the_idle_hint_of_logind_tells_absence_and_return(on_system, followed):
    await logind(on_system).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: on_system.called("GetAll"))
    assert await person.idle_seconds() is None
    # A machine that has just started has not been idle for long.
    up = time.monotonic()
    person._idle._after = up / 4
    on_system.change(
        SESSION,
        f"{LOGIND}.Session",
        IdleHint=Variant("b", True),
        IdleSinceHintMonotonic=Variant("t", int(up / 2 * 1e6)),
    )
    await until(lambda: person.away)
    assert up / 2 <= await person.idle_seconds() <= up / 2 + 60
    on_system.change(SESSION, f"{LOGIND}.Session", IdleHint=Variant("b", False))
    await until(lambda: not person.away)


@pytest.mark.parametrize(
    ("desktop", "display"),
    [
        ({"DISPLAY": ":0"}, ":0"),
        ({"DISPLAY": ":0", "XDG_SESSION_TYPE": "x11"}, ":0"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, None),
        ({"DISPLAY": ":0", "XDG_SESSION_TYPE": "wayland"}, None),
        ({"DISPLAY": ""}, None),
        ({}, None),
    ],
)
async def test_xwayland_is_not_asked(desktop, display):
    assert x11.display_of(desktop) == display


# python-xlib leaves a socket that was refused to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("display", [":9871", ":987654", "nonsense"])
async def test_an_x_server_that_is_not_there_tells_nothing(display):
    server = x11.X11(display)
    assert await server.seconds() is None
    assert await server.seconds() is None
    await server.close()

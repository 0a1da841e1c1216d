"""Lock and suspend, as logind and screen savers tell them on a real bus."""

from __future__ import annotations

import logging
import os

import pytest
from dbus_fast import Variant

from tests.tray.person.desktop_service import DesktopService, Silence, until
from tray.desktop.person import link

pytestmark = pytest.mark.asyncio

LOGIND = "org.freedesktop.login1"
MANAGER = "/org/freedesktop/login1"
SESSION = f"{MANAGER}/session/_32"
OTHER = f"{MANAGER}/session/_33"


def logind(service, *, path=SESSION, kind="x11", locked=False, idle_since=0.0):
    """Have `service` be logind with one session, which this login's id leads to."""
    service.properties.setdefault(
        (MANAGER, f"{LOGIND}.Manager"), {"PreparingForSleep": Variant("b", False)}
    )
    service.properties[path, f"{LOGIND}.Session"] = {
        "Type": Variant("s", kind),
        "LockedHint": Variant("b", locked),
        "IdleHint": Variant("b", idle_since > 0),
        "IdleSinceHintMonotonic": Variant("t", int(idle_since * 1e6)),
    }
    service.answer(MANAGER, "GetSession", "o", path)
    return service


async def test_a_login_that_is_locked_already_is_known_to_be(on_system, followed):
    await logind(on_system, locked=True).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person.locked)
    assert person.away
    assert followed.told == [(True, True, False)]
    assert on_system.called("GetSession")[0].body == ["2"]


async def test_logind_that_does_not_know_of_sleep_still_tells_the_lock(on_system, followed):
    logind(on_system, locked=True)
    del on_system.properties[MANAGER, f"{LOGIND}.Manager"]
    await on_system.appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person.locked)


async def test_logind_that_is_about_to_sleep_is_known_to_be(on_system, followed):
    on_system.properties[MANAGER, f"{LOGIND}.Manager"] = {"PreparingForSleep": Variant("b", True)}
    await logind(on_system).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person.away)
    assert not person.locked


async def test_lock_and_unlock_are_told_as_they_happen(on_system, followed):
    await logind(on_system).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: on_system.called("GetAll"))
    assert not person.locked
    on_system.change(SESSION, f"{LOGIND}.Session", LockedHint=Variant("b", True))
    await until(lambda: person.locked)
    on_system.change(SESSION, f"{LOGIND}.Session", LockedHint=Variant("b", False))
    await until(lambda: not person.locked)
    assert followed.told == [(True, True, False), (False, False, False)]


async def test_another_login_that_is_locked_does_not_matter(on_system, followed):
    await logind(on_system).appear(LOGIND)
    on_system.properties[OTHER, f"{LOGIND}.Session"] = {}
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person._login.locked is False)
    looks = len(on_system.called("Get"))
    on_system.change(OTHER, f"{LOGIND}.Session", LockedHint=Variant("b", True))
    await person._system._bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")
    assert not person.locked
    on_system.change(SESSION, f"{LOGIND}.Session", LockedHint=Variant("b", True))
    await until(lambda: person.locked)
    assert len(on_system.called("Get")) == looks + 1


async def test_a_session_without_a_screen_gives_way_to_the_one_that_has_it(on_system, followed):
    logind(on_system, path=OTHER, locked=True)
    logind(on_system, kind="tty")
    on_system.answer(MANAGER, "GetUser", "o", f"{MANAGER}/user/_7")
    on_system.properties[f"{MANAGER}/user/_7", f"{LOGIND}.User"] = {
        "Display": Variant("(so)", ("3", OTHER))
    }
    await on_system.appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person.locked)
    assert on_system.called("GetUser")[0].body == [os.getuid()]


async def test_without_an_id_the_session_is_that_of_the_process(on_system, followed):
    logind(on_system, locked=True)
    del on_system.answers[MANAGER, "GetSession"]
    on_system.answer(MANAGER, "GetSessionByPID", "o", SESSION)
    await on_system.appear(LOGIND)
    person = await followed.start()
    await until(lambda: person.locked)
    assert on_system.called("GetSessionByPID")[0].body == [os.getpid()]


async def test_a_session_that_begins_later_is_found(on_system, followed):
    logind(on_system)
    del on_system.answers[MANAGER, "GetSession"]
    await on_system.appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: on_system.called("GetUser"))
    logind(on_system, locked=True)
    on_system.emit(MANAGER, f"{LOGIND}.Manager", "SessionNew", "so", "2", SESSION)
    await until(lambda: person.locked)


async def test_logind_that_starts_later_and_dies_is_followed(on_system, followed):
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await logind(on_system, locked=True).appear(LOGIND)
    await until(lambda: person.locked)
    on_system.vanish()
    await until(lambda: not person.locked)
    await on_system.appear(LOGIND)
    await until(lambda: person.locked)
    assert person.problems == ()


async def test_a_bus_that_ends_and_comes_back_is_followed(buses, on_system, followed):
    await logind(on_system, locked=True).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person.locked)
    buses.system.stop()
    await until(lambda: not person.locked)
    buses.system.start()
    await on_system.appear(LOGIND)
    await until(lambda: person.locked)


async def test_a_bus_that_is_there_only_later_is_found(buses, on_system, followed, caplog):
    caplog.set_level(logging.DEBUG, "tray.desktop.person.link")
    buses.system.stop()
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: "no bus" in caplog.text)
    buses.system.start()
    await logind(on_system, locked=True).appear(LOGIND)
    await until(lambda: person.locked)


async def test_no_bus_at_all_is_no_problem(monkeypatch, tmp_path, followed):
    monkeypatch.setattr(link, "_RETRY_FIRST", 0.01)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    person = await followed.start()
    assert await person.idle_seconds() is None
    assert (person.locked, person.away, person.inhibited, person.problems) == (
        False, False, False, (),
    )  # fmt: skip


async def test_logind_that_does_not_answer_is_told_and_asked_again(
    on_system, followed, monkeypatch
):
    monkeypatch.setattr(link, "REPLY_LIMIT", 0.05)
    on_system.silent = True
    await logind(on_system, locked=True).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: person.problems)
    assert [problem.code for problem in person.problems] == ["logind-silent"]
    on_system.silent = False
    await until(lambda: person.locked)
    assert person.problems == ()


async def test_waking_is_told_once_and_before_the_person_counts_as_back(on_system, followed):
    await logind(on_system).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: on_system.called("GetAll"))
    for asleep in (True, True, False, False):
        on_system.emit(MANAGER, f"{LOGIND}.Manager", "PrepareForSleep", "b", asleep)
    await until(lambda: len(followed.told) == 3)
    assert followed.told == [(False, True, False), "wake", (False, False, False)]
    assert not person.away


async def test_logind_that_goes_while_asleep_leaves_nobody_asleep(on_system, followed):
    await logind(on_system).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: on_system.called("GetAll"))
    on_system.emit(MANAGER, f"{LOGIND}.Manager", "PrepareForSleep", "b", True)
    await until(lambda: person.away)
    on_system.vanish()
    await until(lambda: not person.away)
    assert followed.told.count("wake") == 1


async def test_another_program_cannot_feign_logind(buses, on_system, followed):
    await logind(on_system).appear(LOGIND)
    person = await followed.start({"XDG_SESSION_ID": "2"})
    await until(lambda: on_system.called("GetAll"))
    liar = DesktopService(buses.system.address)
    await liar.appear("org.example.Liar")
    followers = {call.sender for call in on_system.calls}
    for follower in followers:
        liar.emit(MANAGER, f"{LOGIND}.Manager", "PrepareForSleep", "b", True, to=follower)
    await liar.bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")
    on_system.change(SESSION, f"{LOGIND}.Session", LockedHint=Variant("b", True))
    await until(lambda: person.locked)
    liar.vanish()
    assert "wake" not in followed.told
    on_system.change(SESSION, f"{LOGIND}.Session", LockedHint=Variant("b", False))
    await until(lambda: not person.locked)
    assert not person.away


@pytest.mark.parametrize(
    "name",
    [
        f"org.{desktop}.ScreenSaver"
        for desktop in ("freedesktop", "gnome", "cinnamon", "mate", "xfce")
    ],
)
async def test_every_screen_saver_is_heard(name, on_session, followed):
    path = "/" + name.replace(".", "/")
    on_session.answer(path, "GetActive", "b", True)
    await on_session.appear(name)
    person = await followed.start()
    await until(lambda: person.locked)
    on_session.emit(path, name, "ActiveChanged", "b", False)
    await until(lambda: not person.locked)
    on_session.emit(path, name, "ActiveChanged", "b", True)
    await until(lambda: person.away)
    on_session.vanish()
    await until(lambda: not person.locked)


async def test_a_screen_saver_that_does_not_say_is_heard_all_the_same(on_session, followed):
    name = "org.freedesktop.ScreenSaver"
    await on_session.appear(name)
    person = await followed.start()
    await until(lambda: on_session.called("GetActive"))
    on_session.emit("/org/freedesktop/ScreenSaver", name, "ActiveChanged", "b", True)
    await until(lambda: person.locked)
    assert person.problems == ()


async def test_a_word_of_the_screen_saver_after_its_answer_is_not_lost(on_session, followed):
    name = "org.gnome.ScreenSaver"
    path = "/org/gnome/ScreenSaver"
    on_session.answers[path, "GetActive"] = Silence
    await on_session.appear(name)
    person = await followed.start()
    await until(lambda: on_session.called("GetActive"))
    call = on_session.called("GetActive")[0]
    # Both leave in one piece, so that they are read together.
    on_session.bus.send(call.__class__.new_method_return(call, "b", [False]))
    on_session.emit(path, name, "ActiveChanged", "b", True)
    await until(lambda: person.locked)
    await until(lambda: followed.told)
    assert followed.told == [(True, True, False)]


async def test_nonsense_from_a_screen_saver_hurts_nobody(on_session, followed):
    name = "org.gnome.ScreenSaver"
    path = "/org/gnome/ScreenSaver"
    on_session.answer(path, "GetActive", "s", "perhaps")
    await on_session.appear(name)
    person = await followed.start()
    await until(lambda: on_session.called("GetActive"))
    await until(lambda: all(look.done() for look in person._session._looks.values()))
    assert not person.locked
    on_session.emit(path, name, "ActiveChanged")
    on_session.emit(path, name, "ActiveChanged", "s", "yes")
    await on_session.bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")
    await person._session._bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")
    assert not person.locked
    on_session.emit(path, name, "ActiveChanged", "b", True)
    await until(lambda: person.locked)
    assert followed.told == [(True, True, False)]

"""Konsole by a recorded fake on a real bus; the real program: tests/desktop/focus."""

from __future__ import annotations

import pytest

from tray.desktop.focus import dbus_connection, konsole
from tray.desktop.focus.place import FocusError


def nodes(*names):
    return ["s", ["<node>" + "".join(f'<node name="{name}"/>' for name in names) + "</node>"]]


ANSWERS = {
    "/Sessions Introspect": nodes("1", "2"),
    "/Windows Introspect": nodes("1", "3"),
    "/konsole Introspect": nodes("MainWindow_1", "MainWindow_2"),
    "/Sessions/1 processId": ["i", [1]],
    "/Sessions/2 processId": ["i", ["SHELL"]],
    "/Windows/1 sessionList": ["as", [["1"]]],
    "/Windows/3 sessionList": ["as", [["2"]]],
    "/Windows/3 currentSession": ["i", [2]],
    "/Windows/3 setCurrentSession": ["", []],
    "/konsole/MainWindow_1 winId": ["x", [0x400007]],
    "/konsole/MainWindow_2 winId": ["x", [0x400020]],
    "/konsole/MainWindow_1 Get": ["v", ["s", "the title"]],
    "/konsole/MainWindow_2 Get": ["v", ["s", "the title"]],
}


@pytest.fixture
def program(start, session_bus):
    def make(**changed):
        answers = {**ANSWERS, **changed.pop("answers", {})}
        names = changed.pop("names", ["org.kde.konsole"])
        return start("konsole", bus=session_bus, names=names, answers=answers, **changed)

    return make


def find(program, session_bus):
    return konsole.LAYER.find(program.seat(), {"DBUS_SESSION_BUS_ADDRESS": session_bus})


def test_the_tab_is_the_one_whose_process_is_the_sessions(program, session_bus):
    started = program(variables={"KONSOLE_DBUS_SESSION": "/Sessions/1"})  # Inherited, and wrong.
    spot = find(started, session_bus)
    assert spot.says == "Konsole tab 2"
    assert (spot.outward.pid, spot.outward.xid) == (started.pid, 0x400020)
    assert spot.outward.title == "the title — Konsole"
    assert spot.active() is True
    spot.show()
    assert ["/Windows/3", "setCurrentSession", [2]] in started.calls


def test_the_windows_are_paired_by_what_a_tab_was_told(program, session_bus):
    variables = {"KONSOLE_DBUS_WINDOW": "/Windows/3", "WINDOWID": str(0x400007)}
    assert find(program(variables=variables), session_bus).outward.xid == 0x400007


def test_a_window_that_cannot_be_paired_is_not_guessed(program, session_bus):
    one = {"/konsole Introspect": nodes("MainWindow_1")}
    spot = find(program(answers=one), session_bus)
    assert (spot.outward.xid, spot.outward.title) == (None, None)


def test_small_numbers_are_no_x11_windows(program, session_bus):
    wayland = {
        "/konsole/MainWindow_1 winId": ["x", [1]],
        "/konsole/MainWindow_2 winId": ["x", [2]],
    }
    spot = find(program(answers=wayland), session_bus)
    assert (spot.outward.xid, spot.outward.title) == (None, "the title — Konsole")


def test_a_tab_that_is_not_current(program, session_bus):
    other = {"/Windows/3 currentSession": ["i", [7]]}
    assert find(program(answers=other), session_bus).active() is False


def test_another_process_with_the_name_is_not_asked(program, start, session_bus):
    program()
    second = start("./konsole", bus=session_bus, names=["org.kde.other"])
    with pytest.raises(FocusError, match="not on the session bus"):
        find(second, session_bus)


def test_no_tab_has_the_session(program, session_bus):
    other = {"/Sessions/2 processId": ["i", [1]]}
    with pytest.raises(FocusError, match="no tab with that session"):
        find(program(answers=other), session_bus)


def test_a_konsole_that_hangs_is_given_up(program, session_bus, monkeypatch):
    started = program(answers={"/Sessions Introspect": "HANG"})
    monkeypatch.setattr(dbus_connection, "CALL_LIMIT", 0.2)
    with pytest.raises(FocusError, match="does not answer"):
        find(started, session_bus)


def test_a_session_elsewhere_calls_nothing(start, session_bus):
    other = start("xterm", bus=session_bus, names=["org.kde.konsole"], answers=ANSWERS)
    assert find(other, session_bus) is None
    assert other.calls == []

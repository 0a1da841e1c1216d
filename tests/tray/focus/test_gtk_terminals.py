"""Ghostty, Tilix and Terminator by recorded fakes on a real bus."""

from __future__ import annotations

import pytest

from tray.desktop.focus import ghostty, terminator, tilix
from tray.desktop.focus.place import FocusError

UUID = "39427e39-6f33-4398-9cf2-875fc4b39265"
GHOSTTY = "com.mitchellh.ghostty"
TILIX = "com.gexperts.Tilix"
TERMINATOR = "net.tenshu.Terminator2cd9be2c35dea2b2af0a8ec4a988ac88b"
AT = "/net/tenshu/Terminator2"


def desktop(bus):
    return {"DBUS_SESSION_BUS_ADDRESS": bus}


@pytest.mark.parametrize(
    ("layer", "name", "bus_name", "variables", "action", "parameter"),
    [
        (ghostty, "ghostty", GHOSTTY, {"GHOSTTY_SURFACE_ID": "0x2a"}, "present-surface", 42),
        (tilix, "tilix", TILIX, {"TILIX_ID": UUID}, "activate-terminal", UUID),
    ],
)
def test_the_action_is_called_with_what_the_tab_was_told(
    start, session_bus, layer, name, bus_name, variables, action, parameter
):
    path = "/" + bus_name.replace(".", "/")
    answers = {f"{path} List": ["as", [["quit", action]]], f"{path} Activate": ["", []]}
    program = start(name, variables, bus=session_bus, names=[bus_name], answers=answers)
    spot = layer.LAYER.find(program.seat(), desktop(session_bus))
    assert spot.active() is None
    spot.show("a token")
    platform = {"activation-token": "a token", "desktop-startup-id": "a token"}
    assert [path, "Activate", [action, [parameter], platform]] in program.calls
    assert (spot.outward.pid, spot.outward.app) == (program.pid, bus_name)


def test_a_ghostty_without_the_action_says_so(start, session_bus):
    answers = {"/com/mitchellh/ghostty List": ["as", [["quit"]]]}
    program = start(
        "ghostty",
        {"GHOSTTY_SURFACE_ID": "0x2a"},
        bus=session_bus,
        names=[GHOSTTY],
        answers=answers,
    )
    spot = ghostty.LAYER.find(program.seat(), desktop(session_bus))
    with pytest.raises(FocusError, match="no action present-surface"):
        spot.show()


@pytest.mark.parametrize("number", [None, "0", "-1", "0x1ffffffffffffffff", "zebra"])
def test_a_ghostty_that_does_not_tell_the_surface(start, session_bus, number):
    variables = {} if number is None else {"GHOSTTY_SURFACE_ID": number}
    program = start("ghostty", variables, bus=session_bus, names=[GHOSTTY])
    spot = ghostty.LAYER.find(program.seat(), desktop(session_bus))
    assert spot.outward.seek.startswith("the tab of /dev/pts/")
    spot.show()
    assert program.calls == []


def test_a_ghostty_without_the_name_on_the_bus(start, session_bus):
    program = start("ghostty", {"GHOSTTY_SURFACE_ID": "0x2a"}, bus=session_bus)
    spot = ghostty.LAYER.find(program.seat(), desktop(session_bus))
    assert spot.outward.seek is not None


TERMINATOR_ANSWERS = {
    f"{AT} get_window_title": ["s", ["a title"]],
    f"{AT} get_tab_title": ["s", ["shop\x1b[31m-api"]],
    f"{AT} get_focused_terminal": ["s", ["urn:uuid:other"]],
    f"{AT} get_window": ["s", ["urn:uuid:window"]],
}


def terminator_with(start, bus, **changed):
    variables = {
        "TERMINATOR_UUID": f"urn:uuid:{UUID}",
        "TERMINATOR_DBUS_NAME": TERMINATOR,
        "TERMINATOR_DBUS_PATH": AT,
    }
    answers = {**TERMINATOR_ANSWERS, **changed}
    return start("terminator", variables, bus=bus, names=[TERMINATOR], answers=answers)


def test_terminator_names_the_tab_to_look_for(start, session_bus):
    program = terminator_with(start, session_bus)
    spot = terminator.LAYER.find(program.seat(), desktop(session_bus))
    spot.show()
    assert spot.outward.seek == 'tab "shop-api" of Terminator'
    assert spot.outward.title == "a title"
    assert spot.active() is False  # Another one of its window is.


@pytest.mark.parametrize(
    ("focused", "tab", "active", "seek"),
    [
        (["s", [f"urn:uuid:{UUID}"]], ["s", ["shop"]], True, None),
        (["", []], ["", []], None, None),
    ],
)
def test_terminator_where_nothing_is_to_be_looked_for(
    start, session_bus, focused, tab, active, seek
):
    changed = {f"{AT} get_focused_terminal": focused, f"{AT} get_tab_title": tab}
    program = terminator_with(start, session_bus, **changed)
    spot = terminator.LAYER.find(program.seat(), desktop(session_bus))
    assert (spot.active(), spot.outward.seek) == (active, seek)


def test_a_terminator_that_is_not_on_the_bus(start, session_bus):
    program = start("terminator", bus=session_bus)
    with pytest.raises(FocusError, match="dbus = True"):
        terminator.LAYER.find(program.seat(), desktop(session_bus))

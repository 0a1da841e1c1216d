"""GNOME Terminal by a recorded fake on a real bus; the real program: tests/desktop/focus."""

from __future__ import annotations

import pytest

from tests.tray.focus.test_konsole import nodes
from tray.desktop.focus import gnome_terminal
from tray.desktop.focus.place import FocusError

SCREEN = "39427e39_6f33_4398_9cf2_875fc4b39265"
UUID = SCREEN.replace("_", "-")
OTHER = "5cb1fa92_0f46_410e_b9e9_849ab066c711"
ROOT = "/org/gnome/Terminal"
ANSWERS = {
    f"{ROOT} Introspect": nodes("window", "screen", "SearchProvider"),
    f"{ROOT}/screen Introspect": nodes(SCREEN, OTHER),
    f"{ROOT}/window Introspect": nodes("1"),
    f"{ROOT}/SearchProvider GetResultMetas": ["aa{sv}", [[{"id": UUID, "name": "a\tb"}]]],
    f"{ROOT}/SearchProvider ActivateResult": ["", []],
}


@pytest.fixture
def program(start, session_bus):
    def make(screen=f"{ROOT}/screen/{SCREEN}", **changed):
        return start(
            "gnome-terminal-server",
            {"GNOME_TERMINAL_SCREEN": screen},
            bus=session_bus,
            names=["org.gnome.Terminal"],
            answers={**ANSWERS, **changed},
        )

    return make


def find(program, session_bus):
    return gnome_terminal.LAYER.find(program.seat(), {"DBUS_SESSION_BUS_ADDRESS": session_bus})


def test_the_provider_activates_the_tab_by_its_uuid(program, session_bus):
    started = program()
    spot = find(started, session_bus)
    spot.show()
    assert [f"{ROOT}/SearchProvider", "ActivateResult", [UUID, [], 0]] in started.calls
    assert (spot.outward.pid, spot.outward.title) == (started.pid, "a b")


def test_a_tab_that_has_been_closed_since(program, session_bus):
    spot = find(program(**{f"{ROOT}/SearchProvider GetResultMetas": ["aa{sv}", [[]]]}), session_bus)
    with pytest.raises(FocusError, match="has been closed"):
        spot.show()


def test_an_ended_session_activates_nothing(program, session_bus):
    started = program()
    spot = find(started, session_bus)
    started.end_shell()
    with pytest.raises(FocusError):
        spot.show()
    assert "ActivateResult" not in [member for _, member, _ in started.calls]


@pytest.mark.parametrize(
    ("screens", "windows", "active", "sought"),
    [
        ((SCREEN,), ("1",), True, None),
        ((SCREEN, OTHER), ("1", "2"), True, "the window"),
        ((SCREEN, OTHER), ("1",), None, "the tab"),
    ],
)
def test_without_the_provider(program, session_bus, screens, windows, active, sought):
    started = program(
        **{
            f"{ROOT} Introspect": nodes("window", "screen"),
            f"{ROOT}/screen Introspect": nodes(*screens),
            f"{ROOT}/window Introspect": nodes(*windows),
        }
    )
    spot = find(started, session_bus)
    assert spot.active() is active
    assert (spot.outward.seek or "").startswith(sought or "")
    assert (spot.outward.seek is None) == (sought is None)


def test_a_path_that_is_no_screen_is_not_used(program, session_bus):
    spot = find(program(screen="/org/gnome/Terminal/screen/../x"), session_bus)
    assert "shell-integration-enabled" in spot.outward.seek


def test_a_screen_that_it_does_not_have(program, session_bus):
    with pytest.raises(FocusError, match="no tab"):
        find(program(**{f"{ROOT}/screen Introspect": nodes(OTHER)}), session_bus)

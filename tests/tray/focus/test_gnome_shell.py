"""GNOME under Wayland: programs on a real bus, asked to come forward."""

from __future__ import annotations

import pytest

from tray.desktop.focus import gnome_shell
from tray.desktop.focus.place import FocusError, WindowHint

XML = '<node><interface name="{}"/></node>'
APPLICATION = XML.format("org.freedesktop.Application")


def answers(path, xml=APPLICATION):
    return {f"{path} Introspect": ["s", [xml]], f"{path} Activate": ["", []]}


@pytest.fixture
def desktop(session_bus):
    return {
        "XDG_CURRENT_DESKTOP": "ubuntu:GNOME",
        "WAYLAND_DISPLAY": "wayland-0",
        "DBUS_SESSION_BUS_ADDRESS": session_bus,
    }


@pytest.fixture
def program(start, session_bus):
    def make(*names, **given):
        return start("ptyxis", bus=session_bus, names=list(names), answers=answers(**given))

    return make


def activations(started):
    return [call for call in started.calls if call[1] == "Activate"]


def test_a_program_comes_forward_with_the_token(program, desktop):
    started = program("org.gnome.Ptyxis", path="/org/gnome/Ptyxis")
    hint = WindowHint(pid=started.pid, app="org.gnome.Ptyxis", seek='the tab "shop"')
    spot = gnome_shell.LAYER.find(hint, desktop)
    assert (spot.says, spot.seek) == ("the program org.gnome.Ptyxis", 'the tab "shop"')
    assert spot.active() is None
    assert activations(started) == []
    spot.show("token-1")
    told = {"activation-token": "token-1", "desktop-startup-id": "token-1"}
    assert activations(started) == [["/org/gnome/Ptyxis", "Activate", [told]]]
    spot.show()
    assert activations(started)[1] == ["/org/gnome/Ptyxis", "Activate", [{}]]


def test_a_program_whose_id_is_not_told_is_known_by_its_process(
    program, start, session_bus, desktop
):
    other = start("kgx", bus=session_bus, names=["org.gnome.Console"], answers=answers("/x"))
    started = program("org.kde.konsole-4711", path="/org/kde/konsole")
    hint = WindowHint(pid=started.pid, app="konsole", title="shop — Konsole")
    spot = gnome_shell.LAYER.find(hint, desktop)
    assert spot.seek == 'the window "shop — Konsole"'
    spot.show("t")
    assert len(activations(started)) == 1
    assert other.calls == []


def test_another_process_with_the_name_is_left_alone(program, desktop):
    started = program("org.gnome.Ptyxis", path="/org/gnome/Ptyxis")
    hint = WindowHint(pid=1, app="org.gnome.Ptyxis")
    assert gnome_shell.LAYER.find(hint, desktop) is None
    assert started.calls == []


def test_a_program_that_cannot_come_forward_is_not_asked(program, desktop):
    started = program("org.example.T", path="/org/example/T", xml=XML.format("org.gtk.Actions"))
    hint = WindowHint(pid=started.pid, app="org.example.T")
    assert gnome_shell.LAYER.find(hint, desktop) is None


def test_those_that_come_forward_with_their_tab_are_not_asked_twice(start, session_bus, desktop):
    started = start(
        "gnome-terminal-server", bus=session_bus, names=["org.gnome.Terminal"], answers={}
    )
    hint = WindowHint(pid=started.pid, app="org.gnome.Terminal")
    gnome_shell.LAYER.find(hint, desktop).show("t")
    assert activations(started) == []


def test_a_program_that_was_restarted_is_not_asked(program, desktop, wait_until):
    first = program("org.gnome.Ptyxis", path="/org/gnome/Ptyxis")
    hint = WindowHint(pid=first.pid, app="org.gnome.Ptyxis")
    spot = gnome_shell.LAYER.find(hint, desktop)
    first.stop()
    second = program("org.gnome.Ptyxis", path="/org/gnome/Ptyxis")
    with pytest.raises(FocusError, match="another program by now"):
        spot.show("t")
    assert activations(second) == []


def test_elsewhere_it_is_not_concerned(desktop):
    hint = WindowHint(pid=1, app="org.gnome.Ptyxis")
    assert gnome_shell.LAYER.find(hint, {**desktop, "WAYLAND_DISPLAY": ""}) is None
    assert gnome_shell.LAYER.find(hint, {**desktop, "XDG_CURRENT_DESKTOP": "sway"}) is None

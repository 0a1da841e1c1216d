"""Hyprland by a recorded fake of its socket."""

from __future__ import annotations

import json

import pytest

from tests.tray.focus.fake_socket import FakeSocket
from tray.desktop.focus import before, hyprland
from tray.desktop.focus.place import FocusError, WindowHint

# As `hyprctl -j clients` of 0.41 prints them, less what nobody reads.
CLIENT = {
    "address": "0x55d0c0ffee10",
    "mapped": True,
    "hidden": False,
    "at": [22, 22],
    "workspace": {"id": 3, "name": "3"},
    "class": "kitty",
    "title": "shop-api",
    "pid": 4711,
    "xwayland": False,
}
OTHER = {**CLIENT, "address": "0x55d0c0ffee20", "title": "docs"}
NOBODYS = {**CLIENT, "address": "0x55d0c0ffee30", "pid": -1}


class Hyprland:
    """What is open, what has the focus, and which language its configuration is in."""

    def __init__(self, clients, *, lua=False, obeys=True):
        self.clients = clients
        self.focused = OTHER["address"]
        self.lua = lua
        self.obeys = obeys

    def answer(self, server, connection):
        request = connection.recv(65536).decode()
        server.asked.append(request)
        connection.sendall(self.reply(request).encode())

    def reply(self, request):
        if request == "j/clients":
            return json.dumps(self.clients)
        if request == "j/activewindow":
            return json.dumps({"address": self.focused} if self.focused else {})
        wanted = (
            'dispatch hl.dsp.focus({ window = "address:'
            if self.lua
            else ("dispatch focuswindow address:")
        )
        if not request.startswith(wanted):
            return "error: syntax error near 'address'" if self.lua else "Invalid dispatcher"
        if self.obeys:
            self.focused = request.removeprefix(wanted).removesuffix('" })')
        return "ok"


@pytest.fixture
def serve(tmp_path):
    servers = []
    folder = tmp_path / "hypr" / "abc_123"
    folder.mkdir(parents=True)

    def make(system):
        servers.append(FakeSocket(folder / ".socket.sock", system.answer))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def desktop(tmp_path):
    return {"HYPRLAND_INSTANCE_SIGNATURE": "abc_123", "XDG_RUNTIME_DIR": str(tmp_path)}


HINT = WindowHint(pid=4711, title="shop-api")


@pytest.mark.parametrize("lua", [False, True])
def test_a_window_is_focused(serve, desktop, lua):
    system = Hyprland([CLIENT, OTHER, NOBODYS], lua=lua)
    serve(system)
    spot = hyprland.LAYER.find(HINT, desktop)
    assert spot.says == 'the window "shop-api" on workspace 3'
    assert spot.active() is False
    spot.show()
    assert system.focused == CLIENT["address"]
    assert spot.active() is True


def test_back_to_the_window_of_before(serve, desktop):
    system = Hyprland([CLIENT, OTHER])
    serve(system)
    there = {**desktop, "WAYLAND_DISPLAY": "wayland-1"}
    was = before.focused(there)
    assert was == before.Before("hyprland", OTHER["address"])
    system.focused = CLIENT["address"]
    before.activate(was, there)
    assert system.focused == OTHER["address"]
    system.clients = [CLIENT]
    with pytest.raises(FocusError, match="window of before is gone"):
        before.activate(was, there)


def test_looking_asks_for_nothing_else(serve, desktop):
    server = serve(Hyprland([CLIENT]))
    hyprland.LAYER.find(HINT, desktop).active()
    assert server.asked == ["j/clients", "j/activewindow"]


@pytest.mark.parametrize(
    ("clients", "hint"),
    [
        ([CLIENT, {**OTHER, "title": "shop-api"}], HINT),
        ([CLIENT, OTHER], WindowHint(pid=4711)),
        ([CLIENT], WindowHint(pid=1)),
        ([NOBODYS], WindowHint(app="kitty")),
        ([{**CLIENT, "mapped": False}], HINT),
        ([{**CLIENT, "address": "0x1; dispatch exit"}], HINT),
    ],
)
def test_what_is_not_certain_is_not_guessed(serve, desktop, clients, hint):
    serve(Hyprland(clients))
    assert hyprland.LAYER.find(hint, desktop) is None


def test_a_window_that_went_away(serve, desktop):
    system = Hyprland([CLIENT])
    server = serve(system)
    spot = hyprland.LAYER.find(HINT, desktop)
    system.clients = [{**CLIENT, "pid": 5}]
    with pytest.raises(FocusError, match="the window is gone"):
        spot.show()
    assert not [one for one in server.asked if "dispatch" in one]


def test_no_focus_is_told(serve, desktop, monkeypatch):
    monkeypatch.setattr("tray.desktop.focus.windows._PATIENCE", 0.02)
    serve(Hyprland([CLIENT], obeys=False))
    with pytest.raises(FocusError, match="does not give the window the focus"):
        hyprland.LAYER.find(HINT, desktop).show()


def test_nothing_has_the_focus(serve, desktop):
    system = Hyprland([CLIENT])
    serve(system)
    system.focused = None
    assert hyprland.LAYER.find(HINT, desktop).active() is False


def test_a_hyprland_that_is_gone_or_talks_nonsense(serve, desktop):
    with pytest.raises(FocusError, match="cannot be reached"):
        hyprland.LAYER.find(HINT, desktop)
    serve(Hyprland("nonsense"))
    with pytest.raises(FocusError, match="something else than expected"):
        hyprland.LAYER.find(HINT, desktop)


def test_elsewhere_it_is_not_concerned():
    assert hyprland.LAYER.find(HINT, {"SWAYSOCK": "/x"}) is None

"""niri by a recorded fake of its socket."""

from __future__ import annotations

import json

import pytest

from tests.tray.focus.fake_socket import FakeSocket
from tray.desktop.focus import before, niri
from tray.desktop.focus.place import FocusError, WindowHint

# As niri 25.02 answers "Windows".
WINDOW = {
    "id": 12,
    "title": "shop-api",
    "app_id": "Alacritty",
    "pid": 4711,
    "workspace_id": 2,
    "is_focused": False,
}
OTHER = {**WINDOW, "id": 13, "title": "docs", "is_focused": True}
HINT = WindowHint(pid=4711, title="shop-api")


class Niri:
    def __init__(self, windows):
        self.windows = windows
        self.obeys = True

    def answer(self, server, connection):
        request = json.loads(connection.makefile().readline())
        server.asked.append(request)
        # In two parts, as a long list comes.
        reply = (json.dumps(self.reply(request)) + "\n").encode()
        connection.sendall(reply[:5])
        connection.sendall(reply[5:])

    def reply(self, request):
        if request == "Windows":
            return {"Ok": {"Windows": self.windows}} if self.windows else {"Err": "not now"}
        wanted = request["Action"]["FocusWindow"]["id"]
        if self.obeys:
            self.windows = [{**one, "is_focused": one["id"] == wanted} for one in self.windows]
        return {"Ok": "Handled"}


@pytest.fixture
def serve(tmp_path):
    servers = []

    def make(system):
        servers.append(FakeSocket(tmp_path / "niri.sock", system.answer))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def desktop(tmp_path):
    return {"NIRI_SOCKET": str(tmp_path / "niri.sock")}


def test_a_window_is_focused(serve, desktop):
    system = Niri([WINDOW, OTHER, {**WINDOW, "id": 14, "pid": None, "title": None}])
    server = serve(system)
    spot = niri.LAYER.find(HINT, desktop)
    assert spot.says == 'the window "shop-api"'
    assert spot.active() is False
    spot.show()
    assert {"Action": {"FocusWindow": {"id": 12}}} in server.asked
    assert [one["id"] for one in system.windows if one["is_focused"]] == [12]
    assert spot.active() is True


def test_back_to_the_window_of_before(serve, desktop):
    system = Niri([WINDOW, OTHER])
    serve(system)
    there = {**desktop, "WAYLAND_DISPLAY": "wayland-1"}
    was = before.focused(there)
    assert was == before.Before("niri", "13")
    niri.LAYER.find(HINT, desktop).show()
    before.activate(was, there)
    assert [one["id"] for one in system.windows if one["is_focused"]] == [13]
    system.windows = [WINDOW]
    with pytest.raises(FocusError, match="window of before is gone"):
        before.activate(was, there)


@pytest.mark.parametrize(
    ("windows", "hint"),
    [
        ([WINDOW, {**OTHER, "title": "shop-api"}], HINT),
        ([WINDOW, OTHER], WindowHint(pid=4711)),
        ([WINDOW], WindowHint(pid=1, title="shop-api")),
        ([{**WINDOW, "pid": None}], WindowHint(app="Alacritty")),
    ],
)
def test_what_is_not_certain_is_not_guessed(serve, desktop, windows, hint):
    serve(Niri(windows))
    assert niri.LAYER.find(hint, desktop) is None


def test_a_window_that_went_away(serve, desktop):
    system = Niri([WINDOW])
    server = serve(system)
    spot = niri.LAYER.find(HINT, desktop)
    system.windows = [OTHER]
    with pytest.raises(FocusError, match="the window is gone"):
        spot.show()
    assert server.asked == ["Windows", "Windows"]


def test_no_focus_is_told(serve, desktop, monkeypatch):
    monkeypatch.setattr("tray.desktop.focus.windows._PATIENCE", 0.02)
    system = Niri([WINDOW])
    system.obeys = False
    serve(system)
    with pytest.raises(FocusError, match="does not give the window the focus"):
        niri.LAYER.find(HINT, desktop).show()


def test_a_niri_that_is_gone_or_refuses(serve, desktop):
    with pytest.raises(FocusError, match="cannot be reached"):
        niri.LAYER.find(HINT, desktop)
    serve(Niri([]))
    with pytest.raises(FocusError, match="refuses: not now"):
        niri.LAYER.find(HINT, desktop)


def test_elsewhere_it_is_not_concerned():
    assert niri.LAYER.find(HINT, {}) is None

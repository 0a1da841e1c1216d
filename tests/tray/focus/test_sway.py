"""sway and i3 by a recorded fake of their socket; the real sway: tests/desktop/focus."""

from __future__ import annotations

import json
import struct

import pytest

from tests.tray.focus.fake_socket import FakeSocket
from tray.desktop.focus import sway
from tray.desktop.focus.place import FocusError, WindowHint
from tray.desktop.focus.windows import Window, choose
from tray.system.processes import read_process


def tree(*windows):
    """As i3 nests them: root, output, content, workspace, a floating window's container."""
    return {
        "id": 1,
        "type": "root",
        "name": "root",
        "nodes": [
            {
                "id": 2,
                "type": "output",
                "name": "DP-1",
                "nodes": [
                    {
                        "id": 3,
                        "type": "workspace",
                        "name": "2: web",
                        "fullscreen_mode": 1,
                        "nodes": [one for one in windows if "floating" not in one],
                        "floating_nodes": [
                            {"id": 9, "type": "floating_con", "nodes": [one]}
                            for one in windows
                            if "floating" in one
                        ],
                    }
                ],
            }
        ],
    }


SWAYS = {"id": 10, "type": "con", "name": "shop", "pid": 4711, "app_id": "foot", "focused": False}
I3S = {"id": 11, "type": "con", "name": "shop", "window": 0x400007, "focused": True}
HINT = WindowHint(pid=4711)


class System:
    def __init__(self, *windows, result=None):
        self.windows = windows
        self.result = result or {"success": True}

    def answer(self, server, connection):
        magic, length, kind = struct.unpack("=6sII", connection.recv(14))
        assert magic == b"i3-ipc"
        payload = connection.recv(length).decode() if length else ""
        server.asked.append((kind, payload))
        reply = json.dumps(tree(*self.windows) if kind == 4 else [self.result]).encode()
        if kind == 0 and self.result["success"]:
            wanted = int(payload.removeprefix("[con_id=").removesuffix("] focus"))
            self.windows = [{**one, "focused": one["id"] == wanted} for one in self.windows]
        connection.sendall(struct.pack("=6sII", magic, len(reply), kind) + reply)


@pytest.fixture
def serve(tmp_path):
    servers = []

    def make(system):
        servers.append(FakeSocket(tmp_path / "ipc.sock", system.answer))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def desktop(tmp_path):
    return {"SWAYSOCK": str(tmp_path / "ipc.sock")}


def test_sway_by_the_process(serve, desktop):
    server = serve(System(SWAYS, {**SWAYS, "id": 12, "pid": 5}))
    spot = sway.LAYER.find(HINT, desktop)
    assert (spot.layer, spot.says) == ("sway", 'the window "shop" on workspace 2: web')
    assert spot.active() is False
    spot.show()
    assert server.asked[-2] == (0, "[con_id=10] focus")
    assert spot.active() is True


def test_i3_by_the_x11_window(serve, tmp_path):
    serve(System({**I3S, "focused": False, "floating": "user_on"}, {**I3S, "id": 12, "window": 8}))
    desktop = {"I3SOCK": str(tmp_path / "ipc.sock"), "DISPLAY": ":1"}
    spot = sway.LAYER.find(WindowHint(pid=4711, xid=0x400007), desktop)
    assert spot.layer == "i3"
    spot.show()
    assert spot.active() is True
    assert sway.LAYER.find(HINT, desktop) is None, "i3 tells no process: X11 is asked then"


@pytest.mark.parametrize(
    ("hint", "windows", "chosen"),
    [
        (WindowHint(pid=1), [("a", 1, "x", None)], "a"),
        (WindowHint(pid=1), [("a", 1, "x", None), ("b", 2, "x", None)], "a"),
        (WindowHint(pid=1), [("a", 1, "x", None), ("b", 1, "y", None)], None),
        (WindowHint(pid=1, title="y"), [("a", 1, "x", None), ("b", 1, "y", None)], "b"),
        (WindowHint(pid=1, title="y"), [("a", 1, "y", None), ("b", 1, "y", None)], None),
        (WindowHint(pid=1, title="z"), [("a", 1, "x", None), ("b", 1, "y", None)], None),
        # A title that changed meanwhile: the only window is still the one.
        (WindowHint(pid=1, title="z"), [("a", 1, "x", None)], "a"),
        (WindowHint(pid=1, title="a b"), [("a", 1, "a\tb", None), ("b", 1, "y", None)], "a"),
        (WindowHint(pid=1, xid=7), [("a", 1, "x", 6), ("b", 1, "x", 7)], "b"),
        (WindowHint(pid=1, xid=7), [("a", 2, "x", 7)], None),
        (WindowHint(pid=1, xid=7), [("a", None, "x", 7)], "a"),
        (WindowHint(app="foot"), [("a", None, "x", None)], None),
        (WindowHint(title="x"), [("a", 1, "x", None)], None),
    ],
)
def test_the_window_that_is_meant(hint, windows, chosen):
    found = choose(hint, [Window(*one) for one in windows])
    assert (found.id if found is not None else None) == chosen


def test_a_refusal_is_told(serve, desktop):
    serve(System(SWAYS, result={"success": False, "error": "No such\ncontainer"}))
    with pytest.raises(FocusError, match="sway refuses: No such container"):
        sway.LAYER.find(HINT, desktop).show()


def test_a_terminal_that_has_ended_is_not_gone_to(serve, desktop):
    server = serve(System(SWAYS))
    spot = sway.LAYER.find(WindowHint(pid=4711, start_ticks=1), desktop)
    assert read_process(4711) is None or read_process(4711).start_ticks != 1
    with pytest.raises(FocusError, match="has ended"):
        spot.show()
    assert server.asked == [(4, "")]


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.1 400 Bad Request",
        struct.pack("=6sII", b"i3-ipc", 4, 4) + b"[]",
        struct.pack("=6sII", b"i3-ipc", 2, 4) + b"[]",
        struct.pack("=6sII", b"i3-ipc", 2, 1) + b"{}",
        struct.pack("=6sII", b"i3-ipc", 0xFFFFFFFF, 4),
    ],
)
def test_a_program_that_talks_nonsense(tmp_path, desktop, reply):
    def answer(_, connection):
        connection.recv(100)
        connection.sendall(reply)

    server = FakeSocket(tmp_path / "ipc.sock", answer)
    try:
        with pytest.raises(FocusError):
            sway.LAYER.find(HINT, desktop)
    finally:
        server.stop()


def test_the_socket_of_a_sway_whose_variable_was_not_told(tmp_path, serve):
    import os

    desktop = {"XDG_CURRENT_DESKTOP": "sway", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert sway.LAYER.find(HINT, desktop) is None
    serve(System(SWAYS))
    (tmp_path / f"sway-ipc.{os.getuid()}.17.sock").symlink_to(tmp_path / "ipc.sock")
    assert sway.LAYER.find(HINT, desktop) is not None


def test_elsewhere_it_is_not_concerned():
    assert sway.LAYER.find(HINT, {"XDG_CURRENT_DESKTOP": "GNOME"}) is None

"""kitty's protocol against a socket; the real program: tests/desktop/focus."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from tray.desktop.focus import kitty
from tray.desktop.focus.place import FocusError

BEGIN, END = b"\x1bP@kitty-cmd", b"\x1b\\"


class Listener:
    """A socket that answers each command with the next recorded reply."""

    def __init__(self, path):
        self.address = f"unix:{path}"
        self.replies: list[bytes | None] = []
        self.commands: list[dict] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while True:
            connection, _ = self._socket.accept()
            with connection:
                data = b""
                while not data.endswith(END) and (piece := connection.recv(4096)):
                    data += piece
                if not data:
                    return
                self.commands.append(json.loads(data.removeprefix(BEGIN).removesuffix(END)))
                reply = self.replies.pop(0)
                if reply is None:
                    self._done.wait()
                else:
                    connection.sendall(reply)

    def stop(self):
        self._done.set()
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self.address.removeprefix("unix:"))
        self._thread.join()
        self._socket.close()


@pytest.fixture
def listener(tmp_path):
    listener = Listener(tmp_path / "kitty.socket")
    yield listener
    listener.stop()


def reply(data=None, **more):
    return BEGIN + json.dumps({"ok": True, "data": data, **more}).encode() + END


def windows(pid, *, older=False, selected=True, xid=77):
    """What `ls` says, with the session in the second pane of the second tab."""
    tab, window = ("is_active_tab", "is_active_window") if older else ("is_active",) * 2

    def pane(number, pid, active):
        return {"id": number, "pid": pid, "title": f"title {number}", window: active, "lines": 24}

    tabs = [
        {"id": 1, tab: not selected, "windows": [pane(1, 1, True)]},
        {"id": 2, tab: selected, "windows": [pane(2, 1, False), pane(3, pid, True)]},
    ]
    return json.dumps([{"id": 1, "platform_window_id": xid, "tabs": tabs}])


@pytest.mark.parametrize("older", [True, False])
def test_the_pane_is_focused_by_its_number(start, listener, older):
    program = start("kitty", {"KITTY_LISTEN_ON": listener.address, "KITTY_WINDOW_ID": "1"})
    before = reply(windows(program.shell, older=older, selected=False))
    after = reply(windows(program.shell, older=older))
    listener.replies = [before, before, before, reply(), after, after]
    spot = kitty.LAYER.find(program.seat(), {})
    assert spot.says == "kitty window 3 in tab 2"
    assert (spot.outward.pid, spot.outward.xid) == (program.pid, 77)
    assert spot.outward.title is None
    assert spot.active() is False
    spot.show()
    assert listener.commands[3]["cmd"] == "focus-window"
    assert listener.commands[3]["payload"] == {"match": "id:3"}
    assert spot.outward.title == "title 3"
    assert spot.active() is True


def test_a_pane_that_another_session_has_now(start, listener):
    program = start("kitty", {"KITTY_LISTEN_ON": listener.address})
    listener.replies = [reply(windows(program.shell)), reply(windows(1))]
    spot = kitty.LAYER.find(program.seat(), {})
    with pytest.raises(FocusError, match="no longer the session's"):
        spot.show()
    assert [command["cmd"] for command in listener.commands] == ["ls", "ls"]


def test_an_ended_session_is_not_focused(start, listener):
    program = start("kitty", {"KITTY_LISTEN_ON": listener.address})
    listener.replies = [reply(windows(program.shell))] * 2
    spot = kitty.LAYER.find(program.seat(), {})
    program.end_shell()
    with pytest.raises(FocusError):
        spot.show()
    assert [command["cmd"] for command in listener.commands] == ["ls", "ls"]


@pytest.mark.parametrize("refusal", [b"", BEGIN + b'{"ok":false,"error":"disabled"}' + END])
def test_where_remote_control_is_refused_the_window_is_left(start, listener, refusal):
    program = start("kitty", {"KITTY_LISTEN_ON": listener.address, "WINDOWID": "77"})
    listener.replies = [refusal]
    spot = kitty.LAYER.find(program.seat(), {})
    assert (spot.outward.xid, spot.active()) == (77, None)
    assert "allow_remote_control" in spot.outward.seek


def test_without_an_address_nothing_is_called(start):
    spot = kitty.LAYER.find(start("kitty").seat(), {})
    assert "listen_on" in spot.outward.seek


def test_a_kitty_that_hangs_is_given_up(start, listener, monkeypatch):
    monkeypatch.setattr(kitty, "CALL_LIMIT", 0.1)
    listener.replies = [None]
    program = start("kitty", {"KITTY_LISTEN_ON": listener.address})
    with pytest.raises(FocusError, match=r"does not answer within 0.1 s"):
        kitty.LAYER.find(program.seat(), {})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (BEGIN + b"not JSON" + END, "cannot be read"),
        (reply("not a list"), "cannot be read"),
        (reply("[]"), "no window with /dev/pts/"),
    ],
)
def test_an_answer_that_makes_no_sense(start, listener, answer, said):
    listener.replies = [answer]
    program = start("kitty", {"KITTY_LISTEN_ON": listener.address})
    with pytest.raises(FocusError, match=said):
        kitty.LAYER.find(program.seat(), {})


@pytest.mark.parametrize(
    "address", ["tcp:example.org:9", "fd:3", "unix:/nowhere", "tcp:localhost:"]
)
def test_an_address_that_leads_nowhere(start, address):
    program = start("kitty", {"KITTY_LISTEN_ON": address})
    with pytest.raises(FocusError, match="not reachable"):
        kitty.LAYER.find(program.seat(), {})

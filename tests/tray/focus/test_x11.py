"""Which window of all those on the screen a hint means."""

from __future__ import annotations

import pytest

from tray.desktop.focus import x11
from tray.desktop.focus.place import FocusError, WindowHint

WINDOWS = [
    x11.Window(1, 10, "a"),
    x11.Window(2, 10, "b", "desk"),
    x11.Window(3, 10, "b", "desk.example.org"),
    x11.Window(4, 20, "a", "DESK"),
    x11.Window(5, None, "a"),
    x11.Window(6, 20, "c", "server"),
    x11.Window(7, 40, "d", "server.example.org"),
    x11.Window(8, None, "d", "server"),
]


@pytest.mark.parametrize(
    ("hint", "window"),
    [
        (WindowHint(pid=20), 4),
        (WindowHint(pid=20, title="of before"), 4),
        (WindowHint(pid=10), None),
        (WindowHint(pid=10, title="a"), 1),
        (WindowHint(pid=10, title="b"), None),
        (WindowHint(pid=10, title=""), None),
        (WindowHint(pid=10, xid=3), 3),
        (WindowHint(pid=10, xid=3, title="a"), 3),
        (WindowHint(pid=10, xid=4), None),
        (WindowHint(pid=20, xid=3), 4),
        (WindowHint(pid=10, xid=5), 5),
        (WindowHint(pid=20, title="c"), 4),
        (WindowHint(pid=20, xid=6), 4),
        (WindowHint(pid=40), None),
        (WindowHint(pid=40, title="d", xid=7), None),
        (WindowHint(pid=40, xid=8), None),
        (WindowHint(pid=30, xid=99), None),
        (WindowHint(pid=30, title="a"), None),
        (WindowHint(app="a"), None),
        (WindowHint(title="a"), None),
    ],
)
def test_the_window_that_is_meant(hint: WindowHint, window: int | None) -> None:
    assert x11.choose(hint, WINDOWS, "desk") == window


@pytest.mark.parametrize(
    ("machine", "host", "same"),
    [
        (None, "desk", True),
        ("desk", "desk", True),
        ("Desk", "desk", True),
        ("desk.example.org", "desk", True),
        ("desk", "desk.example.org", True),
        ("desk.example.org", "desk.example.org", True),
        ("desk.example.com", "desk.example.org", False),
        ("server", "desk", False),
        ("desktop", "desk", False),
        ("server.example.org", "desk.example.org", False),
    ],
)
def test_the_machine_of_a_window(machine: str | None, host: str, same: bool) -> None:
    assert x11.is_of(machine, host) is same


def test_no_x_server() -> None:
    hint = WindowHint(pid=1)
    assert x11.LAYER.find(hint, {}) is None
    assert x11.focused({}) is None
    for environment in ({"DISPLAY": ":no-such-display"}, {"DISPLAY": "nonsense"}):
        with pytest.raises(FocusError):
            x11.LAYER.find(hint, environment)
        with pytest.raises(FocusError):
            x11.activate(1, environment)
    with pytest.raises(FocusError):
        x11.activate(1, {})

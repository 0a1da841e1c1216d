"""WezTerm by a program that prints what was recorded."""

from __future__ import annotations

import json

import pytest

from tray.desktop.focus import wezterm
from tray.desktop.focus.place import FocusError
from tray.system.processes import read_process

_PROGRAM = """\
#!/bin/sh
echo "$*" >>"{folder}/arguments"
case $3 in
list) cat "{folder}/list" ;;
list-clients) cat "{folder}/clients" ;;
activate-pane) {activate} ;;
esac
"""


def pane(number, tty, window=0, title="claude"):
    return {
        "window_id": window,
        "tab_id": number // 2,
        "pane_id": number,
        "workspace": "default",
        "title": title,
        "cwd": "file://host/home/user/",
        "is_active": True,
        "tty_name": tty,
    }


class Recorded:
    """A `wezterm` in PATH."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.set(panes=[], clients=[])
        self.program()

    def program(self, activate=":"):
        program = self.folder / "wezterm"
        program.write_text(_PROGRAM.format(folder=self.folder, activate=activate))
        program.chmod(0o700)

    def set(self, panes=None, clients=None):
        if panes is not None:
            (self.folder / "list").write_text(json.dumps(panes))
        if clients is not None:
            (self.folder / "clients").write_text(json.dumps(clients))

    @property
    def desktop(self):
        return {"PATH": f"{self.folder}:/usr/bin:/bin"}

    @property
    def arguments(self):
        return (self.folder / "arguments").read_text().splitlines()


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path / "bin")


def test_the_pane_is_the_one_with_the_sessions_tty(start, recorded):
    program = start("wezterm-gui", {"WEZTERM_PANE": "1"})
    tty = program.seat().process.tty
    recorded.set([pane(0, None), pane(1, "/dev/pts/99999"), pane(5, tty)])
    spot = wezterm.LAYER.find(program.seat(), recorded.desktop)
    spot.show()
    assert "cli --no-auto-start activate-pane --pane-id 5" in recorded.arguments
    assert (spot.outward.pid, spot.outward.seek) == (program.pid, None)


@pytest.mark.parametrize(
    ("focused", "active"), [([5], True), ([1], False), ([7], None), ([], None)]
)
def test_which_pane_is_active_is_what_the_client_says(start, recorded, focused, active):
    program = start("wezterm-gui")
    tty = program.seat().process.tty
    clients = [{"pid": program.pid, "focused_pane_id": number} for number in focused]
    recorded.set([pane(1, "/x"), pane(5, tty), pane(7, "/y", window=1)], clients)
    assert wezterm.LAYER.find(program.seat(), recorded.desktop).active() is active


def test_of_several_windows_the_title_is_named(start, recorded):
    program = start("wezterm-gui")
    tty = program.seat().process.tty
    recorded.set([pane(1, "/x", window=1), pane(5, tty, title="a\x07b")])
    spot = wezterm.LAYER.find(program.seat(), recorded.desktop)
    assert spot.outward.seek == 'the window of WezTerm with "ab"'


def test_the_window_of_a_server_is_its_only_clients(start, recorded):
    program = start("wezterm-mux-server")
    window = read_process(program.pid)
    recorded.set([pane(5, program.seat().process.tty)], [{"pid": program.pid}])
    spot = wezterm.LAYER.find(program.seat(), recorded.desktop)
    assert (spot.outward.pid, spot.outward.start_ticks) == (window.pid, window.start_ticks)
    recorded.set(clients=[{"pid": program.pid}, {"pid": 1}])
    assert wezterm.LAYER.find(program.seat(), recorded.desktop).outward.pid is None


def test_a_reused_tty_is_another_pane(start, recorded):
    program = start("wezterm-gui")
    tty = program.seat().process.tty
    recorded.set([pane(5, tty)])
    spot = wezterm.LAYER.find(program.seat(), recorded.desktop)
    recorded.set([pane(6, tty)])
    with pytest.raises(FocusError, match="no longer the session's"):
        spot.show()
    assert not any("activate-pane" in line for line in recorded.arguments)


def test_what_goes_wrong_is_said(start, recorded, monkeypatch):
    program = start("wezterm-gui")
    seat = program.seat()
    with pytest.raises(FocusError, match="no pane with /dev/pts/"):
        wezterm.LAYER.find(seat, recorded.desktop)
    recorded.set([pane(5, seat.process.tty)])
    spot = wezterm.LAYER.find(seat, recorded.desktop)
    recorded.program(activate="echo no such pane >&2; exit 1")
    with pytest.raises(FocusError, match="activate-pane: no such pane"):
        spot.show()
    recorded.program(activate="exec sleep 60")
    monkeypatch.setattr(wezterm, "CALL_LIMIT", 0.3)
    with pytest.raises(FocusError, match="does not answer"):
        spot.show()
    (recorded.folder / "list").write_text("not JSON")
    with pytest.raises(FocusError, match="cannot be read"):
        wezterm.LAYER.find(seat, recorded.desktop)
    with pytest.raises(FocusError, match="not in PATH"):
        wezterm.LAYER.find(seat, {"PATH": "/nowhere"})

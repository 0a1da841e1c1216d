"""KWin by a fake of its scripting service; the real one: tests/desktop/focus."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.tray.focus.fake_kwin import FakeKWin, Node
from tray.desktop.focus import before, kwin, kwin_script
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import read_process

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")

SHOP = {"id": "{aa-1}", "pid": 4711, "caption": "shop — Konsole"}
DOCS = {"id": "{aa-2}", "pid": 4711, "caption": "docs — Konsole"}
OTHER = {"id": "{aa-3}", "pid": 5, "caption": "shop — Konsole"}
HINT = WindowHint(pid=4711, title="shop — Konsole")


@pytest.fixture(scope="module")
def node():
    started = Node()
    yield started
    started.stop()


@pytest.fixture
def serve(session_bus, node):
    started = []

    def make(*windows, **options):
        started.append(FakeKWin(session_bus, node, windows, **options))
        return started[-1]

    yield make
    for system in started:
        system.stop()


@pytest.fixture
def desktop(session_bus, tmp_path):
    runtime = tmp_path / "run"
    runtime.mkdir()
    return {
        "XDG_CURRENT_DESKTOP": "KDE",
        "WAYLAND_DISPLAY": "wayland-0",
        "XDG_RUNTIME_DIR": str(runtime),
        "DBUS_SESSION_BUS_ADDRESS": session_bus,
    }


@pytest.mark.parametrize("plasma", [5, 6])
def test_a_window_is_activated_and_nothing_stays_behind(serve, desktop, tmp_path, plasma):
    system = serve(SHOP, DOCS, OTHER, plasma=plasma)
    system.active = OTHER["id"]
    spot = kwin.LAYER.find(HINT, desktop)
    assert spot.says == 'the window "shop — Konsole"'
    assert spot.active() is False
    spot.show()
    assert system.active == SHOP["id"]
    assert spot.active() is True
    assert set(system.modes) == {0o600}
    assert system.loaded == {}
    assert list((tmp_path / "run").iterdir()) == []


def test_back_to_the_window_of_before(serve, desktop):
    system = serve(SHOP, OTHER)
    assert before.focused(desktop) is None
    system.active = OTHER["id"]
    was = before.focused(desktop)
    assert was == before.Before("kwin", OTHER["id"])
    kwin.LAYER.find(HINT, desktop).show()
    before.activate(was, desktop)
    assert system.active == OTHER["id"]
    system.windows = [SHOP]
    with pytest.raises(FocusError, match="window of before is gone"):
        before.activate(was, desktop)


@pytest.mark.parametrize(
    ("windows", "hint"),
    [
        # KWin itself tells equal titles apart: to a terminal they are still equal.
        ([SHOP, {**DOCS, "caption": "shop — Konsole <2>\u200e"}], HINT),
        ([SHOP, DOCS], WindowHint(pid=4711)),
        ([OTHER], HINT),
        ([{**SHOP, "normal": False}], HINT),
    ],
)
def test_what_is_not_certain_is_not_guessed(serve, desktop, windows, hint):
    serve(*windows)
    assert kwin.LAYER.find(hint, desktop) is None


def test_a_window_that_went_away_or_gets_no_focus(serve, desktop):
    system = serve(SHOP)
    spot = kwin.LAYER.find(HINT, desktop)
    system.obeys = False
    with pytest.raises(FocusError, match="does not give the window the focus"):
        spot.show()
    system.windows = [OTHER]
    with pytest.raises(FocusError, match="the window is gone"):
        spot.show()


def test_data_stays_data(serve, desktop):
    serve()
    evil = '"}); workspace = null; //</script>\u2028\n*/ {} \\'
    address = desktop["DBUS_SESSION_BUS_ADDRESS"]
    assert kwin_script.run(address, None, "return asked;", evil) == evil


def test_a_script_whose_number_another_one_has_is_run_all_the_same(serve, desktop, monkeypatch):
    monkeypatch.setattr(kwin_script, "_STARTED_WITHIN", 0.02)
    system = serve(SHOP)
    system.taken_paths = True
    assert kwin.LAYER.find(HINT, desktop) is not None
    assert system.members == ["loadScript", "run", "run", "start", "unloadScript"]


def test_an_answer_of_somebody_else_is_none(serve, desktop):
    system = serve(SHOP)
    spot = kwin.LAYER.find(HINT, desktop)
    system.forge, system.obeys = True, False
    with pytest.raises(FocusError, match="does not give"):
        spot.show()


def test_a_kwin_that_is_silent_or_not_there(serve, desktop, monkeypatch, tmp_path):
    with pytest.raises(FocusError, match="KWin"):
        kwin.LAYER.find(HINT, desktop)
    monkeypatch.setattr(kwin_script, "CALL_LIMIT", 0.3)
    monkeypatch.setattr(kwin_script, "_STARTED_WITHIN", 0.02)
    system = serve(SHOP)
    system.silent = True
    with pytest.raises(FocusError, match="KWin does not answer"):
        kwin.LAYER.find(HINT, desktop)
    assert list((tmp_path / "run").iterdir()) == []


def test_an_error_in_a_script_is_told(serve, desktop):
    serve()
    with pytest.raises(FocusError, match="ReferenceError"):
        kwin_script.run(desktop["DBUS_SESSION_BUS_ADDRESS"], None, "return nothing.at.all;", None)


def test_elsewhere_it_is_not_concerned(desktop):
    process = read_process(os.getpid())
    assert kwin.LAYER.find(HINT, {**desktop, "WAYLAND_DISPLAY": ""}) is None
    assert kwin.LAYER.find(HINT, {**desktop, "XDG_CURRENT_DESKTOP": "GNOME"}) is None
    assert kwin.LAYER.find(WindowHint(app="konsole"), desktop) is None
    assert kwin.LAYER.find(Seat(process, ()), desktop) is None

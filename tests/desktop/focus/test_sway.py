"""The way to a window of the real sway."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.sway import Sway, missing
from tray.desktop.focus import before, plain_terminal, sway
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import parent_chain, read_process

if TYPE_CHECKING:
    from collections.abc import Iterator

ARRANGEMENTS = 50
TILED = ("layout tabbed", "layout stacking", "layout toggle split", "splitv", "splith")
_SESSION = 'echo $$ >"$1.new" && mv "$1.new" "$1"; exec sleep 600'


@pytest.fixture(scope="module")
def desktop(tmp_path_factory) -> Iterator[Sway]:
    absent = missing("foot", "footclient")
    if absent is not None:
        pytest.skip(absent)
    started = Sway(tmp_path_factory.mktemp("sway")).start()
    yield started
    started.stop()


class Windows:
    """Windows of foot: some have a process of their own, the others share one server."""

    def __init__(self, desktop: Sway, folder) -> None:
        self.desktop = desktop
        self._folder = folder
        self._socket = folder / "foot"
        self._count = 0
        self.server = desktop.run("server", ["foot", f"--server={self._socket}"])
        wait_until(self._socket.exists, within=15, what="the server of foot runs")
        self.sessions: dict[int, int] = {}
        """The session in each container, by its number."""

    def open(self, title: str, *, shared: bool) -> int:
        """Open a window that keeps its title; return its container."""
        self._count += 1
        told = self._folder / f"{self._count}.pid"
        program = ["footclient", f"--server-socket={self._socket}"] if shared else ["foot"]
        options = ["--title", title, "--override=locked-title=yes"] if not shared else ["-T", title]
        self.desktop.run(
            f"foot-{self._count}", [*program, *options, "sh", "-c", _SESSION, "sh", str(told)]
        )
        before = set(self.sessions)

        def opened():
            return [one["id"] for one in self.desktop.windows() if one["id"] not in before]

        (container,) = wait_until(opened, within=15, what="the window is there")
        wait_until(told.exists, what="the session runs")
        self.sessions[container] = int(told.read_text())
        return container

    def close(self, container: int) -> None:
        os.kill(self.sessions.pop(container), signal.SIGKILL)
        wait_until(
            lambda: container not in [one["id"] for one in self.desktop.windows()],
            what="the window is closed",
        )

    def find(self, container: int):
        return sway.LAYER.find(self.hint(container), self.desktop.environment)

    def hint(self, container: int) -> WindowHint:
        """What a terminal that knows its windows tells."""
        (window,) = [one for one in self.desktop.windows() if one["id"] == container]
        process = read_process(window["pid"])
        assert process is not None
        return WindowHint(process.pid, process.start_ticks, title=window["name"])

    def seat(self, container: int) -> Seat:
        pid = self.sessions[container]
        process = read_process(pid)
        assert process is not None
        return Seat(process, parent_chain(pid))


@pytest.fixture
def windows(desktop, tmp_path) -> Iterator[Windows]:
    made = Windows(desktop, tmp_path)
    yield made
    for pid in made.sessions.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    desktop.end(made.server)
    wait_until(lambda: not desktop.windows(), what="all windows are closed")
    desktop.do("workspace 1")


def arrange(desktop: Sway, container: int, chance: random.Random) -> None:
    """Put a window anywhere, as people do; what does not go for it is left."""
    command = chance.choice(
        [
            f"move container to workspace {chance.randint(1, 4)}",
            f"move container to workspace {chance.randint(1, 4)}",
            *TILED,
            "floating toggle",
            "fullscreen toggle",
            "fullscreen toggle global",
            "move scratchpad",
        ]
    )
    desktop.do(f"[con_id={container}] focus")
    (window,) = [one for one in desktop.windows() if one["id"] == container]
    # sway 1.7 crashes now and then where these are not asked of tiled windows.
    if command in TILED and (window["type"] == "floating_con" or window["fullscreen_mode"]):
        return
    assert desktop.message("--", command) is not None, f"sway is gone: {command}"


def test_fifty_random_arrangements(desktop, windows):
    chance = random.Random(os.environ.get("SESSIONBELL_SEED", "sway"))
    guessed = certain = 0
    for _ in range(ARRANGEMENTS):
        if len(windows.sessions) < 4 or (chance.random() < 0.3 and len(windows.sessions) < 9):
            title = chance.choice(["the same title", f"title {len(windows.sessions)}"])
            windows.open(title, shared=chance.random() < 0.6)
        if len(windows.sessions) > 5 and chance.random() < 0.2:
            windows.close(chance.choice(list(windows.sessions)))
        for _ in range(2):
            arrange(desktop, chance.choice(list(windows.sessions)), chance)
        desktop.message(
            "--", f"workspace {chance.randint(1, 4)}"
        )  # Refused under a fullscreen one.
        container = chance.choice(list(windows.sessions))
        before = desktop.focused()
        spot = windows.find(container)
        every = [(one["pid"], one["name"]) for one in desktop.windows()]
        (own,) = [one for one in desktop.windows() if one["id"] == container]
        if every.count((own["pid"], own["name"])) > 1:
            assert spot is None, "one of two windows that look alike was guessed"
            guessed += 1
            continue
        assert spot is not None
        assert desktop.focused() == before, "looking changes nothing"
        assert spot.active() is (before == container)
        spot.show()
        assert desktop.focused() == container
        assert spot.active() is True
        (shown,) = [one for one in desktop.windows() if one["id"] == container]
        assert shown["visible"]
        certain += 1
    assert certain > 25
    assert guessed > 2


def test_from_the_session_to_its_window(desktop, windows):
    container = windows.open("shop", shared=False)
    windows.open("other", shared=False)
    desktop.do("workspace 3")
    terminal = plain_terminal.LAYER.find(windows.seat(container), desktop.environment)
    spot = sway.LAYER.find(terminal.outward, desktop.environment)
    assert spot.says == 'the window "shop" on workspace 1'
    spot.show()
    assert desktop.focused() == container


def test_back_to_the_window_of_before(desktop, windows):
    container, other = (windows.open(title, shared=False) for title in ("shop", "docs"))
    was = before.focused(desktop.environment)
    assert was == before.Before("sway", str(other))
    windows.find(container).show()
    desktop.do("workspace 4")
    before.activate(was, desktop.environment)
    assert desktop.focused() == other
    windows.close(other)
    with pytest.raises(FocusError, match="window of before is gone"):
        before.activate(was, desktop.environment)


def test_a_window_that_was_closed_is_not_gone_to(desktop, windows):
    gone = windows.open("gone", shared=True)
    windows.open("stays", shared=True)
    spot = windows.find(gone)
    windows.close(gone)
    before = desktop.focused()
    with pytest.raises(FocusError, match="window is gone"):
        spot.show()
    assert desktop.focused() == before
    assert spot.active() is False


def test_an_ended_sway_is_no_error_when_asked_what_is_active(windows):
    spot = windows.find(windows.open("x", shared=False))
    spot._path += ".gone"
    assert spot.active() is None
    with pytest.raises(FocusError, match="cannot be reached"):
        spot.show()

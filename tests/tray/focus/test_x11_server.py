"""X servers that do not answer: not waited for, and asked again once they do."""

from __future__ import annotations

import shutil
import signal
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.screen import Screen
from tray.desktop.focus import x11, x11_server
from tray.desktop.focus.place import FocusError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path


class MuteServer:
    """Takes connections, and says nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.display = f"127.0.0.1:{self._socket.getsockname()[1] - 6000}"
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                self.clients.append(self._socket.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        # An accept under way would hold the socket open.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for client in self.clients:
            client.close()


def test_a_server_that_says_nothing_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(x11_server, "CALL_LIMIT", 0.2)
    server = MuteServer()
    desktop = {"DISPLAY": server.display}
    for _ in range(3):
        with pytest.raises(FocusError, match="does not answer"):
            x11.focused(desktop)
    assert len(server.clients) == 1
    server.clients[0].close()

    def asked_again() -> bool:
        with pytest.raises(FocusError):
            x11.focused(desktop)
        return len(server.clients) == 2

    wait_until(asked_again)
    server.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    if shutil.which("Xvfb") is None:
        pytest.skip("not installed: xvfb")
    screen = Screen()
    process = screen.start_x(tmp_path / "Xvfb.log")
    yield screen.display, process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def test_a_server_that_stops_and_goes_on(
    server: tuple[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(x11_server, "CALL_LIMIT", 0.5)
    name, process = server
    desktop = {"DISPLAY": name}

    def threads() -> list[str]:
        return [one.name for one in threading.enumerate() if one.name == "x11-connecting"]

    assert x11.focused(desktop) is None

    def ask_while_it_stops() -> None:
        with x11.connected(name) as screen:
            process.send_signal(signal.SIGSTOP)
            screen.windows()

    with pytest.raises(FocusError, match="does not answer"):
        ask_while_it_stops()
    for _ in range(5):
        with pytest.raises(FocusError, match="does not answer"):
            x11.focused(desktop)
    assert len(threads()) == 1
    process.send_signal(signal.SIGCONT)

    def answers() -> bool:
        try:
            return x11.focused(desktop) is None
        except FocusError:
            return False

    wait_until(answers)
    assert threads() == []
    # One that was kept for the next request is no better.
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(FocusError, match="does not answer"):
        x11.activate(1, desktop)

"""niri, by its socket: a line of JSON for each request and each reply (docs.rs/niri-ipc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import (
    Window,
    WindowSpot,
    choose,
    connected,
)
from tray.untrusted import one_line

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

_NAME = "niri"


class _NiriWindow(msgspec.Struct, frozen=True):
    id: int
    title: str | None = None
    pid: int | None = None
    is_focused: bool = False


class _Answer(msgspec.Struct, frozen=True):
    windows: tuple[_NiriWindow, ...] = msgspec.field(name="Windows")


class _Spot(WindowSpot):
    """A window of niri's, to which an unknown window is no error."""

    def windows(self) -> list[Window]:
        return _windows(self._path)

    def focus(self) -> None:
        _focus(self._path, self._window.id)


class _Layer:
    name = _NAME
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        path = desktop.get("NIRI_SOCKET")
        if not isinstance(place, WindowHint) or not path:
            return None
        window = choose(place, _windows(path))
        return _Spot(_NAME, path, window, place) if window is not None else None


def focused(desktop: Mapping[str, str]) -> str | None:
    """Return the window that has the focus; `None` if none has, or this is no niri."""
    path = desktop.get("NIRI_SOCKET")
    return next((one.id for one in _windows(path) if one.focused), None) if path else None


def activate(window: str, desktop: Mapping[str, str]) -> None:
    """Give a window the focus again; raises `FocusError` if it is gone."""
    path = desktop.get("NIRI_SOCKET")
    if not path or window not in [one.id for one in _windows(path)]:
        raise FocusError("the window of before is gone")
    _focus(path, window)


def _focus(path: str, window: str) -> None:
    _ask(path, {"Action": {"FocusWindow": {"id": int(window)}}})


def _windows(path: str) -> list[Window]:
    try:
        found = msgspec.convert(_ask(path, "Windows"), _Answer).windows
    except msgspec.ValidationError as error:
        raise FocusError(f"{_NAME} answers something else than expected ({error})") from None
    return [Window(str(one.id), one.pid, one.title or "", focused=one.is_focused) for one in found]


def _ask(path: str, request: object) -> Any:  # noqa: ANN401  (each request has its own answer)
    with connected(path, _NAME) as connection:
        connection.sendall(msgspec.json.encode(request) + b"\n")
        line = _line(connection)
    try:
        reply = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise FocusError(f"{_NAME} answers something else than expected ({error})") from None
    if isinstance(reply, dict) and "Ok" in reply:
        return reply["Ok"]
    told = reply.get("Err") if isinstance(reply, dict) else reply
    raise FocusError(f"{_NAME} refuses: {one_line(str(told), 100)}")


def _line(connection: socket.socket) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            raise FocusError(f"{_NAME} ends in the middle of an answer")
        data += part
    return bytes(data)


LAYER = _Layer()

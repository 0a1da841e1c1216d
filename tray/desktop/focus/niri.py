"""niri, by its socket: a line of JSON for each request and each reply (docs.rs/niri-ipc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import (
    Window,
    await_focus,
    check,
    choose,
    connected,
    still_there,
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


class _Spot:
    """A window of niri's."""

    layer = _NAME
    outward: Seat | WindowHint | None = None

    def __init__(self, path: str, window: Window, hint: WindowHint) -> None:
        self._path = path
        self._window = window
        self._hint = hint
        self.says = window.says

    def active(self) -> bool | None:
        """Whether the window has the focus."""
        try:
            return self._has_focus()
        except FocusError:
            return None

    def show(self, token: str | None = None) -> None:  # noqa: ARG002  (the person's own wish needs none)
        """Focus the window, on whatever workspace it is."""
        check(self._hint)
        still_there(self._window, _windows(self._path))
        _focus(self._path, self._window.id)
        # An unknown window is no error to niri, and its answer comes before the change.
        await_focus(self._has_focus, _NAME)

    def _has_focus(self) -> bool:
        return any(one.focused and one.id == self._window.id for one in _windows(self._path))


class _Layer:
    name = _NAME
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        path = desktop.get("NIRI_SOCKET")
        if not isinstance(place, WindowHint) or not path:
            return None
        window = choose(place, _windows(path))
        return _Spot(path, window, place) if window is not None else None


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

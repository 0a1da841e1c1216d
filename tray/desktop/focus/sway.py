"""sway and i3, by their socket (sway-ipc(7); i3's "IPC interface").

i3ipc on PyPI has had no release since 2020; two messages of the protocol are all that is needed.
"""

from __future__ import annotations

import glob
import os
import struct
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import (
    Window,
    WindowSpot,
    choose,
    connected,
    receive,
)
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAGIC = b"i3-ipc"
_HEADER = struct.Struct("=6sII")
"""Magic, length of the payload, type; in the machine's byte order."""
_RUN_COMMAND = 0
_GET_TREE = 4
_SCRATCHPAD = "__i3_scratch"
_T = TypeVar("_T")


class _Node(msgspec.Struct, frozen=True):
    id: int
    name: str | None = None
    type: str = ""
    pid: int | None = None
    """Told by sway only; i3 has none."""
    window: int | None = None
    """The X11 window; of sway's own windows there is none."""
    focused: bool = False
    nodes: tuple[_Node, ...] = ()
    floating_nodes: tuple[_Node, ...] = ()

    @property
    def children(self) -> tuple[_Node, ...]:
        return self.nodes + self.floating_nodes

    @property
    def is_window(self) -> bool:
        return not self.children and (self.pid is not None or self.window is not None)


class _Result(msgspec.Struct, frozen=True):
    success: bool
    error: str = ""


class _Spot(WindowSpot):
    """A window of sway's or i3's: on another workspace, in a tab, in the scratchpad.

    One that fills the screen over it gives way by itself.
    """

    def windows(self) -> list[Window]:
        return _windows(self._path, self.layer)

    def focus(self) -> None:
        _run(self._path, self.layer, f"[con_id={self._window.id}] focus")


class _Layer:
    name = "sway"
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        if not isinstance(place, WindowHint):
            return None
        path = _socket(desktop)
        if path is None:
            return None
        name = "sway" if _is_sway(desktop) else "i3"
        window = choose(place, _windows(path, name))
        return _Spot(name, path, window, place) if window is not None else None


def focused(desktop: Mapping[str, str]) -> str | None:
    """Return the window that has the focus; `None` if none has, or this is no sway or i3."""
    path = _socket(desktop)
    if path is None:
        return None
    return next((one.id for one in _windows(path, LAYER.name) if one.focused), None)


def activate(window: str, desktop: Mapping[str, str]) -> None:
    """Give a window the focus again; raises `FocusError` if it is gone."""
    path = _socket(desktop)
    if path is None or window not in [one.id for one in _windows(path, LAYER.name)]:
        raise FocusError("the window of before is gone")
    _run(path, LAYER.name, f"[con_id={window}] focus")


def _is_sway(desktop: Mapping[str, str]) -> bool:
    return bool(desktop.get("SWAYSOCK") or desktop.get("WAYLAND_DISPLAY"))


def _socket(desktop: Mapping[str, str]) -> str | None:
    for name in ("SWAYSOCK", "I3SOCK"):
        if desktop.get(name):
            return desktop[name]
    # Started by systemd before the variable was told to it.
    if "sway" in desktop.get("XDG_CURRENT_DESKTOP", "").lower().split(":"):
        folder = desktop.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        found = glob.glob(f"{glob.escape(folder)}/sway-ipc.{os.getuid()}.*.sock")
        return found[0] if len(found) == 1 else None
    return None


def _windows(path: str, system: str) -> list[Window]:
    return [
        Window(str(node.id), node.pid, node.name or "", node.window, node.focused, where)
        for node, where in _leaves(_ask(path, system, _GET_TREE, "", _Node), "")
        if node.is_window
    ]


def _run(path: str, system: str, command: str) -> None:
    for result in _ask(path, system, _RUN_COMMAND, command, list[_Result]):
        if not result.success:
            raise FocusError(f"{system} refuses: {one_line(result.error) or command}")


def _ask(path: str, system: str, kind: int, payload: str, answer: type[_T]) -> _T:
    data = payload.encode()
    with connected(path, system) as connection:
        connection.sendall(_HEADER.pack(_MAGIC, len(data), kind) + data)
        magic, length, told = _HEADER.unpack(receive(connection, _HEADER.size, system))
        if (magic, told) != (_MAGIC, kind):
            raise FocusError(f"{system} answers something else than expected")
        reply = receive(connection, length, system)
    try:
        return msgspec.json.decode(reply, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FocusError(f"{system} answers something else than expected ({error})") from None


def _leaves(node: _Node, workspace: str) -> Iterator[tuple[_Node, str]]:
    if node.type == "workspace":
        workspace = "scratchpad" if node.name == _SCRATCHPAD else node.name or ""
    if not node.children:
        yield node, workspace
    for child in node.children:
        yield from _leaves(child, workspace)


LAYER = _Layer()

"""Hyprland, by its socket (wiki.hypr.land, "IPC" and "Using hyprctl")."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import (
    Window,
    WindowSpot,
    choose,
    connected,
    receive_all,
)
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "Hyprland"
_T = TypeVar("_T")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class _Workspace(msgspec.Struct, frozen=True):
    name: str = ""


class _Client(msgspec.Struct, frozen=True):
    address: str
    pid: int = -1
    """-1: not known."""
    title: str = ""
    mapped: bool = True
    workspace: _Workspace = _Workspace()


class _Active(msgspec.Struct, frozen=True):
    address: str | None = None
    """Missing where no window has the focus."""


class _Spot(WindowSpot):
    """A window of Hyprland's, which tells the focused one apart from the others."""

    def windows(self) -> list[Window]:
        return _windows(self._path)

    def focus(self) -> None:
        _focus(self._path, self._window.id)

    def has_focus(self) -> bool:
        return _focused(self._path) == self._window.id


class _Layer:
    name = _NAME
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        if not isinstance(place, WindowHint):
            return None
        path = _socket(desktop)
        if path is None:
            return None
        window = choose(place, _windows(path))
        return _Spot(_NAME, path, window, place) if window is not None else None


def focused(desktop: Mapping[str, str]) -> str | None:
    """Return the window that has the focus; `None` if none has, or this is no Hyprland."""
    path = _socket(desktop)
    return _focused(path) if path is not None else None


def activate(window: str, desktop: Mapping[str, str]) -> None:
    """Give a window the focus again; raises `FocusError` if it is gone."""
    path = _socket(desktop)
    if path is None or window not in [one.id for one in _windows(path)]:
        raise FocusError("the window of before is gone")
    _focus(path, window)


def _focus(path: str, window: str) -> None:
    address = f"address:{window}"
    told = _ask(path, f"dispatch focuswindow {address}")
    if told.strip() != "ok":
        # With a configuration in Lua (from 0.55 on) what is dispatched is Lua too.
        told = _ask(path, f'dispatch hl.dsp.focus({{ window = "{address}" }})')
    if told.strip() != "ok":
        raise FocusError(f"{_NAME} refuses: {one_line(told, 100)}")


def _focused(path: str) -> str | None:
    return _decode(_ask(path, "j/activewindow"), _Active).address


def _socket(desktop: Mapping[str, str]) -> str | None:
    instance = desktop.get("HYPRLAND_INSTANCE_SIGNATURE")
    if not instance:
        return None
    folder = desktop.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    path = f"{folder}/hypr/{instance}/.socket.sock"
    # Up to 0.39 it was here.
    before = f"/tmp/hypr/{instance}/.socket.sock"  # noqa: S108
    return before if os.path.exists(before) and not os.path.exists(path) else path


def _windows(path: str) -> list[Window]:
    return [
        Window(one.address, one.pid if one.pid > 0 else None, one.title, where=one.workspace.name)
        for one in _decode(_ask(path, "j/clients"), list[_Client])
        # What is dispatched has no quoting, so that nothing else may get into it.
        if one.mapped and _ADDRESS.fullmatch(one.address)
    ]


def _decode(text: str, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise FocusError(f"{_NAME} answers something else than expected ({error})") from None


def _ask(path: str, request: str) -> str:
    # Hyprland waits for each connection: it is opened for one request, and closed at once.
    with connected(path, _NAME) as connection:
        connection.sendall(request.encode())
        return receive_all(connection, _NAME).decode(errors="replace")


LAYER = _Layer()

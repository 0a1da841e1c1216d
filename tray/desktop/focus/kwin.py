"""KDE Plasma on Wayland: KWin, by a script (its classes WorkspaceWrapper and Window).

On X11 KWin does what EWMH asks for, so that X11's own layer is enough there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.dbus_call import session_address
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.windows import Window, check, choose

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "KWin"
_SUFFIX = re.compile(r" <\d+>\u200e?$")
"""What KWin puts behind the second of two equal titles."""
# In Plasma 5 and 6 some names differ.
_COMMON = """\
var every = workspace.windowList ? workspace.windowList() : workspace.clientList();
var isNew = typeof workspace.windowList === "function";
function isActive(one) {
    return (isNew ? workspace.activeWindow : workspace.activeClient) === one;
}
"""
_LIST = f"""\
{_COMMON}
var found = [];
for (var i = 0; i < every.length; i++) {{
    var one = every[i];
    if ((asked.pid === null ? isActive(one) : one.pid === asked.pid) && one.normalWindow) {{
        found.push({{
            id: String(one.internalId), pid: one.pid, title: String(one.caption),
            focused: isActive(one)
        }});
    }}
}}
return found;
"""
_ACTIVATE = f"""\
{_COMMON}
for (var i = 0; i < every.length; i++) {{
    var one = every[i];
    if (asked.pid !== null && one.pid !== asked.pid) {{
        continue;
    }}
    if (String(one.internalId) === asked.id) {{
        one.minimized = false;
        if (isNew) {{
            workspace.activeWindow = one;
        }} else {{
            workspace.activeClient = one;
        }}
        return isActive(one) ? "active" : "refused";
    }}
}}
return "gone";
"""


class _Spot:
    """A window of KWin's."""

    layer = _NAME
    outward: Seat | WindowHint | None = None

    def __init__(self, desktop: Mapping[str, str], window: Window, hint: WindowHint) -> None:
        self._desktop = desktop
        self._window = window
        self._hint = hint
        self.says = window.says

    def active(self) -> bool | None:
        """Whether the window has the focus."""
        try:
            windows = _windows(self._desktop, self._window.pid)
        except FocusError:
            return None
        return any(one.focused and one.id == self._window.id for one in windows)

    def show(self, token: str | None = None) -> None:  # noqa: ARG002  (a script needs none)
        """Activate the window, on whatever desktop it is, minimised or not."""
        check(self._hint)
        _activate(self._desktop, self._window.id, self._window.pid, "the window is gone")


class _Layer:
    name = _NAME
    wants: frozenset[str] = frozenset()

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> _Spot | None:
        if not isinstance(place, WindowHint) or place.pid is None or not _is_concerned(desktop):
            return None
        window = choose(
            msgspec.structs.replace(place, title=_title(place.title)),
            [
                msgspec.structs.replace(one, title=_title(one.title) or "")
                for one in _windows(desktop, place.pid)
            ],
        )
        return _Spot(desktop, window, place) if window is not None else None


def focused(desktop: Mapping[str, str]) -> str | None:
    """Return the window that has the focus; `None` if none has, or this is no Plasma on Wayland."""
    if not _is_concerned(desktop):
        return None
    return next((one.id for one in _windows(desktop, None)), None)


def activate(window: str, desktop: Mapping[str, str]) -> None:
    """Give a window the focus again; raises `FocusError` if it is gone."""
    _activate(desktop, window, None, "the window of before is gone")


def _activate(desktop: Mapping[str, str], window: str, pid: int | None, gone: str) -> None:
    """Activate the window with that id, of that process if one is given."""
    told = _run(desktop, _ACTIVATE, {"id": window, "pid": pid})
    if told == "gone":
        raise FocusError(gone)
    if told != "active":
        raise FocusError(f"{_NAME} does not give the window the focus")


def _is_concerned(desktop: Mapping[str, str]) -> bool:
    names = desktop.get("XDG_CURRENT_DESKTOP", "").upper().split(":")
    return "KDE" in names and bool(desktop.get("WAYLAND_DISPLAY"))


def _title(title: str | None) -> str | None:
    return _SUFFIX.sub("", title) if title is not None else None


def _windows(desktop: Mapping[str, str], pid: int | None) -> list[Window]:
    """Return the windows of a process; for `None` the one that has the focus."""
    told = _run(desktop, _LIST, {"pid": pid})
    try:
        return msgspec.convert(told, list[Window])
    except msgspec.ValidationError as error:
        raise FocusError(f"{_NAME} answers something else than expected ({error})") from None


def _run(desktop: Mapping[str, str], body: str, asked: object) -> object:
    from tray.desktop.focus import kwin_script

    folder = desktop.get("XDG_RUNTIME_DIR") or None
    return kwin_script.run(session_address(desktop), folder, body, asked)


LAYER = _Layer()

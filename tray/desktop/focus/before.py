"""The window in which the person was before they went to a session, and the way back to it."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.place import FocusError

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

_WAYLAND = ("sway", "hyprland", "niri", "kwin")
"""Those that tell; GNOME tells nobody, but of the windows that are X11's."""


class Before(msgspec.Struct, frozen=True):
    """A window, as its window system knows it."""

    system: str
    """The module that tells it."""
    window: str


def focused(desktop: Mapping[str, str]) -> Before | None:
    """Return the window that has the focus; `None` where that cannot be known. Never raises."""
    # Under Wayland the X server only knows of its own windows, and keeps saying the last one.
    names = _WAYLAND if desktop.get("WAYLAND_DISPLAY") or desktop.get("SWAYSOCK") else ("x11",)
    for name in names:
        try:
            found = importlib.import_module(f"tray.desktop.focus.{name}").focused(desktop)
        except FocusError as error:
            log.debug("%s does not tell what has the focus: %s", name, error)
            continue
        if found is not None:
            return Before(name, str(found))
    return None


def activate(before: Before, desktop: Mapping[str, str]) -> None:
    """Give that window the focus again; raises `FocusError` if it is gone."""
    known = before.system in _WAYLAND or (before.system == "x11" and before.window.isdecimal())
    if not known:
        raise FocusError("the window of before is not known")
    module = importlib.import_module(f"tray.desktop.focus.{before.system}")
    module.activate(int(before.window) if before.system == "x11" else before.window, desktop)

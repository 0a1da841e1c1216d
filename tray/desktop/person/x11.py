"""Time since the last input on an X server, by the MIT-SCREEN-SAVER extension."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from tray.desktop.bounded import Bounded

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

ACTIVE_EACH = 5.0
"""Seconds between two looks at whether somebody is back."""
_LIMIT = 2.0
_EXTENSION = "MIT-SCREEN-SAVER"


def display_of(desktop: Mapping[str, str]) -> str | None:
    """Return the X display that sees all input of a login; `None` if there is none.

    Under Wayland X clients see only what goes to X clients (Xwayland): everybody else looks idle.
    """
    if desktop.get("WAYLAND_DISPLAY") or desktop.get("XDG_SESSION_TYPE") == "wayland":
        return None
    return desktop.get("DISPLAY") or None


class X11:
    """One X server."""

    def __init__(self, display: str) -> None:
        self._name = display
        self._display: Any = None
        self._thread = Bounded("x11-idle")

    async def seconds(self) -> float | None:
        """Return the seconds since the last input; `None` where the server does not tell."""
        try:
            return await self._thread.run(self._ask, _LIMIT)
        except TimeoutError:
            log.debug("the X server does not answer")
            return None

    async def until_active(self) -> None:
        """Return when there may have been input: the server tells nobody of that."""
        await asyncio.sleep(ACTIVE_EACH)

    async def close(self) -> None:
        """Leave the server."""
        try:
            await self._thread.run(self._leave, _LIMIT)
        except TimeoutError:
            log.debug("the X server does not answer")

    def _ask(self) -> float | None:
        import Xlib.display  # type: ignore[import-untyped, unused-ignore]

        try:
            if self._display is None:
                self._display = Xlib.display.Display(self._name)
            display = self._display
            # Nothing asks for events, but a changed keyboard is told to everybody.
            while display.pending_events():
                display.next_event()
            if not display.has_extension(_EXTENSION):
                return None
            return float(display.screen().root.screensaver_query_info().idle) / 1000
        except Exception as error:  # noqa: BLE001  (python-xlib raises anything over a dead server)
            log.debug("no idle time from the X server: %s", error)
            self._leave()
            return None

    def _leave(self) -> None:
        display, self._display = self._display, None
        if display is not None:
            try:
                display.close()
            except Exception:  # noqa: BLE001  (as above)
                log.debug("the X server had gone already")

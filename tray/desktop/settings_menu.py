"""The settings that can be switched from the menu, and what the program is. Pure."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tray.config import Holds, Settings
from tray.desktop.entry import Action, Entry

if TYPE_CHECKING:
    from collections.abc import Callable

_REMIND_AFTER = 10.0
"""Minutes, where reminders are switched on here; the file may say others."""

_TOGGLES: tuple[tuple[str, str, Callable[[Settings], float | bool], float | bool], ...] = (
    ("notifications", "Show notifications", lambda s: s.notifications, True),
    ("show_details", "Show what is asked", lambda s: s.show_details, True),
    ("alerts.turn_over.enabled", "Tell of finished turns", lambda s: s.alerts.turn_over.enabled,
     True),
    ("holds.presence", "Hold while I am at the session", lambda s: s.holds.presence,
     Holds().presence),
    ("sessions.background", "Count background sessions", lambda s: s.sessions.background, True),
    ("remind_after", "Remind me of what still waits", lambda s: s.remind_after, _REMIND_AFTER),
)  # fmt: skip
"""Key, label, present value, and the value that switches it on. Off is false or zero."""


@functools.lru_cache(maxsize=4)
def settings_menu(settings: Settings) -> Entry:
    """Return the submenu `Notifications`, one check mark a setting."""
    lines = tuple(
        Entry(
            f"setting:{key}",
            label,
            # All others mean nothing without it.
            enabled=settings.notifications or key in ("notifications", "sessions.background"),
            checked=bool(now),
            action=Action.SET,
            setting=key,
            value=type(on)() if now else on,
        )
        for key, label, present, on in _TOGGLES
        for now in (present(settings),)
    )
    return Entry("settings", "Notifications", children=lines)


def autostart_line(on: bool | None) -> Entry:  # noqa: FBT001  (the line's only content)
    """Return the line `Start at login`; `None`: cannot be told, so cannot be switched."""
    return Entry(
        "autostart",
        "Start at login",
        enabled=on is not None,
        checked=bool(on),
        action=Action.AUTOSTART,
        value=not on,
    )


@functools.lru_cache(maxsize=4)
def about_menu(version: str, page: str) -> Entry:
    """Return the submenu that says what this is; `page` is text only: nothing is fetched."""
    lines = [
        Entry("about:what", "Tells which Claude Code session waits for you", enabled=False),
        Entry("about:doctor", "Something amiss? Run: sessionbell doctor", enabled=False),
        Entry("about:settings", "Open the settings file", action=Action.OPEN_SETTINGS),
        Entry("about:log", "Open the log file", action=Action.OPEN_LOG),
    ]
    if page:
        lines.insert(1, Entry("about:page", page, enabled=False))
    return Entry("about", f"About sessionbell {version}", children=tuple(lines))

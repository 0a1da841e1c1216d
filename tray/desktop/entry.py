"""One line of the menu, and everything that a click on one can mean. Plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tray.mutes import until_tomorrow

if TYPE_CHECKING:
    from tray.desktop.icon import Look
    from tray.mutes import Scope


class Action(enum.StrEnum):
    """What a click asks for, and by which fields of the entry."""

    ROW = "row"
    """Go to `session`: the row itself."""
    GO = "go"
    """Go to `session`, from its actions."""
    OPEN_FOLDER = "open-folder"
    """Open the directory of `session` in the file manager."""
    COPY_RESUME = "copy-resume"
    """Copy the command that resumes `session`."""
    COPY_ID = "copy-id"
    """Copy the session id of `session`."""
    MARK_SEEN = "mark-seen"
    MARK_ALL_SEEN = "mark-all-seen"
    MUTE = "mute"
    """Mute (or snooze) `what` of `scope` for `duration`."""
    UNMUTE = "unmute"
    """Undo that for `what` of `scope`."""
    RESUME = "resume"
    """Resume the ended session whose session id is `session` in a terminal."""
    SET = "set"
    """Write `value` to the setting of the name `setting`."""
    AUTOSTART = "autostart"
    """Start at login from now on, or no longer: `value`."""
    OPEN_SETTINGS = "open-settings"
    OPEN_LOG = "open-log"
    QUIT = "quit"


class Duration(enum.StrEnum):
    """How long a mute lasts."""

    HALF_HOUR = "30m"
    HOUR = "1h"
    TOMORROW = "tomorrow"
    UNMUTED = "unmuted"


def ends_at(duration: Duration, wall: float) -> float | None:
    """Return when a mute ends that begins at `wall`, Unix seconds; `None`: when it is undone."""
    match duration:
        case Duration.HALF_HOUR:
            return wall + 30 * 60
        case Duration.HOUR:
            return wall + 60 * 60
        case Duration.TOMORROW:
            return until_tomorrow(wall)
        case Duration.UNMUTED:
            return None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the menu."""

    key: str
    """Its identity: as long as it stays, the line is the same to the host and to the pointer."""
    label: str = ""
    enabled: bool = True
    look: Look | None = None
    """The look whose icon stands before the label."""
    default: bool = False
    """What a click on the icon does where that cannot open the menu."""
    separator: bool = False
    checked: bool | None = None
    """Whether its check mark is set; `None`: it has none."""
    action: str | None = None
    """One of `Action`; `None`: a click does nothing."""
    session: str | None = None
    """The session's key; for `RESUME` its session id."""
    scope: Scope | None = None
    what: str = ""
    """What is muted within `scope`, as `tray.mutes` names it."""
    duration: Duration | None = None
    setting: str | None = None
    """A key of the settings file, dotted: `holds.presence`."""
    value: bool | float | None = None
    children: tuple[Entry, ...] = ()

"""The settings a person can change: plain data with their defaults.

`tray.configfile` reads the file and `tray.configedit` writes it; this module says what there is
to set.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

_DAY = 86_400.0
Seconds = Annotated[float, msgspec.Meta(ge=0, le=_DAY)]
# `\Z`, for `$` lets a line feed at the end through. Lone surrogates are bytes of a command line
# that are no text; neither they nor NUL can be written or run.
_NO_CONTROL = r"^[^\x00-\x1f\x7f\ud800-\udfff]*\Z"
_NO_CONTROL_BUT_LINES = r"^[^\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]*\Z"
Argv = tuple[Annotated[str, msgspec.Meta(min_length=1, pattern=_NO_CONTROL)], ...]
Script = tuple[Annotated[str, msgspec.Meta(min_length=1, pattern=_NO_CONTROL_BUT_LINES)], ...]
"""Like `Argv`, but an argument may have several lines, as that of `sh -c` does."""
Sound = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]*\Z", max_length=100)]
Clock = Annotated[str, msgspec.Meta(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9])?\Z")]
Colour = Annotated[str, msgspec.Meta(pattern=r"^(#[0-9A-Fa-f]{6})?\Z")]
Glob = Annotated[str, msgspec.Meta(min_length=1, max_length=1000, pattern=_NO_CONTROL)]

EVENTS: tuple[str, ...] = (
    "permission", "question", "plan", "input", "turn_over", "error", "died",
)  # fmt: skip
"""The kinds of alerts that have settings of their own. A background job's end counts as
`turn_over`, its failure as `error`."""


class AlertSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one kind of alert is told."""

    enabled: bool = True
    urgency: Literal["low", "normal", "critical"] = "normal"
    sound: Sound = ""
    """A name of the freedesktop sound naming specification; empty: none."""
    timeout: Annotated[float, msgspec.Meta(ge=-1, le=_DAY)] = 0.0
    """Seconds on the screen; 0: until it is answered or dismissed; -1: as the server likes."""
    command: Script = ()
    """A program and its arguments, run when it is told; empty: none."""


_QUIET = AlertSettings(urgency="low", timeout=-1)


class Alerts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `AlertSettings` a kind; the names are `EVENTS`."""

    permission: AlertSettings = AlertSettings()
    question: AlertSettings = AlertSettings()
    plan: AlertSettings = AlertSettings()
    input: AlertSettings = AlertSettings()
    turn_over: AlertSettings = _QUIET
    error: AlertSettings = AlertSettings()
    died: AlertSettings = AlertSettings()


class Holds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds that a cause must last before it is told."""

    ask: Seconds = 0.3
    hook: Seconds = 10.0
    """For a permission, at most, while a hook may be answering it."""
    turn_over: Seconds = 1.0
    presence: Seconds = 30.0
    """At most, while the person is at that very session; 0: not held for that."""


class QuietHours(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """The time of day without bubbles, `HH:MM` local time; both empty: none, one empty: a fault."""

    start: Clock = ""
    end: Clock = ""


class Projects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Globs (`fnmatch`) against a session's directory (`~` is the home) and its project's name.

    A `[` that is never closed stands for itself.
    """

    ignore: tuple[Glob, ...] = ()
    """Not shown, counted or told at all."""
    mute: tuple[Glob, ...] = ()
    """Shown, never told in a bubble."""


class Sessions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which kinds of sessions colour the icon, are counted and told."""

    background: bool = True
    headless: bool = False


class Colors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The icon's colours, `#rrggbb`; empty: the built-in one."""

    blocked: Colour = ""
    failed: Colour = ""
    finished: Colour = ""
    working: Colour = ""
    idle: Colour = ""
    none: Colour = ""
    unknown: Colour = ""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that `config.toml` can say."""

    idle_after: Seconds = 60.0
    """Seconds after which a finished turn is `idle` instead of `needs_input: turn_over`."""
    turn_over_after: Seconds = 20.0
    """Seconds since the person's last act after which the end of a turn is worth telling."""
    notifications: bool = True
    """Whether there are bubbles at all."""
    show_details: bool = True
    """Whether bubbles say what is asked, or only that something is."""
    remind_after: Annotated[float, msgspec.Meta(ge=0, le=1440)] = 0.0
    """Minutes after which a blocking ask that is still open is told again; 0: never."""
    command_timeout: Seconds = 10.0
    """Seconds after which an event's command is ended."""
    terminal: Argv = ()
    """The terminal to open, as a program and the arguments before the command it shall run;
    empty: `xdg-terminal-exec`, `$TERMINAL`, else one that is found."""
    alerts: Alerts = Alerts()
    holds: Holds = Holds()
    quiet_hours: QuietHours = QuietHours()
    projects: Projects = Projects()
    sessions: Sessions = Sessions()
    colors: Colors = Colors()

"""What bubbles say: one notification as it should stand on the screen. Pure."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tray.desktop.event_commands import event_of
from tray.desktop.glyphs import Look
from tray.machine import BLOCKING_ALERTS, AlertKind
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tray.config import AlertSettings, Settings
    from tray.machine import Alert, Track
    from tray.session import Observation

_NAMED = 5
"""Sessions named in a summary; the rest is counted."""
FIRST = "first"
"""The id of the one quiet bubble about what was blocked before the tray started."""


class Urgency(enum.StrEnum):
    """How a notification server is to treat a bubble."""

    LOW = "low"
    NORMAL = "normal"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Action:
    """One button of a bubble."""

    key: str
    label: str


SHOW = Action("show", "Go to session")
"""The same as a click on the bubble, for servers where that only dismisses."""
MUTE = Action("mute", "Mute 1 h")
"""Mutes the one session that the bubble is about."""
SNOOZE = Action("snooze", "Snooze 30 min")
"""Lets the one ask that the bubble is about come back later."""


@dataclass(frozen=True, slots=True)
class Bubble:
    """One notification as it should stand on the screen."""

    id: str
    """Stable: a bubble whose text changes is replaced in place under its id."""
    title: str
    body: str
    """Plain text, not escaped, lines separated by line feeds."""
    look: Look
    """The picture beside it: that of the sessions it is about."""
    category: str
    """The notification specification's `category`, for rules in the server's settings."""
    urgency: Urgency
    expires: bool
    """Leaves the screen by itself after some seconds; else stays until withdrawn or dismissed."""
    keys: tuple[str, ...]
    """The sessions it is about, most urgent first."""
    asks: tuple[str, ...]
    """What it tells. Once off the screen, a bubble that tells nothing else does not come back."""
    actions: tuple[Action, ...] = (SHOW,)
    one_by_one: bool = False
    """Whoever follows it is led to the first session only, and still has to hear of the others."""
    timeout: float | None = None
    """Seconds on the screen; 0: stays; -1: as the server likes; `None`: by `expires`."""
    sound: str = ""
    """Name of a freedesktop sound, for when it first appears; empty: none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One alert that was told, and the bubble that tells it."""

    session: str
    """The session's key when it was told; it may have got another since."""
    alert: Alert
    bubble: str
    at: float
    """Monotonic seconds."""
    on_screen: bool = True
    hidden: bool = False
    """Off the screen for a mute, quiet hours, a snooze or a setting: told anew after it."""
    times: int = 0
    """How often it was told again."""
    waited: float | None = None
    """Seconds it had been waiting when it was told again."""
    noticed: bool = False
    """The person was at its session when it was to be told."""
    said: str = ""
    """A finished turn's text, kept for as long as the session then works on by itself."""

    @property
    def ask(self) -> str:
        """What it tells, as `Bubble.asks` has it."""
        return f"{self.session}/{self.alert.id}"

    @property
    def blocking(self) -> bool:
        """Whether its session stands still until the person acts."""
        return self.alert.kind in BLOCKING_ALERTS


_TITLES = {
    AlertKind.PERMISSION: "{} needs permission",
    AlertKind.QUESTION: "{} asks a question",
    AlertKind.PLAN: "{} has a plan to approve",
    AlertKind.INPUT: "{} needs input",
    AlertKind.TURN_OVER: "{} has finished",
    AlertKind.ERROR: "{} stopped with an error",
    AlertKind.DIED: "{} ended unexpectedly",
    AlertKind.JOB_DONE: "{}: background job done",
    AlertKind.JOB_FAILED: "{}: background job failed",
}
_CATEGORIES = {
    **dict.fromkeys(BLOCKING_ALERTS, "x-sessionbell.ask"),
    AlertKind.TURN_OVER: "x-sessionbell.turn-over",
    AlertKind.ERROR: "x-sessionbell.error",
    AlertKind.DIED: "x-sessionbell.died",
    AlertKind.JOB_DONE: "x-sessionbell.job",
    AlertKind.JOB_FAILED: "x-sessionbell.job",
}
_IN_SHORT = {
    AlertKind.PERMISSION: "permission",
    AlertKind.QUESTION: "question",
    AlertKind.PLAN: "plan",
    AlertKind.INPUT: "input",
    AlertKind.TURN_OVER: "finished",
    AlertKind.ERROR: "error",
    AlertKind.DIED: "ended",
    AlertKind.JOB_DONE: "background job done",
    AlertKind.JOB_FAILED: "background job failed",
}
_COUNTED = (
    (BLOCKING_ALERTS, "is waiting for you", "are waiting for you"),
    ({AlertKind.ERROR, AlertKind.JOB_FAILED}, "stopped with an error", "stopped with an error"),
    ({AlertKind.TURN_OVER, AlertKind.JOB_DONE}, "has finished", "have finished"),
    ({AlertKind.DIED}, "ended unexpectedly", "ended unexpectedly"),
)
"""How a bubble about several sessions begins: which kinds are counted together, and the words for
one and for more."""
_LOUDNESS = ("low", "normal", "critical")
_LOOKS = {
    AlertKind.TURN_OVER: Look.FINISHED,
    AlertKind.ERROR: Look.FAILED,
    AlertKind.DIED: Look.NONE,
    AlertKind.JOB_DONE: Look.FINISHED,
    AlertKind.JOB_FAILED: Look.FAILED,
}


def compose(
    name: str, parts: Sequence[tuple[Entry, Track]], settings: Settings, *, discreet: bool
) -> Bubble:
    """Compose the bubble called `name` for what `parts` told.

    `discreet`: the screen may be seen by others, so nothing of what was said is shown.
    """
    entry, track = parts[0]
    hides = discreet or not settings.show_details
    kind = kind_of(entry, track)
    sessions = [part.session for _, part in parts]
    if len(parts) == 1:
        title = _TITLES[kind].format(
            _discreet_label(track.session, settings) if hides else _label(track.session)
        )
        body = _lines(
            "" if hides else _says(kind, entry, track.session),
            "" if entry.waited is None else f"Waiting for {_span(entry.waited)}",
            "" if hides else _context(track.session),
        )
    elif not name.startswith("error/"):
        title = _count([kind_of(*part) for part in parts])
        named = zip(_labels(sessions), parts, strict=True)
        body = _lines(*_some(f"{label}: {_short(*part)}" for label, part in named))
    else:
        title = f"{len(parts)} sessions stopped with an error"
        body = _lines(_says(kind, entry, track.session), ", ".join(_some(_labels(sessions))))
    if hides and len(parts) > 1:
        body = ""
    kinds = [kind_of(*part) for part in parts]
    chosen = [settings_of(each, settings) for each in kinds]
    loudest = max(chosen, key=lambda each: _LOUDNESS.index(each.urgency))
    quiet = name == FIRST
    urgency = Urgency.LOW if quiet else Urgency(loudest.urgency)
    timeout = 0.0 if quiet else loudest.timeout
    actions = (SHOW, MUTE, SNOOZE) if entry.blocking else (SHOW, MUTE)
    return Bubble(
        id=name,
        title=left_to_right(title),
        body="\n".join(map(left_to_right, body.splitlines())),
        look=_LOOKS.get(kind, Look.BLOCKED),
        category=_CATEGORIES[kind],
        urgency=urgency,
        expires=timeout != 0,
        timeout=timeout,
        sound="" if quiet else loudest.sound,
        actions=actions if len(parts) == 1 else (SHOW,),
        keys=tuple(session.key for session in sessions),
        asks=tuple(part.ask for part, _ in parts),
        one_by_one=entry.blocking and not quiet,
    )


def kind_of(entry: Entry, track: Track) -> AlertKind:
    """Return what is now known of the kind of `entry`."""
    return track.alert.kind if entry.blocking and track.alert is not None else entry.alert.kind


def _says(kind: AlertKind, entry: Entry, session: Observation) -> str:
    """Return the line that a person most needs to read."""
    if kind is AlertKind.TURN_OVER:
        return entry.said
    if kind is AlertKind.JOB_DONE:
        return text(session.preview or session.detail)
    return text(session.detail or session.error)


def _short(entry: Entry, track: Track) -> str:
    kind = kind_of(entry, track)
    return one_line(_says(kind, entry, track.session) or _IN_SHORT[kind], 80)


def _count(kinds: Sequence[AlertKind]) -> str:
    """Say of how many sessions what is told."""
    said: list[str] = []
    for counted, one, more in _COUNTED:
        number = sum(kind in counted for kind in kinds)
        if number:
            sessions = "" if said else " session" if number == 1 else " sessions"
            said.append(f"{number}{sessions} {one if number == 1 else more}")
    return ", ".join(said)


def _label(session: Observation) -> str:
    return one_line(session.project or session.name or session.title or "A session", 60)


def _discreet_label(session: Observation, settings: Settings) -> str:
    """Name the session without what its person or Claude has written."""
    return one_line((settings.show_details and session.project) or "A session", 60)


def settings_of(kind: AlertKind, settings: Settings) -> AlertSettings:
    """Return how alerts of `kind` are told."""
    chosen: AlertSettings = getattr(settings.alerts, event_of(kind))
    return chosen


def _span(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _labels(sessions: Sequence[Observation]) -> Iterator[str]:
    """Name each session by its project; those that share one by branch or name as well."""
    count = Counter(_label(session) for session in sessions)
    for session in sessions:
        label = _label(session)
        apart = session.name or session.worktree or session.branch
        yield f"{label} ({one_line(apart, 40)})" if count[label] > 1 and apart else label


def _context(session: Observation) -> str:
    """Say which of a project's sessions it is: branch or worktree, and its name or title."""
    place = session.branch or session.worktree
    called = session.name or session.title
    return " · ".join(one_line(part, 60) for part in (place, called) if part)


def text(text: str | None) -> str:
    """Return untrusted text as one line of a bubble."""
    return one_line(text or "", 240)


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _some(names: Iterable[str]) -> list[str]:
    """Return the first few names, and how many more there are."""
    named = list(names)
    if len(named) <= _NAMED + 1:
        return named
    return [*named[:_NAMED], f"{len(named) - _NAMED} more"]

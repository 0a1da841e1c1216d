"""What to tell a person, and how often: alerts in, the bubbles that should be on screen out.

Pure policy. `plan` names the whole set of bubbles wanted at this moment; whoever shows them
compares that set with the screen. All that the policy remembers is the `Memory` passed in and
returned.

- Blocking (permission, question, plan, input): one bubble an ask, stays until answered. More
  than three within ten seconds become one summary.
- Turn over: quiet, and once until the person acts in that session again.
- Error: stays; the same error in several sessions is one bubble.
- Died, background job done or failed: told once.
- What was there in the first snapshot: silent, but for one quiet summary of what is blocked.
- Headless sessions: nothing.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tray.desktop.glyphs import Look
from tray.machine import BLOCKING_ALERTS, AlertKind
from tray.session import Kind, State
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tray.machine import Alert, Track, Tracked
    from tray.session import Observation

AWAY_AFTER = 20.0
"""Seconds since the person's last act after which the end of a turn is worth telling."""
BURST = 10.0
"""Seconds within which a fourth ask turns the bubbles of the others into one summary."""
BURST_SIZE = 3
"""Asks shown in bubbles of their own within `BURST` seconds."""
_NAMED = 5
"""Sessions named in a summary; the rest is counted."""
_FAILED = frozenset({AlertKind.ERROR, AlertKind.JOB_FAILED})
_FIRST = "first"
"""The id of the one quiet bubble about what was blocked before the tray started."""


class Urgency(enum.StrEnum):
    """How a notification server is to treat a bubble."""

    LOW = "low"
    NORMAL = "normal"


@dataclass(frozen=True, slots=True)
class Action:
    """One button of a bubble."""

    key: str
    label: str


SHOW = Action("show", "Show")
"""The same as a click on the bubble, for servers where that only dismisses."""


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


@dataclass(frozen=True, slots=True)
class _Told:
    """One alert that was told, and the bubble that tells it."""

    session: str
    """The session's key when it was told; it may have got another since."""
    alert: Alert
    bubble: str
    at: float
    """Monotonic seconds."""
    on_screen: bool = True
    said: str = ""
    """A finished turn's text, kept for as long as the session then works on by itself."""

    @property
    def ask(self) -> str:
        return f"{self.session}/{self.alert.id}"

    @property
    def blocking(self) -> bool:
        return self.alert.kind in BLOCKING_ALERTS


@dataclass(frozen=True, slots=True)
class Memory:
    """What was told and is still to be remembered; opaque to everybody else."""

    told: tuple[_Told, ...] = ()


def plan(memory: Memory, tracked: Tracked, now: float) -> tuple[Memory, tuple[Bubble, ...]]:
    """Return the bubbles wanted at `now` (monotonic seconds), and what to remember of them."""
    tracks = {
        key: track
        for track in tracked.tracks
        for key in (*track.session.aliases, track.session.key)
    }
    recalled = (_recalled(entry, tracks.get(entry.session)) for entry in memory.told)
    told = [entry for entry in recalled if entry is not None]
    for track in tracked.tracks:
        told = _tell(told, track, tracks, now)
    shown: dict[str, list[tuple[_Told, Track]]] = {}
    ranks = {key: rank for rank, key in enumerate(tracks)}
    for entry in sorted(told, key=lambda entry: ranks[entry.session]):
        track = tracks[entry.session]
        if entry.on_screen and _holds(entry, track):
            shown.setdefault(entry.bubble, []).append((entry, track))
    return Memory(tuple(told)), tuple(_bubble(name, parts) for name, parts in shown.items())


def dismissed(memory: Memory, bubble: Bubble) -> Memory:
    """Take in that `bubble` left the screen, by the person's hand or the server's.

    What it told is not told again; what joined it since is.
    """
    return Memory(
        tuple(
            replace(entry, on_screen=False)
            if entry.bubble == bubble.id and entry.ask in bubble.asks
            else entry
            for entry in memory.told
        )
    )


def _recalled(entry: _Told, track: Track | None) -> _Told | None:
    """Return `entry` as far as it still says something about the present or the future."""
    if track is None:
        return None
    if entry.alert.kind is AlertKind.TURN_OVER:
        return entry if not _acted(track, entry.alert.at) else None
    if track.alert is not None:
        return entry if _same(entry.alert, track.alert) else None
    # The very same ask may turn up again: not to be told again once it was dismissed, or once its
    # person was there and suspended the session.
    if track.session.state is State.IDLE:
        return replace(entry, on_screen=False)
    return entry if not entry.on_screen else None


def _holds(entry: _Told, track: Track) -> bool:
    """Whether what `entry` told is still so."""
    if entry.alert.kind is AlertKind.TURN_OVER:
        if track.session.state is State.WORKING:
            return True
        return (
            track.alert is not None
            and track.alert.kind is AlertKind.TURN_OVER
            and not _seen(track, track.alert)
        )
    return (
        track.alert is not None
        and _same(entry.alert, track.alert)
        and not _seen(track, track.alert)
    )


def _same(told: Alert, present: Alert) -> bool:
    # What an ask is about may be learnt after it was told: an input turns out a question.
    asks = told.kind in BLOCKING_ALERTS and present.kind in BLOCKING_ALERTS
    return told.id == present.id and (asks or told.kind is present.kind)


def _acted(track: Track, since: float) -> bool:
    return track.last_act is not None and track.last_act > since


def _seen(track: Track, alert: Alert) -> bool:
    """Whether the person has been in the session since `alert` arose; asks want an answer."""
    if alert.kind in BLOCKING_ALERTS or alert.kind is AlertKind.DIED:
        return False
    return not track.session.unseen or _acted(track, alert.at)


def _tell(told: list[_Told], track: Track, tracks: Mapping[str, Track], now: float) -> list[_Told]:
    """Return `told` with the alert of `track`, if it is one to tell now."""
    alert, session = track.alert, track.session
    if alert is None or not alert.ripe or session.kind is Kind.HEADLESS:
        return told
    own = [entry for entry in told if tracks[entry.session] is track]
    if alert.kind is AlertKind.TURN_OVER:
        return _tell_turn(told, own, track, alert, now)
    if any(_same(entry.alert, alert) for entry in own) or _seen(track, alert):
        return told
    bubble = f"{session.key}/{alert.id}"
    if alert.first:
        if alert.kind not in BLOCKING_ALERTS:
            return told
        bubble = _FIRST
    elif alert.kind in BLOCKING_ALERTS:
        told, bubble = _crowd(told, bubble, tracks, now)
    elif session.error is not None and alert.kind in _FAILED:
        bubble = f"error/{session.error}"
    return [*told, _Told(session.key, alert, bubble, now)]


def _tell_turn(
    told: list[_Told], own: Sequence[_Told], track: Track, alert: Alert, now: float
) -> list[_Told]:
    said = _text(track.session.preview)
    for entry in own:
        if entry.alert.kind is AlertKind.TURN_OVER:
            return [replace(other, said=said) if other is entry else other for other in told]
    quick = track.last_act is not None and alert.at - track.last_act < AWAY_AFTER
    if alert.first or quick or _seen(track, alert):
        return told
    return [*told, _Told(track.session.key, alert, f"{track.session.key}/turn", now, said=said)]


def _crowd(
    told: list[_Told], bubble: str, tracks: Mapping[str, Track], now: float
) -> tuple[list[_Told], str]:
    """Return `told` and the bubble for one more ask: `bubble`, or a summary with the others."""
    standing = [
        entry
        for entry in told
        if entry.blocking
        and entry.on_screen
        and entry.bubble != _FIRST
        and _holds(entry, tracks[entry.session])
    ]
    recent = [entry for entry in standing if now - entry.at <= BURST]
    sizes = Counter(entry.bubble for entry in standing)
    for entry in recent:
        if sizes[entry.bubble] > 1:
            return told, entry.bubble
    if len(recent) < BURST_SIZE:
        return told, bubble
    summary = f"summary/{bubble}"
    return [replace(e, bubble=summary) if e in recent else e for e in told], summary


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
_QUIET = frozenset({AlertKind.TURN_OVER, AlertKind.JOB_DONE})
_LOOKS = {
    AlertKind.TURN_OVER: Look.FINISHED,
    AlertKind.ERROR: Look.FAILED,
    AlertKind.DIED: Look.NONE,
    AlertKind.JOB_DONE: Look.FINISHED,
    AlertKind.JOB_FAILED: Look.FAILED,
}


def _bubble(name: str, parts: Sequence[tuple[_Told, Track]]) -> Bubble:
    """Compose the bubble called `name` for what `parts` told."""
    entry, track = parts[0]
    kind = _kind(entry, track)
    sessions = [part.session for _, part in parts]
    if len(parts) == 1:
        title = _TITLES[kind].format(_label(track.session))
        body = _lines(_says(kind, entry, track.session), _context(track.session))
    elif entry.blocking:
        title = f"{len(parts)} sessions are waiting for you"
        named = zip(_labels(sessions), parts, strict=True)
        body = _lines(*_some(f"{label}: {_short(*part)}" for label, part in named))
    else:
        title = f"{len(parts)} sessions stopped with an error"
        body = _lines(_says(kind, entry, track.session), ", ".join(_some(_labels(sessions))))
    quiet = kind in _QUIET or name == _FIRST
    return Bubble(
        id=name,
        title=left_to_right(title),
        body="\n".join(map(left_to_right, body.splitlines())),
        look=_LOOKS.get(kind, Look.BLOCKED),
        category=_CATEGORIES[kind],
        urgency=Urgency.LOW if quiet else Urgency.NORMAL,
        expires=quiet,
        keys=tuple(session.key for session in sessions),
        asks=tuple(part.ask for part, _ in parts),
        one_by_one=entry.blocking and not quiet,
    )


def _kind(entry: _Told, track: Track) -> AlertKind:
    """Return what is now known of the kind of `entry`."""
    return track.alert.kind if entry.blocking and track.alert is not None else entry.alert.kind


def _says(kind: AlertKind, entry: _Told, session: Observation) -> str:
    """Return the line that a person most needs to read."""
    if kind is AlertKind.TURN_OVER:
        return entry.said
    if kind is AlertKind.JOB_DONE:
        return _text(session.preview or session.detail)
    return _text(session.detail or session.error)


def _short(entry: _Told, track: Track) -> str:
    return one_line(_text(track.session.detail) or _kind(entry, track).value, 80)


def _label(session: Observation) -> str:
    return one_line(session.project or session.name or session.title or "A session", 60)


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


def _text(text: str | None) -> str:
    return one_line(text or "", 240)


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _some(names: Iterable[str]) -> list[str]:
    """Return the first few names, and how many more there are."""
    named = list(names)
    if len(named) <= _NAMED + 1:
        return named
    return [*named[:_NAMED], f"{len(named) - _NAMED} more"]

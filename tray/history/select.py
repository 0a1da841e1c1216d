"""Which past sessions are meant: filters, orders, and one by its name or id. Pure."""

from __future__ import annotations

import datetime as dt
import os
import re
from typing import TYPE_CHECKING

import msgspec

from tray.history.folding import fold
from tray.history.past import KEPT, LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tray.history.past import Past

_AGO = re.compile(r"(\d{1,5})\s*(m|min|h|d|w)")
_SECONDS = {"m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_ID_START = 4
"""Characters from which on a text may be the start of a session id."""


class Filter(msgspec.Struct, frozen=True):
    """What a session must be like; `None` and False ask for nothing."""

    project: str | None = None
    """Part of the project's name in any case, or a directory it lies in (with a slash)."""
    branch: str | None = None
    tag: str | None = None
    source: str | None = None
    named: bool = False
    live: bool = False
    min_turns: int = 0
    since: float | None = None
    """Unix seconds; modified at that moment or later."""
    until: float | None = None
    """Unix seconds; modified before that moment."""

    def fits(self, session: Past) -> bool:
        """Tell whether a session is like that."""
        modified = session.modified or 0.0
        return (
            (self.project is None or _in_project(session, self.project))
            and (self.branch is None or session.branch == self.branch)
            and (self.tag is None or fold(session.tag or "") == fold(self.tag))
            and (self.source is None or session.source == self.source)
            and (not self.named or session.name is not None)
            and (not self.live or session.live)
            and session.turns >= self.min_turns
            and (self.since is None or modified >= self.since)
            and (self.until is None or modified < self.until)
        )


ORDERS: dict[str, Callable[[Past], tuple[float | str, ...]]] = {
    "modified": lambda session: (-(session.modified or 0.0),),
    "created": lambda session: (-(session.created or 0.0),),
    "turns": lambda session: (-session.turns,),
    "messages": lambda session: (-session.messages,),
    "duration": lambda session: (-(session.duration_s or 0.0),),
    "size": lambda session: (-session.size,),
    "project": lambda session: (fold(session.project or "\uffff"),),
    "title": lambda session: (fold(session.title or "\uffff"),),
}
"""Sort keys by name; numbers and times begin with the largest. Equal ones keep their order."""


def moment(text: str, now: float) -> float | None:
    """Return `3d`, `12h`, `today`, `yesterday`, `2026-05-22` or an ISO 8601 time as Unix seconds.

    Days begin at midnight, local time. `None` for anything else.
    """
    text = text.strip().lower()
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    try:
        if text in ("today", "yesterday"):
            today = dt.datetime.fromtimestamp(now).date()  # noqa: DTZ006 - the person's own day
            day = today - dt.timedelta(days=text == "yesterday")
            return dt.datetime.combine(day, dt.time()).timestamp()
        return dt.datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def matching(sessions: Iterable[Past], wanted: str) -> tuple[Past, ...]:
    """Return every session that `wanted` can mean; the caller must not guess among several.

    A whole id or the file's path wins, then a name the person gave, then the start of an id, then
    a title, then words that all stand in one. Of several files of one session the nearest counts:
    the one here, then a kept copy, then one from another machine; else the first given.
    """
    candidates: dict[str, Past] = {}
    for session in sessions:
        if wanted == session.transcript:
            return (session,)
        known = candidates.setdefault(session.session_id, session)
        if _distance(session) < _distance(known):
            candidates[session.session_id] = session
    if not wanted.strip():
        return ()
    folded = fold(wanted)
    words = folded.split()
    rules: tuple[Callable[[Past], bool], ...] = (
        lambda session: session.session_id == folded,
        lambda session: fold(session.name or "") == folded,
        lambda session: len(wanted) >= _ID_START and session.session_id.startswith(folded),
        lambda session: fold(session.title or "") == folded,
        lambda session: all(word in fold(session.title or "") for word in words),
    )
    for rule in rules:
        found = tuple(session for session in candidates.values() if rule(session))
        if found:
            return found
    return ()


def arranged(sessions: Sequence[Past], order: str) -> tuple[Past, ...]:
    """Return the sessions, the last modified first, in one of `ORDERS`."""
    if order == "modified":
        return tuple(sessions)
    return tuple(sorted(sessions, key=ORDERS[order]))


def _distance(session: Past) -> int:
    return {LOCAL: 0, KEPT: 1}.get(session.source, 2)


def _in_project(session: Past, wanted: str) -> bool:
    if "/" in wanted or wanted in (".", "..", "~"):
        folder = os.path.realpath(os.path.expanduser(wanted))
        return session.cwd is not None and f"{session.cwd}/".startswith(folder.rstrip("/") + "/")
    return fold(wanted) in fold(session.project or "")

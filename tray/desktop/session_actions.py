"""What can be done with one session, beyond going there: its submenu. Pure.

A row that has a submenu cannot be clicked on most hosts, so the actions have a place of their
own. Every action keeps its line, disabled where it makes no sense, so that hands learn it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from tray.desktop.entry import Action, Entry
from tray.desktop.mute_menu import SNOOZES, durations
from tray.desktop.prose import prose, until
from tray.desktop.rows import ROWS, project_name
from tray.mutes import Scope, ask_of, id_of, in_project, project_of
from tray.session import State
from tray.untrusted import block, identifier, left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tray.mutes import Mutes
    from tray.session import Observation

_LINES = 14
"""Lines of an ask at most."""
_CHARACTERS = 4000


class _Muted(NamedTuple):
    """How a session is muted, as its lines say it; `None`: it is not."""

    ask: str | None
    session: str | None
    project: str | None
    projects: tuple[str, ...]
    """What of its project is muted, to be undone."""


def session_actions(
    ranked: Sequence[Observation], names: Sequence[str], now: float, mutes: Mutes
) -> Entry:
    """Return the submenu with one submenu for each of the first sessions.

    Only for those that have a row in the menu itself: hosts fetch all of the menu before they
    show any of it, and thirty lines for each of 200 sessions would let them wait.
    `mutes` holds none that has ended.
    """
    found = [
        _of_one(session, left_to_right(name), _muted(session, now, mutes))
        for session, name in zip(ranked[:ROWS], names, strict=False)
    ]
    if ranked[ROWS:]:
        rest = f"{len(ranked) - ROWS} more: sessionbell list"
        found.append(Entry("actions-more", rest, enabled=False))
    return Entry("actions", "Session actions", enabled=bool(found), children=tuple(found))


def _muted(session: Observation, now: float, mutes: Mutes) -> _Muted:
    ask, own = ask_of(session), id_of(session)
    projects = tuple(project for project in mutes.projects if in_project(session, project))
    return _Muted(
        until(mutes.snoozed[ask], now) if ask is not None and ask in mutes.snoozed else None,
        until(mutes.sessions[own], now) if own in mutes.sessions else None,
        until(mutes.projects[projects[0]], now) if projects else None,
        projects,
    )


# The very same entry comes back as long as nothing changed: see `tray.desktop.items.Items`.
@functools.lru_cache(maxsize=4 * ROWS)
def _of_one(session: Observation, name: str, muted: _Muted) -> Entry:
    key = f"actions:{session.key}"
    return Entry(key, name, children=tuple(_lines(session, key, muted)))


def _lines(session: Observation, key: str, muted: _Muted) -> Iterator[Entry]:
    said = tuple(_in_full(session, key))
    yield from said
    if said:
        yield Entry(f"{key}:below-ask", separator=True)

    def act(action: Action, label: str, *, enabled: bool = True) -> Entry:
        return Entry(f"{key}:{action}", label, enabled=enabled, action=action, session=session.key)

    known = identifier(session.session_id) is not None
    yield act(Action.GO, "Go to session")
    yield act(Action.OPEN_FOLDER, "Open folder", enabled=session.cwd is not None)
    yield act(Action.COPY_RESUME, "Copy resume command", enabled=known)
    yield act(Action.COPY_ID, "Copy session id", enabled=known)
    yield act(Action.MARK_SEEN, "Mark as seen", enabled=session.unseen)
    yield Entry(f"{key}:above-mutes", separator=True)
    yield from _snooze(session, key, muted.ask)
    yield _mute_session(session, key, muted.session)
    yield from _mute_project(session, key, muted)


def _in_full(session: Observation, key: str) -> Iterator[Entry]:
    """Say all of what a session asks, failed with or said last."""
    ask = session.ask
    if ask is not None and (ask.text or ask.options):
        said = ask.text or ""
        # Most texts name them already, with what each means.
        options = (f"• {one_line(one, 200)}" for one in ask.options if one not in said)
        text = "\n".join((said, *options))
        asked = ask.id
    else:
        finished = session.unseen or session.state is State.NEEDS_INPUT
        text = session.detail or (session.preview if finished else None) or ""
        asked = ask.id if ask is not None else "said"
    rest = f"… all of it: sessionbell show {session.pid or id_of(session)}"
    # The ask is part of the key: in an open menu an old text stays whole or goes, never half.
    yield from prose(f"{key}:{asked}", block(text, _CHARACTERS), _LINES, one_line(rest, 72))


def _snooze(session: Observation, key: str, muted: str | None) -> Iterator[Entry]:
    what = ask_of(session)
    if what is None or not session.blocking:
        return
    # With the ask in its key: it must not come to mean the next one under the pointer.
    key = f"{key}:snooze:{what}"
    label = "Snooze this ask" if muted is None else f"Snoozed {muted}"
    lines = durations(key, Scope.ASK, what, SNOOZES)
    if muted is not None:
        lines = (*lines, _undo(key, Scope.ASK, what, "End the snooze"))
    yield Entry(key, label, children=lines)


def _mute_session(session: Observation, key: str, muted: str | None) -> Entry:
    key, what = f"{key}:mute", id_of(session)
    label = "Mute session" if muted is None else f"Session muted {muted}"
    lines = durations(key, Scope.SESSION, what)
    if muted is not None:
        lines = (*lines, _undo(key, Scope.SESSION, what, "Unmute"))
    return Entry(key, label, children=lines)


def _mute_project(session: Observation, key: str, muted: _Muted) -> Iterator[Entry]:
    what = project_of(session)
    if what is None:
        return
    key = f"{key}:mute-project"
    label = f"Mute project {project_name(session.project)}"
    if muted.project is not None:
        label = f"Project muted {muted.project}"
    lines = durations(key, Scope.PROJECT, what)
    lines += tuple(_undo(key, Scope.PROJECT, project, "Unmute") for project in muted.projects)
    yield Entry(key, left_to_right(label), children=lines)


def _undo(key: str, scope: Scope, what: str, label: str) -> Entry:
    return Entry(f"{key}:undo:{what}", label, action=Action.UNMUTE, scope=scope, what=what)

"""Which session a fork was forked off, told by the lines they share. Pure.

`claude --resume ID --fork-session` does not write it down: the fork's file begins with copies of
its parent's lines that keep their `uuid`s, and has another session id (seen on 2.1.81 and
2.1.332). Of a conversation that was compacted the copy may begin at the summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.claude.marks import MARK
from tray.history.past import LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tray.history.past import Past

_SLACK = 3600.0
"""Seconds after its last line by which a file can still have been made where it was written."""


def with_parents(sessions: Sequence[Past]) -> Sequence[Past]:
    """Return the sessions in their order, with `forked_from` filled in where lines tell it."""
    holders: dict[bytes, list[Past]] = {}
    for session in sessions:
        starts = session.starts
        if len(starts) == MARK:
            holders.setdefault(starts, []).append(session)
        elif starts:
            for start in _parts(starts):
                holders.setdefault(start, []).append(session)
    parents: dict[str, str] = {}
    for family in holders.values():
        if len(family) > 1 and len({session.session_id for session in family}) > 1:
            parents.update(_parents(family))
    if not parents:
        return sessions
    explicit = {session.session_id: session.forked_from for session in sessions}
    return [_with(session, parents, explicit) for session in sessions]


def _parents(family: Iterable[Past]) -> Iterator[tuple[str, str]]:
    """Yield the fork and its parent, by session id, of those that share a line to begin at.

    Of a line the oldest that has it is the owner; whoever owns the last one that a session has
    of others' is its parent.
    """
    family = _by_age(family)
    owners: dict[bytes, str] = {}
    marks = {}
    for session in family:
        marks[session.session_id] = found = list(_parts(session.marks))
        for mark in found:
            owners.setdefault(mark, session.session_id)
    for session_id, found in marks.items():
        strange = (owners[mark] for mark in reversed(found) if owners[mark] != session_id)
        parent = next(strange, None)
        if parent is not None:
            yield session_id, parent


def _by_age(family: Iterable[Past]) -> list[Past]:
    """Return the sessions, the oldest first.

    When a file was made tells it where it was written. Of files that were brought here the one
    with fewer lines is older: a fork has all of its parent's, and its own.
    """
    family = list(family)
    if all(_made_here(session) for session in family):
        return sorted(family, key=lambda one: (one.created or 0.0, len(one.marks), one.session_id))
    return sorted(family, key=lambda one: (len(one.marks), one.modified or 0.0, one.session_id))


def _made_here(session: Past) -> bool:
    written = session.last_timestamp
    made = session.created
    return (
        session.source == LOCAL
        and made is not None
        and written is not None
        and made <= written + _SLACK
    )


def _with(session: Past, parents: dict[str, str], explicit: dict[str, str | None]) -> Past:
    parent = parents.get(session.session_id)
    if parent is None:
        return session
    told = session.forked_from
    # A fork of a fork has copies of lines that name the first one; both have to be there to tell.
    inherited = explicit.get(parent) == told and told in explicit
    if told is not None and not inherited:
        return session
    return replace(session, forked_from=parent)


def _parts(marks: bytes) -> Iterator[bytes]:
    return (marks[at : at + MARK] for at in range(0, len(marks), MARK))

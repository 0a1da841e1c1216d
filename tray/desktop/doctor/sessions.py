"""Which sessions live, and which of them say what they do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from tray.claude.files import json_object, read_small, text_of
from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status
from tray.session import Kind, Problem, Source, State

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding
    from tray.session import Observation

FIRST_TO_TELL = (2, 1, 119)
"""The first client that publishes its status, in a terminal."""
_RECORD_LIMIT = 1024 * 1024

NONE = Message("sessions-none", Status.OK, "no session is running")
TELLS = Message(
    "session-tells",
    Status.OK,
    "{session}: version {version} tells its status",
)
OLD = Message(
    "session-silent-old",
    Status.NOTE,
    "{session}: version {version} does not tell its status",
    "2.1.119 is the first that does",
    "what it asks is inferred from its transcript, or unknown",
    run="claude update",
)
EMBEDDED = Message(
    "session-silent-embedded",
    Status.NOTE,
    "{session}: version {version} does not tell its status ({entrypoint})",
    "clients that another program runs publish none",
    "what it asks is inferred from its transcript, or unknown",
    do="run `claude` in a terminal where that matters",
)
HEADLESS = Message(
    "session-headless",
    Status.OK,
    "{session}: version {version}, headless; it never asks a person",
)
UNPUBLISHED = Message(
    "session-silent",
    Status.NOTE,
    "{session}: version {version} has not told its status",
    "{detail}",
    "what it asks is inferred from its transcript, or unknown",
    do="wait until it has started; if it stays so, start that session anew",
)
UNVERIFIED = Message(
    "session-unverified",
    Status.NOTE,
    "{session}: its process cannot be seen from here",
    "it runs in a container or a sandbox, or on another machine",
    "that it has ended shows only when its record goes",
    do="run sessionbell outside the container or sandbox",
)
PROBLEM = Message(
    "sessions-not-all-seen",
    Status.BROKEN,
    "not everything could be read: {message}",
    "a file is unreadable, damaged or in a form that is not known ({code})",
    "sessions may be missing, or shown as unknown",
    do="do what the message says, else report it as a bug",
)


class Facts(msgspec.Struct, frozen=True):
    """All live sessions, and what kept others from being seen."""

    sessions: tuple[Observation, ...]
    problems: tuple[Problem, ...] = ()
    published: frozenset[str] = frozenset()
    """Keys of those whose record has a status."""


def gather(given: Given) -> Facts:
    """Look at all sessions once."""
    snapshot, _ = given.survey()
    return Facts(
        snapshot.sessions,
        snapshot.problems,
        frozenset(one.key for one in snapshot.sessions if _published(one)),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say of each session whether it tells its status."""
    live = [session for session in facts.sessions if session.state is not State.ENDED]
    found = [PROBLEM.found(code=one.code, message=one.message) for one in facts.problems]
    if not live and not found:
        found.append(NONE.found())
    for session in live:
        told = session.source is Source.REGISTRY or session.key in facts.published
        found.append(TELLS.found(**_values(session)) if told else _silent(session))
        if not session.verified:
            found.append(UNVERIFIED.found(session=called(session)))
    return tuple(found)


def called(session: Observation) -> str:
    """Return a session's name for a person, without any of its contents."""
    name = session.project or session.cwd or "a session"
    return f"{name} ({session.pid})" if session.pid is not None else name


def version_of(text: str | None) -> tuple[int, ...] | None:
    """Return a version's numbers; `None` if it has none."""
    found = re.match(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", text or "", re.ASCII)
    return tuple(map(int, found.groups())) if found is not None else None


def _values(session: Observation) -> dict[str, object]:
    return {"session": called(session), "version": session.version or "unknown"}


def _silent(session: Observation) -> Finding:
    values = _values(session)
    if session.kind is Kind.HEADLESS:
        return HEADLESS.found(**values)
    if session.entrypoint not in (None, "cli"):
        return EMBEDDED.found(entrypoint=session.entrypoint, **values)
    version = version_of(session.version)
    if version is not None and version < FIRST_TO_TELL:
        return OLD.found(**values)
    # What is said of a process holds no contents; what is said by a transcript may.
    cause = session.detail if session.source is Source.PROCESS else None
    return UNPUBLISHED.found(detail=cause or "its record has no status", **values)


def _published(session: Observation) -> bool:
    """Whether a session's record has a status, whatever decided its state."""
    data = read_small(session.record, _RECORD_LIMIT) if session.record is not None else None
    found = json_object(data) if data is not None else None
    return found is not None and text_of(found, "status") is not None


CHECK = Check("sessions", "Sessions", gather, findings)

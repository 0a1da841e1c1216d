"""What a click on each session would lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.session_bus import graphical
from tray.desktop.doctor.sessions import called
from tray.desktop.focus.place import FocusError
from tray.session import Kind, State

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

FOUND = Message("focus", Status.OK, "{session}: {way}")
NONE = Message(
    "focus-none",
    Status.NOTE,
    "{session}: nothing here can bring its terminal to the front",
    "no terminal, multiplexer or window system that is known shows it",
    "a click says and copies the way there instead",
    do="run it in a terminal of the README's table",
)
FAILS = Message(
    "focus-fails",
    Status.WARNING,
    "{session}: the way to its terminal was not found",
    "{error}",
    "a click says and copies the way there instead",
    do="do what the message says, else restart that terminal",
)


class Explained(Protocol):
    """The way to a session (`tray.desktop.focus.route`)."""

    def explain(self) -> str:
        """Say which back end would act, and why."""


class Way(msgspec.Struct, frozen=True):
    """What was found for one session."""

    session: str
    says: str | None = None
    error: str | None = None


def gather(given: Given) -> tuple[Way, ...]:
    """Look for the way to each live session; nothing is raised."""
    if given.find_way is None or not graphical(given.environ):
        return ()
    snapshot, _ = given.survey()
    found = []
    for session in snapshot.sessions:
        if session.state is State.ENDED or session.kind is Kind.HEADLESS:
            continue
        try:
            way = given.find_way(session, given.environ)
            says = str(way.explain()) if way is not None else None
        except FocusError as error:
            found.append(Way(called(session), error=str(error)))
        else:
            found.append(Way(called(session), says))
    return tuple(found)


def findings(facts: tuple[Way, ...]) -> tuple[Finding, ...]:
    """Say for each where a click leads."""
    return tuple(_found(way) for way in facts)


def _found(way: Way) -> Finding:
    if way.error is not None:
        return FAILS.found(session=way.session, error=way.error)
    if way.says is None:
        return NONE.found(session=way.session)
    return FOUND.found(session=way.session, way=way.says)


CHECK = Check("focus", "Going to a session", gather, findings)

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
    "{detail}",
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


NOTHING = "no terminal, multiplexer or window system that is known shows it"


class Explained(Protocol):
    """The way to a session (`tray.desktop.focus.route`)."""

    @property
    def complete(self) -> bool:
        """Whether a program can bring the person all the way."""

    def explain(self) -> list[str]:
        """Say which back ends would act, and why, a line each."""


class Way(msgspec.Struct, frozen=True):
    """What was found for one session."""

    session: str
    says: str | None = None
    detail: str = ""
    """What was asked to no avail."""
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
            lines = way.explain() if way is not None else []
            says = "; ".join(lines) if way is not None and way.complete else None
        except FocusError as error:
            found.append(Way(called(session), error=str(error)))
        else:
            found.append(Way(called(session), says, "; ".join(lines)))
    return tuple(found)


def findings(facts: tuple[Way, ...]) -> tuple[Finding, ...]:
    """Say for each where a click leads."""
    return tuple(_found(way) for way in facts)


def _found(way: Way) -> Finding:
    if way.error is not None:
        return FAILS.found(session=way.session, error=way.error)
    if way.says is None:
        return NONE.found(session=way.session, detail=way.detail or NOTHING)
    return FOUND.found(session=way.session, way=way.says)


CHECK = Check("focus", "Going to a session", gather, findings)

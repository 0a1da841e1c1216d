"""Bubbles that answer a person's own click. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.desktop.bubbles import Bubble, Urgency
from tray.desktop.looks import Look, look_of
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from tray.session import Observation


def message(session: Observation | None, title: str, text: str) -> Bubble:
    """Return the bubble that says `text`; with a session its name is put behind the title."""
    name = one_line((session.project or session.name or "the session") if session else "", 60)
    said = "\n".join(left_to_right(one_line(line, 400)) for line in text.splitlines())
    return Bubble(
        id="way",
        title=left_to_right(" ".join(filter(None, (title, name)))) or "sessionbell",
        body=said,
        look=look_of(session) if session is not None else Look.NONE,
        category="x-sessionbell.way",
        urgency=Urgency.LOW,
        expires=True,
        keys=(session.key,) if session is not None else (),
        asks=(f"way/{session.key if session is not None else ''}/{text}",),
        actions=(),
    )

"""What a running tray tells of itself, for `doctor`: the JSON of the D-Bus method `Health`."""

from __future__ import annotations

import msgspec

from tray.session import Problem  # noqa: TC001  (msgspec reads it)


class Health(msgspec.Struct, frozen=True):
    """How a running tray is; fields are only ever added."""

    version: str
    pid: int
    started: float
    """Unix seconds."""
    surveyed_ago: float | None = None
    """Seconds since the last look at the sessions ended; `None`: before the first."""
    sessions: int = 0
    restarts: int = 0
    """Worker threads that died and were started again, since the start."""
    problems: tuple[Problem, ...] = ()
    """What its menu complains of."""


def encode(health: Health) -> str:
    """Return the method's answer."""
    return msgspec.json.encode(health).decode()


def decode(text: str) -> Health | None:
    """Read the method's answer; `None` if it is none."""
    try:
        return msgspec.json.decode(text, type=Health)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None

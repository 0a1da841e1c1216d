"""What a check has to say: messages written beforehand, filled with what was found."""

from __future__ import annotations

import enum

import msgspec

from tray.untrusted import one_line

LONGEST = 300
"""Characters of one value that is filled in."""


class Status(enum.StrEnum):
    """How a thing stands. The values are part of the scripts' contract."""

    OK = "ok"
    NOTE = "note"
    """Works as it is meant to; there is more to be had."""
    WARNING = "warning"
    """Works in part."""
    BROKEN = "broken"
    """Does not work; `doctor` then ends with exit code 1."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. Names and order of the fields are the scripts' contract."""

    code: str
    """Stable short name of the message."""
    status: Status
    what: str
    """How it stands, in one line."""
    cause: str | None = None
    """Why; `None` only if it is ok, as with the next two."""
    consequence: str | None = None
    """What the person loses by it."""
    remedy: str | None = None
    """One command to run, or one thing to do."""
    command: bool = False
    """Whether `remedy` is a command for a shell."""


class Message(msgspec.Struct, frozen=True):
    """The text of a finding; names in braces are filled in by `found`."""

    code: str
    status: Status
    what: str
    cause: str = ""
    consequence: str = ""
    run: str = ""
    """One command for a shell; or else"""
    do: str = ""
    """one thing to do."""

    def found(self, **values: object) -> Finding:
        """Fill in `values`, whatever they hold, and return the finding."""
        plain = {name: one_line(str(value), LONGEST) for name, value in values.items()}
        remedy = (self.run or self.do).format_map(plain)
        return Finding(
            self.code,
            self.status,
            self.what.format_map(plain),
            self.cause.format_map(plain) or None,
            self.consequence.format_map(plain) or None,
            remedy or None,
            bool(self.run),
        )

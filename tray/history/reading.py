"""A conversation as a person reads it: who said what and when. Used by show, preview and search."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator


class Role(enum.StrEnum):
    """Who or what speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL = "tool"
    """A tool that the model asked for; `text` is its one-line summary, `more` its whole input."""
    RESULT = "result"
    """What a tool answered."""
    COMMAND = "command"
    """A slash or shell command of the person's, or its output."""
    SUMMARY = "summary"
    """What a compacted conversation goes on from."""
    NOTICE = "notice"
    """Interrupted, failed, woken by a task."""


class Piece(msgspec.Struct, frozen=True):
    """One thing that was said or done."""

    role: Role
    text: str
    """Untrusted: it has to go through `tray.untrusted` before it is shown."""
    at: float | None = None
    """Unix seconds."""
    more: str | None = None
    failed: bool = False
    """A tool's result that is an error."""


def pieces(path: str) -> Iterator[Piece]:
    """Yield a transcript's conversation from its beginning, read as it is asked for.

    Raises OSError if it cannot be read.
    """
    raise NotImplementedError


def newest(path: str, number: int) -> tuple[Piece, ...]:
    """Return the last `number` pieces, from a bounded part of the file's end. Raises OSError."""
    raise NotImplementedError

"""Searching what a person reads in the conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tray.history.past import Past
    from tray.history.reading import Role


class Query(msgspec.Struct, frozen=True):
    """What is looked for: literal and in any letter case, unless it is a regular expression."""

    text: str
    regex: bool = False
    tools: bool = False
    """Also in what tools were given and answered."""


class QueryError(ValueError):
    """No query: nothing to look for, or no regular expression. Its text is for a person."""


class Hit(msgspec.Struct, frozen=True):
    """One line of a conversation that matches."""

    role: Role
    line: str
    """The line, untrusted; cut around the first match if it is long."""
    spans: tuple[tuple[int, int], ...]
    """Where in `line` the matches are: begin and end, characters."""
    at: float | None = None


class Found(msgspec.Struct, frozen=True):
    """One session in which something was found."""

    session: Past
    count: int
    """Matches in all."""
    hits: tuple[Hit, ...]
    """The first matching lines."""


def search(
    sessions: Iterable[Past],
    query: Query,
    *,
    lines: int = 3,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[Found]:
    """Yield the sessions in which `query` is found, in the order given. Raises QueryError.

    `lines` is how many matching lines of a session are returned. Files that cannot be read are
    passed over.
    """
    raise NotImplementedError

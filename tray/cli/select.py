"""Which session the person means: a pid, the start of an id, a name or a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tray.session import Observation


def matching(sessions: Iterable[Observation], wanted: str) -> tuple[Observation, ...]:
    """Return every session that `wanted` can mean; the caller must not guess among several.

    A whole pid wins. Then the start of an id, a name and a project are taken alike, so that what
    two sessions answer to stays ambiguous; last, in any letter case.
    """
    candidates = tuple(sessions)
    rules: tuple[Callable[[Observation], bool], ...] = (
        lambda session: wanted == str(session.pid),
        lambda session: _called(session, wanted),
        lambda session: _called(session, wanted, str.casefold),
    )
    for rule in rules:
        found = tuple(session for session in candidates if wanted and rule(session))
        if found:
            return found
    return ()


def nearest(sessions: Iterable[Observation], wanted: str) -> Sequence[str]:
    """Return up to three names that look like `wanted`, the likeliest first."""
    import difflib  # for a shortcut that finds what it wants, it is not loaded

    words = {
        word.casefold(): word
        for session in sessions
        for word in (session.name, session.project)
        if word
    }
    close = difflib.get_close_matches(wanted.casefold(), words, n=3, cutoff=0.5)
    return [words[word] for word in close]


def _called(session: Observation, wanted: str, fold: Callable[[str], str] = str) -> bool:
    wanted = fold(wanted)
    names = (session.name, session.project)
    return any(name is not None and fold(name) == wanted for name in names) or (
        session.session_id is not None and fold(session.session_id).startswith(wanted)
    )

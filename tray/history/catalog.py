"""The sessions that are browsed, with what finding among them needs. Never changes once made."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tray.history.forks import Forks
from tray.history.fuzzy import ranked, searchable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tray.history.past import Past


class Catalog:
    """Sessions, by their places in the order given, the last modified first."""

    def __init__(self, sessions: Iterable[Past] = (), before: Catalog | None = None) -> None:
        """Make it; what an older one has found out of the same sessions is taken over."""
        self.sessions = tuple(sessions)
        self._places = {one.transcript: place for place, one in enumerate(self.sessions)}
        self._forks = Forks(self.sessions)
        known = before._searched if before is not None else {}  # noqa: SLF001 - of its own kind
        self._searched: dict[tuple[str | None, ...], str] = {}
        self._texts = []
        for one in self.sessions:
            parts = _parts(one)
            text = known.get(parts)
            text = searchable(*parts) if text is None else text
            self._searched[parts] = text
            self._texts.append(text)

    def place(self, transcript: str | None) -> int | None:
        """Return where a session is; `None` if it is not here."""
        return self._places.get(transcript or "")

    def get(self, transcript: str | None) -> Past | None:
        """Return a session; `None` if it is not here."""
        place = self.place(transcript)
        return self.sessions[place] if place is not None else None

    def family(self, of: str | None) -> Sequence[int]:
        """Return the parent and the direct forks of a session, or with `None` all sessions."""
        if of is None:
            return self._all
        session = self.get(of)
        if session is None:
            return ()
        parent = self._forks.parent(session)
        family = ([parent] if parent is not None else []) + list(self._forks.children(session))
        places = dict.fromkeys(self._places[one.transcript] for one in family)
        return [place for place in places if self.sessions[place].transcript != of]

    def has_family(self, session: Past) -> bool:
        """Whether a session is a fork or has been forked."""
        return self._forks.has_family(session)

    def is_parent(self, session: Past, of: Past) -> bool:
        """Whether `of` was forked off `session`."""
        return of.forked_from == session.session_id

    def ranked(self, query: str, among: Sequence[int]) -> list[int]:
        """Return the places of the sessions that a filter means, the best first."""
        return ranked(query, self._texts, among)

    @functools.cached_property
    def _all(self) -> range:
        return range(len(self.sessions))


def _parts(session: Past) -> tuple[str | None, ...]:
    """Return what a filter looks at: what the row and the preview's head show."""
    tag = f"#{session.tag}" if session.tag else None
    source = session.source if session.source != "local" else None
    return (session.project, session.title, tag, session.branch, source, session.session_id[:8])

"""Which sessions were forked off which. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tray.history.past import Past


class Forks:
    """The family of a set of sessions, by session id."""

    def __init__(self, sessions: Iterable[Past]) -> None:
        """Of several files of one session the first given stands for it."""
        self._sessions = tuple(sessions)
        self._by_id: dict[str, Past] = {}
        for session in self._sessions:
            self._by_id.setdefault(session.session_id, session)
        self._children: dict[str, list[Past]] = {}
        for session in self._sessions:
            parent = self.parent(session)
            if parent is not None:
                self._children.setdefault(parent.session_id, []).append(session)

    def parent(self, session: Past) -> Past | None:
        """Return the session that it was forked off, if that is there."""
        found = self._by_id.get(session.forked_from or "")
        return None if found is None or found.session_id == session.session_id else found

    def children(self, session: Past) -> Sequence[Past]:
        """Return its direct forks, in the order the sessions were given."""
        return tuple(self._children.get(session.session_id, ()))

    def has_family(self, session: Past) -> bool:
        """Whether it is a fork or has been forked, as far as the sessions tell."""
        return session.forked_from is not None or session.session_id in self._children

    def tree(self) -> Iterator[tuple[int, Past]]:
        """Yield every session with its depth, a parent right before its forks.

        The roots come in the order given. What is forked in a circle is shown once, from its
        first session on.
        """
        shown: set[str] = set()
        rooted = (session for session in self._sessions if self.parent(session) is None)
        for root in (*rooted, *self._sessions):
            stack = [(0, root)]
            while stack:
                depth, session = stack.pop()
                if session.transcript in shown:
                    continue
                shown.add(session.transcript)
                yield depth, session
                forks = self.children(session) if self._stands(session) else ()
                stack += [(depth + 1, fork) for fork in reversed(forks)]

    def _stands(self, session: Past) -> bool:
        return self._by_id[session.session_id] is session

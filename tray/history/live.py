"""Which past sessions are live right now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.history.past import Past
    from tray.session import Observation


def mark(sessions: Iterable[Past], observations: Iterable[Observation]) -> tuple[Past, ...]:
    """Return the sessions with `live`, `state`, `reason` and `pid` filled in. Pure."""
    raise NotImplementedError

"""Which past sessions are live right now. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.history.past import KEPT, LOCAL
from tray.session import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.history.past import Past
    from tray.session import Observation


def mark(sessions: Iterable[Past], observations: Iterable[Observation]) -> tuple[Past, ...]:
    """Return the sessions with `live`, `state`, `reason` and `pid` filled in.

    A session is live if a process has its transcript, or its id if that has none yet. A kept copy
    that was resumed has none where transcripts are: the client goes on in the copy (seen on
    2.1.332).
    """
    by_path: dict[str, Observation] = {}
    by_id: dict[str, Observation] = {}
    for observation in observations:
        if observation.state is State.ENDED:
            continue
        if observation.transcript is not None:
            by_path[observation.transcript] = observation
        elif observation.session_id is not None:
            by_id[observation.session_id] = observation
    if not by_path and not by_id:
        return tuple(sessions)
    return tuple(
        _with(session, by_path.get(session.transcript) or by_id.get(session.session_id))
        for session in sessions
    )


def _with(session: Past, observation: Observation | None) -> Past:
    if observation is None or session.source not in (LOCAL, KEPT):
        return session
    return replace(
        session,
        live=True,
        state=str(observation.state),
        reason=str(observation.reason) if observation.reason is not None else None,
        pid=observation.pid,
    )

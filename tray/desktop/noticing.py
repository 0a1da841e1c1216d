"""Noticing that the person looks at a session whose turn has ended: it is seen then.

A keystroke there is told by the survey itself. Here it is the focus alone that counts, and only
where it is certain: a wrong yes would keep the end of a turn, or an error, from ever being told.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from tray.desktop.bounded import Bounded
from tray.desktop.guide import find_way

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tray.desktop.focus.route import Route
    from tray.session import Observation

log = logging.getLogger(__name__)

AT_HAND = 60.0
"""Seconds since the last input within which somebody sits in front of the screen."""
_LIMIT = 2.0
"""Seconds that the terminals may take to answer."""


def looks(*, active: bool | None, locked: bool, idle: float | None) -> bool:
    """Whether the person certainly looks at a session. Pure.

    `active` is whether its own tab or pane has the keyboard's focus, `idle` the seconds since
    the desktop's last input; `None` where either cannot be known.
    """
    return active is True and not locked and idle is not None and idle <= AT_HAND


class Noticing:
    """Asks what has the focus, on a thread that nobody waits for long."""

    def __init__(
        self,
        find: Callable[[Observation, Mapping[str, str]], Route | None] = find_way,
        desktop: Mapping[str, str] = os.environ,
    ) -> None:
        """Ask nothing yet."""
        self._find = find
        self._desktop = desktop
        self._thread = Bounded("noticing")

    async def seen(
        self, sessions: Sequence[Observation], *, locked: bool, idle: float | None
    ) -> list[Observation]:
        """Return those of `sessions` that the person looks at; asks nothing if nobody is there."""
        if not sessions or not looks(active=True, locked=locked, idle=idle):
            return []

        def ask() -> list[Observation]:
            return [one for one in sessions if self._active(one) is True]

        try:
            return await self._thread.run(ask, _LIMIT)
        except TimeoutError:
            log.debug("what has the focus cannot be told: something does not answer")
            return []

    def _active(self, session: Observation) -> bool | None:
        try:
            way = self._find(session, self._desktop)
            return way.active() if way is not None else None
        except Exception as error:  # noqa: BLE001  (a back end's fault must not lose an alert)
            log.debug("cannot tell whether %s has the focus: %s", session.key, type(error))
            return None

"""Every transcript of all config roots, with what the index knows of it or a new count."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tray.history.index import Index
    from tray.history.past import Past, Place


def places(roots: Iterable[str] | None = None) -> tuple[Place, ...]:
    """Return the config roots of this user, in use or not, or those of `roots`, each once."""
    raise NotImplementedError


def scan(
    roots: Iterable[Place],
    *,
    index: Index | None = None,
    progress: Callable[[int, int], None] | None = None,
    everything: bool = False,
) -> tuple[Past, ...]:
    """Return the sessions of all `roots`, the last modified first. Never raises.

    `progress` is told how many bytes of how many are counted, from this thread. `everything`
    adds what is no session of a person's (`Past.skipped` says why). Whether a session is live is
    not looked at: `tray.history.live.mark`.
    """
    raise NotImplementedError

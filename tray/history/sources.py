"""Everywhere that past sessions lie: the config roots, the kept copies, the other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.configfile import ConfigError
from tray.history import remotes
from tray.history.keeping import kept_place
from tray.history.scan import places
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.history.index import Index
    from tray.history.past import Place


def everywhere(
    roots: Iterable[str] | None = None,
    index: Index | None = None,
    problems: list[Problem] | None = None,
) -> tuple[Place, ...]:
    """Return all places to scan; with `roots` those alone.

    What is on this machine comes first, for the first of several files of one session counts. A
    list of remotes that cannot be used goes into `problems`.
    """
    here = places(roots, index)
    if roots is not None:
        return here
    return (*here, kept_place(), *remotes.places(known_remotes(problems)))


def known_remotes(problems: list[Problem] | None = None) -> tuple[remotes.Remote, ...]:
    """Return the remotes; none, and a problem, if their file cannot be used."""
    try:
        return remotes.load()
    except ConfigError as error:
        if problems is not None:
            message = f"{remotes.default_path()}: {error}: no other machine is listed"
            problems.append(Problem("remotes", message))
        return ()

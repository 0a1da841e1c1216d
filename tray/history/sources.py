"""Everywhere that past sessions lie: the config roots, the kept copies, the other machines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tray.history.keeping import kept_place
from tray.history.private import remotes_file
from tray.history.scan import places
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.history.index import Index
    from tray.history.past import Place
    from tray.history.remotes import Remote


def everywhere(
    roots: Iterable[str] | None = None,
    index: Index | None = None,
    problems: list[Problem] | None = None,
    in_use: Iterable[str] = (),
) -> tuple[Place, ...]:
    """Return all places to scan; with `roots` those alone.

    Config roots that are `in_use` by processes, or were once, are known by no other sign: the
    `index` remembers them.

    What is on this machine comes first, for the first of several files of one session counts. A
    list of remotes that cannot be used goes into `problems`.
    """
    here = places(roots, index, in_use)
    if roots is not None:
        return here
    if index is not None:
        known = set(index.roots())
        found = (place.path for place in here if os.path.isdir(f"{place.path}/projects"))
        index.remember_roots([root for root in map(os.fsencode, found) if root not in known])
    return (*here, kept_place(), *_of_remotes(known_remotes(problems)))


def known_remotes(problems: list[Problem] | None = None) -> tuple[Remote, ...]:
    """Return the remotes; none, and a problem, if their file cannot be used."""
    # Most people have none, and pay one look at the disk.
    if not os.path.lexists(remotes_file()):
        return ()
    from tray.configfile import ConfigError
    from tray.history import remotes

    try:
        return remotes.load()
    except ConfigError as error:
        if problems is not None:
            message = f"{remotes.default_path()}: {error}: no other machine is listed"
            problems.append(Problem("remotes", message))
        return ()


def _of_remotes(machines: tuple[Remote, ...]) -> tuple[Place, ...]:
    if not machines:
        return ()
    from tray.history.remotes import places as places_of

    return places_of(machines)

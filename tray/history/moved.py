"""Where a directory that is gone is now: the work tree it lay in may have been moved.

`git worktree move` leaves nothing at the old place, but the repository knows the work tree by the
name that it was made with, which is the base name of the old place.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tray.system.git import checkout, worktrees

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKED_AT = 300
"""Directories at most that are looked at for a repository."""
_NUMBER = re.compile(r"\d*")


def nearest(folder: str) -> str:
    """Return the directory, or the nearest one above it that is left."""
    while not os.path.isdir(folder):
        parent = os.path.dirname(folder)
        if parent == folder:
            return "/"
        folder = parent
    return folder


def moved_to(folder: str) -> str | None:
    """Return where a directory that is gone is now, if its work tree was moved.

    Only if nothing else could be meant: of two work trees of that name, neither. A folder within
    the work tree that is gone there too gives the work tree's top. Never raises.
    """
    if not os.path.isabs(folder) or "\0" in folder:
        return None
    folder = os.path.normpath(folder)
    left = nearest(folder)
    gone = os.path.relpath(folder, left).split(os.sep)
    if left == folder:
        return None
    known = [entry for root in _repositories(left) for entry in worktrees(root).items()]
    for depth, name in enumerate(gone):
        was = os.path.join(left, *gone[: depth + 1])
        found = {
            path
            for made_as, path in known
            if made_as.startswith(name) and _NUMBER.fullmatch(made_as[len(name) :])
            if path != was and os.path.exists(os.path.join(path, ".git"))
        }
        exact = {path for made_as, path in known if made_as == name} & found
        found = exact or found
        if len(found) == 1:
            top = found.pop()
            inside = os.path.join(top, *gone[depth + 1 :])
            return inside if os.path.isdir(inside) else top
    return None


def _repositories(left: str) -> Iterator[str]:
    """Yield the repositories that a work tree which was once below `left` can belong to."""
    around = checkout(left)
    if around is not None:
        yield around.repository or around.root
        return
    # Work trees are often made beside their repository.
    try:
        with os.scandir(left) as entries:
            for entry, _ in zip(entries, range(_LOOKED_AT), strict=False):
                if entry.is_dir():
                    beside = checkout(entry.path)
                    if beside is not None and beside.root == entry.path:
                        yield beside.repository or beside.root
                    elif beside is None and entry.name.endswith(".git"):
                        yield entry.path
    except OSError:
        return

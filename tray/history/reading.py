"""A conversation as a person reads it: who said what and when. Used by show, preview and search."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tray.claude.blocks import lines
from tray.claude.speech import Piece, Role, of_sidechain, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Piece", "Role", "newest", "pieces"]

_WINDOW = 256 * 1024
"""Bytes of a file's end that are looked at first for its newest pieces."""
_WINDOW_LIMIT = 16 * 1024 * 1024


def pieces(path: str) -> Iterator[Piece]:
    """Yield a transcript's conversation from its beginning, read as it is asked for.

    Raises OSError if it cannot be read.
    """
    descriptor, size = _open(path)
    try:
        yield from _pieces(descriptor, 0, size)
    finally:
        os.close(descriptor)


def newest(path: str, number: int) -> tuple[Piece, ...]:
    """Return the last `number` pieces, from a bounded part of the file's end. Raises OSError."""
    descriptor, size = _open(path)
    try:
        window = _WINDOW
        while True:
            start = max(size - window, 0)
            found = tuple(_pieces(descriptor, start, size))
            if len(found) >= number or start == 0 or window >= _WINDOW_LIMIT:
                return found[-number:] if number > 0 else ()
            window *= 4
    finally:
        os.close(descriptor)


def _open(path: str) -> tuple[int, int]:
    """Open a regular file; return its descriptor and size."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise OSError(None, "no regular file", path)
    return descriptor, found.st_size


def _pieces(descriptor: int, start: int, end: int) -> Iterator[Piece]:
    # A subagent's own file has nothing but such lines.
    sidechain = None
    for line in lines(descriptor, start, end):
        if sidechain is None:
            sidechain = of_sidechain(line)
        yield from spoken(line, sidechain=bool(sidechain))

"""How the C library holds the memory of this process."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""Parameters of mallopt, by their numbers in glibc's malloc.h."""
_BIG = 128 * 1024
"""Bytes of a big block: what glibc itself starts with."""


def return_big_blocks() -> None:
    """Have each big block of memory returned to the system as soon as it is freed.

    glibc does that only until the first one is freed: then it counts blocks of that size as
    small ones (mallopt(3), M_MMAP_THRESHOLD), which leave holes, 5 MB of them after a busy day.
    Does nothing with another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _BIG)
        mallopt(_TRIM_THRESHOLD, _BIG)

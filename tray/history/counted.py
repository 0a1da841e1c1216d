"""One transcript counted: what is kept of it, and how it is brought up to date."""

from __future__ import annotations

import ctypes
import functools
import os
import stat
import sys
import time
import zlib
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.claude.blocks import BLOCK, blocks
from tray.claude.counting import Tally, count
from tray.history.stamp import stamp_of
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = 200
"""Characters of a title or prompt in a list."""
_TEXTS = ("custom_title", "ai_title", "last_prompt", "summary", "first_prompt", "tag")
_GROWING = 2 * 86_400.0
"""Seconds since it was last written to within which a file is taken to grow further: of others
no checksum is made, and they are counted from their beginning if they do."""
_ATTEMPTS = 4
"""Looks at a file that is cut off while it is read."""
_STATX_BTIME = 0x800
_AT_EMPTY_PATH = 0x1000
_BTIME_AT = 80
"""Where `stx_btime` begins in `struct statx` (statx(2)); `stx_mask` is its first field."""


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """How far a transcript has been counted, for when it has grown."""

    device: int
    inode: int
    offset: int
    """Where its last whole line ends, bytes; 0 if it has to be counted from its beginning."""
    checksum: int
    """CRC-32 of what stands before."""
    state: Tally
    """The sum of that."""


class Count(msgspec.Struct, frozen=True):
    """What a whole transcript adds up to."""

    stamp: bytes
    """By which the file is known to be the same."""
    tally: Tally
    """Its texts are one line each."""
    size: int
    modified: float
    """Unix seconds, as `created`."""
    created: float
    progress: Progress


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Progress).decode


def decode(data: bytes | None) -> Progress | None:
    """Return how far a file was counted, as it was encoded; `None` if that is nothing."""
    try:
        return _decode(data) if data is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def count_file(path: bytes | str, known: Progress | None = None) -> Count | None:
    """Count a transcript; go on from what is `known` of it if it has only grown since.

    `None` if it is no regular file. Raises OSError.
    """
    # Without blocking: a FIFO in the file's place would never answer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        for _ in range(_ATTEMPTS):
            # Of the open file, for another may have taken its name meanwhile.
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return None
            counted = _count(descriptor, found, known)
            if counted is not None:
                return counted
            known = None
        raise OSError(None, "the file shrinks while it is read", path)
    finally:
        os.close(descriptor)


def _count(descriptor: int, found: os.stat_result, known: Progress | None) -> Count | None:
    """Count an open file; `None` if it has become shorter meanwhile."""
    state, offset, checksum = Tally(), 0, 0
    if known is not None and _has_grown(descriptor, found, known):
        state = replace(known.state)
        offset, checksum = known.offset, known.checksum
    tally = state
    end = offset
    checked = offset > 0 or time.time() - found.st_mtime < _GROWING
    for data, length, after in blocks(descriptor, offset, found.st_size):
        whole = data[length - 1] == _FEED
        if not whole:
            tally = replace(state)
        count(tally, data, length)
        if whole and checked:
            part = memoryview(data)[:length]
            as_read = after - end == length
            checksum = (
                zlib.crc32(part, checksum) if as_read else _check(descriptor, end, after, checksum)
            )
            offset = after
        end = after
    if end < found.st_size:
        return None
    created = _created(descriptor)
    # The sum of what cannot be gone on from is not kept either.
    progress = Progress(found.st_dev, found.st_ino, offset, checksum, state if offset else Tally())
    return Count(
        stamp=stamp_of(found),
        tally=_clean(tally),
        size=found.st_size,
        modified=found.st_mtime_ns / 1e9,
        created=min(found.st_mtime_ns, found.st_ctime_ns) / 1e9 if created is None else created,
        progress=progress,
    )


_FEED = ord("\n")


def _has_grown(descriptor: int, found: os.stat_result, known: Progress) -> bool:
    """Whether a file still begins with all that was counted of it."""
    if (known.device, known.inode) != (found.st_dev, found.st_ino):
        return False
    if not 0 < known.offset <= found.st_size:
        return False
    return _check(descriptor, 0, known.offset, 0) == known.checksum


def _check(descriptor: int, start: int, end: int, checksum: int) -> int:
    while start < end:
        data = os.pread(descriptor, min(BLOCK, end - start), start)
        if not data:
            return -1
        checksum = zlib.crc32(data, checksum)
        start += len(data)
    return checksum


def _clean(tally: Tally) -> Tally:
    cleaned = replace(tally)
    for name in _TEXTS:
        text = getattr(cleaned, name)
        if text:
            setattr(cleaned, name, one_line(text, LINE))
    return cleaned


def _created(descriptor: int) -> float | None:
    """Return when a file was made; `os.stat` does not tell that on Linux."""
    statx = _statx()
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(256)
    if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return None
    raw = buffer.raw
    if not int.from_bytes(raw[:4], sys.byteorder) & _STATX_BTIME:
        return None
    seconds = int.from_bytes(raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    return seconds + int.from_bytes(raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder) / 1e9


@functools.cache
def _statx() -> Callable[..., int] | None:
    try:
        function = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None
    function.argtypes = [
        *(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint),
        ctypes.c_char_p,
    ]
    function.restype = ctypes.c_int
    return function

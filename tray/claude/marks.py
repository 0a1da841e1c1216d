"""By what a line is known again in the file of a fork. Pure."""

from __future__ import annotations

import zlib

MARK = 8
"""Bytes of a mark: so many that no two lines of a person's have the same."""


def mark_of(uuid: bytes, timestamp: str | None) -> bytes:
    """Return the mark of a line, from its `uuid` in JSON; nothing if that is no UUID.

    A copy has the time of the original too (seen on 2.1.81 and 2.1.332): programs that write
    transcripts themselves may give the same ids to lines that have nothing to do with each other.
    """
    try:
        mark = bytes.fromhex((uuid[1:9] + uuid[10:14] + uuid[15:19]).decode("ascii"))
    except ValueError:
        return b""
    if len(mark) != MARK:
        return b""
    moment = zlib.crc32((timestamp or "").encode("utf-8", "replace"))
    return (int.from_bytes(mark, "big") ^ moment).to_bytes(MARK, "big")

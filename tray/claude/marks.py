"""By what a line is known again in the file of a fork. Pure."""

from __future__ import annotations

MARK = 8
"""Bytes of a mark: enough of a `uuid` that no two lines of a person's have the same."""


def mark_of(raw: bytes) -> bytes:
    """Return the mark of a line, from its `uuid` in JSON; nothing if that is no UUID."""
    try:
        mark = bytes.fromhex((raw[1:9] + raw[10:14] + raw[15:19]).decode("ascii"))
    except ValueError:
        return b""
    return mark if len(mark) == MARK else b""

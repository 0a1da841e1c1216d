"""Reading small files that somebody else writes: bounded, never blocking, never raising."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import orjson


def read_small(path: str, limit: int) -> bytes | None:
    """Return a regular file's bytes; `None` if it is none, is larger, or cannot be read."""
    try:
        # Without blocking: a FIFO in the file's place would never answer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        pieces = []
        size = 0
        while size <= limit and (data := os.read(descriptor, limit + 1 - size)):
            pieces.append(data)
            size += len(data)
        return b"".join(pieces) if size <= limit else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def json_object(data: bytes) -> dict[str, Any] | None:
    """Decode a JSON object; `None` if it is torn or something else."""
    try:
        found = orjson.loads(data)
    except ValueError:
        found = _lenient(data) if b"\\ud" in data.lower() else None
    return found if isinstance(found, dict) else None


def _lenient(data: bytes) -> object:
    """Decode JSON with half a surrogate pair in it, as of a text that was cut in an emoji."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def text_of(found: dict[str, Any], key: str) -> str | None:
    """Return a field that is a text with something in it, else `None`."""
    value = found.get(key)
    return value if isinstance(value, str) and value.strip() else None


def number_of(found: dict[str, Any], key: str) -> float | None:
    """Return a field that is a number, else `None`; true and false are none."""
    value = found.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None

"""The client's own index of a project's sessions: at best a bonus.

`sessions-index.json` is stale or missing in most projects. Only a summary is taken from it, and
only of a transcript that has not been written to since.
"""

from __future__ import annotations

import os
from typing import Any

from tray.claude.entries import timestamp
from tray.claude.files import json_object, number_of, read_small, text_of

_LIMIT = 32 * 1024 * 1024
"""Bytes above which it is not read."""
_APART = 1.0
"""Seconds by which the time it names and the file's may differ."""
_MILLISECONDS = 1e11
"""Numbers from here on are milliseconds: as seconds they would be in the year 5138."""


def summaries(folder: str) -> dict[str, tuple[float, str]]:
    """Return when each session was last written to and its summary, by session id."""
    data = read_small(os.path.join(folder, "sessions-index.json"), _LIMIT)
    found = json_object(data) if data is not None else None
    entries = found.get("entries") if found is not None else None
    told = {}
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        session_id, summary = text_of(entry, "sessionId"), text_of(entry, "summary")
        modified = _moment(entry)
        if session_id is not None and summary is not None and modified is not None:
            told[session_id] = (modified, summary)
    return told


def is_current(modified: float, changed_at: float) -> bool:
    """Whether what was told of a file at `modified` holds for one changed at `changed_at`."""
    return abs(modified - changed_at) <= _APART


def _moment(entry: dict[str, Any]) -> float | None:
    """Return a time in ISO 8601, in seconds or in milliseconds as Unix seconds."""
    number = number_of(entry, "modified")
    if number is not None:
        return number / 1000 if number >= _MILLISECONDS else number
    return timestamp(text_of(entry, "modified"))

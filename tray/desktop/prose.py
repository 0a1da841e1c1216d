"""Texts and times as a menu says them: short lines, none of which changes each second. Pure."""

from __future__ import annotations

import datetime as dt
import textwrap
from typing import TYPE_CHECKING

from tray.desktop.entry import Entry
from tray.untrusted import left_to_right

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 76
"""Characters a line of prose may have; menus do not wrap."""


def prose(key: str, text: str, limit: int | None = None, rest: str = "…") -> Iterator[Entry]:
    """Break `text` into lines that cannot be clicked, one or more for each of its own.

    Of more than `limit` lines the last one is `rest`.
    """
    lines = [
        line
        for given in text.splitlines()
        for line in textwrap.wrap(given, WIDTH, break_on_hyphens=False)
    ]
    if limit is not None and len(lines) > limit:
        lines[limit - 1 :] = [rest]
    for number, line in enumerate(lines):
        yield Entry(f"{key}:{number}", left_to_right(line), enabled=False)


def age(seconds: float) -> str:
    """Return a duration in whole minutes, hours or days; empty for less than a minute."""
    minutes = int(seconds) // 60
    if minutes < 1:
        return ""
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} d"


def until(end: float | None, now: float) -> str:
    """Say when something ends, by the local clock: `until 15:30`; `None`: when it is undone."""
    if end is None:
        return "until unmuted"
    here = dt.datetime.fromtimestamp(now).astimezone()
    try:
        there = dt.datetime.fromtimestamp(end).astimezone()
    except (ValueError, OverflowError, OSError):  # further off than the calendar goes
        return "until unmuted"
    days = (there.date() - here.date()).days
    if days <= 0:
        return f"until {there:%H:%M}"
    if days == 1:
        return f"until tomorrow {there:%H:%M}"
    return f"until {there:%a %H:%M}" if days < 7 else f"until {there:%Y-%m-%d %H:%M}"

"""Quiet hours: the time of day without bubbles. Pure."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tray.config import QuietHours


def is_quiet(hours: QuietHours, local: dt.datetime) -> bool:
    """Whether `local` lies in `hours`, which may go over midnight. Equal ends: never."""
    if not hours.start or not hours.end:
        return False
    start, end = dt.time.fromisoformat(hours.start), dt.time.fromisoformat(hours.end)
    time = local.time()
    if start <= end:
        return start <= time < end
    return time >= start or time < end


def next_change(hours: QuietHours, local: dt.datetime) -> dt.datetime | None:
    """Return when, after `local`, `is_quiet` changes next; `None` if never."""
    if not hours.start or not hours.end or hours.start == hours.end:
        return None
    ends = (dt.time.fromisoformat(hours.start), dt.time.fromisoformat(hours.end))
    days = (local.date(), local.date() + dt.timedelta(days=1))
    moments = (dt.datetime.combine(day, end) for day in days for end in ends)
    return min(moment for moment in moments if moment > local)

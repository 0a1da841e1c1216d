"""Quiet hours: the time of day without bubbles. Pure."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tray.config import QuietHours


CLOCKS_CHANGE = 1800.0
"""Seconds, from the epoch on, at multiples of which clocks are set forward or back anywhere."""
_STEPS = 100
"""Two days of that: hours that a change of clocks leaves out come on the next day."""


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
    """Return when, after `local`, `is_quiet` changes next; `None` if never.

    `local` is what the clock on the wall shows; its `fold` tells the two passes of an hour that
    is repeated apart, and so does that of what is returned.
    """
    if not hours.start or not hours.end or hours.start == hours.end:
        return None
    now, quiet = local.timestamp(), is_quiet(hours, local)
    days = (local.date(), local.date() + dt.timedelta(days=1))
    ends = (dt.time.fromisoformat(end) for end in (hours.start, hours.end))
    named = [dt.datetime.combine(day, end) for end in ends for day in days]
    # A time of day comes twice, or never, on the day on which clocks change.
    moments = {moment.replace(fold=fold).timestamp() for moment in named for fold in (0, 1)}
    first = int(now // CLOCKS_CHANGE) + 1
    moments.update(CLOCKS_CHANGE * step for step in range(first, first + _STEPS))
    for moment in sorted(moment for moment in moments if moment > now):
        found = dt.datetime.fromtimestamp(moment)  # noqa: DTZ006  (quiet hours are local)
        if is_quiet(hours, found) is not quiet:
            return found
    return None

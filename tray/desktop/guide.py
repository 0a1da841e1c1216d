"""Bringing the person to a session, to the next one, and back. Blocking: call it on a thread."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from tray.desktop.looks import waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tray.desktop.focus.before import Before
    from tray.desktop.focus.route import Outcome, Route
    from tray.session import Observation


def find_way(session: Observation, desktop: Mapping[str, str]) -> Route | None:
    """Return the way to `session`; imports what knows the terminals with the first call."""
    from tray.desktop.focus import route

    return route.find(session, desktop)


def stop_of(session: Observation) -> str:
    """Name what `session` waits with: its next ask is another one. Pure."""
    what = session.ask.id if session.ask is not None else session.since
    return f"{session.key} {what}"


def after(sessions: Sequence[Observation], last: str | None) -> Observation | None:
    """Return the session to go to after the one with the stop `last`; the first if that waits no
    more, `None` if nothing waits. Pure.
    """
    found = waiting(sessions)
    stops = [stop_of(one) for one in found]
    position = stops.index(last) + 1 if last in stops else 0
    return found[position % len(found)] if found else None


class Guide:
    """Goes to sessions, and remembers where the person was before and which came last.

    What it remembers is kept in the runtime folder: a keyboard shortcut starts a new process
    each time.
    """

    def __init__(self, desktop: Mapping[str, str], folder: str | None = None) -> None:
        """Remember in `folder`, if one is given."""
        self._desktop = desktop
        self._path = os.path.join(folder, "sessionbell-focus.json") if folder else None
        self._last: str | None = None
        self._before: Before | None = None

    def go(self, session: Observation, token: str | None = None) -> Outcome:
        """Go to `session`; never raises."""
        from tray.desktop.focus import before, route

        was = before.focused(self._desktop)
        outcome = route.find(session, self._desktop).go(token)
        # One that cannot be gone to has had its turn as well: the next key press goes on.
        moved = outcome.done and was != before.focused(self._desktop)
        self._remember(stop_of(session), was if moved else None)
        return outcome

    def next(self, sessions: Sequence[Observation]) -> Observation | None:
        """Return the session that waits longest or, after that was gone to, the next one."""
        self._recall()
        return after(sessions, self._last)

    def back(self) -> Outcome:
        """Give the focus back to the window that had it before the last `go`; never raises."""
        from tray.desktop.focus import before
        from tray.desktop.focus.place import FocusError
        from tray.desktop.focus.route import Outcome

        self._recall()
        if self._before is None:
            return Outcome(done=False, message="there is no window of before to go back to")
        was = before.focused(self._desktop)
        try:
            before.activate(self._before, self._desktop)
        except FocusError as error:
            return Outcome(done=False, message=str(error))
        # Once more leads to where the person just was.
        self._remember(self._last or "", was)
        return Outcome(done=True, message="back in the window of before")

    def _remember(self, stop: str, was: Before | None) -> None:
        self._recall()
        self._last = stop
        if was is not None:
            self._before = was
        if self._path is None:
            return
        kept = None if self._before is None else [self._before.system, self._before.window]
        with contextlib.suppress(OSError):
            descriptor = os.open(
                self._path,
                os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"last": self._last, "before": kept}, file)

    def _recall(self) -> None:
        if self._path is None:
            return
        from tray.desktop.focus.before import Before

        with contextlib.suppress(OSError, ValueError, AttributeError):
            with open(self._path, encoding="utf-8") as file:
                kept = json.load(file)
            last, before = kept.get("last"), kept.get("before")
            self._last = last if isinstance(last, str) else None
            match before:
                case [str(system), str(window)]:
                    self._before = Before(system, window)
                case _:
                    self._before = None

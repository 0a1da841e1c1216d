"""zellij: recognised, and named; it has no command that shows a pane by its id in a given client.

`zellij action` acts on what its own focused client shows (zellij 0.42), so the pane is named for
the person to look for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tray.desktop.focus.place import Seat, WindowHint
from tray.desktop.focus.seats import WANTS
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.system.processes import Process


class PaneSpot:
    """A pane of a zellij session."""

    layer = "zellij"

    def __init__(self, session: str, pane: str) -> None:
        self.session = one_line(session, 60)
        self.says = f"zellij pane {pane} of session {self.session}"
        self.outward: Seat | WindowHint | None = WindowHint(seek=self.says)

    def active(self) -> bool | None:
        """Nothing tells."""
        return None

    def show(self, token: str | None = None) -> None:
        """Do nothing: the person has to look for it."""


class _Layer:
    name = "zellij"
    wants = WANTS

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> PaneSpot | None:  # noqa: ARG002
        if not isinstance(place, Seat) or not any(map(_is_server, place.ancestors)):
            return None
        session = place.environ.get("ZELLIJ_SESSION_NAME", "")
        pane = place.environ.get("ZELLIJ_PANE_ID", "")
        if not session or not pane.isdecimal():
            return None
        return PaneSpot(session, pane)


def _is_server(process: Process) -> bool:
    return os.path.basename(process.exe or process.comm) == "zellij"


LAYER = _Layer()

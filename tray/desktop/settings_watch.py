"""Hearing of a saved settings file, by the file events that the engine waits for anyway."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tray.claude.survey import Surveyor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tray.session import Snapshot


class SettingsSurveyor(Surveyor):
    """A surveyor that also says, on the engine's thread, that the settings may have changed."""

    def __init__(self, roots: Sequence[str] | None, path: str, on_save: Callable[[], None]) -> None:
        """Survey as `Surveyor` does; `path` is the settings file."""
        super().__init__(roots=roots)
        # Of a link, the file that is written.
        self._path = os.path.realpath(path)
        folder = os.path.dirname(self._path)
        # A file right in the home directory is looked at with each survey only: whatever any
        # program writes there would ask for one.
        home = os.path.realpath(os.path.expanduser("~"))
        self._watched = frozenset() if folder == home else frozenset({folder})
        self._on_save = on_save
        self._stamp = self._stamp_now()

    def folders(self) -> frozenset[str]:
        """Return the folders to be watched, that of the settings among them."""
        return super().folders() | self._watched

    def survey(self, now: float | None = None) -> Snapshot:
        """Look at everything, and say if the settings file is another one."""
        before, self._stamp = self._stamp, self._stamp_now()
        if before != self._stamp:
            self._on_save()
        return super().survey(now)

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

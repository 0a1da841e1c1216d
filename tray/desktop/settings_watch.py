"""Hearing of a saved settings file, by the file events that the engine waits for anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.claude.survey import Surveyor
from tray.configfile import stamp_of, watched_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tray.session import Snapshot


class SettingsSurveyor(Surveyor):
    """A surveyor that also says, on the engine's thread, that the settings may have changed."""

    def __init__(self, roots: Sequence[str] | None, path: str, on_save: Callable[[], None]) -> None:
        """Survey as `Surveyor` does; `path` is the settings file."""
        super().__init__(roots=roots)
        self._path = path
        self._watched = watched_folders(path)
        self._on_save = on_save
        self._stamp = stamp_of(path)

    def folders(self) -> frozenset[str]:
        """Return the folders to be watched, that of the settings among them."""
        return super().folders() | self._watched

    def survey(self, now: float | None = None) -> Snapshot:
        """Look at everything, and say if the settings file is another one."""
        before, self._stamp = self._stamp, stamp_of(self._path)
        if before != self._stamp:
            self._on_save()
        return super().survey(now)

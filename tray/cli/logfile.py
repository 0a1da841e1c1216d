"""Where the program's own troubles are written down: a small file in the state folder.

Nothing goes to the terminal, which belongs to the table, and nothing is imported, made or
opened before there is something to write.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 1_000_000
"""Bytes after which the file starts anew; the one before is kept beside it as `log.old`."""


class LogFile(logging.Handler):
    """Writes to `path`, else to the state folder's `log`; where that cannot be, nowhere."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self._path = path
        self.setFormatter(
            logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record; a full disk or a foreign file costs the record only."""
        with contextlib.suppress(OSError, UnicodeError, ValueError, TypeError):
            self._append(self.format(record).encode("utf-8", "backslashreplace") + b"\n")

    def _append(self, data: bytes) -> None:
        if self._path is None:
            self._path = default_path()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, data)
            full = os.fstat(descriptor).st_size > LIMIT
        finally:
            os.close(descriptor)
        if full:
            self._path.replace(self._path.with_suffix(".old"))


def default_path() -> Path:
    """Return `$XDG_STATE_HOME/sessionbell/log`."""
    import platformdirs

    return platformdirs.user_state_path("sessionbell") / "log"


def start() -> None:
    """Have every warning of this process written down."""
    logging.basicConfig(handlers=[LogFile()], level=logging.WARNING)

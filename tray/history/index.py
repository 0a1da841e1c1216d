"""What has been counted before: a SQLite file in the cache folder.

It is a cache: whatever is wrong with it (corrupt, locked, read-only, on a full disk, of another
version) makes answers slower and is told once, and never makes one wrong.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from typing import TYPE_CHECKING, Self

from tray.history.past import Past
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

COUNTING = 3
"""To be raised whenever lines are counted in another way: what was counted before is dropped."""
VERSION = zlib.crc32(repr((COUNTING, Past.__struct_fields__)).encode()) & 0x7FFF_FFFF
"""Of what is in the file; SQLite keeps it as a signed number of 32 bits."""
Row = tuple[bytes, bytes, bytes, bytes]
"""Path, stamp, what is told of the file, and how far it was counted."""
_PATIENCE = 0.5
"""Seconds to wait for another process that writes; it takes milliseconds."""
_SCHEMA = """
    CREATE TABLE files (path BLOB PRIMARY KEY, stamp BLOB, past BLOB, progress BLOB);
    CREATE TABLE roots (path BLOB PRIMARY KEY) WITHOUT ROWID;
"""


class Index:
    """The records by path. A context manager; none of its methods raises."""

    def __init__(self, path: str | None = None) -> None:
        """Open nothing yet; `path` is the cache folder's file unless given."""
        self._path = path or default_path()
        self._database: sqlite3.Connection | None = None
        self._opened = False
        self._problem: Problem | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def problems(self) -> Sequence[Problem]:
        """What keeps it from being used, at most one."""
        return () if self._problem is None else (self._problem,)

    def close(self) -> None:
        """Let go of the file."""
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
        self._database = None
        self._opened = False

    def load(self) -> dict[bytes, tuple[bytes, bytes]]:
        """Return each file's stamp and what is told of it, by path, all as it was stored."""
        rows = self._read("SELECT path, stamp, past FROM files")
        return {path: (stamp, past) for path, stamp, past in rows}

    def progress(self, path: bytes) -> bytes | None:
        """Return how far a file was counted, as it was stored."""
        rows = self._read("SELECT progress FROM files WHERE path = ?", path)
        return rows[0][0] if rows else None

    def roots(self) -> tuple[bytes, ...]:
        """Return the config roots that were seen once."""
        return tuple(path for (path,) in self._read("SELECT path FROM roots ORDER BY path"))

    def store(self, rows: Iterable[Row], gone: Iterable[bytes] = ()) -> None:
        """Keep files' rows, all or none, and drop those of files that are `gone`."""
        self._write(
            ("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", list(rows)),
            ("DELETE FROM files WHERE path = ?", [(path,) for path in gone]),
        )

    def remember_roots(self, roots: Iterable[bytes]) -> None:
        """Keep config roots for when no process shows them."""
        self._write(("INSERT OR IGNORE INTO roots VALUES (?)", [(root,) for root in roots]))

    def _read(self, query: str, *values: bytes) -> list[tuple[bytes, ...]]:
        for _ in range(2):
            database = self._open()
            if database is None:
                return []
            try:
                return database.execute(query, values).fetchall()
            except sqlite3.Error as error:
                if not self._start_anew(error):
                    return []
        return []

    def _write(self, *changes: tuple[str, Sequence[tuple[bytes, ...]]]) -> None:
        wanted = [(statement, rows) for statement, rows in changes if rows]
        database = self._open() if wanted else None
        if database is None:
            return
        try:
            database.execute("BEGIN IMMEDIATE")
            for statement, rows in wanted:
                database.executemany(statement, rows)
            database.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            self._start_anew(error)

    def _open(self) -> sqlite3.Connection | None:
        if self._opened:
            return self._database
        self._opened = True
        try:
            self._database = self._connect()
        except (sqlite3.Error, OSError, ValueError) as error:
            # A second attempt is worth it if there is another file now.
            if self._start_anew(error):
                return self._open()
        return self._database

    def _connect(self) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with contextlib.suppress(OSError):
            # What is told of the sessions is for their person alone.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        # It may be opened in one thread and used in another, never at once.
        database = sqlite3.connect(
            self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            if _version(database) != VERSION:
                _set_up(database)
        except BaseException:
            database.close()
            raise
        return database

    def _start_anew(self, error: Exception) -> bool:
        """Note what is wrong; make room for a new file and return True if that helps."""
        first = self._problem is None
        self._problem = self._problem or Problem(
            "history-index", f"the index of past sessions is not used: {error} ({self._path})"
        )
        self.close()
        self._opened = True
        broken = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if not (first and broken):
            return False
        try:
            for suffix in ("", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path + suffix)
        except OSError:
            return False
        self._problem = Problem(
            "history-index", f"the index of past sessions was broken and is made anew: {error}"
        )
        self._opened = False
        return True


def default_path() -> str:
    """Return where the index is kept, by the XDG base directory specification."""
    # platformdirs would say the same, and takes a tenth of the whole command's time to import.
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder):
        folder = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "sessionbell", "history.sqlite")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _set_up(database: sqlite3.Connection) -> None:
    """Make the tables, in place of those of another version."""
    database.execute("BEGIN IMMEDIATE")
    # Another process may have done it meanwhile.
    if _version(database) != VERSION:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            database.execute(f'DROP TABLE "{name.replace(chr(34), chr(34) * 2)}"')
        for statement in _SCHEMA.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")

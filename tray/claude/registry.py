"""The live registry: `<config root>/sessions/<pid>.json`, one record a running client.

Seen on clients 2.1.81 (pid, session, cwd, start) and 2.1.332 (status and the rest). Records
are written in place, so a reader may find an empty or half file: the last good one then stands
for a few seconds.
"""

from __future__ import annotations

import os
import re
import stat
import time

import msgspec

from tray.claude.files import json_object, number_of, read_small, text_of
from tray.untrusted import identifier

_RECORD_LIMIT = 1024 * 1024
"""Bytes of the largest file that is taken for a record; real ones have about 600."""
_WRITING = 1.0
"""Seconds for which a file that makes no sense may still be in the middle of being written."""
_STANDS = 5.0
"""Seconds after a file was written for which its last good record stands, if it makes no sense."""
_ATTEMPTS = 4
_PAUSE = 0.005
"""Seconds between two attempts at the torn records; a client writes one within a millisecond."""
_NAME = re.compile(r"(?:pid-)?(\d{1,10})\.json", re.ASCII)
"""Records, and those of old clients. `<pid>.<hash>.key` beside them is a credential: never read."""


class Record(msgspec.Struct, frozen=True):
    """One client's record. Times are Unix seconds; a field of a wrong type is `None`.

    So is an id that is no identifier: ids become words of commands.
    """

    path: str
    config_root: str
    pid: int
    session_id: str | None = None
    cwd: str | None = None
    started_at: float | None = None
    status: str | None = None
    waiting_for: str | None = None
    updated_at: float | None = None
    status_updated_at: float | None = None
    status_updated_ms: int | None = None
    """The same, as written: the identity of an ask."""
    proc_start: int | None = None
    """The process's start time in clock ticks since boot, against pid reuse."""
    version: str | None = None
    kind: str | None = None
    entrypoint: str | None = None
    pid_domain: str | None = None
    name: str | None = None
    name_source: str | None = None
    job_id: str | None = None
    parked_job_id: str | None = None
    """Set on the front of a session that was sent to the background."""
    spare: bool = False
    """A pre-warmed worker: no session."""


def parse_record(data: bytes, path: str, config_root: str) -> Record | None:
    """Read one record; `None` if it is torn, is none, or is not that of the pid it is named by."""
    found = json_object(data)
    match = _NAME.fullmatch(os.path.basename(path))
    if found is None or match is None:
        return None
    pid = int(match.group(1))
    if found.get("pid", pid) != pid or not 0 < pid < 2**31:
        return None
    status_updated = number_of(found, "statusUpdatedAt")
    return Record(
        path=path,
        config_root=config_root,
        pid=pid,
        session_id=identifier(text_of(found, "sessionId") or text_of(found, "session_id")),
        cwd=text_of(found, "cwd"),
        started_at=_seconds(number_of(found, "startedAt")),
        status=text_of(found, "status"),
        waiting_for=text_of(found, "waitingFor"),
        updated_at=_seconds(number_of(found, "updatedAt")),
        status_updated_at=_seconds(status_updated),
        status_updated_ms=_milliseconds(status_updated),
        proc_start=_ticks(found.get("procStart")),
        version=text_of(found, "version"),
        kind=text_of(found, "kind"),
        entrypoint=text_of(found, "entrypoint"),
        pid_domain=text_of(found, "pidDomain"),
        name=text_of(found, "name"),
        name_source=text_of(found, "nameSource"),
        job_id=identifier(text_of(found, "jobId")),
        parked_job_id=identifier(text_of(found, "parkedJobId")),
        spare=found.get("spare") is True,
    )


class Registry:
    """The records of one config root, read anew at each look."""

    def __init__(self, config_root: str) -> None:
        self.config_root = config_root
        self.folder = os.path.join(config_root, "sessions")
        self.torn = False
        """Whether a record was found in the middle of being written, at the last look."""
        self.failure: str | None = None
        """Why the folder could not be read at the last look, though it is there."""
        self._last_good: dict[str, Record] = {}
        self._parsed: dict[str, tuple[bytes, Record]] = {}
        """What a file held when it was last parsed, and what that came to."""

    def read(self) -> tuple[Record, ...]:
        """Return every record, by path; empty if there is no such folder."""
        self.torn, self.failure = False, None
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            names = []
        except OSError as error:
            # No reason to believe that the sessions have ended.
            self.failure = error.strerror or str(error)
            return tuple(self._last_good.values())
        paths = [os.path.join(self.folder, name) for name in names if _NAME.fullmatch(name)]
        records: dict[str, Record] = {}
        for attempt in range(_ATTEMPTS):
            if attempt > 0:
                time.sleep(_PAUSE)
            paths = [path for path in paths if self._is_awaited(path, records)]
            if not paths:
                break
        self._last_good = dict(sorted(records.items()))
        self._parsed = {path: known for path, known in self._parsed.items() if path in records}
        return tuple(self._last_good.values())

    def _is_awaited(self, path: str, records: dict[str, Record]) -> bool:
        """Add a file's record to `records`; return whether its writer is to be waited for."""
        data = read_small(path, _RECORD_LIMIT)
        record = self._parse(data, path) if data is not None else None
        being_written = False
        if record is None:
            found = _stat_file(path)
            if found is None:
                return False
            age = abs(time.time() - found.st_mtime)
            being_written = data is not None and age < _WRITING
            self.torn = self.torn or being_written
            if data is None or age < _STANDS:
                record = self._last_good.get(path)
        if record is not None:
            records[path] = record
        # Only a first look has nothing to go by.
        return being_written and record is None

    def _parse(self, data: bytes, path: str) -> Record | None:
        known = self._parsed.get(path)
        if known is not None and known[0] == data:
            return known[1]
        record = parse_record(data, path, self.config_root)
        if record is not None:
            self._parsed[path] = (data, record)
        return record


def _stat_file(path: str) -> os.stat_result | None:
    """Return what is known of a regular file; `None` if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _milliseconds(value: float | None) -> int | None:
    """Return a moment that a calendar has, else `None`."""
    return int(value) if value is not None and 0 < value < 2.5e14 else None


def _seconds(value: float | None) -> float | None:
    milliseconds = _milliseconds(value)
    return milliseconds / 1000 if milliseconds is not None else None


def _ticks(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

"""Records of other pid domains: containers, sandboxes and machines that share a config root.

Such a record's pid means nothing here, so it is never looked up; the process may still be
visible under another number.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import msgspec

from tray.system.processes import (
    boot_time,
    find_in_namespace,
    is_alive,
    machine_id,
    pid_domain,
    read_process,
    sees_all_processes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.claude.registry import Record
    from tray.system.processes import Process

MAY_BE_GONE_AFTER = 12 * 3600.0
"""Seconds without any change after which an unseen session may be gone."""
_SEARCH_EACH = 60.0
"""Seconds after which a process that was not found is looked for again."""
_Sought = tuple[str, int, float | None]
"""A pid namespace, the number in it, and when that client says that it started."""
_DOMAIN = re.compile(r"linux:([^:]*):(pid:\[\d+\])")


class Sorted(msgspec.Struct, frozen=True):
    """Records by what can be told of their processes from here."""

    records: list[Record] = msgspec.field(default_factory=list)
    """All but those that are from before this boot."""
    foreign: dict[str, Process | None] = msgspec.field(default_factory=dict)
    """By path, those of other pid domains that may live, with their process where it was found."""
    gone: set[str] = msgspec.field(default_factory=set)
    """The paths of those of other pid domains whose process is gone for certain."""


class ForeignProcesses:
    """Looks for the processes behind the records of other pid domains."""

    def __init__(self) -> None:
        self._own = pid_domain()
        self._machine = machine_id()
        self._sees_all = sees_all_processes()
        self._found: dict[_Sought, tuple[int, int]] = {}
        self._sought: dict[_Sought, float] = {}

    def sort_out(self, records: Iterable[Record]) -> Sorted:
        """Tell whose processes are elsewhere, and which of those can be seen from here.

        A foreign record from before this boot is of no living process of this machine.
        """
        found = Sorted()
        for record in records:
            domain = record.pid_domain
            if domain is None or self._own is None or domain == self._own:
                found.records.append(record)
                continue
            match = _DOMAIN.fullmatch(domain)
            machine, namespace = match.groups() if match is not None else (None, None)
            here = machine == self._machine
            process = None
            # A container may have a machine id of its own; then the start time has to fit.
            if namespace is not None and (here or record.proc_start is not None):
                process = self._find(record, namespace)
            fits = process is not None and record.proc_start == process.start_ticks
            before_boot = record.started_at is not None and record.started_at < boot_time()
            # A wall clock that was put forward has moved the boot too: then the process tells.
            if here and before_boot and not fits:
                continue
            found.records.append(record)
            if process is None and here and self._sees_all and _is_own_file(record.path):
                found.gone.add(record.path)
            else:
                found.foreign[record.path] = process if fits or record.proc_start is None else None
        return found

    def _find(self, record: Record, namespace: str) -> Process | None:
        """Return the process that has the record's number in its namespace, if it can be seen."""
        key = (namespace, record.pid, record.started_at)
        known = self._found.get(key)
        if known is not None:
            if is_alive(*known):
                return read_process(known[0])
            del self._found[key]
            self._sought.pop(key, None)
        now = time.monotonic()
        if now - self._sought.get(key, float("-inf")) < _SEARCH_EACH:
            return None
        self._sought[key] = now
        process = find_in_namespace(namespace, record.pid)
        if process is not None:
            self._found[key] = (process.pid, process.start_ticks)
        return process


def _is_own_file(path: str) -> bool:
    """Whether a record's client is this user's: of others a process may not be seen whole."""
    try:
        return os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False

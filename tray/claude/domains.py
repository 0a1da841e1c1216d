"""Records of other pid domains: containers, sandboxes and machines that share a config root.

Such a record's pid means nothing here, so it is never looked up; the process may still be
visible under another number.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from tray.system.processes import (
    boot_time,
    find_in_namespace,
    is_alive,
    machine_id,
    pid_domain,
    read_process,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.claude.registry import Record
    from tray.system.processes import Process

MAY_BE_GONE_AFTER = 12 * 3600.0
"""Seconds without any change after which an unseen session may be gone."""
_SEARCH_EACH = 60.0
"""Seconds after which a process that was not found is looked for again."""
_DOMAIN = re.compile(r"linux:([^:]*):(pid:\[\d+\])")


class ForeignProcesses:
    """Looks for the processes behind the records of other pid domains."""

    def __init__(self) -> None:
        self._own = pid_domain()
        self._machine = machine_id()
        self._found: dict[tuple[str, int], tuple[int, int]] = {}
        self._sought: dict[tuple[str, int], float] = {}

    def sort_out(self, records: Iterable[Record]) -> tuple[list[Record], dict[str, Process | None]]:
        """Return the records that may live, and by path the foreign ones with their process.

        A foreign record from before this boot is of no living process of this machine.
        """
        kept: list[Record] = []
        foreign: dict[str, Process | None] = {}
        for record in records:
            domain = record.pid_domain
            if domain is None or self._own is None or domain == self._own:
                kept.append(record)
                continue
            match = _DOMAIN.fullmatch(domain)
            machine, namespace = match.groups() if match is not None else (None, None)
            here = machine == self._machine
            if here and record.started_at is not None and record.started_at < boot_time():
                continue
            kept.append(record)
            process = None
            # A container may have a machine id of its own; then the start time has to fit.
            if namespace is not None and (here or record.proc_start is not None):
                process = self._find(record, namespace)
            foreign[record.path] = process
        return kept, foreign

    def _find(self, record: Record, namespace: str) -> Process | None:
        key = (namespace, record.pid)
        known = self._found.get(key)
        if known is not None and is_alive(*known):
            process = read_process(known[0])
        else:
            process = self._search(*key)
        if process is None or record.proc_start not in (None, process.start_ticks):
            return None
        return process

    def _search(self, namespace: str, pid: int) -> Process | None:
        key = (namespace, pid)
        self._found.pop(key, None)
        now = time.monotonic()
        if now - self._sought.get(key, float("-inf")) < _SEARCH_EACH:
            return None
        self._sought[key] = now
        process = find_in_namespace(namespace, pid)
        if process is not None:
            self._found[key] = (process.pid, process.start_ticks)
        return process

"""Which sessions there are: registry records and processes, put together. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tray.claude.commandline import CommandLine, Role, classify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tray.claude.registry import Record
    from tray.system.processes import Process

_RECORD_LAG = 5.0
"""Seconds by which a record may say it is older than its process, by another clock."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session: a process, a record, or both, and the front it is shown in."""

    key: str
    record: Record | None = None
    process: Process | None = None
    """`None` if it cannot be seen from here."""
    command: CommandLine = field(default_factory=lambda: CommandLine(Role.SESSION))
    front: Process | None = None
    """The process in the person's terminal, for a session sent to the background."""
    aliases: tuple[str, ...] = ()

    @property
    def headless(self) -> bool:
        """Whether it is driven by a program: nobody sits before it."""
        entrypoint = (self.record.entrypoint or "") if self.record is not None else ""
        return (self.command.headless and not entrypoint.startswith("claude-")) or (
            entrypoint.startswith("sdk-")
        )

    @property
    def tty(self) -> str | None:
        """The terminal that its person sits at."""
        if self.front is not None:
            return self.front.tty
        background = self.record is not None and self.record.job_id is not None
        return None if background or self.process is None else self.process.tty


@dataclass(frozen=True, slots=True)
class Joined:
    """What records and processes come to."""

    live: tuple[Session, ...]
    dead: tuple[Record, ...]
    """Records whose process is gone."""


def key_of(process: Process) -> str:
    """Return the key of a session that is one process."""
    return f"{process.pid}:{process.start_ticks}"


def join(
    records: Sequence[Record],
    processes: Iterable[Process],
    foreign: Mapping[str, Process | None],
) -> Joined:
    """Join records with live processes.

    `foreign` has, by path, the records of other pid domains that may live: with their process
    where it was found from here. Foreign ones that are certainly dead are not among `records`.
    """
    by_pid = {process.pid: process for process in processes}
    live: list[Session] = []
    dead: list[Record] = []
    fronts: dict[str, Session] = {}
    for record in records:
        if record.spare or (record.kind or "").startswith("daemon"):
            continue
        if record.path in foreign:
            session = _foreign(record, foreign[record.path])
        else:
            process = by_pid.get(record.pid)
            if process is None or not _same_process(record, process):
                dead.append(record)
                continue
            session = _recorded(record, process)
        if record.parked_job_id is not None:
            fronts[record.parked_job_id] = session
        else:
            live.append(session)
    live = _with_fronts(live, fronts)
    taken = {record.pid for record in records if record.path not in foreign}
    live.extend(_unrecorded(by_pid, taken))
    return Joined(tuple(live), tuple(dead))


def _same_process(record: Record, process: Process) -> bool:
    if record.proc_start is not None:
        return record.proc_start == process.start_ticks
    # Old clients do not say; a process that began after the record was written is another one,
    # and so is one that runs another program.
    begun = record.started_at is None or process.started <= record.started_at + _RECORD_LAG
    return begun and classify(process.comm, process.argv).role is not Role.OTHER


def _recorded(record: Record, process: Process) -> Session:
    job = record.job_id
    return Session(
        key=f"job:{job}" if job is not None else key_of(process),
        record=record,
        process=process,
        command=classify(process.comm, process.argv),
        aliases=(key_of(process),) if job is not None else (),
    )


def _foreign(record: Record, process: Process | None) -> Session:
    if process is not None:
        return _recorded(record, process)
    job = record.job_id
    key = f"{record.pid_domain}:{record.pid}:{record.proc_start or record.started_at}"
    return Session(key=f"job:{job}" if job is not None else key, record=record)


def _with_fronts(live: list[Session], fronts: dict[str, Session]) -> list[Session]:
    joined = []
    for session in live:
        job = session.record.job_id if session.record is not None else None
        front = fronts.pop(job, None) if job is not None else None
        if front is not None:
            aliases = (*session.aliases, front.key)
            session = replace(session, front=front.process, aliases=aliases)
        joined.append(session)
    for front in fronts.values():
        # Its worker is gone, and what the front's own record says was never about the worker.
        record = front.record
        silenced = replace(record, status=None) if record is not None else None
        joined.append(replace(front, record=silenced))
    return joined


def _unrecorded(by_pid: Mapping[int, Process], taken: set[int]) -> Iterable[Session]:
    """Return the sessions that keep no record."""
    commands = {pid: classify(p.comm, p.argv) for pid, p in by_pid.items() if pid not in taken}
    # A client started through another program of the same name is one session, the inner one.
    launchers = {
        process.ppid
        for process in by_pid.values()
        if classify(process.comm, process.argv).role is Role.SESSION
    }
    for pid, command in commands.items():
        if command.role is Role.SESSION and pid not in launchers:
            process = by_pid[pid]
            yield Session(key=key_of(process), process=process, command=command)

"""Which sessions there are: registry records and processes, put together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.claude.commandline import CommandLine, Role, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tray.claude.registry import Record
    from tray.system.processes import Process

_RECORD_LAG = 5.0
"""Seconds by which a process may seem to have started after its record says it did."""
_CLOCK_PUT_FORWARD = 1.0
"""Seconds by which a process must seem to have started after its record for that to be why."""
_VERSION_DIGITS = 10
_FOLLOWS_CLEAR = (2, 1, 205)
"""The first version whose records always name the present session, also after /clear."""


class Session(msgspec.Struct, frozen=True):
    """One session: a process, a record, or both, and the terminal that shows it."""

    key: str
    record: Record | None = None
    process: Process | None = None
    """`None` if it cannot be seen from here."""
    command: CommandLine = msgspec.field(default_factory=lambda: CommandLine(Role.SESSION))
    front: Process | None = None
    """The process in the person's terminal, for a session in the background."""
    aliases: tuple[str, ...] = ()

    @property
    def session_id(self) -> str | None:
        """The session that its record, else its command line, names."""
        if self.record is not None and self.record.session_id is not None:
            return self.record.session_id
        return self.command.session_id

    @property
    def silent(self) -> bool:
        """Whether its client publishes no status."""
        return self.record is None or self.record.status is None

    @property
    def settled(self) -> bool:
        """Whether what is named is the present session for certain."""
        return self.record is not None and version(self.record.version) >= _FOLLOWS_CLEAR

    @property
    def background(self) -> bool:
        """Whether it is a background job."""
        return self.record is not None and (
            self.record.kind == "bg" or self.record.job_id is not None
        )

    def headless(self, entrypoint: str | None) -> bool:
        """Whether a program drives it, so that nobody sits before it.

        `entrypoint` is what its transcript says; a record is believed first.
        """
        if self.record is not None and self.record.entrypoint is not None:
            entrypoint = self.record.entrypoint
        if entrypoint is None:
            unseen = self.record is None and self.process is not None and self.process.tty is None
            return self.command.headless or unseen
        return entrypoint.startswith("sdk-") or (
            self.command.headless and not entrypoint.startswith("claude-")
        )

    @property
    def started(self) -> float | None:
        """When its process started, Unix seconds: by the clock that it wrote its first lines by.

        A wall clock that was put forward since (a virtual machine that resumes) has made the
        process's start later, but not what its record says.
        """
        recorded = self.record.started_at if self.record is not None else None
        started = self.process.started if self.process is not None else None
        if started is None or (recorded is not None and recorded < started - _CLOCK_PUT_FORWARD):
            return recorded
        return started

    @property
    def cwd(self) -> str | None:
        """The directory it was started in, else the one its process is in."""
        if self.record is not None and self.record.cwd is not None:
            return self.record.cwd
        return self.process.cwd if self.process is not None else None

    @property
    def tty(self) -> str | None:
        """The terminal that its person sits at; a background job's own is the daemon's."""
        if self.front is not None:
            return self.front.tty
        return None if self.background or self.process is None else self.process.tty


class Joined(msgspec.Struct, frozen=True):
    """What records and processes come to."""

    live: tuple[Session, ...]
    dead: tuple[Record, ...]
    """Records whose process is gone."""


def key_of(process: Process) -> str:
    """Return the key of a session that is one process."""
    return f"{process.pid}:{process.start_ticks}"


def key_of_record(record: Record) -> str:
    """Return the key of a session whose process cannot be seen, by what its record says."""
    if record.job_id is not None:
        return f"job:{record.job_id}"
    # Old clients do not say when their process started.
    return f"{record.pid}:{record.proc_start or record.path}"


def join(
    records: Sequence[Record],
    processes: Iterable[Process],
    foreign: Mapping[str, Process | None],
    gone: Collection[str] = (),
) -> Joined:
    """Join records with live processes.

    `foreign` has, by path, the records of other pid domains that may live: with their process
    where it was found from here. `gone` has the paths of those that are certainly dead.
    """
    by_pid = {process.pid: process for process in processes}
    live: list[Session] = []
    dead: list[Record] = []
    taken: set[int] = set()
    for record in records:
        if record.path in foreign:
            seen = foreign[record.path]
            taken.update((seen.pid,) if seen is not None else ())
            live.append(_foreign(record, seen))
            continue
        process = by_pid.get(record.pid) if record.path not in gone else None
        if process is not None and _is_of(record, process):
            taken.add(record.pid)
            live.append(_recorded(record, process))
        else:
            dead.append(record)
    live = [session for session in _unique(live) if _is_session(session.record)]
    live = _with_attached(_with_fronts(live), by_pid.values())
    live.extend(_unrecorded(by_pid, taken))
    keys = {session.key for session in live}
    dead = [record for record in dead if _is_session(record) and key_of_record(record) not in keys]
    return Joined(tuple(live), tuple(dead))


def _is_session(record: Record | None) -> bool:
    return record is None or not (record.spare or (record.kind or "").startswith("daemon"))


def _is_of(record: Record, process: Process) -> bool:
    """Whether that very process wrote the record: its pid may have gone to another one since."""
    if record.proc_start is not None:
        return record.proc_start == process.start_ticks
    # Old clients do not say when they started by the kernel's clock, and the wall clock may have
    # been put forward since; then the directory has to fit.
    begun = record.started_at is None or process.started <= record.started_at + _RECORD_LAG
    beside = record.cwd is not None and record.cwd == process.cwd
    return (begun or beside) and classify(process.comm, process.argv).role is not Role.OTHER


def _recorded(record: Record, process: Process, key: str | None = None) -> Session:
    own = key_of(process)
    if key is None:
        key = key_of_record(record) if record.job_id is not None else own
    return Session(
        key=key,
        record=record,
        process=process,
        command=classify(process.comm, process.argv),
        aliases=(own,) if own != key else (),
    )


def _foreign(record: Record, process: Process | None) -> Session:
    # The same whether its process is in sight or not: that changes in the life of one.
    key = key_of_record(record)
    if record.job_id is None:
        key = f"{record.pid_domain}:{key}"
    if process is None:
        return Session(key=key, record=record)
    return _recorded(record, process, key)


def _unique(sessions: Iterable[Session]) -> list[Session]:
    """Keep of each process, and of each key, the newest record.

    A config root may be a copy of another, and a job be carried on by another process.
    """
    return _newest(_newest(sessions, _process_of), lambda session: session.key)


def _newest(sessions: Iterable[Session], same: Callable[[Session], object]) -> list[Session]:
    newest: dict[object, Session] = {}
    for session in sessions:
        identity = same(session)
        known = newest.get(identity)
        if known is None or _written(session.record) > _written(known.record):
            newest[identity] = session
    return list(newest.values())


def _process_of(session: Session) -> object:
    process = session.process
    return (process.pid, process.start_ticks) if process is not None else session.key


def _written(record: Record | None) -> float:
    return (record.updated_at or record.started_at or 0.0) if record is not None else 0.0


def _with_fronts(live: Iterable[Session]) -> list[Session]:
    """Join the fronts of parked sessions with the workers that carry them on."""
    workers: list[Session] = []
    fronts: dict[str, Session] = {}
    for session in live:
        parked = session.record.parked_job_id if session.record is not None else None
        if parked is None:
            workers.append(session)
        else:
            fronts[parked] = session
    joined = []
    for session in workers:
        job = session.record.job_id if session.record is not None else None
        front = fronts.pop(job, None) if job is not None else None
        if front is not None:
            aliases = (*session.aliases, front.key, *front.aliases)
            session = replace(session, front=front.process, aliases=aliases)
        joined.append(session)
    for front in fronts.values():
        # Its worker is gone, and what the front's own record says was never about the worker.
        record = front.record
        joined.append(replace(front, record=replace(record, status=None) if record else None))
    return joined


def _with_attached(live: Iterable[Session], processes: Iterable[Process]) -> list[Session]:
    """Join background sessions with the terminals in which `claude attach` shows them."""
    attached = {
        target: process
        for process in processes
        if (target := classify(process.comm, process.argv).attached_to) is not None
    }
    joined = []
    for session in live:
        record = session.record
        if record is not None and session.background:
            front = attached.get(record.job_id or "") or attached.get(record.name or "")
            session = replace(session, front=front or session.front)
        joined.append(session)
    return joined


def _unrecorded(by_pid: Mapping[int, Process], taken: set[int]) -> Iterable[Session]:
    """Return the sessions that keep no record."""
    commands = {pid: classify(p.comm, p.argv) for pid, p in by_pid.items()}
    sessions = [by_pid[pid] for pid, command in commands.items() if command.role is Role.SESSION]
    launchers = set()
    no_sessions = set()
    for process in sessions:
        parent = by_pid.get(process.ppid)
        if parent is None:
            continue
        if commands[parent.pid].role is Role.PTY_HOST:
            # A background job's worker, or one in reserve: its record will say which.
            no_sessions.add(process.pid)
        elif parent.exe != process.exe:
            # A client that another program of its name started is one session, the inner one.
            launchers.add(parent.pid)
        elif parent.argv == process.argv:
            # A client that starts a program is two clients for a moment.
            no_sessions.add(process.pid)
    for process in sessions:
        if process.pid not in taken | launchers | no_sessions:
            key, command = key_of(process), commands[process.pid]
            yield Session(key=key, process=process, command=command)


def version(text: str | None) -> tuple[int, ...]:
    """Return a client's version as numbers that can be compared; empty if there is none."""
    parts = (text or "").split("-")[0].split(".")
    numbers = (part for part in parts if part.isascii() and part.isdecimal())
    # Python refuses to read a number of thousands of digits.
    return tuple(int(number) for number in numbers if len(number) < _VERSION_DIGITS)

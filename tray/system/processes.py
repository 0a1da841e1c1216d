"""Processes as `/proc` tells them (proc(5)). Knows nothing of any program in particular.

A process may vanish at any step of reading it, and a dead one that nobody has waited for yet
(a zombie) counts as gone: both are `None` here, never an error.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

PROC = "/proc"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_READ_LIMIT = 2 * 1024 * 1024
"""Bytes of a command line or environment read at most (ARG_MAX is 2 MiB by default)."""
_GONE_STATES = frozenset("ZXx")
_CLOCK_SET = 0.1
"""Seconds by which the wall clock must have moved to count as set; less is drift."""
_YOUNG = 10.0
"""Seconds after which a process is not expected to become another program by exec any more."""
_REREAD_ALL = 30.0
"""Seconds after which every process is looked at anew, however old."""


@dataclass(frozen=True, slots=True)
class Process:
    """One live process."""

    pid: int
    start_ticks: int
    """Start time in clock ticks since boot (field 22 of stat): with the pid, its identity."""
    started: float
    """Start time, Unix seconds."""
    comm: str
    argv: tuple[str, ...]
    ppid: int
    uid: int
    """The owner of its /proc folder: the effective user, except for undumpable processes."""
    state: str
    """One letter of stat's field 3; `T` is stopped, and gone ones are never here."""
    cwd: str | None
    tty: str | None
    """Path of the controlling terminal."""
    exe: str | None


@dataclass(frozen=True, slots=True)
class _Stat:
    comm: str
    state: str
    ppid: int
    tty_number: int
    start_ticks: int


_boot_time = float("-inf")


def boot_time() -> float:
    """Return when the machine was started, Unix seconds.

    Kept until the wall clock is set, so that one process always has one start time.
    """
    global _boot_time
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    if abs(boot - _boot_time) > _CLOCK_SET:
        _boot_time = boot
    return _boot_time


def read_process(pid: int, proc: str = PROC) -> Process | None:
    """Read one process; `None` if it is gone, a zombie, or not readable."""
    found = _stat(pid, proc)
    if found is None:
        return None
    folder = f"{proc}/{pid}"
    try:
        uid = os.stat(folder).st_uid
    except OSError:
        return None
    argv = _strings(_read(f"{folder}/cmdline") or b"")
    process = Process(
        pid=pid,
        start_ticks=found.start_ticks,
        started=boot_time() + found.start_ticks / _TICKS_PER_SECOND,
        comm=found.comm,
        argv=argv,
        ppid=found.ppid,
        uid=uid,
        state=found.state,
        cwd=_link(f"{folder}/cwd"),
        tty=_tty(pid, found.tty_number, proc),
        exe=_link(f"{folder}/exe"),
    )
    return process if is_alive(pid, found.start_ticks, proc) else None


def is_alive(pid: int, start_ticks: int, proc: str = PROC) -> bool:
    """Whether that very process still runs; a zombie does not."""
    found = _stat(pid, proc)
    return found is not None and found.start_ticks == start_ticks


class ProcessTable:
    """All processes of this user that `wanted(comm, argv)` takes, found cheaply again and again.

    Only the comm of new processes is read at each scan. A process may become another program
    by exec without a new pid or start time (a shell forks, then execs), so young ones are looked
    at again each time, and all of them now and then. `maybe(comm)` rules out most before their
    command line is read.
    """

    def __init__(
        self,
        wanted: Callable[[str, tuple[str, ...]], bool],
        maybe: Callable[[str], bool],
        proc: str = PROC,
    ) -> None:
        self._wanted = wanted
        self._maybe = maybe
        self._proc = proc
        self._first_seen: dict[int, float] = {}
        self._found: dict[int, int] = {}
        self._all_read_at = float("-inf")

    def scan(self) -> tuple[Process, ...]:
        """Return the wanted processes as they are now, by pid."""
        now = time.monotonic()
        everything = now - self._all_read_at >= _REREAD_ALL
        if everything:
            self._all_read_at = now
        pids = set(_pids(self._proc))
        for pid in self._first_seen.keys() - pids:
            del self._first_seen[pid]
            self._found.pop(pid, None)
        found = []
        for pid in sorted(pids):
            first_seen = self._first_seen.setdefault(pid, now)
            known = pid in self._found
            if known or everything or now - first_seen < _YOUNG:
                process = self._look(pid)
                if process is not None:
                    found.append(process)
        return tuple(found)

    def _look(self, pid: int) -> Process | None:
        comm = _read(f"{self._proc}/{pid}/comm")
        process = None
        if comm is not None and self._maybe(_text(comm.removesuffix(b"\n"))):
            process = read_process(pid, self._proc)
        if (
            process is None
            or process.uid != os.geteuid()
            or not self._wanted(process.comm, process.argv)
        ):
            self._found.pop(pid, None)
            return None
        if self._found.get(pid, process.start_ticks) != process.start_ticks:
            self._first_seen[pid] = time.monotonic()
        self._found[pid] = process.start_ticks
        return process


def children(pid: int, proc: str = PROC) -> tuple[Process, ...]:
    """Return the live direct children of a process, oldest first.

    Read from `task/*/children` where the kernel has it (CONFIG_PROC_CHILDREN), else by the
    parent of every process.
    """
    if pid <= 0:
        return ()
    pids: set[int] = set()
    complete = False
    for task in _pids(f"{proc}/{pid}/task"):
        listed = _read(f"{proc}/{pid}/task/{task}/children")
        if listed is not None:
            complete = True
            pids.update(int(word) for word in listed.split())
    if not complete:
        for other in _pids(proc):
            found = _stat(other, proc)
            if found is not None and found.ppid == pid:
                pids.add(other)
    processes = (read_process(child, proc) for child in pids)
    live = [process for process in processes if process is not None and process.ppid == pid]
    return tuple(sorted(live, key=lambda process: (process.start_ticks, process.pid)))


def parent_chain(pid: int, proc: str = PROC) -> tuple[Process, ...]:
    """Return the ancestors of a process, the nearest first."""
    chain: list[Process] = []
    process = read_process(pid, proc)
    while process is not None and process.ppid > 0:
        process = read_process(process.ppid, proc)
        if process is None or any(process.pid == known.pid for known in chain):
            break
        chain.append(process)
    return tuple(chain)


def environment(pid: int, names: Collection[str], proc: str = PROC) -> dict[str, str]:
    """Return those variables of a process's initial environment; no other is even decoded."""
    wanted = {os.fsencode(name): name for name in names}
    found: dict[str, str] = {}
    for entry in (_read(f"{proc}/{pid}/environ") or b"").split(b"\0"):
        key, equals, value = entry.partition(b"=")
        name = wanted.get(key)
        if equals and name is not None:
            found.setdefault(name, os.fsdecode(value))
    return found


def tty_access_time(tty: str) -> float | None:
    """Return when a terminal was last read from, Unix seconds.

    The kernel moves it with keystrokes and coarsens it to 8 s (tty_update_time in tty_io.c).
    """
    try:
        found = os.stat(tty)
    except (OSError, ValueError):
        return None
    return found.st_atime if stat.S_ISCHR(found.st_mode) else None


def machine_id() -> str | None:
    """Return this machine's id (machine-id(5))."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        data = _read(path)
        if data is not None and data.strip():
            return _text(data.strip())
    return None


def pid_namespace(pid: int | str = "self", proc: str = PROC) -> str | None:
    """Return the pid namespace of a process as the kernel names it, `pid:[<inode>]`."""
    return _link(f"{proc}/{pid}/ns/pid")


def pid_domain() -> str | None:
    """Return where this process's pids mean anything: `linux:<machine id>:pid:[<inode>]`."""
    machine, namespace = machine_id(), pid_namespace()
    return f"linux:{machine}:{namespace}" if machine and namespace else None


def find_in_namespace(namespace: str, inner_pid: int, proc: str = PROC) -> Process | None:
    """Find the process that is `inner_pid` in another pid namespace, if it is visible here."""
    for pid in _pids(proc):
        status = _read(f"{proc}/{pid}/status") or b""
        for line in status.splitlines():
            if line.startswith(b"NSpid:"):
                numbers = line.split()[1:]
                inner = len(numbers) > 1 and int(numbers[-1]) == inner_pid
                if inner and pid_namespace(pid, proc) == namespace:
                    return read_process(pid, proc)
                break
    return None


def _pids(folder: str) -> Iterator[int]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.isascii() and name.isdecimal():
            yield int(name)


def _stat(pid: int, proc: str) -> _Stat | None:
    data = _read(f"{proc}/{pid}/stat")
    if data is None:
        return None
    # The name stands in parentheses and may hold parentheses, blanks and line feeds itself.
    opening, closing = data.find(b"("), data.rfind(b")")
    fields = data[closing + 2 :].split()
    if opening < 0 or closing < opening or len(fields) < 20:
        return None
    state = _text(fields[0])
    if state in _GONE_STATES:
        return None
    try:
        return _Stat(
            comm=_text(data[opening + 1 : closing]),
            state=state,
            ppid=int(fields[1]),
            tty_number=int(fields[4]),
            start_ticks=int(fields[19]),
        )
    except ValueError:
        return None


def _tty(pid: int, number: int, proc: str) -> str | None:
    """Return the path of a terminal device by its number (the `tty_nr` of stat)."""
    if number == 0:
        return None
    major = (number >> 8) & 0xFFF
    minor = (number & 0xFF) | ((number >> 12) & 0xFFF00)
    if 136 <= major <= 143:  # The eight majors of Unix98 pseudo-terminals (devices.txt).
        return f"/dev/pts/{minor + (major - 136) * 1_048_576}"
    if major == 4:
        return f"/dev/tty{minor}" if minor < 64 else f"/dev/ttyS{minor - 64}"
    target = _link(f"{proc}/{pid}/fd/0")
    return target if target is not None and target.startswith("/dev/") else None


def _strings(data: bytes) -> tuple[str, ...]:
    """Split a command line; trailing blanks left by a program that set its title are dropped."""
    words = data.rstrip(b"\0").split(b"\0") if data else []
    texts = [_text(word) for word in words]
    if texts:
        texts[-1] = texts[-1].rstrip(" ")
    return tuple(texts)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _read(path: str) -> bytes | None:
    """Read a small kernel file whole; `None` if it vanished or is not ours to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        data = os.read(descriptor, 65536)
        if len(data) < 4096:
            return data
        pieces = [data]
        size = len(data)
        while data and size < _READ_LIMIT:
            data = os.read(descriptor, 65536)
            pieces.append(data)
            size += len(data)
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(descriptor)

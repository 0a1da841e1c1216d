"""Processes as `/proc` tells them (proc(5)). Knows nothing of any program in particular.

A process may vanish at any step of reading it, and a dead one that nobody has waited for yet
(a zombie) counts as gone: both are `None` here, never an error. `OSError` is raised only where
this very process has no file descriptor or memory left to look with: that tells nothing of the
others, and must not make them look dead.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PROC = "/proc"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_READ_LIMIT = 2 * 1024 * 1024
"""Bytes of a command line or environment read at most (ARG_MAX is 2 MiB by default)."""
_GONE_STATES = frozenset("ZXx")
_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_FIRST_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h."""
_PTS_MAJOR = 136
"""Device number of Unix98 pseudo-terminals (devices.txt; the seven beside it are unused)."""
_DELETED = " (deleted)"
"""What the kernel puts behind the path of a file or directory that is no more."""
_CLOCK_SET = 0.1
"""Seconds by which the wall clock must have moved to count as set; less is drift."""
_YOUNG = 10.0
"""Age in seconds from which on a process is not expected to become another program by exec."""
_LOOK_AT_ALL = 30.0
"""Seconds after which every process is looked at anew, however old."""


class Process(msgspec.Struct, frozen=True):
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
    """Working directory; where it was, if it has been deleted."""
    tty: str | None
    """Path of the controlling terminal, unless it is one of a container's own `/dev`."""
    exe: str | None
    """The program's file; where it was, if it has been replaced."""


class _Stat(msgspec.Struct, frozen=True):
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
    process = Process(
        pid=pid,
        start_ticks=found.start_ticks,
        started=boot_time() + found.start_ticks / _TICKS_PER_SECOND,
        comm=found.comm,
        argv=_strings(_read(f"{folder}/cmdline", _READ_LIMIT) or b""),
        ppid=found.ppid,
        uid=uid,
        state=found.state,
        cwd=_path(f"{folder}/cwd"),
        tty=_tty(pid, found.tty_number, proc),
        exe=_path(f"{folder}/exe"),
    )
    # Unless another process has the pid by now.
    return process if is_alive(pid, found.start_ticks, proc) else None


def is_alive(pid: int, start_ticks: int, proc: str = PROC) -> bool:
    """Whether that very process still runs; a zombie does not."""
    found = _stat(pid, proc)
    return found is not None and found.start_ticks == start_ticks


class ProcessTable:
    """All processes of this user that `wanted(comm, argv)` takes, found cheaply again and again.

    `maybe(comm)` rules out most before their command line is read. One that is not wanted is
    passed over from then on, unless it is young: a process may become another program by exec
    without a new pid or start time (a shell forks, then execs). Now and then all are looked at
    again, which also finds an old shell that execs, and a pid that another process has now.
    One that is wanted and no longer young is read again only in what changes from day to day.
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
        self._first_seen: dict[str, float] = {}
        self._passed_over: set[str] = set()
        self._known: dict[str, Process] = {}
        self._all_looked_at = float("-inf")

    def scan(self) -> tuple[Process, ...]:
        """Return the wanted processes as they are now, by pid."""
        now = time.monotonic()
        if now - self._all_looked_at >= _LOOK_AT_ALL:
            self._all_looked_at = now
            self._passed_over.clear()
            self._known.clear()
        names = set(_names(self._proc))
        self._passed_over &= names
        for gone in self._first_seen.keys() - names:
            del self._first_seen[gone]
            self._known.pop(gone, None)
        found = [self._look(name, now) for name in names - self._passed_over]
        return tuple(sorted(filter(None, found), key=lambda process: process.pid))

    def _look(self, name: str, now: float) -> Process | None:
        known = self._known.pop(name, None)
        process = _as_it_is_now(known, self._proc) if known is not None else None
        if process is None:
            process = self._read(name)
        old = now - self._first_seen.setdefault(name, now) >= _YOUNG
        if old and process is not None:
            self._known[name] = process
        elif old:
            self._passed_over.add(name)
        return process

    def _read(self, name: str) -> Process | None:
        """Read a process whole, if it is a wanted one."""
        comm = _read(f"{self._proc}/{name}/comm") if _is_pid(name) else None
        if comm is None or not self._maybe(_text(comm.removesuffix(b"\n"))):
            return None
        process = read_process(int(name), self._proc)
        if (
            process is not None
            and process.uid == os.geteuid()
            and self._wanted(process.comm, process.argv)
        ):
            return process
        return None


def _as_it_is_now(process: Process, proc: str) -> Process | None:
    """Return a process that was read before; `None` unless it plainly runs the same program."""
    found = _stat(process.pid, proc)
    cwd = _path(f"{proc}/{process.pid}/cwd")
    if (
        found is None
        or cwd is None
        or (found.start_ticks, found.comm) != (process.start_ticks, process.comm)
    ):
        return None
    if (found.state, found.ppid, cwd) == (process.state, process.ppid, process.cwd):
        return process
    return replace(process, state=found.state, ppid=found.ppid, cwd=cwd)


def children(pid: int, proc: str = PROC) -> tuple[Process, ...]:
    """Return the live direct children of a process, oldest first.

    Read from `task/*/children` where the kernel has it (CONFIG_PROC_CHILDREN), else by the
    parent of every process.
    """
    if pid <= 0:
        return ()
    processes = (read_process(child, proc) for child in _child_pids(pid, proc))
    live = [process for process in processes if process is not None and process.ppid == pid]
    return tuple(sorted(live, key=lambda process: (process.start_ticks, process.pid)))


def _child_pids(pid: int, proc: str) -> set[int]:
    lists = [
        _read(f"{proc}/{pid}/task/{task}/children", _READ_LIMIT)
        for task in _pids(f"{proc}/{pid}/task")
    ]
    if any(listed is not None for listed in lists):
        return {int(word) for listed in lists if listed is not None for word in listed.split()}
    pids = set()
    for other in _pids(proc):
        found = _stat(other, proc)
        if found is not None and found.ppid == pid:
            pids.add(other)
    return pids


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
    for entry in (_read(f"{proc}/{pid}/environ", _READ_LIMIT) or b"").split(b"\0"):
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


def sees_all_processes() -> bool:
    """Whether this process is in the machine's first pid namespace, so that `/proc` has all."""
    return pid_namespace() == _FIRST_NAMESPACE


def pid_domain() -> str | None:
    """Return where this process's pids mean anything: `linux:<machine id>:pid:[<inode>]`."""
    machine, namespace = machine_id(), pid_namespace()
    return f"linux:{machine}:{namespace}" if machine and namespace else None


def find_in_namespace(namespace: str, inner_pid: int, proc: str = PROC) -> Process | None:
    """Find the process that is `inner_pid` in another pid namespace, if it is visible here."""
    for pid in _pids(proc):
        if pid_namespace(pid, proc) == namespace and _innermost_pid(pid, proc) == inner_pid:
            return read_process(pid, proc)
    return None


def _innermost_pid(pid: int, proc: str) -> int | None:
    """Return the number that a process has in its own pid namespace."""
    for line in (_read(f"{proc}/{pid}/status", _READ_LIMIT) or b"").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        if error.errno in _OUT_OF_RESOURCES:
            raise
        return []


def _is_pid(name: str) -> bool:
    return name.isascii() and name.isdecimal()


def _pids(folder: str) -> list[int]:
    return [int(name) for name in _names(folder) if _is_pid(name)]


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
    if major == _PTS_MAJOR:
        paths = [f"/dev/pts/{minor}"]
    else:
        links = (_link(f"{proc}/{pid}/fd/{descriptor}") for descriptor in range(3))
        paths = [path for path in links if path is not None and path.startswith("/dev/")]
    for path in paths:
        try:
            here, there = os.stat(path), os.stat(f"{proc}/{pid}/root{path}")
        except OSError:
            continue
        # A container has a /dev/pts of its own, with the same device numbers.
        if here.st_rdev == os.makedev(major, minor) and os.path.samestat(here, there):
            return path
    return None


def _strings(data: bytes) -> tuple[str, ...]:
    """Split a command line, or what a program wrote over it as its title.

    Node.js fills the room behind its title with zero bytes, others with blanks.
    """
    words = data.rstrip(b"\0").split(b"\0") if data else []
    if len(words) == 1:
        words = [words[0].rstrip(b" ")]
    return tuple(map(_text, words))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _path(link: str) -> str | None:
    """Return where a link of the kernel leads, or led before that was deleted."""
    target = _link(link)
    if target is not None and target.endswith(_DELETED) and not os.path.lexists(target):
        return target.removesuffix(_DELETED)
    return target


def _read(path: str, limit: int = 0) -> bytes | None:
    """Read a kernel file; `None` if it vanished or is not ours to read.

    `limit`: bytes to read on for, where it may be longer than one line.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.read(descriptor, 4096)
            # Longer ones come in pieces that may be shorter than asked for: `b""` is the end.
            while len(data) < limit and (piece := os.read(descriptor, 65536)):
                data += piece
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _OUT_OF_RESOURCES:
            raise
        return None
    return data

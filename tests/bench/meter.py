"""What a process costs, as `/proc/PID` counts it (proc(5))."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Use:
    """What a process used in a span of time, by all of its threads together."""

    seconds: float
    cpu: float
    """Seconds, user and system."""
    wakeups: int
    """Times that a thread slept and was woken again (voluntary context switches)."""
    threads: int
    """At the end."""
    by_thread: dict[str, tuple[float, int]]
    """CPU seconds and wake-ups of each thread, by its name and id."""

    @property
    def share(self) -> float:
        """Percent of one core."""
        return 100 * self.cpu / self.seconds

    @property
    def wakeups_a_second(self) -> float:
        return self.wakeups / self.seconds

    def __str__(self) -> str:
        threads = sorted(self.by_thread.items(), key=lambda item: -item[1][1])
        return "; ".join(
            f"{name} {1000 * cpu / self.seconds:.2f} ms/s {wakeups / self.seconds:.2f} wake-ups/s"
            for name, (cpu, wakeups) in threads
            if wakeups
        )


class Meter:
    """Measures what a process uses from its making on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since = time.monotonic()
        self._start = _threads(pid)

    def read(self) -> Use:
        """What was used since."""
        seconds = time.monotonic() - self._since
        now = _threads(self._pid)
        spent = {}
        for thread, (cpu, wakeups) in now.items():
            cpu_before, wakeups_before = self._start.get(thread, (0.0, 0))
            spent[thread] = (cpu - cpu_before, wakeups - wakeups_before)
        return Use(
            seconds=seconds,
            cpu=sum(cpu for cpu, _ in spent.values()),
            wakeups=sum(wakeups for _, wakeups in spent.values()),
            threads=len(now),
            by_thread=spent,
        )


def _threads(pid: int) -> dict[str, tuple[float, int]]:
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        # Nanoseconds on a core; the ticks of `stat` miss most of a thread that runs for 0.1 ms.
        cpu = int((task / "schedstat").read_text().split()[0]) / 1e9
        status = dict(
            line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if line
        )
        wakeups = int(status["voluntary_ctxt_switches"])
        found[f"{status['Name']}[{task.name}]"] = (cpu, wakeups)
    return found


def thread_count(pid: int) -> int:
    """How many threads a process has."""
    return len(os.listdir(f"/proc/{pid}/task"))


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a process, in MB (10^6 bytes)."""

    pss: float
    """Pages shared with other processes count by the part that falls on this one."""
    alone: float
    """PSS as if no other Python ran: what it maps of Python counts whole."""
    private: float
    rss: float


def memory(pid: int) -> Memory:
    """Measure the memory of a process."""
    rollup = _sizes(Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    alone = 0.0
    python = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == ("Rss" if python else "Pss"):
            alone += _kilobytes(rest)
        elif not name[:1].isupper():  # the head of a mapping: addresses, flags, path
            python = "python" in line or "site-packages" in line
    return Memory(
        pss=rollup["Pss"],
        alone=alone,
        private=rollup["Private_Clean"] + rollup["Private_Dirty"],
        rss=rollup["Rss"],
    )


def _sizes(lines: list[str]) -> dict[str, float]:
    pairs = (line.split(":", 1) for line in lines)
    return {name: _kilobytes(rest) for name, rest in pairs if rest.endswith(" kB")}


def _kilobytes(text: str) -> float:
    return int(text.split()[0]) * 1024 / 1e6

"""The one interface of all checks, and what each of them is given."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tray.desktop.doctor.finding import Finding
    from tray.desktop.doctor.focus import Explained
    from tray.session import Observation, Snapshot

F = TypeVar("F")

CALL_LIMIT = 1.5
"""Seconds that a bus, a service or a program may take to answer one question."""


@dataclass(slots=True)
class Given:
    """Where to look. Shared by all checks, which run on threads of their own."""

    environ: Mapping[str, str]
    home: str
    lock_file: str | None
    """What a running tray holds locked; `None`: there is no folder for it."""
    log_file: str
    roots: tuple[str, ...] | None = None
    """Config roots of Claude Code to look at alone."""
    find_way: Callable[[Observation, Mapping[str, str]], Explained | None] | None = None
    """Finds the way to a session; `None`: that is not looked at."""
    proc: str = "/proc"
    system: str = "/"
    """Where the system's files begin."""
    _seen: Snapshot | None = None
    _roots_seen: tuple[str, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def survey(self) -> tuple[Snapshot, tuple[str, ...]]:
        """Return all sessions and all config roots, looked for once."""
        with self._lock:
            if self._seen is None:
                from tray.claude.survey import Surveyor

                surveyor = Surveyor(home=self.home, environ=self.environ, roots=self.roots)
                self._seen = surveyor.survey()
                self._roots_seen = surveyor.roots
            return self._seen, self._roots_seen


@dataclass(frozen=True, slots=True)
class Check(Generic[F]):
    """One thing to look at."""

    name: str
    """Stable short name."""
    title: str
    """The heading for a person."""
    gather: Callable[[Given], F]
    """Look; may take a while, may raise."""
    findings: Callable[[F], tuple[Finding, ...]]
    """Say what that means: a pure function."""

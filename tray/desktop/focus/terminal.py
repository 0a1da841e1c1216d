"""What the terminals' back ends share: which process of a terminal holds a session's tty.

A terminal starts one process at each pseudo-terminal it makes (mostly a shell), and everything
in that tab descends from it. That process, by pid and start time, is what a terminal's own list
of tabs is compared with: titles and variables of the environment are inherited and copied.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import Process, read_process

if TYPE_CHECKING:
    from collections.abc import Collection

_COMM_LIMIT = 15
"""Characters that the kernel keeps of a process's name (TASK_COMM_LEN less its end)."""


class Held(msgspec.Struct, frozen=True):
    """A session's tty as its terminal has it."""

    session: Process
    terminal: Process
    """The process that owns the windows."""
    shell: Process
    """The terminal's child that was started at the tty; may be the session itself."""

    @property
    def window(self) -> WindowHint:
        """What is known of the window without asking the terminal."""
        return WindowHint(pid=self.terminal.pid, start_ticks=self.terminal.start_ticks)


def held(place: Seat | WindowHint, programs: Collection[str]) -> Held | None:
    """Return how one of `programs` holds the session's tty; `None` if none of them does.

    Only the innermost terminal counts, and only if the process it started is at the very tty
    of the session: else something between the two (`script`, a multiplexer) has a tty of its own.
    """
    if not isinstance(place, Seat) or place.process.tty is None:
        return None
    for shell, terminal in pairwise((place.process, *place.ancestors)):
        if runs(terminal, programs):
            is_at_it = shell.tty == place.process.tty and shell.ppid == terminal.pid
            return Held(place.process, terminal, shell) if is_at_it else None
    return None


def runs(process: Process, programs: Collection[str]) -> bool:
    """Whether a process is one of `programs`, by its name or its file."""
    if any(process.comm == name[:_COMM_LIMIT] for name in programs):
        return True
    # NixOS puts a script in a program's place, which starts ".konsole-wrapped".
    file = os.path.basename(process.exe or "").removeprefix(".").removesuffix("-wrapped")
    return file in programs


def check(held: Held) -> None:
    """Raise `FocusError` unless the session is still at that tty, and that tty in that terminal."""
    for process in (held.session, held.shell):
        now = read_process(process.pid)
        if now is None or (now.start_ticks, now.tty) != (process.start_ticks, process.tty):
            raise FocusError(f"the session is no longer at {held.session.tty}")
        if process is held.shell and now.ppid != held.terminal.pid:
            raise FocusError(f"{held.session.tty} is no longer in that terminal")


def child_nodes(introspection: str) -> list[str]:
    """Return the names of an object's children from its D-Bus introspection data, in order."""
    return re.findall(r'<node\s+name="([A-Za-z0-9_]+)"', introspection)

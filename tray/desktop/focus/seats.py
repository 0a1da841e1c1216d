"""Where a session's process sits, read from `/proc`: its terminal, and what it was started by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tray.desktop.focus.place import Seat
from tray.session import Kind
from tray.system.processes import environment, parent_chain, read_process

if TYPE_CHECKING:
    from collections.abc import Collection

    from tray.session import Observation
    from tray.system.processes import Process

WANTS = frozenset(
    {"SSH_CONNECTION", "TERM_PROGRAM", "TERMINAL_EMULATOR", "ZELLIJ_PANE_ID",
     "ZELLIJ_SESSION_NAME"}
)  # fmt: skip
"""The variables of a process at a tty that some layer reads of its seat."""


def seat_of(session: Observation, wants: Collection[str] = ()) -> Seat | None:
    """Return where `session` sits; `None` if its process is gone or at no terminal.

    `wants` are the environment's variables to read. A background job sits where its front does.
    """
    for pid, start_ticks in _identities(session):
        seat = seat_at(pid, start_ticks, wants)
        # A tty that has another owner by now is not the session's any more.
        if seat is not None and seat.process.tty == session.tty:
            return seat
    return None


def place_of(session: Observation) -> Seat | None:
    """Return what started the process of a session without a terminal; `None` if it is gone."""
    for pid, start_ticks in _identities(session):
        process = read_process(pid)
        if process is not None and process.start_ticks == start_ticks:
            return Seat(process, _above(pid))
    return None


def seat_at(pid: int, start_ticks: int | None, wants: Collection[str] = ()) -> Seat | None:
    """Return where the process with that identity sits; any process of that pid for `None`."""
    process = read_process(pid)
    if process is None or process.tty is None:
        return None
    if start_ticks is not None and process.start_ticks != start_ticks:
        return None
    return Seat(process, _above(pid), environment(pid, wants) if wants else {})


def is_there(seat: Seat) -> bool:
    """Whether that very process is still at that terminal."""
    now = read_process(seat.process.pid)
    return now is not None and (now.start_ticks, now.tty) == (
        seat.process.start_ticks,
        seat.process.tty,
    )


def _above(pid: int) -> tuple[Process, ...]:
    return tuple(one for one in parent_chain(pid) if one.pid not in (pid, 1))


def _identities(session: Observation) -> list[tuple[int, int]]:
    """Return pid and start of the process at the session's terminal, the likeliest first."""
    keys = [session.key, *session.aliases]
    if session.kind is Kind.BACKGROUND:
        keys.reverse()
    found = []
    for key in keys:
        pid, _, start = key.partition(":")
        if pid.isdecimal() and start.isdecimal():
            found.append((int(pid), int(start)))
    return found

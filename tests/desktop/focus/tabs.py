"""Terminals with tabs on a private screen, and the sessions in them.

A stand-in for a session tells where it sits and notes each line that reaches it. So a pressed
key shows which session really has the keyboard: the tab that is selected in the focused window.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import Xlib.display
import Xlib.error
import Xlib.protocol.event
import Xlib.X

from tests.conftest import wait_until
from tests.desktop.xfce import Xfce
from tray.desktop.focus.place import Seat, WindowHint
from tray.system.processes import parent_chain, read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COMMANDS = ("Xvfb", "dbus-daemon", "xfwm4", "bash")
ARRANGEMENTS = 50
TITLE = "the same title"
_SESSION = """\
#!/bin/bash
stty -echo
printf '\\033]0;{title}\\007'
: >"{folder}/$1.keys"
echo $$ >"{folder}/$1.new" && mv "{folder}/$1.new" "{folder}/$1.pid"
trap 'exit 0' TERM
trap 'printf "\\033]0;%s\\007" "$(cat "{folder}/'$1'.title")"' USR1
while read -r line; do echo >>"{folder}/$1.keys"; done
"""


@dataclass(frozen=True)
class Session:
    """A stand-in for a session, in a tab of its own."""

    name: str
    pid: int
    keys: Path

    @property
    def alive(self) -> bool:
        return read_process(self.pid) is not None

    @property
    def lines(self) -> int:
        return len(self.keys.read_bytes())

    def entitle(self, title: str) -> None:
        """Have the session set its terminal's title."""
        self.keys.with_suffix(".title").write_text(title)
        os.kill(self.pid, signal.SIGUSR1)

    def seat(self) -> Seat:
        process = read_process(self.pid)
        assert process is not None
        return Seat(process=process, ancestors=parent_chain(self.pid))


class Terminals:
    """A screen with a window manager and a bus, and sessions in terminals on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = (f"s{number}" for number in itertools.count(1))
        self.sessions: list[Session] = []
        self.desktop = Xfce(folder / "desktop")
        self.script = folder / "session"
        self.script.write_text(_SESSION.format(title=TITLE, folder=folder))
        self.script.chmod(0o700)

    def start(self, **environment: str) -> Terminals:
        self.desktop.environment.update(environment)
        self.desktop.start(panel=False)
        self.x = Xlib.display.Display(self.desktop.display)
        return self

    def stop(self) -> None:
        self.x.close()
        self.desktop.stop()

    def open(self, start: Callable[[list[str]], object]) -> Session:
        """Have `start` open a tab that runs a command line, and wait for the session in it."""
        name = next(self._names)
        start([str(self.script), name])
        return self.arrived(name)

    def arrived(self, name: str) -> Session:
        told = self._folder / f"{name}.pid"
        wait_until(told.exists, within=20, what=f"session {name} runs")
        session = Session(name, int(told.read_text()), self._folder / f"{name}.keys")
        self.sessions.append(session)
        return session

    def next_name(self) -> str:
        return next(self._names)

    def end(self, session: Session) -> None:
        """End a session as one ends by itself; most terminals then close its tab."""
        os.kill(session.pid, signal.SIGTERM)
        wait_until(lambda: not session.alive, what="the session has ended")
        self.sessions.remove(session)

    def who_has_the_keyboard(self) -> Session:
        """Press Return and see to which session it goes."""
        before = {session.name: session.lines for session in self.sessions}
        self.desktop.press("Return")

        def receiver() -> Session | None:
            changed = [s for s in self.sessions if s.lines != before[s.name]]
            assert len(changed) <= 1, "a key went to several sessions"
            return changed[0] if changed else None

        found = wait_until(receiver, within=5, what="a key reaches a session")
        assert isinstance(found, Session)
        return found

    def raise_window(self, hint: WindowHint) -> None:
        """Ask the window manager for that window, as a pager does, and wait for the focus."""
        assert hint.xid is not None, f"no window: {hint}"
        assert hint.pid == self._owner(hint.xid)
        self.activate(hint.xid)

    def activate(self, xid: int) -> None:
        event = Xlib.protocol.event.ClientMessage(
            window=self.x.create_resource_object("window", xid),
            client_type=self.x.intern_atom("_NET_ACTIVE_WINDOW"),
            data=(32, [2, 0, 0, 0, 0]),
        )
        mask = Xlib.X.SubstructureRedirectMask | Xlib.X.SubstructureNotifyMask
        self.x.screen().root.send_event(event, event_mask=mask)
        self.x.flush()
        wait_until(lambda: self.focused() == xid, what="the window has the focus")

    def focused(self) -> int:
        atom = self.x.intern_atom("_NET_ACTIVE_WINDOW")
        found = self.x.screen().root.get_full_property(atom, Xlib.X.AnyPropertyType)
        return int(found.value[0]) if found is not None and found.value else 0

    def windows(self, pid: int | None = None) -> list[int]:
        """The windows that the window manager manages, of one process if given."""
        atom = self.x.intern_atom("_NET_CLIENT_LIST")
        found = self.x.screen().root.get_full_property(atom, Xlib.X.AnyPropertyType)
        every = [int(xid) for xid in found.value] if found is not None else []
        return [xid for xid in every if pid is None or self._owner(xid) == pid]

    def _owner(self, xid: int) -> int | None:
        with contextlib.suppress(Xlib.error.XError):
            window = self.x.create_resource_object("window", xid)
            atom = self.x.intern_atom("_NET_WM_PID")
            found = window.get_full_property(atom, Xlib.X.AnyPropertyType)
            return int(found.value[0]) if found is not None else None
        return None

    def minimise(self, xid: int) -> None:
        """Iconify a window (ICCCM 4.1.4)."""
        event = Xlib.protocol.event.ClientMessage(
            window=self.x.create_resource_object("window", xid),
            client_type=self.x.intern_atom("WM_CHANGE_STATE"),
            data=(32, [3, 0, 0, 0, 0]),
        )
        mask = Xlib.X.SubstructureRedirectMask | Xlib.X.SubstructureNotifyMask
        self.x.screen().root.send_event(event, event_mask=mask)
        self.x.flush()


def terminals(folder: Path, *programs: str, **environment: str) -> Iterator[Terminals]:
    """Start a screen for terminals; skips where a program is missing."""
    missing = [name for name in (*COMMANDS, *programs) if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")
    (folder / "desktop").mkdir()
    made = Terminals(folder)
    try:
        yield made.start(**environment)
    finally:
        made.stop()


def randomness() -> random.Random:
    """The same arrangements in each run, or others by `SESSIONBELL_SEED`."""
    return random.Random(os.environ.get("SESSIONBELL_SEED", "tabs"))

"""xterms on a private screen, and sessions in them, in tmux and in GNU screen."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import Xlib.protocol.event
import Xlib.X

from tests.conftest import wait_until
from tray.desktop.focus import route
from tray.session import Observation, State
from tray.system.processes import read_process

if TYPE_CHECKING:
    import random

    from tests.desktop.focus.tabs import Session, Terminals

WORKSPACES = 4


def observed(session: Session) -> Observation:
    """The session as a survey sees it."""
    process = read_process(session.pid)
    assert process is not None
    return Observation(
        key=f"{process.pid}:{process.start_ticks}",
        state=State.IDLE,
        tty=process.tty,
        pid=process.pid,
    )


def way(on: Terminals, session: Session) -> route.Route:
    return route.find(observed(session), on.desktop.environment)


def check_arrival(
    on: Terminals, session: Session, chance: random.Random | None = None, *, told: bool = True
) -> None:
    """Go to a session and see that it has the keyboard, and that just it is known to have it."""
    outcome = way(on, session).go()
    assert outcome.done, outcome
    assert not outcome.seek, outcome
    assert on.who_has_the_keyboard() == session
    check_active(on, session, chance, told=told)


def check_active(
    on: Terminals, session: Session, chance: random.Random | None = None, *, told: bool = True
) -> None:
    """See that `session`, and none of the others (or of two of them), is known to have it.

    Where it is not `told`, nothing wrong may be.
    """
    others = [one for one in on.sessions if one != session]
    if chance is not None:
        others = chance.sample(others, min(2, len(others)))
    answers = {one.name: way(on, one).active() for one in (session, *others)}
    own = answers.pop(session.name)
    assert own is True or (own is None and not told)
    assert all(answer is False or (answer is None and not told) for answer in answers.values())


class Xterms:
    """xterms, each a process and a window of its own."""

    def __init__(self, on: Terminals) -> None:
        self.on = on
        self._processes: list[subprocess.Popen[bytes]] = []

    def run(self, *argv: str, **environment: str) -> int:
        """Open an xterm that runs a command; return its window."""
        process = subprocess.Popen(
            ["xterm", "-title", "the same title", "-e", *argv],
            env={**self.on.desktop.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        found = wait_until(
            lambda: self.on.windows(process.pid), within=20, what="the xterm is on the screen"
        )
        assert isinstance(found, list)
        self._processes.append(process)
        return found[0]

    def shuffle(self, chance) -> None:
        """Have some window focused, and some on other workspaces or minimised."""
        windows = self.on.windows()
        x = self.on.x
        for window in windows:
            if chance.random() < 0.4:
                self._message(window, "_NET_WM_DESKTOP", chance.randrange(WORKSPACES), 2)
        self._message(x.screen().root, "_NET_CURRENT_DESKTOP", chance.randrange(WORKSPACES), 0)
        self.on.activate(chance.choice(windows))
        if chance.random() < 0.5:
            self.on.minimise(chance.choice(windows))

    def _message(self, window, name: str, *data: int) -> None:
        x = self.on.x
        root = x.screen().root
        target = x.create_resource_object("window", window) if isinstance(window, int) else root
        body = (32, [*data, *[0] * (5 - len(data))])
        event = Xlib.protocol.event.ClientMessage(
            window=target, client_type=x.intern_atom(name), data=body
        )
        mask = Xlib.X.SubstructureRedirectMask | Xlib.X.SubstructureNotifyMask
        root.send_event(event, event_mask=mask)
        x.flush()

    def set_workspaces(self) -> None:
        self._message(self.on.x.screen().root, "_NET_NUMBER_OF_DESKTOPS", WORKSPACES)
        atom = self.on.x.intern_atom("_NET_NUMBER_OF_DESKTOPS")

        def number() -> bool:
            root = self.on.x.screen().root
            found = root.get_full_property(atom, Xlib.X.AnyPropertyType)
            return found is not None and found.value[0] == WORKSPACES

        wait_until(number, what="there are workspaces")

    def close(self) -> None:
        """End all of them, and all sessions."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(10)
        for session in self.on.sessions:
            wait_until(lambda session=session: not session.alive, what="the session has ended")
        self.on.sessions.clear()


class Tmux:
    """One tmux server."""

    def __init__(self, on: Terminals, *socket: str) -> None:
        self.on = on
        self._argv = [str(shutil.which("tmux")), *socket, "-f", "/dev/null"]

    def command(self, *arguments: str) -> list[str]:
        return [*self._argv, *arguments]

    def ask(self, *arguments: str, **environment: str) -> str:
        env = {**self.on.desktop.environment, **environment}
        argv = self.command(*arguments)
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout

    def start(self, name: str, **environment: str) -> Session:
        """Start a detached session of tmux with a session in it."""
        return self.on.open(
            lambda command: self.ask("new-session", "-d", "-s", name, *command, **environment)
        )

    def window(self, target: str) -> Session:
        return self.on.open(lambda command: self.ask("new-window", "-d", "-t", target, *command))

    def pane(self, target: str) -> Session:
        def split(command: list[str]) -> None:
            self.ask("split-window", "-d", "-t", target, *command)
            self.ask("select-layout", "-t", target, "tiled")

        return self.on.open(split)

    def clients(self) -> int:
        return len(self.ask("list-clients").splitlines())

    def kill(self) -> None:
        """End the server with all that is in it."""
        argv = self.command("display-message", "-p", "#{pid}", ";", "kill-server")
        env = self.on.desktop.environment
        said = subprocess.run(argv, env=env, capture_output=True, text=True, check=False).stdout
        if said.strip().isdecimal():
            pid = int(said)
            wait_until(lambda: read_process(pid) is None, what="the tmux server has ended")

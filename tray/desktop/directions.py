"""How to get to a session: the command or place to copy, and one line that says so. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tray.desktop.alerts import Bubble, Urgency
from tray.desktop.icon import look_of
from tray.session import Kind, Observation, State


@dataclass(frozen=True, slots=True)
class TmuxPane:
    """Where a process was started in tmux, from its `TMUX` and `TMUX_PANE`."""

    socket: str
    pane: str


@dataclass(frozen=True, slots=True)
class Directions:
    """The way to one session."""

    copy: str
    """What to paste: a shell command where one leads there, else the place."""
    say: str
    """The same for a reader, in one line."""


def tmux_pane(environment: dict[str, str]) -> TmuxPane | None:
    """Read a process's tmux pane from its environment (tmux(1), ENVIRONMENT)."""
    socket = environment.get("TMUX", "").rsplit(",", 2)[0]
    pane = environment.get("TMUX_PANE", "")
    if not socket.startswith("/") or not pane.startswith("%") or not pane[1:].isdecimal():
        return None
    return TmuxPane(socket, pane)


def directions(session: Observation, pane: TmuxPane | None = None) -> Directions:
    """Return the way to `session`; `pane` is where its process sits in tmux, if it does."""
    if session.state is State.ENDED and session.session_id is not None:
        resume = f"claude --resume {shlex.quote(session.session_id)}"
        command = f"cd {shlex.quote(session.cwd)} && {resume}" if session.cwd else resume
        return Directions(command, f"it ended; resume it with: {command}")
    if session.kind is Kind.BACKGROUND and session.tty is None and session.job_id is not None:
        command = f"claude attach {shlex.quote(session.job_id)}"
        return Directions(command, f"it runs in the background; attach with: {command}")
    if pane is not None:
        # A pane as target changes session, window and pane of the client at once (tmux >= 2.0).
        server = f"tmux -S {shlex.quote(pane.socket)}"
        # The first serves inside of that server, the second outside.
        command = f"{server} switch-client -t {pane.pane} || {server} attach -t {pane.pane}"
        return Directions(command, f"it runs in tmux pane {pane.pane}; go there with: {command}")
    process = f"process {session.pid}" if session.pid is not None else "a process out of sight"
    folder = f" in {session.cwd}" if session.cwd else ""
    if session.tty is not None:
        place = session.cwd or session.tty
        return Directions(place, f"it runs on {session.tty}{folder} ({process})")
    return Directions(session.cwd or str(session.pid or ""), f"it runs as {process}{folder}")


def signpost(session: Observation, way: Directions, *, copied: bool) -> Bubble:
    """Compose the bubble that shows the way to `session`."""
    name = session.project or session.name or "The session"
    return Bubble(
        id="way",
        title=f"The way to {name}",
        body=f"{name}: {way.say}" + (f"\ncopied: {way.copy}" if copied else ""),
        look=look_of(session),
        category="x-sessionbell.way",
        urgency=Urgency.LOW,
        expires=True,
        keys=(session.key,),
        asks=(f"way/{session.key}",),
        actions=(),
    )

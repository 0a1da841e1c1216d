"""The way from the person's screen to a session: which layers show it, joined step by step.

A session's pane is shown by a client, that by a tab, that by a window, that by a window system.
Each layer is asked in turn; the steps are then taken from the inside out, so that the right thing
is already there when the window comes up. Blocking: call it on a thread.
"""

from __future__ import annotations

import importlib
import logging
import shlex
from typing import TYPE_CHECKING

import msgspec

from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.desktop.focus.seats import is_there, seat_of
from tray.session import Kind, State
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tray.desktop.focus.place import Layer, Spot
    from tray.session import Observation
    from tray.system.processes import Process

log = logging.getLogger(__name__)

_PACKAGE = "tray.desktop.focus"
MULTIPLEXERS: tuple[str, ...] = ("tmux", "screen", "zellij")
TERMINALS: tuple[str, ...] = (
    "kitty", "konsole", "gnome_terminal", "wezterm", "ghostty", "tilix", "terminator",
    "plain_terminal",
)  # fmt: skip
EDITORS: tuple[str, ...] = ("editors",)
WINDOW_SYSTEMS: tuple[str, ...] = ("sway", "hyprland", "niri", "kwin", "x11", "gnome_shell")
_DEEPEST = 6
"""Multiplexers within each other at most."""
WANTS = frozenset(
    {"SSH_CONNECTION", "TERM_PROGRAM", "TERMINAL_EMULATOR", "TMUX", "ZELLIJ_PANE_ID",
     "ZELLIJ_SESSION_NAME"}
)  # fmt: skip
"""The variables of a session's process that some layer reads."""


class Outcome(msgspec.Struct, frozen=True):
    """What came of going to a session."""

    done: bool
    """Whether the person has it before them now, or knows where on their screen."""
    message: str
    """One line about it."""
    seek: bool = False
    """Whether the person has to look for something, which `message` names."""
    argv: tuple[str, ...] = ()
    """Where nothing shows it: a command that does, in a terminal of its own."""


class Route:
    """The way to one session, as it was found."""

    def __init__(
        self,
        steps: Sequence[Spot] = (),
        *,
        seat: Seat | None = None,
        message: str = "",
        argv: tuple[str, ...] = (),
        seek: str | None = None,
        asked: Sequence[str] = (),
        desktop: Mapping[str, str] | None = None,
    ) -> None:
        """Take the steps, from the inside out.

        `message` says why the way ends before a window; `argv` is what leads on then; `seek`
        names what no program can select; `asked` are lines for `explain`.
        """
        self.steps = tuple(steps)
        self.seat = seat
        self.message = message
        self.argv = argv
        self.seek = seek
        self._asked = tuple(asked)
        self._desktop = desktop or {}

    @property
    def complete(self) -> bool:
        """Whether it leads to a window."""
        return not self.message

    def active(self) -> bool | None:
        """Whether all of it is before the person now; `None` where one step cannot tell."""
        if not self.complete or not self.steps:
            return None
        known: bool | None = True
        # The window first: most of the time it is another one, and the rest need not be asked.
        for step in reversed(self.steps):
            found = step.active()
            if found is False:
                return False
            if found is None:
                known = None
        return known if self.seek is None else None

    def go(self, token: str | None = None) -> Outcome:
        """Bring the person there. Never raises; types nothing."""
        if self.seat is not None and not is_there(self.seat):
            return Outcome(
                done=False, message=f"the session is no longer at {self.seat.process.tty}"
            )
        if not self.steps:
            return Outcome(done=False, message=self.message, argv=self.argv)
        try:
            return self._take(token)
        except FocusError as error:
            return Outcome(done=False, message=str(error))
        except Exception:
            log.exception("a way to a session failed")
            return Outcome(done=False, message="that failed; see the log: sessionbell doctor")

    def _take(self, token: str | None) -> Outcome:
        outward: Seat | WindowHint | None = None
        window = self.steps[-1] if (self.steps[-1].outward is None) else None
        for step in self.steps:
            if step is window and len(self.steps) > 1 and isinstance(outward, WindowHint):
                # The terminal may know its window only now that the tab was selected.
                step = _window(outward, self._desktop)[0] or step
            step.show(token)
            outward = step.outward
        where = self.steps[0].says
        if self.complete and self.seek is None:
            return Outcome(done=True, message=where)
        if self.seek is not None and self.complete:
            return Outcome(done=True, message=f"look for {self.seek}", seek=True)
        return Outcome(done=False, message=f"{where}: {self.message}", argv=self.argv)

    def explain(self) -> list[str]:
        """Return what would be done, and which layers were asked to no avail, a line each."""
        lines = [f"{step.layer}: {step.says}" for step in self.steps]
        if self.seek is not None:
            lines.append(f"the person looks for {self.seek}")
        if self.message:
            lines.append(self.message)
        if self.argv:
            lines.append(f"offered: {shlex.join(self.argv)}")
        return [*lines, *self._asked]


def find(session: Observation, desktop: Mapping[str, str]) -> Route:
    """Return the way to `session` in the login whose environment is `desktop`. Never raises."""
    if session.state is State.ENDED:
        argv = ("claude", "--resume", session.session_id) if session.session_id else ()
        return Route(message="it has ended", argv=argv)
    if not session.verified:
        return Route(message="it runs where its process cannot be seen (a container, a sandbox)")
    if session.tty is None:
        return _without_terminal(session)
    seat = seat_of(session, WANTS)
    if seat is None:
        return Route(message=f"no process of it is at {session.tty} any more")
    return _Search(seat, desktop).run()


def _without_terminal(session: Observation) -> Route:
    if session.kind is Kind.BACKGROUND and session.job_id is not None:
        return Route(
            message="it runs in the background, and no terminal shows it",
            argv=("claude", "attach", session.job_id),
        )
    place = f" in {one_line(session.cwd, 200)}" if session.cwd else ""
    return Route(message=f"it runs without a terminal{place} (process {session.pid})")


class _Search:
    """One search for a way, and what it has found so far."""

    def __init__(self, seat: Seat, desktop: Mapping[str, str]) -> None:
        self._seat = seat
        self._desktop = desktop
        self._steps: list[Spot] = []
        self._asked: list[str] = []

    def run(self) -> Route:
        seat = self._seat
        for _ in range(_DEEPEST):
            spot = self._first(MULTIPLEXERS, seat)
            if spot is None:
                break
            self._steps.append(spot)
            outward = spot.outward
            if isinstance(outward, WindowHint):
                return self._made(message="", seek=outward.seek or spot.says)
            if outward is None:
                attach: tuple[str, ...] = getattr(spot, "attach", ())
                return self._made(message="no terminal is attached", argv=attach)
            seat = outward
        if (host := _ssh_host(seat)) is not None:
            return self._made(message=f"runs over ssh from {host} on {seat.process.tty}")
        return self._outside(seat)

    def _outside(self, seat: Seat) -> Route:
        editor = self._first(EDITORS, seat)
        if editor is not None:
            self._steps.append(editor)
            return self._made()
        tab = self._first(TERMINALS, seat)
        if tab is None:
            owner = _owner(seat)
            hint = WindowHint(pid=owner.pid, start_ticks=owner.start_ticks) if owner else None
        else:
            self._steps.append(tab)
            hint = tab.outward if isinstance(tab.outward, WindowHint) else None
            if hint is None:
                return self._made()
        if hint is None:
            return self._made(message=f"nothing is known that shows {seat.process.tty}")
        window, asked = _window(hint, self._desktop)
        self._asked += asked
        if window is None:
            what = tab.says if tab is not None else f"{seat.process.tty} of process {hint.pid}"
            return self._made(message=f"its window cannot be told for certain: look for {what}")
        self._steps.append(window)
        return self._made(seek=hint.seek)

    def _first(self, names: Sequence[str], seat: Seat) -> Spot | None:
        spot, asked = first(names, seat, self._desktop)
        self._asked += asked
        return spot

    def _made(
        self, *, message: str = "", argv: tuple[str, ...] = (), seek: str | None = None
    ) -> Route:
        return Route(
            self._steps,
            seat=self._seat,
            message=message,
            argv=argv,
            seek=one_line(seek, 120) if seek else None,
            asked=self._asked,
            desktop=self._desktop,
        )


def first(
    names: Sequence[str], place: Seat | WindowHint, desktop: Mapping[str, str]
) -> tuple[Spot | None, list[str]]:
    """Return the first layer's spot for `place`, and a line for each that failed."""
    asked = []
    for name in names:
        layer = _layer(name)
        if layer is None:
            continue
        try:
            spot = layer.find(place, desktop)
        except FocusError as error:
            asked.append(f"{layer.name}: {error}")
            continue
        except Exception:
            log.exception("the layer %s failed", name)
            asked.append(f"{layer.name}: failed; see the log")
            continue
        if spot is not None:
            return spot, asked
    return None, asked


def _window(hint: WindowHint, desktop: Mapping[str, str]) -> tuple[Spot | None, list[str]]:
    return first(WINDOW_SYSTEMS, hint, desktop)


def _layer(name: str) -> Layer | None:
    try:
        found: Layer = importlib.import_module(f"{_PACKAGE}.{name}").LAYER
    except ImportError:
        log.exception("the layer %s is not to be had", name)
        return None
    return found


def _owner(seat: Seat) -> Process | None:
    """Return the nearest ancestor outside of the terminal: whoever made it."""
    return next((one for one in seat.ancestors if one.tty != seat.process.tty), None)


def _ssh_host(seat: Seat) -> str | None:
    """Return where the person at `seat` has logged in from; `None` if not by ssh."""
    if not any(one.comm in ("sshd", "sshd-session") for one in seat.ancestors):
        return None
    return one_line(seat.environ.get("SSH_CONNECTION", "").partition(" ")[0], 60) or "elsewhere"

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
from tray.desktop.focus.seats import WANTS, is_there, place_of, seat_of
from tray.session import Kind, State
from tray.system.processes import children
from tray.untrusted import identifier, one_line

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
_ON_WAYLAND = frozenset({"sway", "hyprland", "niri", "kwin", "gnome_shell"})
"""Those that EWMH does not do for."""
_WAYLAND = ("WAYLAND_DISPLAY", "SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE", "NIRI_SOCKET")
"""The variables of a login one of which is set there."""
_DEEPEST = 6
"""Multiplexers within each other at most."""


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
        window: Spot | None = None,
        *,
        seat: Seat | None = None,
        message: str = "",
        argv: tuple[str, ...] = (),
        hint: WindowHint | None = None,
        certain: bool = True,
        asked: Sequence[str] = (),
        desktop: Mapping[str, str] | None = None,
    ) -> None:
        """Take the steps up to the window, from the inside out, and the window.

        `message` says why there is nothing to be shown; `argv` is what leads on then; `hint` is
        what is known of the window; it is not `certain` if the window may show something else;
        `asked` are lines for `explain`.
        """
        self.steps = tuple(steps)
        self.window = window
        self.seat = seat
        self.message = message
        self.argv = argv
        self.others: tuple[Route, ...] = ()
        """Ways to the same session through other clients of a multiplexer."""
        self._hint = hint
        self._certain = certain
        self._asked = tuple(asked)
        self._desktop = desktop or {}

    @property
    def complete(self) -> bool:
        """Whether it leads to a window."""
        return self.window is not None

    @property
    def seek(self) -> str | None:
        """What no program can select, and the person must look for."""
        return self._seek(self._hint)

    def _seek(self, hint: WindowHint | None) -> str | None:
        """Name the innermost of what must be looked for."""
        places = (*self.steps, self.window)
        own = next((seek for place in places if (seek := getattr(place, "seek", None))), None)
        return own or _seek(hint)

    def active(self) -> bool | None:
        """Whether all of it is before the person now; `None` where one step cannot tell."""
        answers = []
        for way in (self, *self.others):
            answers.append(way.shown())
            if answers[-1] is True:
                return True
        return None if None in answers else False

    def shown(self) -> bool | None:
        """Answer as `active` does, for this very way alone."""
        if not self.steps and self.window is None:
            return None
        # The window first: most of the time it is another one, and the rest need not be asked.
        known: bool | None = True
        for step in (*((self.window,) if self.window else ()), *reversed(self.steps)):
            found = step.active()
            if found is False:
                return False
            if found is None:
                known = None
        return known if self.complete and self.seek is None and self._certain else None

    def go(self, token: str | None = None) -> Outcome:
        """Bring the person there. Never raises; types nothing."""
        if self.seat is not None and not is_there(self.seat):
            place = one_line(self.seat.process.tty or "its terminal", 60)
            return Outcome(done=False, message=f"the session is no longer at {place}")
        if self.message:
            return Outcome(done=False, message=self._said(self.message), argv=self.argv)
        try:
            ways = (self, *self.others)
            # Through the client that the person looks at already, if there is one.
            looked_at = (way for way in ways if way.shown() is True)
            return next(looked_at if self.others else iter(()), self).take(token)
        except FocusError as error:
            return Outcome(done=False, message=one_line(str(error), 300))
        except Exception:
            log.exception("a way to a session failed")
            return Outcome(done=False, message="that failed; see the log: sessionbell doctor")

    def take(self, token: str | None) -> Outcome:
        """Show each place in turn; raises `FocusError` and whatever a layer does."""
        hint = self._hint
        for step in self.steps:
            step.show(token)
            if isinstance(step.outward, WindowHint):
                hint = step.outward
        window = self.window
        if hint != self._hint and hint is not None:
            # The terminal knows its window only now that the tab was selected.
            window, _ = _window(hint, self._desktop)
        if window is not None:
            window.show(token)
        elif hint is None or _names_a_window(hint):
            # The name of the tab or pane, else of whatever was found to hold it.
            return Outcome(done=False, message=_lost(hint, self._said("")), seek=True)
        if (seek := self._seek(hint)) is not None:
            return Outcome(done=True, message=f"look for {seek}", seek=True)
        return Outcome(done=True, message=self._said(""))

    def _said(self, message: str) -> str:
        """Name the innermost place, and `message` about it."""
        places = (*self.steps, *((self.window,) if self.window else ()))
        return ": ".join(part for part in (*(one.says for one in places[:1]), message) if part)

    def explain(self) -> list[str]:
        """Return what would be done, and which layers were asked to no avail, a line each."""
        places = (*self.steps, *((self.window,) if self.window else ()))
        lines = [f"{place.layer}: {place.says}" for place in places]
        if self.seek is not None:
            lines.append(f"the person looks for {self.seek}")
        if self.message:
            lines.append(self.message)
        elif self.window is None and (self._hint is None or _names_a_window(self._hint)):
            lines.append(_lost(self._hint, ""))
        if self.argv:
            lines.append(f"offered: {shlex.join(self.argv)}")
        return [*lines, *self._asked]


def _seek(hint: WindowHint | None) -> str | None:
    return one_line(hint.seek, 300) if hint is not None and hint.seek else None


def _names_a_window(hint: WindowHint) -> bool:
    return hint.pid is not None or hint.app is not None


def _lost(hint: WindowHint | None, place: str) -> str:
    what = _seek(hint) or place
    return "its window cannot be told for certain" + (f": look for {what}" if what else "")


def find(session: Observation, desktop: Mapping[str, str]) -> Route:
    """Return the way to `session` in the login whose environment is `desktop`. Never raises."""
    if session.state is State.ENDED:
        session_id = identifier(session.session_id)
        argv = ("claude", "--resume", session_id) if session_id is not None else ()
        return Route(message="it has ended", argv=argv)
    if not session.verified:
        return Route(message="it runs where its process cannot be seen (a container, a sandbox)")
    if session.tty is None:
        return _without_terminal(session, desktop)
    seat = seat_of(session, WANTS)
    if seat is None:
        return Route(message=f"no process of it is at {session.tty} any more")
    return _Search(seat, desktop).run()


def _without_terminal(session: Observation, desktop: Mapping[str, str]) -> Route:
    job_id = identifier(session.job_id)
    if session.kind is Kind.BACKGROUND and job_id is not None:
        return Route(
            message="it runs in the background, and no terminal shows it",
            argv=("claude", "attach", job_id),
        )
    seat = place_of(session)
    spot, asked = first(EDITORS, seat, desktop) if seat is not None else (None, [])
    if spot is not None:
        return Route((), spot, seat=seat, asked=asked, desktop=desktop)
    place = f" in {one_line(session.cwd, 200)}" if session.cwd else ""
    return Route(message=f"it runs without a terminal{place} (process {session.pid})")


class _Search:
    """One search for a way, and which layers were asked to no avail."""

    def __init__(self, seat: Seat, desktop: Mapping[str, str]) -> None:
        self._seat = seat
        self._desktop = desktop
        self._asked: list[str] = []

    def run(self) -> Route:
        return self._from(self._seat, ())

    def _from(self, seat: Seat, steps: tuple[Spot, ...]) -> Route:
        """Go outwards from `seat`, to which `steps` have led."""
        spot = self._first(MULTIPLEXERS, seat) if len(steps) < _DEEPEST else None
        if spot is None:
            return self._outside(seat, steps)
        found = [self._beyond(one, steps) for one in (spot, *getattr(spot, "others", ()))]
        ways = [each for way in found for each in (way, *way.others)]
        # A client on another machine shows it too, but a window here is what can be raised.
        ways.sort(key=lambda way: not way.complete)
        ways[0].others = tuple(ways[1:])
        return ways[0]

    def _beyond(self, spot: Spot, steps: tuple[Spot, ...]) -> Route:
        """Go on from a multiplexer's `spot`."""
        steps = (*steps, spot)
        outward = spot.outward
        if isinstance(outward, Seat):
            return self._from(outward, steps)
        if outward is not None:
            return self._made(steps, hint=outward)
        attach: tuple[str, ...] = getattr(spot, "attach", ())
        return self._made(steps, message="no terminal is attached to it", argv=attach)

    def _outside(self, seat: Seat, steps: tuple[Spot, ...]) -> Route:
        place = _short(seat.process.tty)
        if (host := _ssh_host(seat)) is not None:
            return self._made(steps, message=f"runs over ssh from {host} on {place}")
        tab = self._first((*EDITORS, *TERMINALS), seat)
        if tab is not None:
            steps = (*steps, tab)
            if not isinstance(tab.outward, WindowHint):
                return self._made(steps[:-1], tab)
            return self._at_window(tab.outward, steps)
        owner = _owner(seat)
        if owner is None:
            return self._made(steps, message=f"nothing is known that shows {place}")
        name = one_line(owner.comm, 20)
        # Nobody knows what else such a program's window can show.
        several = len({one.tty for one in children(owner.pid)} - {None, owner.tty}) > 1
        hint = WindowHint(
            pid=owner.pid,
            start_ticks=owner.start_ticks,
            seek=f"{place} in {name}" if several else None,
        )
        way = self._at_window(hint, steps, certain=False)
        if way.window is None:
            return self._made(
                steps, message=f"its window cannot be told for certain: look for {place} of {name}"
            )
        return way

    def _at_window(
        self, hint: WindowHint, steps: tuple[Spot, ...], *, certain: bool = True
    ) -> Route:
        window, asked = _window(hint, self._desktop)
        self._asked += asked
        return self._made(steps, window, hint=hint, certain=certain)

    def _first(self, names: Sequence[str], seat: Seat) -> Spot | None:
        spot, asked = first(names, seat, self._desktop)
        self._asked += asked
        return spot

    def _made(
        self,
        steps: tuple[Spot, ...],
        window: Spot | None = None,
        *,
        message: str = "",
        argv: tuple[str, ...] = (),
        hint: WindowHint | None = None,
        certain: bool = True,
    ) -> Route:
        return Route(
            steps,
            window,
            seat=self._seat,
            message=message,
            argv=argv,
            hint=hint,
            certain=certain,
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
    wayland = any(desktop.get(name) for name in _WAYLAND)
    names = WINDOW_SYSTEMS if wayland else [n for n in WINDOW_SYSTEMS if n not in _ON_WAYLAND]
    return first(names, hint, desktop)


def _layer(name: str) -> Layer | None:
    try:
        found: Layer = importlib.import_module(f"{_PACKAGE}.{name}").LAYER
    except ImportError as error:
        log.debug("the layer %s is not to be had: %s", name, error)
        return None
    return found


def _owner(seat: Seat) -> Process | None:
    """Return the nearest ancestor outside of the terminal: whoever made it."""
    return next((one for one in seat.ancestors if one.tty != seat.process.tty), None)


def _short(tty: str | None) -> str:
    return one_line((tty or "its terminal").removeprefix("/dev/"), 60)


def _ssh_host(seat: Seat) -> str | None:
    """Return where the person at `seat` has logged in from; `None` if not by ssh."""
    if not any(one.comm in ("sshd", "sshd-session") for one in seat.ancestors):
        return None
    return one_line(seat.environ.get("SSH_CONNECTION", "").partition(" ")[0], 60) or "elsewhere"

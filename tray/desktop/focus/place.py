"""What the focus back ends share: where a process sits, and the places that show it. Plain data.

A session's process sits at a tty. Each `Layer` knows one program that shows ttys or windows to
a person, and leads one step outwards: a multiplexer from a pane to the seat of the client that
shows it, a terminal from a tab to its window, a window system from the window to the screen.
`tray.desktop.focus.route` joins the steps.

Everything here is synchronous and may take some milliseconds: the tray calls it on a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tray.system.processes import Process

CALL_LIMIT = 2.0
"""Seconds that one call of a program or service may take before its layer gives up."""


class FocusError(Exception):
    """A place could not be shown; the message says what failed and what to do, in one line."""


class Seat(msgspec.Struct, frozen=True):
    """Where a process sits: its terminal, and the processes above it."""

    process: Process
    """The process itself; `pid` and `start_ticks` are its identity, `tty` its terminal."""
    ancestors: tuple[Process, ...]
    """Parent, grandparent, and so on; pid 1 and those not readable are left out."""
    environ: dict[str, str] = {}
    """The variables of the process's environment that some layer wants (`Layer.wants`)."""


class WindowHint(msgspec.Struct, frozen=True):
    """What is known of the window that shows a place; at least `pid` or `app`."""

    pid: int | None = None
    """The process that owns the window."""
    start_ticks: int | None = None
    xid: int | None = None
    """The X11 window, where the terminal tells it."""
    title: str | None = None
    """The window's present title, where the terminal tells it: tells windows of one process
    apart."""
    app: str | None = None
    """Desktop-file or application id (`org.kde.konsole`), for systems that only know those."""
    seek: str | None = None
    """What a person must look for where no program can go on (`tab "shop-api" of Tilix`)."""


class Spot(Protocol):
    """One place that shows a session (a pane, a tab, a window), found by a layer."""

    layer: str
    """Name of the layer that found it."""
    says: str
    """The place in words: `tmux pane %3 of session work`."""
    outward: Seat | WindowHint | None
    """What shows this place in its turn; `None` if nothing does, or nothing more is to be told."""

    def active(self) -> bool | None:
        """Whether it is the one selected in what shows it (for a window: has the keyboard focus).

        `None` where that cannot be known. Never raises.
        """

    def show(self, token: str | None = None) -> None:
        """Select it in what shows it (for a window: raise and focus it). Types nothing, ever.

        `token` is an activation token of xdg-activation or of X11 startup notification, where
        the person's click brought one. Looks again that the place is still the session's before
        it acts. Raises `FocusError`.
        """


class Layer(Protocol):
    """One program or window system that shows ttys or windows. One file a layer."""

    name: str
    """As users know it: `tmux`, `kitty`, `X11`, `sway`."""
    wants: frozenset[str]
    """Environment variables of a session's process that it needs to find its way."""

    def find(self, place: Seat | WindowHint, desktop: Mapping[str, str]) -> Spot | None:
        """Return where this program shows `place`; `None` if it does not, or cannot tell.

        `desktop` is the environment of the person's login (`DISPLAY`, `WAYLAND_DISPLAY`,
        `SWAYSOCK`, `DBUS_SESSION_BUS_ADDRESS`, ...). A multiplexer or terminal takes a `Seat`, a
        window system a `WindowHint`; each answers `None` to the other. Cheap where it is not
        concerned: decided by names of processes and variables before anything is called. Never
        guesses: a place is the session's only if its tty, and the process at it, are. Raises
        `FocusError` where the program is the one concerned but does not answer.
        """

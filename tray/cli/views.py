"""Following the sessions with one's eyes: a live table on a terminal, lines anywhere else."""

from __future__ import annotations

import datetime as dt
import os
import sys
import time
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from tray.cli import table
from tray.session import EventKind
from tray.untrusted import one_line

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console, RenderableType

    from tray.engine import Update
    from tray.session import Problem, Transition


class View(Protocol):
    """Where updates and messages are shown to a person; a context manager."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal as it was."""

    def show(self, update: Update) -> None:
        """Show `update`."""

    def say(self, message: str) -> None:
        """Print one line."""


def open_view(*, color: bool, once: bool = False) -> View:
    """Return the view that suits standard output.

    `once` follows the sessions on a terminal only: elsewhere the table is printed a single time.
    """
    console = table.console(color=color)
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return LiveTable(console)
    return ChangeLines(console, once=once)


class LiveTable:
    """The table of the newest update, drawn in place; ages advance once a second.

    A context manager that draws nothing before the first `show`. `show` and `say` may be
    called from any thread.
    """

    def __init__(self, console: Console, hint: str = "Ctrl-C ends") -> None:
        self._console = console
        self._hint = hint
        self._update: Update | None = None
        self._live = Live(
            console=console,
            get_renderable=self._render,
            refresh_per_second=1,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, update: Update) -> None:
        """Show `update` at once."""
        self._update = update
        if self._live.is_started:
            self._live.refresh()
        else:
            self._live.start(refresh=True)

    def say(self, message: str) -> None:
        """Print one line above the table."""
        self._console.print(Text(one_line(message)), soft_wrap=True)

    def _render(self) -> RenderableType:
        update = self._update
        if update is None:
            return Text()
        width, height = self._console.size
        foot = [Text(one_line(f"⚠ {problem.message}"), "yellow") for problem in update.problems]
        foot.append(Text(self._hint, "dim"))
        below = [line for text in foot for line in text.wrap(self._console, width)]
        room = max(height - len(below) - 1, 1)
        return Group(table.listing(update.tracked.sessions, time.time(), width, room), *below)


class ChangeLines:
    """The table once, then (unless `once`) one line a change; for pipes, files and simple
    terminals.
    """

    def __init__(self, console: Console, *, once: bool = False) -> None:
        self._console = console
        self._once = once
        self._shown: Update | None = None
        self._problems: dict[str, Problem] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held."""

    def show(self, update: Update) -> None:
        """Print what `update` changed; shown again it says nothing new."""
        if update is self._shown or (self._once and self._shown is not None):
            return
        if self._shown is None:
            sessions, width = update.tracked.sessions, self._console.width
            self._console.print(table.listing(sessions, update.snapshot.at, width))
        else:
            for transition in update.transitions:
                if transition.kind is not EventKind.CHANGED:
                    self._print(transition.at, change(transition))
        self._shown = update
        for problem in update.problems:
            if self._problems.get(problem.code) != problem:
                self.say(problem.message)
        self._problems = {problem.code: problem for problem in update.problems}

    def say(self, message: str) -> None:
        """Print one line."""
        self._print(time.time(), message)

    def _print(self, at: float, text: str) -> None:
        moment = dt.datetime.fromtimestamp(at).astimezone()
        self._console.print(f"{moment:%H:%M:%S}  {one_line(text)}", soft_wrap=True)


def change(transition: Transition) -> str:
    """Return one change in words: `shop-api: permission, Bash: npm publish`."""
    session = transition.session
    if transition.kind is EventKind.ENDED:
        what = f"ended ({transition.how})"
    else:
        what = table.look(session).word
        if session.detail:
            what += f", {session.detail}"
    return f"{session.project or session.pid}: {what}"

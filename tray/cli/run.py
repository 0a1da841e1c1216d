"""`sessionbell run`: the tray itself, the only one of this login."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import click

from tray.cli.lock import AlreadyRunningError, only_one, runtime_folder
from tray.cli.logfile import default_path, verbose_option
from tray.cli.options import chosen_roots, examples, no_color_option, roots_option
from tray.system.memory import return_big_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.cli.views import View
    from tray.engine import Update


@click.command(epilog=examples("sessionbell", "sessionbell run &"))
@no_color_option
@roots_option
@verbose_option
def run(*, no_color: bool, roots: Sequence[str]) -> int:
    """Put the bell into the tray and notify, until Ctrl-C or Quit.

    Where no tray is to be had it says what is missing and goes on with what there is:
    notifications if a bus is there, and the live table on a terminal.
    """
    try:
        with only_one(runtime_folder(os.environ)):
            # Nobody follows what a tray prints that was not started from a terminal.
            return run_desktop(chosen_roots(roots), color=not no_color, once=True)
    except AlreadyRunningError as other:
        who = f"process {other.pid}" if other.pid is not None else "another process"
        click.echo(f"sessionbell is already running ({who}); see `sessionbell list`.")
    except KeyboardInterrupt:
        pass  # before the tray had its own way to end
    return 0


def run_desktop(roots: Sequence[str] | None, *, color: bool, once: bool = False) -> int:
    """Run the tray over `roots` until it is ended; return the exit code.

    Where there is no tray, the table shows what it would (`once`: see `open_view`).
    """
    return_big_blocks()
    from tray.cli import contract
    from tray.desktop import app

    with contextlib.ExitStack() as stack:
        substitute = _Substitute(stack, color=color, once=once)
        return app.run(
            roots=roots,
            table=substitute.show,
            say=substitute.say,
            document=lambda sessions: contract.document(contract.sessions(sessions)),
            log_path=str(default_path()),
            folder=runtime_folder(os.environ),
        )


class _Substitute:
    """What is shown where there is no tray; made only then, for rich costs memory."""

    def __init__(self, stack: contextlib.ExitStack, *, color: bool, once: bool) -> None:
        self._stack = stack
        self._color = color
        self._once = once
        self._view: View | None = None

    def show(self, update: Update) -> None:
        if self._view is None:
            from tray.cli.views import open_view

            self._view = self._stack.enter_context(open_view(color=self._color, once=self._once))
        self._view.show(update)

    def say(self, message: str) -> None:
        if self._view is None:
            click.echo(f"sessionbell: {message}", err=True)
        else:
            self._view.say(message)

"""`sessionbell run`: the tray itself, the only one of this login."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from tray.cli.lock import AlreadyRunningError, only_one, runtime_folder
from tray.cli.options import chosen_roots, examples, no_color_option, roots_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tray.cli.views import ChangeLines, LiveTable
    from tray.engine import Update


@click.command(epilog=examples("sessionbell", "sessionbell run &"))
@no_color_option
@roots_option
def run(*, no_color: bool, roots: Sequence[str]) -> int:
    """Put the bell into the tray and notify, until Ctrl-C or Quit.

    Where no tray is to be had it says what is missing and goes on with what there is:
    notifications if a bus is there, and the live table on a terminal.
    """
    from tray.cli.views import open_view

    try:
        with only_one(runtime_folder(os.environ)):
            # Nobody follows what a tray prints that was not started from a terminal.
            view = open_view(color=not no_color) if sys.stdout.isatty() else None
            return run_desktop(chosen_roots(roots), view)
    except AlreadyRunningError as other:
        who = f"process {other.pid}" if other.pid is not None else "another process"
        click.echo(f"sessionbell is already running ({who}); see `sessionbell list`.")
        return 0


def run_desktop(roots: Sequence[str] | None, view: LiveTable | ChangeLines | None) -> int:
    """Run the tray over `roots` until it is ended; return the exit code.

    Where there is no tray, `view` shows what it would; without one, the table is printed once.
    """
    from tray.desktop import app

    if view is None:
        return app.run(roots=roots, table=_first_look(), say=_say)
    with view:
        return app.run(roots=roots, table=view.show, say=view.say)


def _first_look() -> Callable[[Update], None]:
    shown = False

    def show(update: Update) -> None:
        nonlocal shown
        if not shown:
            shown = True
            from tray.cli import table

            console = table.console(color=True)
            sessions = update.tracked.sessions
            console.print(table.listing(sessions, update.snapshot.at, console.width))

    return show


def _say(message: str) -> None:
    click.echo(f"sessionbell: {message}", err=True)

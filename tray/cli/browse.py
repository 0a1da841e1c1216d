"""`sessionbell browse`: past sessions on the whole terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tray.cli.options import complain, examples, roots_option

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    epilog=examples(
        "sessionbell browse                  then type a few letters",
        "sessionbell browse --root ~/.claude-work",
    )
)
@roots_option
def browse(*, roots: Sequence[str]) -> int:
    """Browse past sessions, read them, and resume one.

    Type to filter, Ctrl+S searches the conversations, the right arrow shows a session's forks,
    Enter resumes it in this terminal. F1 shows all keys.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.ClickException(
            "browse needs a terminal; `sessionbell history` prints the list anywhere"
        )
    from tray.cli.browser.app import browse as run

    chosen, problems = run(tuple(roots))
    code = complain(problems)
    if chosen is None:
        return code
    from tray.cli.resume import resume

    # What was asked is answered. All else (that it is live, how it is resumed) is looked up anew.
    arguments = [chosen.session.transcript, "--yes"]
    arguments += ["--fork"] if chosen.fork else []
    arguments += [word for root in roots for word in ("--root", root)]
    context = click.get_current_context()
    with resume.make_context("resume", arguments, parent=context) as inner:
        return int(resume.invoke(inner) or 0)

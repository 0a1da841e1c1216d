"""`sessionbell resume`: back into a past session, in this terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import click

from tray.cli.options import complain, examples, roots_option
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.history.past import Past
    from tray.history.resuming import Resumption
    from tray.session import Problem

_OPENS_NO_FILE = (2, 1, 81)
"""The newest version of which that was seen; 2.1.332 does."""
_VERSION_LIMIT = 10.0
"""Seconds for a client to tell its version."""


@click.command(
    epilog=examples(
        "sessionbell resume 4f2a",
        "sessionbell resume 'flaky test'",
        "sessionbell resume shop-api --fork",
        "sessionbell resume 4f2a --print",
    )
)
@click.argument("session")
@click.option("--fork", is_flag=True, help="Go on in a new session, and leave this one as it is.")
@click.option("--here", is_flag=True, help="In the directory that you are in, not in its own.")
@click.option("--print", "only_print", is_flag=True, help="Print the command and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask; take what is offered.")
@roots_option
def resume(
    *, session: str, fork: bool, here: bool, only_print: bool, yes: bool, roots: Sequence[str]
) -> int:
    """Resume a past SESSION with Claude Code, in its directory, in this terminal.

    SESSION is a session id or its start, a name, words of a title, or a transcript's path. A
    session that is live is gone to instead: two processes on one transcript would corrupt it. One
    of another machine is resumed there, by ssh; a kept copy from its own file.
    """
    from tray.cli.history import the_session
    from tray.history.past import KEPT

    problems: list[Problem] = []
    past = the_session(session, roots, problems)
    if past.live and not fork and not only_print:
        return _go_there(past, yes=yes)
    how = _plan(past, problems, fork=fork)
    cwd = os.getcwd() if here else how.cwd
    complain(problems)
    if only_print:
        if how.warning is not None and not here:
            click.echo(f"sessionbell: {one_line(how.warning, 1000)}", err=True)
        click.echo(f"cd {shlex.quote(cwd)} && {shlex.join(_with_environment(how))}")
        return 0
    if not here and how.gone is not None:
        _offer(how, yes=yes)
    elif not here and how.warning is not None:
        click.echo(f"sessionbell: {one_line(how.warning, 1000)}", err=True)
    if past.source == KEPT:
        _refuse_old_client(how)
    return start(how, cwd)


def _plan(past: Past, problems: list[Problem], *, fork: bool) -> Resumption:
    from tray.history.resuming import ResumeError, way_back
    from tray.history.sources import known_remotes

    try:
        return way_back(past, os.environ, known_remotes(problems), fork=fork)
    except ResumeError as error:
        raise click.ClickException(str(error)) from None


def _refuse_old_client(how: Resumption) -> None:
    """End if the client is too old to open a file: it would show its list of sessions instead."""
    import subprocess

    from tray.claude.joining import version

    try:
        said = subprocess.run(
            [how.argv[0], "--version"],
            env=how.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_LIMIT,
            check=False,
        ).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return  # what is wrong shows when it is started
    found = version(said[0]) if said else ()
    if found and found <= _OPENS_NO_FILE:
        raise click.ClickException(
            f"Claude Code {one_line(said[0], 40)} cannot open a kept copy; update it"
        )


def start(how: Resumption, cwd: str) -> int:
    """Become the client; returns, with an exit code, only if that fails."""
    program = shutil.which(how.argv[0], path=how.environ.get("PATH"))
    if program is None:
        raise click.ClickException(
            f"the program {how.argv[0]!r} is not found: is Claude Code installed, and its folder"
            " in PATH?"
            if how.argv[0] == "claude"
            else f"the program {how.argv[0]!r} is not installed"
        )
    try:
        os.chdir(cwd)
    except OSError as error:
        raise click.ClickException(f"{cwd}: {error.strerror}") from None
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(program, how.argv, {**how.environ, "PWD": cwd})  # noqa: S606 - no shell is meant
    except OSError as error:
        raise click.ClickException(f"{program}: {error.strerror}") from None


def _go_there(past: Past, *, yes: bool) -> int:
    """Go to the live session in place of a second process on its transcript."""
    state = f" ({past.state.replace('_', ' ')})" if past.state else ""
    said = f"{_called(past)} is live in process {past.pid}{state}"
    command = click.get_current_context().find_root().command
    context = click.get_current_context()
    focus = command.get_command(context, "focus") if isinstance(command, click.Group) else None
    advice = "two processes on one transcript would corrupt it; --fork goes on in a copy"
    if focus is None:
        raise click.ClickException(f"{said}: go there; {advice}")
    if not yes:
        if not sys.stdin.isatty():
            raise click.ClickException(
                f"{said}: `sessionbell focus {past.pid}` goes there; {advice}"
            )
        click.confirm(f"{said}. Go there?", default=True, abort=True, err=True)
    with focus.make_context("focus", [str(past.pid)], parent=context) as inner:
        return int(focus.invoke(inner) or 0)


def _offer(how: Resumption, *, yes: bool) -> None:
    """Say that the directory is gone, and have the nearest one that is left accepted."""
    click.echo(f"sessionbell: {one_line(how.warning or '', 1000)}", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.ClickException("--yes resumes it there, --here where you are")
    click.confirm(f"Resume it in {one_line(how.cwd, 500)}?", default=True, abort=True, err=True)


def _with_environment(how: Resumption) -> tuple[str, ...]:
    """Return the command with what it needs in the environment, for a shell."""
    from tray.claude.roots import CONFIG_DIR

    dropped = [name for name in os.environ if name not in how.environ]
    words = [word for name in dropped for word in ("-u", name)]
    root = how.environ.get(CONFIG_DIR)
    if root is not None and root != os.environ.get(CONFIG_DIR):
        words.append(f"{CONFIG_DIR}={root}")
    return ("env", *words, *how.argv) if words else how.argv


def _called(past: Past) -> str:
    return one_line(past.name or past.title or past.session_id, 80)

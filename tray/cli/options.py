"""What several commands share: their common options, and one look at all sessions."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import click

from tray.session import order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tray.session import Observation, Problem, Snapshot

roots_option = click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(file_okay=False, resolve_path=True),
    metavar="DIR",
    help="Look only at this configuration folder of Claude Code (may be given again). "
    "Without it all of them are found.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for scripts, in a stable form."
)
no_color_option = click.option(
    "--no-color", is_flag=True, help="Print without colours (so does NO_COLOR=1)."
)


def examples(*lines: str) -> str:
    """Return the end of a command's help: command lines to start from, kept as they are."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def chosen_roots(roots: Sequence[str]) -> tuple[str, ...] | None:
    """Return the folders named by `--root`, or None for all there are."""
    return tuple(roots) or None


def look(
    roots: Sequence[str], *, ignored: bool = False
) -> tuple[Snapshot, tuple[Observation, ...]]:
    """Look at all sessions once, as the person's settings and mutes have it.

    Returns the snapshot and its sessions in the lists' order, without those of projects to
    ignore unless `ignored`: a session that is named is meant. What is wrong with the person's
    files is among the snapshot's problems. For a command that then ends: garbage is not
    collected any more.
    """
    # A sixth of the whole command's time would go into looking for garbage that is not there.
    gc.disable()
    from msgspec.structs import replace

    from tray.claude.survey import Surveyor
    from tray.configfile import SettingsFile

    file = SettingsFile()
    file.read()
    settings = file.settings
    snapshot = Surveyor(roots=chosen_roots(roots), idle_after=settings.idle_after).survey()
    sessions, problems = snapshot.sessions, snapshot.problems + file.problems
    if settings.projects.ignore and not ignored:
        from tray.projects import shown

        sessions = shown(sessions, settings)
    if any(session.unseen for session in sessions):
        from tray.mutefile import MuteFile
        from tray.mutes import looked_at

        kept = MuteFile()
        mutes = kept.read()
        sessions = tuple(looked_at(mutes, session) for session in sessions)
        problems += kept.problems
    snapshot = replace(snapshot, sessions=sessions, problems=problems)
    gc.freeze()  # spares the search at exit
    return snapshot, tuple(sorted(sessions, key=order))


def complain(problems: Iterable[Problem]) -> int:
    """Print each problem on stderr; return the exit code, 1 if there was any."""
    code = 0
    for problem in problems:
        click.echo(f"sessionbell: {problem.message}", err=True)
        code = 1
    return code

"""`sessionbell history keep`: copies that Claude Code does not delete."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from tray.cli.options import complain, examples, roots_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.session import Problem


@click.command(
    epilog=examples(
        "sessionbell history keep 4f2a",
        "sessionbell history keep --expiring      all that are about to be deleted",
        "sessionbell history keep --remove 4f2a",
    )
)
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--expiring", is_flag=True, help="All that are about to be deleted.")
@click.option("--remove", is_flag=True, help="Delete the kept copies.")
@roots_option
def keep(*, sessions: Sequence[str], expiring: bool, remove: bool, roots: Sequence[str]) -> int:
    """Copy a SESSION to where Claude Code does not delete it.

    Claude Code deletes sessions that were not written to for 30 days, or `cleanupPeriodDays` of
    its settings. A kept one is listed, searched and resumed like all others. Keep it again after
    it has gone on.
    """
    from tray.cli.history import look_back
    from tray.cli.history import the_session as named
    from tray.history import keeping
    from tray.history.past import KEPT
    from tray.history.retention import Retention

    if bool(sessions) == expiring or (remove and expiring):
        raise click.UsageError("name the sessions, or take all with --expiring")
    problems: list[Problem] = []
    if expiring:
        retention, now = Retention(), time.time()
        everything = look_back(roots, problems)
        chosen = [past for past in everything if retention.expires_soon(past, now)]
    elif remove:
        # The copies of sessions that are still here too: lists leave those out.
        from tray.history.scan import scan
        from tray.history.select import matching

        copies = scan([keeping.kept_place()])
        chosen = [past for wanted in sessions for past in matching(copies, wanted)]
        if len(chosen) != len(sessions):
            raise click.ClickException("there is not one kept copy for each of these")
    else:
        chosen = [named(wanted, roots, problems) for wanted in sessions]
    code = complain(problems)
    for past in chosen:
        try:
            if remove:
                keeping.let_go(past)
                click.echo(f"removed {past.transcript}")
            elif past.source != KEPT:
                click.echo(keeping.keep(past))
        except keeping.KeepError as error:
            click.echo(f"sessionbell: {error}", err=True)
            code = 1
    return code

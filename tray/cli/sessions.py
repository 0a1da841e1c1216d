"""`sessionbell list` and `sessionbell show`: what is true at this moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tray.cli.options import complain, examples, json_option, look, no_color_option, roots_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.session import Observation


@click.command(
    "list",
    epilog=examples(
        "sessionbell list",
        "sessionbell list --json | jq '.[] | select(.state == \"needs_input\")'",
    ),
)
@json_option
@no_color_option
@roots_option
def list_sessions(*, as_json: bool, no_color: bool, roots: Sequence[str]) -> int:
    """List all live sessions, the ones that wait for you first."""
    snapshot, sessions = look(roots)
    if as_json:
        from tray.cli import contract

        click.echo(contract.document(contract.sessions(sessions)), nl=False)
    else:
        from tray.cli import table

        console = table.console(color=not no_color)
        console.print(table.listing(sessions, snapshot.at, console.width))
    return complain(snapshot.problems)


@click.command(epilog=examples("sessionbell show shop-api", "sessionbell show 48213 --json"))
@click.argument("session")
@json_option
@no_color_option
@roots_option
def show(*, session: str, as_json: bool, no_color: bool, roots: Sequence[str]) -> int:
    """Show everything known of one SESSION, with the whole of what it asks.

    SESSION is a process id, the start of a session id, or a name or project if only one
    session has it.
    """
    snapshot, sessions = look(roots, ignored=True)
    found = one_session(sessions, session)
    if as_json:
        from tray.cli import contract

        click.echo(contract.document(contract.detailed(found)), nl=False)
    else:
        from tray.cli import table

        console = table.console(color=not no_color)
        console.print(table.details(found, snapshot.at, console))
    return complain(snapshot.problems)


def one_session(sessions: Sequence[Observation], wanted: str) -> Observation:
    """Return the one session that `wanted` means, or end: 1 if there is none, 2 if several."""
    from tray.cli.select import matching, nearest

    found = matching(sessions, wanted)
    if len(found) == 1:
        return found[0]
    if not found:
        close = nearest(sessions, wanted)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise click.ClickException(f"no live session answers to {wanted!r}{hint}")
    lines = [f"{wanted!r} fits {len(found)} sessions; name one by its process id:"]
    lines += ["  ".join(("", str(one.pid or "-"), *_names(one))) for one in found]
    raise click.UsageError("\n".join(lines))


def _names(session: Observation) -> tuple[str, ...]:
    names = (session.project, session.name or session.title, session.session_id)
    return tuple(name for name in names if name)

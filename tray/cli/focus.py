"""`sessionbell focus`: to the terminal of a session, the next one that waits, and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tray.cli import shortcut
from tray.cli.options import complain, examples, json_option, look, roots_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.session import Observation


@click.command(
    epilog=examples(
        "sessionbell focus shop-api",
        "sessionbell focus --next             for a keyboard shortcut",
        "sessionbell focus --back",
        "sessionbell focus shop-api --explain",
    )
)
@click.argument("session", required=False)
@click.option(
    "--next", "to_next", is_flag=True, help="The session that waits longest; then the next."
)
@click.option("--back", is_flag=True, help="The window that had the focus before.")
@click.option("--explain", is_flag=True, help="Say what would be done and why; do nothing.")
@json_option
@roots_option
def focus(
    *,
    session: str | None,
    to_next: bool,
    back: bool,
    explain: bool,
    as_json: bool,
    roots: Sequence[str],
) -> int:
    """Go to the terminal of a SESSION: its pane, tab and window.

    SESSION is named as for `sessionbell show`. Nothing is ever typed there. Where no program
    can go all the way, it says what to look for, or which command leads there.
    """
    if sum((session is not None, to_next, back)) != 1:
        raise click.UsageError("name a SESSION, --next or --back")
    if back:
        if explain:
            raise click.UsageError("--explain goes with a SESSION or --next")
        return _say(*shortcut.back(), as_json=as_json)
    answer: tuple[bool, str] | None = None
    if to_next and not explain and not roots:
        answer = shortcut.ask_for_next()
    elif session is not None and not explain and not roots:
        answer = shortcut.ask_for(session)
    if answer is not None:
        return _say(*answer, as_json=as_json)
    return _go(session, explain=explain, as_json=as_json, roots=roots)


def _go(session: str | None, *, explain: bool, as_json: bool, roots: Sequence[str]) -> int:
    from tray.cli.sessions import one_session

    guide = shortcut.make_guide()
    # A session that is named is meant, whatever is ignored.
    snapshot, sessions = look(roots, ignored=session is not None)
    found = one_session(sessions, session) if session is not None else guide.next(sessions)
    complain(snapshot.problems)
    if found is None:
        return _say(True, "nothing waits for you", as_json=as_json)  # noqa: FBT003 - as over the bus
    if explain:
        return _explain(found, as_json=as_json)
    return _say(*shortcut.go(found, guide), as_json=as_json)


def _explain(session: Observation, *, as_json: bool) -> int:
    from tray.desktop.guide import find_way

    way = find_way(session, os.environ)
    lines = way.explain() if way is not None else []
    if as_json:
        click.echo(_json({"session_id": session.session_id, "pid": session.pid, "way": lines}))
    else:
        name = session.project or session.name or "the session"
        click.echo(
            "\n".join((f"{name} (process {session.pid}):", *(f"  {line}" for line in lines)))
        )
    return 0


def _say(done: bool, message: str, *, as_json: bool) -> int:  # noqa: FBT001 - as over the bus
    if as_json:
        click.echo(_json({"done": done, "message": message}))
    else:
        click.echo(message, err=not done)
    return 0 if done else 1


def _json(value: object) -> str:
    import orjson

    return orjson.dumps(value).decode()

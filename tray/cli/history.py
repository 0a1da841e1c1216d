"""`sessionbell history`: past sessions, listed, searched, shown and exported."""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from tray.cli.keep import keep
from tray.cli.options import complain, examples, json_option, no_color_option, roots_option
from tray.history.select import ORDERS, Filter, arranged, matching, moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tray.history.past import Past
    from tray.history.search import Query
    from tray.session import Observation, Problem

LIMIT = 50
"""Sessions that are listed unless --limit says otherwise."""


def _moment(_context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    at = moment(value, time.time())
    if at is None:
        raise click.BadParameter(
            f"{value!r} is no time: 3d, 12h, today, yesterday, 2026-05-22 or 2026-05-22T14:30",
            param=option,
        )
    return at


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "sessionbell history                         the newest sessions",
        "sessionbell history --project shop --since 7d",
        "sessionbell history --search 'connection refused'",
        "sessionbell history --forks                 which was forked off which",
        "sessionbell history show 4f2a                read one again",
        "sessionbell history export 4f2a --html > session.html",
        "sessionbell history --json --limit 0 | jq 'map(.turns) | add'",
    ),
)
@click.option("--search", "text", metavar="TEXT", help="Only sessions in which TEXT was said.")
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@click.option("--tools", is_flag=True, help="Search also what tools were given and answered.")
@click.option("--project", metavar="NAME", help="Part of a project's name, or a directory.")
@click.option("--since", metavar="WHEN", callback=_moment, help="Modified since: 3d, 2026-05-22.")
@click.option("--until", metavar="WHEN", callback=_moment, help="Modified before: 3d, today.")
@click.option("--branch", metavar="NAME", help="Last at work on this branch.")
@click.option("--tag", metavar="TAG", help="With this tag.")
@click.option("--source", metavar="NAME", help="From this machine (local) or this remote.")
@click.option("--named", is_flag=True, help="Only those you gave a name.")
@click.option("--live", is_flag=True, help="Only those that run right now.")
@click.option("--forks", is_flag=True, help="Only forks and what they were forked off, as a tree.")
@click.option(
    "--min-turns", type=click.IntRange(0), default=0, help="With so many prompts or more."
)
@click.option(
    "--sort", type=click.Choice(tuple(ORDERS)), default="modified", help="Order; the newest first."
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=LIMIT,
    show_default=True,
    help="At most so many; 0 is all.",
)
@click.option("--all", "everything", is_flag=True, help="Also what is no session, with the reason.")
@click.option("--deleted", is_flag=True, help="Only sessions that are gone but for what you typed.")
@click.option(
    "--sync/--no-sync",
    "sync",
    default=None,
    help="First fetch what is new of all remotes, or of none; else as `auto_sync_minutes` says.",
)
@click.option("--sync-only", is_flag=True, help="Fetch what is new of all remotes, list nothing.")
@click.option("--debug", is_flag=True, help="Show ids and how many lines could not be read.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets.")
@json_option
@no_color_option
@roots_option
@click.pass_context
def history(
    ctx: click.Context,
    *,
    text: str | None,
    regex: bool,
    tools: bool,
    project: str | None,
    since: float | None,
    until: float | None,
    branch: str | None,
    tag: str | None,
    source: str | None,
    named: bool,
    live: bool,
    forks: bool,
    min_turns: int,
    sort: str,
    limit: int,
    everything: bool,
    deleted: bool,
    sync: bool | None,
    sync_only: bool,
    debug: bool,
    as_csv: bool,
    as_json: bool,
    no_color: bool,
    roots: Sequence[str],
) -> int:
    """Find any past session, and read it again.

    Lists every session of this user, live or not, the last modified first. A star marks a name
    that you gave, a dot a session that is live, a fork what was forked. Claude Code deletes old
    sessions: those that are about to be are marked, and those that you keep. With --search only
    what a person reads in a conversation is searched, in any letter case.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    _refuse_contradictions(
        {"--regex or --tools": regex or tools}, {"--search": text is not None}, goes=True
    )
    _refuse_contradictions(
        {"--csv": as_csv}, {"--json": as_json, "--search": text is not None}, goes=False
    )
    _refuse_contradictions({"--deleted": deleted}, {"--search": text is not None}, goes=False)
    query = _query(text, regex=regex, tools=tools)
    problems: list[Problem] = []
    code = _fetch(problems, roots, every=sync_only or sync, quiet=not sync_only)
    if sync_only:
        return complain(problems) or code
    wanted = Filter(
        project=project,
        branch=branch,
        tag=tag,
        source=source,
        named=named,
        live=live,
        min_turns=min_turns,
        since=since,
        until=until,
    )
    sessions = look_back(roots, problems, everything=everything or deleted)
    if deleted:
        sessions = _deleted(sessions, roots)
    chosen = arranged([session for session in sessions if wanted.fits(session)], sort)
    if query is not None:
        _print_found(chosen, query, limit, as_json=as_json, color=not no_color)
        return complain(problems)
    depths: list[int] = []
    if forks:
        chosen, depths = _family_tree(chosen)
    more = len(chosen) - limit if limit else 0
    if limit:
        chosen = chosen[:limit]
    if as_json or as_csv:
        from tray.cli import past_contract

        print_bytes(past_contract.table(chosen) if as_csv else past_contract.array(chosen))
    else:
        from tray.cli import past_table

        table = past_table.listing(
            chosen,
            time.time(),
            forked={session.forked_from for session in sessions},
            depths=depths,
            expiring=_expiring(chosen),
            debug=debug,
            more=more,
            color=not no_color,
        )
        click.echo(table, nl=False, color=True)
    return complain(problems)


def _expiring(sessions: Sequence[Past]) -> dict[str, float]:
    """Return when those are deleted that soon will be and of which no copy is kept, by path."""
    from tray.history.retention import Retention

    retention, now = Retention(), time.time()
    return {
        past.transcript: retention.expires_at(past) or now
        for past in sessions
        if past.transcript and not past.kept and retention.expires_soon(past, now)
    }


def _family_tree(sessions: Sequence[Past]) -> tuple[tuple[Past, ...], list[int]]:
    """Return those of the sessions that are forks or were forked as a tree, with their depths."""
    from tray.history.forks import Forks

    family = Forks(sessions)
    related = Forks([session for session in sessions if family.has_family(session)])
    rows = list(related.tree())
    return tuple(session for _, session in rows), [depth for depth, _ in rows]


def _refuse_contradictions(given: dict[str, bool], others: dict[str, bool], *, goes: bool) -> None:
    """End if what is given needs one of the others (`goes`), or does not go with one of them."""
    for option, is_given in given.items():
        if is_given and goes and not any(others.values()):
            raise click.UsageError(f"{option} goes with {' or '.join(others)}")
        for other, is_too in others.items():
            if is_given and is_too and not goes:
                raise click.UsageError(f"{option} does not go with {other}")


def look_back(
    roots: Sequence[str], problems: list[Problem], *, everything: bool = False, live: bool = True
) -> tuple[Past, ...]:
    """Return all past sessions, the last modified first, for a command that then ends.

    What could not be read is added to `problems`. `live` looks which of them run right now.
    """
    gc.disable()  # there is no garbage in what follows, and much to look through
    from tray.history.index import Index
    from tray.history.keeping import without_doubles
    from tray.history.scan import scan
    from tray.history.sources import everywhere

    observed, in_use = _survey(roots) if live else ((), ())
    progress = _Progress()
    with Index() as index:
        try:
            found = scan(
                everywhere(roots or None, index, problems, in_use),
                index=index,
                progress=progress,
                everything=everything,
                problems=problems,
            )
        finally:
            progress.end()
        found = without_doubles(found)
        problems += index.problems
    if observed:
        from tray.history.live import mark

        found = mark(found, observed)
    gc.freeze()
    return found


def _fetch(
    problems: list[Problem], roots: Sequence[str], *, every: bool | None, quiet: bool
) -> int:
    """Sync all remotes, none, or (`None`) those whose time has come; return the exit code."""
    from tray.history.private import remotes_file

    # Most people have none, and pay one look at the disk.
    if every is False or roots or not os.path.exists(remotes_file()):
        if not quiet:
            click.echo(f"no remotes in {remotes_file()}; `sessionbell remotes init` begins it")
        return 0
    from tray.history import syncing
    from tray.history.sources import known_remotes

    # What is wrong with the file is told when its sessions are looked for, if they are.
    remotes = known_remotes(None if quiet else problems)
    limit = syncing.LIMIT
    if every is None:
        remotes = syncing.automatic(remotes, time.time())
        limit = syncing.AUTOMATIC_LIMIT
    if not remotes:
        return 0
    from tray.cli.remotes import sync_now

    return sync_now(remotes, limit=limit, quiet=quiet)


def _deleted(sessions: Sequence[Past], roots: Sequence[str]) -> tuple[Past, ...]:
    """Return those of which only prompts are left: no file, kept copy or process has their id."""
    from tray.claude.survey import Surveyor
    from tray.cli.options import chosen_roots
    from tray.history.deleted import as_past, deleted
    from tray.history.index import Index
    from tray.history.scan import places

    known = {session.session_id for session in sessions}
    observed = Surveyor(roots=chosen_roots(roots)).survey().sessions
    known |= {one.session_id for one in observed if one.session_id is not None}
    with Index() as index:
        folders = [place.path for place in places(roots or None, index)]
    return tuple(map(as_past, deleted(folders, known)))


def _survey(roots: Sequence[str]) -> tuple[Sequence[Observation], Sequence[str]]:
    """Return what is live, and the config roots that processes show."""
    from tray.claude.survey import Surveyor
    from tray.cli.options import chosen_roots

    surveyor = Surveyor(roots=chosen_roots(roots))
    return surveyor.survey().sessions, surveyor.roots


def _query(text: str | None, *, regex: bool, tools: bool) -> Query | None:
    if text is None:
        return None
    from tray.history.search import Query, QueryError, check

    query = Query(text, regex=regex, tools=tools)
    try:
        check(query)
    except QueryError as error:
        raise click.BadParameter(str(error), param_hint="--search") from None
    return query


def _print_found(
    sessions: Sequence[Past], query: Query, limit: int, *, as_json: bool, color: bool
) -> None:
    from tray.history.search import search

    progress = _Progress()
    try:
        found = list(search(sessions, query, progress=progress))
    finally:
        progress.end()
    shown = found[:limit] if limit else found
    if as_json:
        from tray.cli import past_contract

        print_bytes(past_contract.found(shown))
    else:
        from tray.cli import past_reading

        signs = not past_reading.has_color(color=color)
        past_reading.show(past_reading.hits(shown, time.time(), signs=signs), color=color)
        past_reading.show(past_reading.hits_summary(found, len(shown)), color=color)


@history.command(
    epilog=examples(
        "sessionbell history show 4f2a",
        "sessionbell history show 'fix the flaky test' --full",
        "sessionbell history show 4f2a --markdown | glow -",
    )
)
@click.argument("session")
@click.option("--full", is_flag=True, help="Show also thinking and what tools said.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@json_option
@no_color_option
@roots_option
def show(
    *,
    session: str,
    full: bool,
    as_markdown: bool,
    as_json: bool,
    no_color: bool,
    roots: Sequence[str],
) -> int:
    """Print the conversation of a SESSION.

    SESSION is a session id or its start, a name, a title, or a transcript's path. Tools are one
    line each, thinking is folded.
    """
    if as_json and as_markdown:
        raise click.UsageError("either --json or --markdown")
    problems: list[Problem] = []
    found = the_session(session, roots, problems)
    from tray.history import reading

    said = reading.pieces(found.transcript)
    if as_json:
        from tray.cli import past_contract

        print_bytes(past_contract.conversation(found, said))
    elif as_markdown:
        from tray.history import export as documents

        _print_lines(documents.markdown(found, said, full=full))
    else:
        from tray.cli import past_reading

        past_reading.show(past_reading.conversation(found, said, full=full), color=not no_color)
    return complain(problems)


@history.command(
    epilog=examples(
        "sessionbell history export 4f2a > session.md",
        "sessionbell history export 4f2a --html -o session.html",
    )
)
@click.argument("session")
@click.option("--html", "as_html", is_flag=True, help="A web page that needs nothing else.")
@click.option("--brief", is_flag=True, help="Leave out thinking and what tools said.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write to FILE, which must not be there yet.",
)
@roots_option
def export(
    *, session: str, as_html: bool, brief: bool, output: str | None, roots: Sequence[str]
) -> int:
    """Write the conversation of a SESSION as Markdown, or as HTML.

    SESSION is named as for `sessionbell history show`.
    """
    problems: list[Problem] = []
    found = the_session(session, roots, problems)
    from tray.history import export as documents
    from tray.history import reading

    said = reading.pieces(found.transcript)
    document = documents.as_html if as_html else documents.markdown
    lines = document(found, said, full=not brief)
    if output is None or output == "-":
        _print_lines(lines)
    else:
        try:
            # Conversations are for their person alone.
            descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise click.ClickException(f"{output} is there already") from None
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{line}\n" for line in lines)
    return complain(problems)


def the_session(wanted: str, roots: Sequence[str], problems: list[Problem]) -> Past:
    """Return the one past session that `wanted` means, or end: 1 if there is none, 2 if several."""
    sessions = look_back(roots, problems, everything=True)
    found = matching([session for session in sessions if session.skipped is None], wanted)
    found = found or matching(sessions, wanted)
    if len(found) == 1:
        return found[0]
    if not found:
        raise click.ClickException(
            f"no past session answers to {wanted!r}; `sessionbell history --all` lists them"
        )
    from tray.untrusted import one_line

    lines = [f"{wanted!r} fits {len(found)} sessions; name one by its id:"]
    for session in found[:20]:
        names = (session.session_id, session.project, session.title)
        lines.append("  " + "  ".join(one_line(name, 60) for name in names if name))
    raise click.UsageError("\n".join(lines))


def print_bytes(data: bytes) -> None:
    """Print what is bytes already."""
    click.echo(data, nl=False)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line.encode("utf-8", "replace"))


class _Progress:
    """A bar on the terminal once there is enough to do to be worth one."""

    _WORTH = 64 * 1024 * 1024

    def __init__(self) -> None:
        self._tell: Callable[[int, int], None] | None = None
        self._stop: Callable[[], None] | None = None

    def __call__(self, done: int, whole: int) -> None:
        """Show that `done` of `whole` bytes are done."""
        if whole < self._WORTH or not sys.stderr.isatty():
            return
        if self._tell is None:
            self._start()
        if self._tell is not None:
            self._tell(done, whole)

    def end(self) -> None:
        """Take the bar away."""
        if self._stop is not None:
            self._stop()
            self._stop = self._tell = None

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        bar = Progress(
            TextColumn("reading past sessions"),
            BarColumn(),
            DownloadColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        task = bar.add_task("")
        bar.start()
        self._tell = lambda done, whole: bar.update(task, completed=done, total=whole)
        self._stop = bar.stop


history.add_command(keep)

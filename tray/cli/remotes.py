"""`sessionbell remotes`: other machines whose past sessions are listed too."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from tray.cli.options import examples, json_option
from tray.configfile import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tray.history.remotes import Remote
    from tray.history.syncing import Outcome


@click.group(
    epilog=examples(
        "sessionbell remotes init     write a file to fill in",
        "sessionbell remotes check    can all be reached without a password?",
        "sessionbell remotes sync     fetch what is new",
        "sessionbell history --source build",
    )
)
def remotes() -> None:
    """List past sessions of other machines beside those of this one.

    They are fetched by rsync over ssh when you ask for it, or by `auto_sync_minutes`; nothing but
    transcripts is copied. A password is never asked for: use a key.
    """


@remotes.command(epilog=examples("sessionbell remotes init"))
def init() -> None:
    """Write the file with an example to fill in; an existing one is left alone."""
    from tray.history.remotes import EXAMPLE, default_path

    path = default_path()
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise click.ClickException(f"{path} exists already and was left as it is") from None
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(EXAMPLE)
    click.echo(path)


@remotes.command("list", epilog=examples("sessionbell remotes list"))
@json_option
def list_remotes(*, as_json: bool) -> None:
    """List the remotes, and when each was last synced."""
    from tray.history.syncing import last_sync

    rows = []
    for remote in _load():
        last = last_sync(remote)
        rows.append(
            {
                "name": remote.name,
                "target": remote.target,
                "path": remote.path,
                "auto_sync_minutes": remote.auto_sync_minutes,
                "last_sync": last.at if last is not None else None,
                "ok": last.ok if last is not None else None,
                "message": last.message if last is not None else None,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    if not rows:
        from tray.history.remotes import default_path

        click.echo(f"no remotes in {default_path()}; `sessionbell remotes init` begins it")
    now = time.time()
    width = max((len(str(row["name"])) for row in rows), default=0)
    for row in rows:
        at = row["last_sync"]
        when = f"synced {_ago(now - at)} ago" if isinstance(at, float) else "never synced"
        said = f": {row['message']}" if row["message"] else ""
        click.echo(f"{row['name']:<{width}}  {row['target']}:{row['path']}  {when}{said}")


@remotes.command(epilog=examples("sessionbell remotes check", "sessionbell remotes check build"))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def check(*, names: Sequence[str], as_json: bool) -> int:
    """Look whether the remotes can be reached and have sessions; nothing is fetched."""
    from tray.history import syncing

    chosen = _named(names)
    with _progress("asking", chosen, quiet=as_json) as progress:
        outcomes = syncing.check(chosen, progress=progress)
    if as_json:
        _print_json(outcomes)
    return int(not all(outcome.ok for outcome in outcomes))


@remotes.command(
    epilog=examples("sessionbell remotes sync", "sessionbell remotes sync build --strict")
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--strict", is_flag=True, help="Fail if any remote fails, not only if all do.")
@click.option(
    "--timeout",
    type=click.FloatRange(1, 86_400),
    default=300.0,
    show_default=True,
    help="Seconds for each remote.",
)
@json_option
def sync(*, names: Sequence[str], strict: bool, timeout: float, as_json: bool) -> int:
    """Fetch the transcripts that are new or have changed, and drop what has vanished there."""
    return sync_now(_named(names), strict=strict, limit=timeout, quiet=as_json, as_json=as_json)


def sync_now(
    chosen: Sequence[Remote],
    *,
    strict: bool = False,
    limit: float = 300.0,
    quiet: bool = False,
    as_json: bool = False,
) -> int:
    """Sync remotes and tell how that went; return the exit code.

    `quiet` tells of failures alone.
    """
    from tray.history import syncing

    with _progress("syncing", chosen, quiet=quiet) as progress:
        outcomes = syncing.sync(chosen, limit=limit, progress=progress)
    if as_json:
        _print_json(outcomes)
    failed = [outcome for outcome in outcomes if not outcome.ok]
    return int(bool(failed) and (strict or len(failed) == len(outcomes)))


def _load() -> tuple[Remote, ...]:
    from tray.history.remotes import default_path, load

    try:
        return load()
    except ConfigError as error:
        raise click.ClickException(f"{default_path()}: {error}") from None


def _named(names: Sequence[str]) -> tuple[Remote, ...]:
    from tray.history.remotes import default_path, named

    known = _load()
    try:
        chosen = named(known, names)
    except KeyError as error:
        names = ", ".join(remote.name for remote in known) or "none"
        raise click.UsageError(f"no remote is called {error}; there are: {names}") from None
    if not chosen:
        raise click.ClickException(
            f"no remotes in {default_path()}; `sessionbell remotes init` begins it"
        )
    return chosen


@contextlib.contextmanager
def _progress(
    what: str, chosen: Sequence[Remote], *, quiet: bool
) -> Iterator[Callable[[Outcome], None]]:
    """Print each outcome as it comes, above a line with what is under way on a terminal."""
    left = {remote.name for remote in chosen}
    update: Callable[[str], object] | None = None

    def tell(outcome: Outcome) -> None:
        left.discard(outcome.name)
        if update is not None:
            update(f"{what} {', '.join(sorted(left))}")
        if not (quiet and outcome.ok):
            click.echo(f"{outcome.name}: {outcome.message}", err=not outcome.ok)

    if not sys.stderr.isatty():
        yield tell
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"{what} {', '.join(sorted(left))}") as status:
        update = status.update
        yield tell


def _print_json(outcomes: Sequence[Outcome]) -> None:
    import msgspec

    click.echo(json.dumps([msgspec.to_builtins(outcome) for outcome in outcomes], indent=2))


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"

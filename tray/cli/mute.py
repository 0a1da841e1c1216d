"""`sessionbell mute`: fewer bubbles, for a while."""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from typing import TYPE_CHECKING

import click

from tray import mutes as muting
from tray.cli.options import complain, examples, json_option, look, roots_option
from tray.mutes import Mute, Mutes, Scope, entries, expired, id_of, published
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tray.mutefile import MuteFile

_DURATION = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m(?:in)?)?")
_ID_START = 8
"""Characters from which on a text is taken for the start of a session id that is not live."""
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")


def duration(text: str) -> float | None:
    """Return `30m`, `1h`, `2h30m` or `1d` in seconds; `None` for anything else, and for none."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        return None
    days, hours, minutes = (int(part or 0) for part in found.groups())
    return float(days * 86_400 + hours * 3600 + minutes * 60) or None


def moment(text: str, now: float) -> float | None:
    """Return when it is next `tomorrow` or `HH:MM`, local time; `None` for anything else."""
    text = text.strip().lower()
    if text == "tomorrow":
        return muting.until_tomorrow(now)
    found = _CLOCK.fullmatch(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        return None
    clock = dt.time(int(found[1]), int(found[2]))
    today = dt.datetime.fromtimestamp(now).astimezone().date()
    ends = (dt.datetime.combine(today + dt.timedelta(days=days), clock) for days in (0, 1))
    return next(end.timestamp() for end in ends if end.timestamp() > now)


def when(until: float | None, now: float) -> str:
    """Say when a mute ends: `until 15:30`, `until Sat 07:00`, `until 1 Jan 2027 00:00`."""
    if until is None:
        return "until unmuted"
    try:
        end = dt.datetime.fromtimestamp(until).astimezone()
    except (ValueError, OverflowError, OSError):
        return "until unmuted"
    days = (end.date() - dt.datetime.fromtimestamp(now).astimezone().date()).days
    if days == 0:
        return f"until {end:%H:%M}"
    return f"until {end:%a %H:%M}" if 0 < days < 7 else f"until {end:%-d %b %Y %H:%M}"


@click.command(
    epilog=examples(
        "sessionbell mute shop-api --for 1h",
        "sessionbell mute --project ~/src/shop --until tomorrow",
        "sessionbell mute --all --until 14:30",
        "sessionbell mute --list",
        "sessionbell mute --off shop-api",
        "sessionbell mute --off              undo every mute",
    )
)
@click.argument("session", required=False)
@click.option("--project", metavar="DIR", help="Mute every session of this project.")
@click.option("--all", "everything", is_flag=True, help="Mute every session.")
@click.option("--for", "length", metavar="TIME", help="How long: 30m, 1h, 2h30m, 1d.")
@click.option("--until", metavar="WHEN", help="Till when: HH:MM, or tomorrow (at 7:00).")
@click.option("--off", is_flag=True, help="Unmute; without a name, undo every mute.")
@click.option("--list", "listing", is_flag=True, help="Say what is muted, and until when.")
@json_option
@roots_option
def mute(
    *,
    session: str | None,
    project: str | None,
    everything: bool,
    length: str | None,
    until: str | None,
    off: bool,
    listing: bool,
    as_json: bool,
    roots: Sequence[str],
) -> int:
    """Mute a SESSION, a project or everything: no bubbles until then.

    Icon, badge and lists go on showing what waits, and what still waits at the end is told.
    Without --for and --until it holds until you unmute. A session stays muted over /clear and
    when it is resumed. SESSION is named as for `sessionbell show`.
    """
    targets = sum((session is not None, project is not None, everything))
    if targets > 1:
        raise click.UsageError("name one thing: a SESSION, --project DIR or --all")
    if listing:
        if targets or off or length or until:
            raise click.UsageError("--list goes with --json only")
        return _list(roots, as_json=as_json)
    if as_json:
        raise click.UsageError("--json goes with --list")
    if off and (length or until):
        raise click.UsageError("--off has no --for and no --until")
    if not targets and not off:
        raise click.UsageError("name what to mute: a SESSION, --project DIR or --all")
    end = None if off else _end(length, until)
    if off and session is None and project is None:
        return _unmute_everything()
    wanted, name = (off and _no_longer_live(session)) or _target(session, project, roots)
    if off:
        return _apply(wanted, f"{name} is not muted any more.", off=True)
    now = time.time()
    entry = Mute(wanted.scope, wanted.what, end)
    return _apply(entry, f"{name} is muted {when(end, now)}.", off=False)


def _end(length: str | None, until: str | None) -> float | None:
    """Return the end that the options name; ends with a usage error if it is none."""
    now = time.time()
    if length is not None and until is not None:
        raise click.UsageError("either --for or --until")
    if length is not None:
        seconds = duration(length)
        if seconds is None:
            raise click.UsageError(f"--for is a time like 30m, 1h or 2h30m, not {length!r}")
        return now + seconds
    if until is not None:
        end = moment(until, now)
        if end is None:
            raise click.UsageError(f"--until is HH:MM or `tomorrow`, not {until!r}")
        return end
    return None


def _target(session: str | None, project: str | None, roots: Sequence[str]) -> tuple[Mute, str]:
    """Return what is meant, and how to call it in a sentence."""
    if session is not None:
        from tray.cli.sessions import one_session

        snapshot, sessions = look(roots, ignored=True)
        complain(problem for problem in snapshot.problems if problem.code == "config")
        found = one_session(sessions, session)
        name = one_line(found.name or found.project or session, 60)
        return Mute(Scope.SESSION, id_of(found), None), name
    if project is not None:
        folder = project_folder(project)
        return Mute(Scope.PROJECT, folder, None), f"Project {_home(folder)}"
    return Mute(Scope.EVERYTHING, "", None), "Everything"


def _no_longer_live(session: str | None) -> tuple[Mute, str] | None:
    """Return the muted session whose id begins like that: one that ended can be unmuted too."""
    if session is None or len(session) < _ID_START:
        return None
    found = [name for name in _file().read().sessions if name.startswith(session)]
    return (Mute(Scope.SESSION, found[0], None), session) if len(found) == 1 else None


def project_folder(folder: str) -> str:
    """Return what a project is muted by: its repository's main directory, else `folder` itself."""
    from tray.system.git import checkout

    folder = os.path.realpath(os.path.expanduser(folder))
    place = checkout(folder)
    return (place.repository or place.root) if place is not None else folder


def _apply(entry: Mute, done: str, *, off: bool) -> int:
    """Mute or unmute, through the tray if one runs; print `done`."""
    file = _file()
    if not _by_tray(entry, off=off):
        file.update(lambda found: _changed(found, entry, off=off))
    now = time.time()
    if off and entry.scope is not Scope.EVERYTHING:
        for other in expired(file.read(), now).everything:
            done += f" Everything still is, {when(other, now)}: `sessionbell mute --off`."
    click.echo(done)
    return complain(file.problems)


def _changed(mutes: Mutes, entry: Mute, *, off: bool) -> Mutes:
    if off:
        return muting.unmute(mutes, entry.scope, entry.what)
    return muting.mute(mutes, entry.scope, entry.what, entry.until)


def _by_tray(entry: Mute, *, off: bool) -> bool:
    """Have the running tray do it; whether it has. Otherwise it will find it in the file."""
    from tray.cli import remote

    try:
        if off:
            remote.call("Unmute", "ss", entry.scope.value, entry.what)
        else:
            end = 0 if entry.until is None else round(entry.until)
            remote.call("Mute", "ssx", entry.scope.value, entry.what, end)
    except (remote.NotRunningError, remote.RefusedError, OSError, ValueError):
        return False
    return True


def _unmute_everything() -> int:
    file = _file()
    found = list(entries(expired(file.read(), time.time())))
    for entry in found:
        if not _by_tray(entry, off=True):
            file.update(lambda mutes, entry=entry: _changed(mutes, entry, off=True))  # type: ignore[misc]
    click.echo("Nothing is muted any more." if found else "Nothing was muted.")
    return complain(file.problems)


def _list(roots: Sequence[str], *, as_json: bool) -> int:
    now = time.time()
    file = _file()
    mutes = expired(file.read(), now)
    if as_json:
        from tray.cli import contract

        click.echo(contract.document(published(mutes)), nl=False)
    else:
        names: dict[str, str] = {}
        if mutes.sessions or mutes.snoozed:
            _, sessions = look(roots, ignored=True)
            names = {id_of(one): one.name or one.project or "" for one in sessions}
        told = [f"{_called(entry, names)}  {when(entry.until, now)}" for entry in entries(mutes)]
        click.echo("\n".join(told) or "Nothing is muted.")
    return complain(file.problems)


def _called(entry: Mute, names: Mapping[str, str]) -> str:
    if entry.scope is Scope.EVERYTHING:
        return "everything"
    if entry.scope is Scope.PROJECT:
        return f"project {_home(entry.what)}"
    session_id = entry.what.partition("/")[0] if entry.scope is Scope.ASK else entry.what
    word = "an ask of session" if entry.scope is Scope.ASK else "session"
    name = names.get(session_id)
    short = one_line(session_id, 60)
    return f"{word} {short} ({one_line(name, 60)})" if name else f"{word} {short}"


def _home(folder: str) -> str:
    home = os.path.expanduser("~")
    inside = folder == home or folder.startswith(f"{home}/")
    return one_line(f"~{folder.removeprefix(home)}" if inside else folder, 200)


def _file() -> MuteFile:
    from tray.mutefile import MuteFile

    return MuteFile()

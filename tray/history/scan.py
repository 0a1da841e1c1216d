"""Every transcript of all config roots, with what the index knows of it or a new count."""

from __future__ import annotations

import glob
import os
import stat
import time
from typing import TYPE_CHECKING

import msgspec

from tray.claude.counting import title
from tray.claude.locate import ID
from tray.claude.roots import config_roots
from tray.claude.summaries import is_current, summaries
from tray.history.counted import LINE, Record, Stamp, count_file, decode, encode, stamp_of
from tray.history.crew import spread
from tray.history.past import Past, Place
from tray.session import Problem
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tray.claude.counting import Tally
    from tray.history.index import Index

_SUFFIX = ".jsonl"
_SETTLED = 50_000_000
"""Nanoseconds after a change within which another one may leave the same times behind: the
kernel's clock for files goes on every 4 ms, that of some file systems slower."""
_WORKTREES = "/.claude/worktrees/"
"""Where the client makes worktrees, below the repository."""
_TOLD = 3
"""Files that cannot be read are told of by name up to here."""


class _File(msgspec.Struct, frozen=True):
    """A transcript that is there."""

    path: str
    session_id: str
    place: Place
    stamp: Stamp


def places(roots: Iterable[str] | None = None, index: Index | None = None) -> tuple[Place, ...]:
    """Return the config roots of this user, in use or not, or those of `roots`, each once.

    Those that no live process uses are found by their names beside `~/.claude`, and by what the
    `index` remembers of other times.
    """
    if roots is not None:
        paths: Iterable[str] = map(os.path.realpath, roots)
    else:
        home = os.path.expanduser("~")
        beside = sorted(glob.glob(os.path.join(glob.escape(home), ".claude*", "projects")))
        known = map(os.fsdecode, index.roots()) if index is not None else ()
        paths = config_roots(home, os.environ, [*map(os.path.dirname, beside), *known])
    return tuple(Place(path) for path in dict.fromkeys(paths))


def scan(
    roots: Iterable[Place],
    *,
    index: Index | None = None,
    progress: Callable[[int, int], None] | None = None,
    everything: bool = False,
    problems: list[Problem] | None = None,
) -> tuple[Past, ...]:
    """Return the sessions of all `roots`, the last modified first. Never raises.

    `progress` is told how many bytes of how many are counted, from this thread. `everything`
    adds what is no session of a person's (`Past.skipped` says why). What could not be read goes
    into `problems`. Whether a session is live is not looked at: `tray.history.live.mark`.
    """
    unreadable: list[str] = []
    roots = tuple(roots)
    files = _files(roots, unreadable, agents=everything)
    known = index.load() if index is not None else {}
    told: dict[str, dict[str, tuple[float, str]]] = {}
    found = []
    stale: list[tuple[_File, bytes | None]] = []
    for file in files:
        kept = known.pop(os.fsencode(file.path), None)
        record = decode(kept) if kept is not None else None
        if record is not None and record.stamp == file.stamp:
            found.append(_past(file, record, told))
        else:
            stale.append((file, kept))
    new = []
    for file, record in _count(stale, unreadable, progress):
        found.append(_past(file, record, told))
        if abs(time.time_ns() - record.stamp.mtime_ns) > _SETTLED:
            new.append((os.fsencode(file.path), encode(record)))
    if index is not None and (new or known):
        index.store(new, _gone(known, roots))
    if unreadable and problems is not None:
        problems.append(_problem(unreadable))
    if not everything:
        found = [past for past in found if past.skipped is None]
    found.sort(key=lambda past: (-(past.modified or 0.0), past.transcript))
    return tuple(found)


def _files(places: Sequence[Place], unreadable: list[str], *, agents: bool) -> list[_File]:
    """Return every transcript, each once under whatever names its folder is reached by."""
    files = []
    seen_folders: set[tuple[int, int]] = set()
    for place in places:
        for folder in _listed(os.path.join(place.path, "projects"), unreadable):
            try:
                found = folder.stat()
            except OSError:
                continue  # it has just gone, or is a link that leads nowhere
            identity = (found.st_dev, found.st_ino)
            if not stat.S_ISDIR(found.st_mode) or identity in seen_folders:
                continue
            seen_folders.add(identity)
            for entry in _listed(folder.path, unreadable):
                file = _file(entry, place, agents=agents)
                if file is not None:
                    files.append(file)
    return files


def _listed(folder: str, unreadable: list[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        unreadable.append(f"{folder}: {error.strerror}")
        return []


def _file(entry: os.DirEntry[str], place: Place, *, agents: bool) -> _File | None:
    name = entry.name.removesuffix(_SUFFIX)
    if name == entry.name:
        return None
    if ID.fullmatch(name) is None and not (agents and name.startswith(_AGENT)):
        return None
    try:
        found = entry.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return _File(entry.path, name, place, stamp_of(found))


_AGENT = "agent-"
"""How the files of subagents begin that old clients wrote beside the sessions'."""


def _count(
    stale: Sequence[tuple[_File, bytes | None]],
    unreadable: list[str],
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[_File, Record]]:
    by_path = {file.path: file for file, _ in stale}
    sizes = [file.stamp.size for file, _ in stale]
    whole, done = sum(sizes), 0
    tasks = [(file.path, kept) for file, kept in stale]
    for results, size in spread(_count_files, tasks, sizes):
        for path, data, failure in results:
            record = decode(data) if data is not None else None
            if record is not None:
                yield by_path[path], record
            elif failure is not None:
                unreadable.append(failure)
        done += size
        if progress is not None:
            progress(done, whole)


def _count_files(
    tasks: Sequence[tuple[str, bytes | None]],
) -> list[tuple[str, bytes | None, str | None]]:
    """Count some files; return each path, its record as it is kept, and why there is none."""
    results = []
    for path, kept in tasks:
        data, failure = None, None
        try:
            record = count_file(path, decode(kept) if kept is not None else None)
            data = encode(record) if record is not None else None
        except FileNotFoundError:
            pass
        except OSError as error:
            failure = f"{path}: {error.strerror or error}"
        results.append((path, data, failure))
    return results


def _gone(known: Iterable[bytes], places: Sequence[Place]) -> list[bytes]:
    """Return those of the files that are not there any more, and are not another listing's."""
    below = tuple(os.fsencode(os.path.join(place.path, "projects", "")) for place in places)
    return [path for path in known if path.startswith(below) and not os.path.lexists(path)]


def _problem(unreadable: Sequence[str]) -> Problem:
    more = len(unreadable) - _TOLD
    names = "; ".join(one_line(name, 300) for name in unreadable[:_TOLD])
    return Problem(
        "history-unreadable",
        f"past sessions are missing here that cannot be read: {names}"
        + (f"; and {more} more" if more > 0 else ""),
    )


def _past(file: _File, record: Record, told: dict[str, dict[str, tuple[float, str]]]) -> Past:
    tally, stamp = record.tally, record.stamp
    modified = stamp.mtime_ns / 1e9
    if not tally.summary:
        folder = os.path.dirname(file.path)
        if folder not in told:
            told[folder] = summaries(folder)
        moment, summary = told[folder].get(file.session_id, (0.0, ""))
        if summary and is_current(moment, modified):
            tally = msgspec.structs.replace(tally, summary=one_line(summary, LINE))
    named = title(tally)
    first, last = tally.first_timestamp, tally.last_timestamp
    created = record.created if record.created is not None else min(modified, stamp.ctime_ns / 1e9)
    return Past(
        transcript=file.path,
        session_id=file.session_id,
        project=_project(tally.cwd),
        cwd=tally.cwd,
        branch=tally.branch,
        title=named[0] if named is not None else None,
        title_source=named[1] if named is not None else None,
        name=_given_name(tally),
        tag=tally.tag or None,
        first_prompt=tally.first_prompt or None,
        summary=tally.summary or None,
        turns=tally.turns,
        messages=tally.messages,
        malformed_lines=tally.malformed,
        first_timestamp=first,
        last_timestamp=last,
        duration_s=round(max(last - first, 0.0), 3)
        if first is not None and last is not None
        else None,
        created=created,
        modified=modified,
        size=stamp.size,
        version=tally.version,
        entrypoint=tally.entrypoint,
        forked_from=tally.forked_from if tally.forked_from != file.session_id else None,
        continued_in=tally.continued_in,
        source=file.place.source,
        last_cwd=tally.last_cwd,
        config_root=file.place.path,
        skipped=_skipped(file, tally),
    )


def _project(cwd: str | None) -> str | None:
    if cwd is None:
        return None
    repository = cwd.partition(_WORKTREES)[0]
    return one_line(os.path.basename(repository.rstrip("/")) or "/", LINE)


def _given_name(tally: Tally) -> str | None:
    """Return the title that a person gave: the client itself gives a worktree's its name."""
    name = tally.custom_title
    worktree = (tally.cwd or "").partition(_WORKTREES)[2].partition("/")[0]
    return name if name and name != worktree else None


def _skipped(file: _File, tally: Tally) -> str | None:
    if file.session_id.startswith(_AGENT):
        return "a subagent's"
    if tally.sidechain:
        return "a sidechain"
    if tally.team:
        return "a team member's"
    if tally.cwd is None and not tally.turns and title(tally) is None:
        return "neither directory nor prompt nor title"
    return None

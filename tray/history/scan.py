"""Every transcript of all config roots, with what the index knows of it or a new count."""

from __future__ import annotations

import glob
import os
import re
import stat
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.claude.locate import ID
from tray.claude.roots import config_roots
from tray.history.kinship import with_parents
from tray.history.past import Past, Place
from tray.history.stamp import stamp_of
from tray.session import Problem
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tray.history.index import Index, Row

_NAME = re.compile(ID.pattern.encode() + rb"\.jsonl")
_ANY_NAME = re.compile(rb"(?:agent-.*|" + ID.pattern.encode() + rb")\.jsonl", re.DOTALL)
"""Of transcripts, and those of subagents that old clients wrote beside them."""
_SETTLED = 0.05
"""Seconds after a change within which another one may leave the same times behind: the kernel's
clock for files goes on every 4 ms, that of some file systems slower."""
_TOLD = 3
"""Files that cannot be read are told of by name up to here."""


_decode = msgspec.msgpack.Decoder(Past).decode


class _File(msgspec.Struct, frozen=True):
    """A transcript that is there."""

    path: bytes
    place: Place
    stamp: bytes
    size: int
    mtime_ns: int
    indexed: bool
    """The client has an index of its project's sessions."""


def places(
    roots: Iterable[str] | None = None, index: Index | None = None, in_use: Iterable[str] = ()
) -> tuple[Place, ...]:
    """Return the config roots of this user, in use or not, or those of `roots`, each once.

    Processes show those that are `in_use`. Others are found by their names beside `~/.claude`,
    and by what the `index` remembers of other times.
    """
    if roots is not None:
        paths: Iterable[str] = map(os.path.realpath, roots)
    else:
        home = os.path.expanduser("~")
        beside = sorted(glob.glob(os.path.join(glob.escape(home), ".claude*", "projects")))
        known = map(os.fsdecode, index.roots()) if index is not None else ()
        paths = config_roots(home, os.environ, [*map(os.path.dirname, beside), *in_use, *known])
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
    known = index.load() if index is not None else {}
    found: list[tuple[_File, Past]] = []
    stale: list[tuple[_File, bytes | None]] = []
    for file in _files(roots, unreadable, agents=everything):
        stamp, kept = known.pop(file.path, (b"", b""))
        past = _restored(file, kept) if stamp == file.stamp else None
        if past is not None:
            found.append((file, past))
        else:
            stale.append((file, index.progress(file.path) if index and stamp else None))
    rows: list[Row] = []
    for file, past, row in _count(stale, unreadable, progress):
        found.append((file, past))
        if abs(time.time() - (past.modified or 0.0)) > _SETTLED:
            rows.append(row)
    if index is not None and (rows or known):
        index.store(rows, _gone(known, roots))
    if unreadable and problems is not None:
        problems.append(_problem(unreadable))
    found_all = with_parents(list(_with_summaries(found)))
    sessions = [past for past in found_all if everything or past.skipped is None]
    sessions.sort(key=lambda past: (-(past.modified or 0.0), past.transcript))
    return tuple(sessions)


def _files(places: Sequence[Place], unreadable: list[str], *, agents: bool) -> Iterator[_File]:
    """Yield every transcript, each once under whatever names its folder is reached by."""
    seen: set[tuple[int, int]] = set()
    for place in places:
        for folder in _listed(os.fsencode(os.path.join(place.path, "projects")), unreadable):
            try:
                found = folder.stat()
            except OSError:
                continue  # it has just gone, or is a link that leads nowhere
            identity = (found.st_dev, found.st_ino)
            if stat.S_ISDIR(found.st_mode) and identity not in seen:
                seen.add(identity)
                yield from _files_in(folder.path, place, unreadable, agents=agents)


def _files_in(
    folder: bytes, place: Place, unreadable: list[str], *, agents: bool
) -> Iterator[_File]:
    names = _ANY_NAME if agents else _NAME
    entries = _listed(folder, unreadable)
    indexed = any(entry.name == b"sessions-index.json" for entry in entries)
    for entry in entries:
        if names.fullmatch(entry.name) is None:
            continue
        try:
            found = entry.stat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            yield _File(
                entry.path, place, stamp_of(found), found.st_size, found.st_mtime_ns, indexed
            )


def _listed(folder: bytes, unreadable: list[str]) -> list[os.DirEntry[bytes]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        unreadable.append(f"{os.fsdecode(folder)}: {error.strerror}")
        return []


def _restored(file: _File, kept: bytes) -> Past | None:
    """Return what the index keeps of a file; `None` if that makes no sense."""
    try:
        past = _decode(kept)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    place = file.place
    if past.transcript and past.config_root == place.path and past.source == place.source:
        return past
    path = os.fsdecode(file.path)
    return replace(past, transcript=path, config_root=place.path, source=place.source)


def _count(
    stale: Sequence[tuple[_File, bytes | None]],
    unreadable: list[str],
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[_File, Past, Row]]:
    if not stale:
        return
    from tray.history.crew import spread

    by_path = {file.path: file for file, _ in stale}
    sizes = [file.size for file, _ in stale]
    whole, done = sum(sizes), 0
    tasks = [(file.path, file.place, counted) for file, counted in stale]
    for results, size in spread(_count_files, tasks, sizes):
        for row, failure in results:
            file = by_path.get(row[0])
            past = _restored(file, row[2]) if file is not None and row[2] else None
            if file is not None and past is not None:
                yield file, past, row
            elif failure is not None:
                unreadable.append(failure)
        done += size
        if progress is not None:
            progress(done, whole)


def _count_files(
    tasks: Sequence[tuple[bytes, Place, bytes | None]],
) -> list[tuple[Row, str | None]]:
    """Count some files; return each one's row, or an empty one and why."""
    # What counting needs is imported only where something has to be counted.
    from tray.history.counted import count_file, decode, encode
    from tray.history.describe import describe

    results: list[tuple[Row, str | None]] = []
    for path, place, progress in tasks:
        row: Row = (path, b"", b"", b"")
        failure = None
        try:
            count = count_file(path, decode(progress))
            if count is not None:
                past = _encoded(describe(os.fsdecode(path), place, count), encode)
                row = (path, count.stamp, past, encode(count.progress))
        except FileNotFoundError:
            pass
        except OSError as error:
            failure = f"{os.fsdecode(path)}: {error.strerror or error}"
        results.append((row, failure))
    return results


def _encoded(past: Past, encode: Callable[[object], bytes]) -> bytes:
    try:
        return encode(past)
    except UnicodeEncodeError:
        # A path may hold any bytes; it is filled in again when it is restored.
        return encode(replace(past, transcript="", config_root=None))


def _with_summaries(found: Iterable[tuple[_File, Past]]) -> Iterator[Past]:
    """Yield the sessions, with the summaries that only the client's own index has."""
    told: dict[bytes, dict[str, tuple[float, str]]] = {}
    for file, past in found:
        if not file.indexed or past.summary is not None:
            yield past
            continue
        from tray.claude.summaries import is_current, summaries
        from tray.history.describe import with_summary

        folder = os.path.dirname(file.path)
        if folder not in told:
            told[folder] = summaries(os.fsdecode(folder))
        moment, summary = told[folder].get(past.session_id, (0.0, ""))
        current = summary and is_current(moment, past.modified or 0.0)
        yield with_summary(past, summary) if current else past


def _gone(known: Iterable[bytes], places: Sequence[Place]) -> list[bytes]:
    """Return those of the files that are not there any more, if they are of these places."""
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

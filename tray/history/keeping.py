"""Keeping sessions: copies that the client does not delete, in `$XDG_DATA_HOME/sessionbell/kept`.

They lie as in a config root, so they are listed and searched like all others. A copy is resumed
by its path. Nothing is ever written where the client keeps its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tray.claude.files import read_small
from tray.claude.locate import ID
from tray.history.past import KEPT, LOCAL, Past, Place
from tray.history.private import make_folders, own_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What only keeping needs is imported there: lists look for copies too.
_UNFINISHED = ".unfinished-"
_CHUNK = 1024 * 1024
_REGULAR = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


class KeepError(Exception):
    """A session cannot be kept; the text is for a person."""


class Origin(msgspec.Struct, frozen=True):
    """Where a copy is from; stands beside it."""

    transcript: str
    config_root: str | None
    source: str
    kept_at: float
    """Unix seconds."""


def default_folder() -> str:
    """Return the folder of what is kept."""
    return os.path.join(own_folder("XDG_DATA_HOME", "~/.local/share"), "kept")


def kept_place(folder: str | None = None) -> Place:
    """Return where the copies are, for a scan."""
    return Place(folder or default_folder(), KEPT)


def keep(past: Past, folder: str | None = None) -> str:
    """Copy a session's transcript, and the folder that belongs to it; return the copy's path.

    What was kept of it before is replaced, and stands until the new copy is complete. Raises
    `KeepError`.
    """
    if past.source == KEPT:
        raise KeepError(f"{past.session_id} is a kept copy already")
    if not past.transcript or ID.fullmatch(past.session_id) is None:
        raise KeepError(f"{past.session_id}: its transcript is gone, so there is nothing to keep")
    folder = folder or default_folder()
    project = os.path.basename(os.path.dirname(past.transcript))
    target = os.path.join(folder, "projects", project)
    kept = os.path.join(target, f"{past.session_id}.jsonl")
    try:
        make_folders(folder, "projects", project)
        with _locked(folder):
            _clean(folder)
            _refuse_shorter(past.transcript, kept)
            _copy_all(past, target)
    except OSError as error:
        where = error.filename if error.filename is not None else folder
        raise KeepError(f"{where}: {error.strerror or error}") from error
    return kept


def let_go(past: Past, folder: str | None = None) -> None:
    """Delete a kept copy; raises `KeepError` for anything else, or if that fails."""
    folder = folder or default_folder()
    projects = os.path.join(os.path.realpath(folder), "projects", "")
    if past.source != KEPT or not os.path.realpath(past.transcript).startswith(projects):
        raise KeepError(f"{past.session_id} is no kept copy")
    import shutil

    base = past.transcript.removesuffix(".jsonl")
    try:
        with _locked(folder):
            os.unlink(past.transcript)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{base}.json")
            shutil.rmtree(base, ignore_errors=True)
    except OSError as error:
        raise KeepError(f"{error.filename}: {error.strerror}") from error


def origin(past: Past) -> Origin | None:
    """Return where a kept copy is from; `None` if that is not known."""
    data = read_small(f"{past.transcript.removesuffix('.jsonl')}.json", 65_536)
    if past.source != KEPT or data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Origin)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def without_doubles(sessions: Iterable[Past]) -> tuple[Past, ...]:
    """Return the sessions without the kept copies whose originals are among them, those marked.

    Pure. An original on another machine does not hide the copy, for it is resumed there.
    """
    sessions = tuple(sessions)
    kept = kept_ids(sessions)
    if not kept:
        return sessions
    here = {past.session_id for past in sessions if past.source == LOCAL and past.transcript}
    return tuple(
        replace(past, kept=True) if past.source == LOCAL and past.session_id in kept else past
        for past in sessions
        if past.source != KEPT or past.session_id not in here
    )


def kept_ids(sessions: Iterable[Past]) -> frozenset[str]:
    """Return the ids of those that a copy is kept of."""
    return frozenset(past.session_id for past in sessions if past.source == KEPT)


def _copy_all(past: Past, target: str) -> None:
    import tempfile

    base = os.path.join(target, past.session_id)
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=target) as scratch:
        # The transcript last: whatever is listed is complete.
        belongings = past.transcript.removesuffix(".jsonl")
        copy = os.path.join(scratch, "folder")
        if os.path.isdir(belongings) and not os.path.islink(belongings):
            _copy_folder(belongings, copy)
            with contextlib.suppress(FileNotFoundError):
                os.rename(base, os.path.join(scratch, "before"))
            os.rename(copy, base)
        about = os.path.join(scratch, "origin")
        made = Origin(past.transcript, past.config_root, past.source, time.time())
        with open(os.open(about, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(msgspec.json.encode(made))
        transcript = os.path.join(scratch, "transcript")
        _copy_file(past.transcript, transcript)
        os.replace(about, f"{base}.json")
        os.replace(transcript, f"{base}.jsonl")
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_folder(source: str, target: str) -> None:
    """Copy a folder's regular files; links, which may lead anywhere, are left out."""
    os.mkdir(target, 0o700)
    with os.scandir(source) as entries:
        for entry in entries:
            to = os.path.join(target, entry.name)
            if entry.is_dir(follow_symlinks=False):
                _copy_folder(entry.path, to)
            elif entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    _copy_file(entry.path, to)


def _copy_file(source: str, target: str) -> None:
    """Copy a regular file with its times, so that it is listed where it was."""
    import shutil

    with open(os.open(source, _REGULAR), "rb") as original:
        found = os.fstat(original.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", source)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(target, flags, 0o600), "wb") as copy:
            shutil.copyfileobj(original, copy, _CHUNK)
            copy.flush()
            os.fsync(copy.fileno())
            os.utime(copy.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))


def _refuse_shorter(transcript: str, kept: str) -> None:
    """See that a copy which holds more than what is left of the original is not lost."""
    try:
        before = os.stat(kept).st_size
    except FileNotFoundError:
        return
    if os.stat(transcript).st_size < before:
        raise KeepError(f"{transcript} is shorter than what was kept of it, which was left alone")


def _clean(folder: str) -> None:
    """Remove what was not finished, as when the power failed; under the lock nobody is at it."""
    import glob
    import shutil

    for path in glob.glob(
        os.path.join(glob.escape(folder), "projects", "*", f"{_UNFINISHED}*"), include_hidden=True
    ):
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    import fcntl

    with open(os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT, 0o600), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

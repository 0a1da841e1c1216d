"""Where mutes are kept: `$XDG_STATE_HOME/sessionbell/mutes.json`.

Tray and command line both write it, each by `MuteFile.update` under one lock, so that neither
undoes what the other did. The file is replaced as a whole: a reader never sees half of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from typing import TYPE_CHECKING

import msgspec

from tray.mutes import Mutes, expired
from tray.session import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = 1
"""Of the file's format; one of another version is kept aside, not guessed at."""
LIMIT = 1_000_000
"""Bytes above which it cannot be ours."""
LOCK_LIMIT = 0.5
"""Seconds to wait for another process that writes; it takes milliseconds."""


class _Stored(Mutes, frozen=True, kw_only=True):
    """The file's content."""

    version: int


class MuteFile:
    """The mutes as they are kept; never raises for what the file holds or the disk does."""

    def __init__(self, path: str | None = None) -> None:
        """Read nothing yet; `path` is the state folder's file unless given."""
        # A link that somebody put there is to stay one.
        self._path = os.path.realpath(path or default_path())
        self._seen: tuple[int, ...] | None = None
        self._kept_in_memory = False
        self._problem: Problem | None = None
        self.mutes = Mutes()
        """As last read or written."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps mutes from being kept, or was wrong with the file."""
        return () if self._problem is None else (self._problem,)

    def changed(self) -> bool:
        """Whether somebody else has written the file since; costs one stat."""
        return self._stamp() != self._seen

    def read(self) -> Mutes:
        """Read the file anew; no file is no mutes, and a broken one is put aside."""
        self._seen = self._stamp()
        try:
            self.mutes = self._content()
        except (ValueError, OSError) as error:
            self.mutes = Mutes()
            self._put_aside(error)
        self._kept_in_memory = False
        return self.mutes

    def update(self, change: Callable[[Mutes], Mutes]) -> Mutes:
        """Apply `change` to what is kept now, keep the result and return it.

        What has ended is dropped. Where it cannot be written it holds for this process, and
        `problems` says so.
        """
        self._problem = None
        try:
            with self._locked():
                if not self._kept_in_memory:
                    self.read()
                self.mutes = expired(change(self.mutes), time.time())
                self._write(self.mutes)
                self._seen = self._stamp()
        except OSError as error:
            # Nothing was applied if the lock could not be had.
            if not isinstance(error, _NotWrittenError):
                self.mutes = expired(change(self.mutes), time.time())
            self._kept_in_memory = True
            self._problem = Problem(
                "mutes",
                f"{self._path} cannot be written ({error.strerror or error}): mutes are forgotten"
                " when sessionbell ends; see that the folder is yours and the disk is not full",
            )
        else:
            self._kept_in_memory = False
        return self.mutes

    def _content(self) -> Mutes:
        try:
            # A FIFO in its place must not be waited for.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return Mutes()
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError("it is no regular file")
            data = file.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise ValueError("it is too long")
        stored = msgspec.json.decode(data, type=_Stored)
        if stored.version != VERSION:
            raise ValueError(f"its version is {stored.version}, not {VERSION}")
        if len(stored.everything) > 1:
            raise ValueError("`everything` has more than one end")
        return Mutes(*(getattr(stored, name) for name in Mutes.__struct_fields__))

    def _put_aside(self, error: Exception) -> None:
        aside = f"{self._path}.broken-{time.time_ns()}"
        where = f"it was kept as {aside}"
        try:
            os.rename(self._path, aside)
            self._seen = None
        except OSError as failure:
            where = f"nor can it be put aside ({failure.strerror})"
        cause = getattr(error, "strerror", None) or str(error)
        self._problem = Problem(
            "mutes-broken",
            f"{self._path} cannot be used ({cause}), so nothing is muted; {where};"
            " mute anew with `sessionbell mute`",
        )

    def _write(self, mutes: Mutes) -> None:
        import tempfile  # takes longer than all of `list`, which only reads

        data = msgspec.json.encode(_Stored(*msgspec.structs.astuple(mutes), version=VERSION))
        folder, name = os.path.split(self._path)
        temporary = None
        try:
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            with open(descriptor, "wb") as file:  # mkstemp makes it 0600
                file.write(data + b"\n")
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, self._path)
        except OSError as error:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            raise _NotWrittenError(error.errno, error.strerror) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; raises `OSError` if it cannot be had in time."""
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        # The file itself is replaced, so it cannot be what is locked.
        descriptor = os.open(f"{self._path}.lock", flags, 0o600)
        try:
            deadline = time.monotonic() + LOCK_LIMIT
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= deadline:
                        raise TimeoutError(0, "another process holds it") from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(descriptor)

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


class _NotWrittenError(OSError):
    """The change was applied and could not be kept."""


def default_path() -> str:
    """Return `$XDG_STATE_HOME/sessionbell/mutes.json`."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.local/state")
    return os.path.join(base, "sessionbell", "mutes.json")

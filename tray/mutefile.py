"""Where mutes are kept: `$XDG_STATE_HOME/sessionbell/mutes.json`.

Tray and command line both write it, each by `MuteFile.update` under one lock, so that neither
undoes what the other did. The file is replaced as a whole: a reader never sees half of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from tray.atomic import lock, replace_file
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
LOOP_LIMIT = 0.02
"""The same where an event loop stands still meanwhile."""
PENDING = 500
"""Changes that are kept to be made in the file later; of more, the oldest are not."""
_UNREAD, _UNWRITTEN = "mutes-unread", "mutes"


class _Stored(Mutes, frozen=True, kw_only=True):
    """The file's content."""

    version: int


class MuteFile:
    """The mutes as they are kept; never raises for what the file holds or the disk does.

    A change holds at once, for this process. One that could not be written is made anew in what
    the file holds at the next `read` or `update`.
    """

    def __init__(self, path: str | None = None, *, on_loop: bool = False) -> None:
        """Read nothing yet; `path` is the state folder's file unless given.

        `on_loop`: whoever calls must not be held up, so neither the disk nor, for longer than
        `LOOP_LIMIT`, another process is waited for.
        """
        # A link that somebody put there is to stay one.
        self._path = os.path.realpath(path or default_path())
        self._on_loop = on_loop
        self._seen: tuple[int, ...] | None = None
        self._pending: deque[Callable[[Mutes], Mutes]] = deque(maxlen=PENDING)
        """The changes that the file does not have yet."""
        self._problems: dict[str, Problem] = {}
        self.mutes = Mutes()
        """As last read or written, with all that was changed since."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps mutes from being kept, or was wrong with the file."""
        return tuple(self._problems.values())

    def changed(self) -> bool:
        """Whether `read` has something to do: costs one stat.

        Somebody else has written the file since, or it could not be read or written.
        """
        return bool(self._pending) or _UNREAD in self._problems or self._stamp() != self._seen

    def read(self) -> Mutes:
        """Read the file anew, and write what is still to be written.

        No file is no mutes, and a broken one is put aside. While it cannot be read, what was
        known holds on.
        """
        if self._refresh() and self._pending:
            self._settle()
        return self.mutes

    def update(self, change: Callable[[Mutes], Mutes]) -> Mutes:
        """Apply `change` to what is kept now, keep the result and return it.

        What has ended is dropped. Where it cannot be written it holds for this process, and
        `problems` says so. `change` may be called again: it must depend on nothing else.
        """
        self._problems.clear()
        self._pending.append(change)
        self.mutes = expired(change(self.mutes), time.time())
        self._settle()
        return self.mutes

    def _settle(self) -> None:
        """Make the pending changes in what the file holds now, and write that."""
        try:
            with self._locked():
                self._rewrite()
        except OSError as error:
            self._problems[_UNWRITTEN] = Problem(
                _UNWRITTEN,
                f"{self._path} cannot be written ({error.strerror or error}): mutes are forgotten"
                " when sessionbell ends; see that the folder is yours and the disk is not full",
            )
        else:
            self._pending.clear()
            self._problems.pop(_UNWRITTEN, None)

    def _rewrite(self) -> None:
        """Do that, under the lock; raises `OSError` if it cannot be done."""
        if not self._refresh():
            # What it holds is not to be lost.
            raise OSError(errno.EAGAIN, "it cannot be read")
        self._write(self.mutes)
        self._seen = self._stamp()

    def _refresh(self) -> bool:
        """Take over what the file holds, with the pending changes; whether that can be told."""
        found = self._load()
        if found is None:
            return False
        for change in self._pending:
            found = change(found)
        self.mutes = expired(found, time.time()) if self._pending else found
        return True

    def _load(self) -> Mutes | None:
        """Return what the file holds; `None` if that cannot be told now."""
        self._seen = self._stamp()
        try:
            found = self._content()
        except OSError as error:
            # That says nothing about what it holds: no file descriptor may be left, for one.
            self._tell_unread(error.strerror or str(error))
            return None
        except ValueError as error:
            if self._stamp() != self._seen:
                # Another one by now, which may be a good one.
                self._tell_unread("it is being written")
                return None
            self._put_aside(error)
            found = Mutes()
        self._problems.pop(_UNREAD, None)
        return found

    def _tell_unread(self, cause: str) -> None:
        self._problems[_UNREAD] = Problem(
            _UNREAD,
            f"{self._path} cannot be read ({cause}): what was muted before stays so;"
            " see that it is yours",
        )

    def _content(self) -> Mutes:
        try:
            # A FIFO in its place must not be waited for.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
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

    def _put_aside(self, error: ValueError) -> None:
        aside = f"{self._path}.broken-{time.time_ns()}"
        where = f"it was kept as {aside}"
        try:
            os.rename(self._path, aside)
            self._seen = None
        except OSError as failure:
            where = f"nor can it be put aside ({failure.strerror})"
        self._problems["mutes-broken"] = Problem(
            "mutes-broken",
            f"{self._path} cannot be used ({error}), so nothing is muted; {where};"
            " mute anew with `sessionbell mute`",
        )

    def _write(self, mutes: Mutes) -> None:
        data = msgspec.json.encode(_Stored(*msgspec.structs.astuple(mutes), version=VERSION))
        replace_file(self._path, data + b"\n", durable=not self._on_loop)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; raises `OSError` if it cannot be had in time."""
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        # The file itself is replaced, so it cannot be what is locked.
        descriptor = os.open(f"{self._path}.lock", flags, 0o600)
        try:
            lock(descriptor, LOOP_LIMIT if self._on_loop else LOCK_LIMIT)
            yield
        finally:
            os.close(descriptor)

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def default_path() -> str:
    """Return `$XDG_STATE_HOME/sessionbell/mutes.json`."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.local/state")
    return os.path.join(base, "sessionbell", "mutes.json")

"""One tray a login: a lock file that works without any bus."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class AlreadyRunningError(Exception):
    """Another process holds the lock."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid
        """The other process, if it has said so."""


def runtime_folder(environ: Mapping[str, str]) -> str:
    """Return `$XDG_RUNTIME_DIR`, or where there is none a private folder in the temporary one.

    After `su` the variable still names the folder of the user before, which is of no use.

    Raises PermissionError if that folder is somebody else's.
    """
    given = environ.get("XDG_RUNTIME_DIR")
    if given and os.path.isabs(given) and _takes_files(given):
        return given
    folder = os.path.join(tempfile.gettempdir(), f"sessionbell-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else; set XDG_RUNTIME_DIR")
    return folder


def _takes_files(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


@contextlib.contextmanager
def only_one(folder: str) -> Iterator[None]:
    """Hold the lock in `folder`; raise AlreadyRunningError if somebody else does.

    The kernel lets go of it however the holder ends, so a file left behind means nothing.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    descriptor = os.open(os.path.join(folder, "sessionbell.lock"), flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = os.pread(descriptor, 20, 0).strip()
            raise AlreadyRunningError(int(said) if said.isdigit() else None) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)

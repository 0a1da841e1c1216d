"""Changing a small file that others read and write meanwhile: as a whole, and one at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

_LOOK_EACH = 0.005
"""Seconds between two tries for a lock: flock(2) itself cannot be told how long to wait."""


def replace_file(path: str, data: bytes, *, keep_mode: bool = False, durable: bool = True) -> None:
    """Put a file with that content in the place of `path`; raises `OSError` and leaves no litter.

    Only the owner may read it, unless `keep_mode` and there is one with another mode already.
    `durable` waits until it is on the disk: what a power cut must not take.
    """
    import tempfile  # takes longer than all of `list`, which only reads

    folder, name = os.path.split(path)
    descriptor, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(descriptor, "wb") as file:  # mkstemp makes it 0600
            if keep_mode:
                with contextlib.suppress(FileNotFoundError):
                    os.fchmod(descriptor, os.stat(path).st_mode & 0o777)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(descriptor)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def lock(descriptor: int, limit: float) -> None:
    """Lock an open file or folder (flock(2)), waiting at most `limit` seconds.

    Raises `TimeoutError` if another holds it for longer, `OSError` where it cannot be locked.
    """
    deadline = time.monotonic() + limit
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(0, "another process holds it") from None
            time.sleep(_LOOK_EACH)
        else:
            return

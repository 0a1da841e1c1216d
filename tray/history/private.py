"""Folders of ours that hold conversations: for their person alone."""

from __future__ import annotations

import contextlib
import os


def make_folders(base: str, *names: str) -> str:
    """Make `base` and the folders in it, one in the other, and return the innermost.

    All of them are 0700 if they are new, which `os.makedirs` sees to for the innermost alone.
    """
    os.makedirs(os.path.dirname(base), 0o700, exist_ok=True)
    folder = base
    for name in ("", *names):
        folder = os.path.join(folder, name) if name else folder
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
    return folder

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


def own_folder(variable: str, fallback: str) -> str:
    """Return this program's folder of a kind, by the XDG base directory specification."""
    # platformdirs would say the same, and takes a tenth of the whole command's time to import.
    base = os.environ.get(variable, "")
    return os.path.join(
        base if os.path.isabs(base) else os.path.expanduser(fallback), "sessionbell"
    )


def remotes_file() -> str:
    """Return where the list of other machines is, whether it exists or not."""
    return os.path.join(own_folder("XDG_CONFIG_HOME", "~/.config"), "remotes.toml")

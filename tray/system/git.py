"""Which branch and work tree a directory is in, read from `.git` without running git.

Formats: gitrepository-layout(5), gitformat-worktree ("Worktrees: details" in git-worktree(1)).
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

_READ_LIMIT = 4096
"""Bytes of HEAD, commondir or a `.git` file read at most: one line each."""
_SHORT = 7
"""Digits of an abbreviated commit id."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The git work tree around a directory."""

    root: str
    """Top directory of the work tree."""
    branch: str | None
    """`None` if detached or not to be told; the name of an unborn branch is told."""
    detached: str | None
    """The abbreviated commit id, if HEAD is detached."""
    worktree: str | None
    """Name of a linked work tree; `None` in the main one and in submodules."""
    repository: str | None = None
    """Top directory of the main work tree, from a linked one."""


def checkout(cwd: str) -> Checkout | None:
    """Return the work tree that `cwd` lies in; `None` outside of any. Never raises.

    `cwd` may be gone: what is left of its parents decides.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        return None
    folder = os.path.normpath(cwd)
    while True:
        found = _at(folder)
        if found is not None:
            return found
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _at(root: str) -> Checkout | None:
    entry = os.path.join(root, ".git")
    try:
        mode = os.stat(entry).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return _read_head(root, entry, None, None)
    pointer = _line(entry)
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    git_dir = os.path.normpath(os.path.join(root, pointer.removeprefix("gitdir:").strip()))
    common = _line(os.path.join(git_dir, "commondir"))
    if common is None:
        return _read_head(root, git_dir, None, None)  # A submodule.
    main = os.path.normpath(os.path.join(git_dir, common))
    repository = os.path.dirname(main) if os.path.basename(main) == ".git" else None
    return _read_head(root, git_dir, os.path.basename(git_dir), repository)


def _read_head(
    root: str, git_dir: str, worktree: str | None, repository: str | None
) -> Checkout | None:
    path = os.path.join(git_dir, "HEAD")
    try:
        # How HEAD was kept long ago; such a link points nowhere while the branch is unborn.
        head: str | None = f"ref: {os.readlink(path)}"
    except OSError:
        head = _line(path)
    if head is None:
        return None
    branch = detached = None
    if head.startswith("ref:"):
        name = head.removeprefix("ref:").strip()
        branch = name.removeprefix("refs/heads/") or None
        if branch == ".invalid":  # The stand-in of a repository that keeps refs in a reftable.
            branch = None
    elif len(head) >= _SHORT and all(digit in "0123456789abcdef" for digit in head):
        detached = head[:_SHORT]
    return Checkout(root, branch, detached, worktree, repository)


def _line(path: str) -> str | None:
    """Return the first line of a regular file; `None` if it is none or cannot be read."""
    try:
        # Without blocking: a FIFO in the file's place would never answer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.read(descriptor, _READ_LIMIT)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return os.fsdecode(data.partition(b"\n")[0]).strip() or None

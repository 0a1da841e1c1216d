"""Which branch and work tree a directory is in, read from `.git` without running git.

Formats: gitrepository-layout(5), "DETAILS" in git-worktree(1). Where git itself would refuse, as
with a `.git` file that leads nowhere, there is no answer either: the repository further up is
another one.
"""

from __future__ import annotations

import os
import re
import stat

import msgspec

_READ_LIMIT = 8192
"""Bytes of HEAD, commondir or a `.git` file at most: each holds one path or name."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A commit id: SHA-1 or SHA-256."""
_SHORT = 7
"""Digits of an abbreviated commit id."""
_IN_REFTABLE = "refs/heads/.invalid"
"""What HEAD names where refs are kept in a reftable, for programs that do not know it."""


class Checkout(msgspec.Struct, frozen=True):
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
    """From a linked work tree: the main one's top directory or, of a bare repository, the path
    people know it by: where `.bare` lies, `app` for `app.git`."""


def checkout(cwd: str) -> Checkout | None:
    """Return the work tree that `cwd` lies in; `None` outside of any. Never raises.

    `cwd` may be gone: what is left of its parents decides.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        return None
    folder = os.path.normpath(cwd)
    while True:
        entry = os.path.join(folder, ".git")
        mode = _mode(entry)
        if stat.S_ISREG(mode):
            return _through_pointer(folder, entry)
        if stat.S_ISDIR(mode):
            head = _read_head(entry)
            if head is not None:
                return Checkout(folder, *head, worktree=None)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def worktrees(root: str) -> dict[str, str]:
    """Return the directories of a repository's linked work trees, by their names in `.git`.

    `root` is its top directory, or a bare repository. A name stays when a work tree is moved: it
    is the base name of where the work tree was made (git-worktree(1), "DETAILS"), with a number
    behind it if there was one of that name.
    """
    git_dir = next(
        (
            folder
            for name in (".git", "", ".bare")
            if _read_head(folder := os.path.join(root, name)) is not None
        ),
        None,
    )
    if git_dir is None:
        return {}
    folder = os.path.join(git_dir, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    found = {}
    for name in names:
        pointer = _content(os.path.join(folder, name, "gitdir"))
        if pointer is not None:
            # git 2.48 and newer can write it relative to the folder that it is in.
            path = os.path.normpath(os.path.join(folder, name, pointer))
            found[name] = os.path.dirname(path)
    return found


def _through_pointer(root: str, entry: str) -> Checkout | None:
    """Follow the `.git` file of a linked work tree or a submodule."""
    pointer = _content(entry)
    if pointer is None or not pointer.startswith("gitdir: "):
        return None
    git_dir = os.path.join(root, pointer.removeprefix("gitdir: "))
    head = _read_head(git_dir)
    if head is None:
        return None
    common = _content(os.path.join(git_dir, "commondir"))
    if common is None:
        return Checkout(root, *head, worktree=None)
    main = os.path.realpath(os.path.join(git_dir, common))
    hidden = os.path.basename(main).startswith(".")
    return Checkout(
        root,
        *head,
        worktree=os.path.basename(os.path.realpath(git_dir)),
        repository=os.path.dirname(main) if hidden else main.removesuffix(".git"),
    )


def _read_head(git_dir: str) -> tuple[str | None, str | None] | None:
    """Return the branch and the detached commit that HEAD names; `None` if it is no HEAD."""
    path = os.path.join(git_dir, "HEAD")
    head = _old_head(path) or _content(path) or ""
    name = head.removeprefix("ref:").strip()
    if head.startswith("ref:") and name.startswith("refs/"):
        return (name.removeprefix("refs/heads/") if name != _IN_REFTABLE else None), None
    return (None, head[:_SHORT]) if _COMMIT.fullmatch(head) else None


def _old_head(path: str) -> str | None:
    """Read HEAD as it was kept long ago: a link, to nowhere while the branch is unborn."""
    try:
        target = os.readlink(path)
    except (OSError, ValueError):
        return None
    return f"ref: {target}" if target.startswith("refs/") else None


def _content(path: str) -> str | None:
    """Return a small regular file's text; `None` if it is none, too long, empty or unreadable."""
    # Looked at before it is opened, for to open a device may do something; then not waited for,
    # for a FIFO that took its place meanwhile would never answer.
    if not stat.S_ISREG(_mode(path)):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            data = os.read(descriptor, _READ_LIMIT)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    if len(data) == _READ_LIMIT or b"\0" in data:
        return None
    return os.fsdecode(data).rstrip("\r\n") or None


def _mode(path: str) -> int:
    """Return the file type and mode; 0, which is no type, if there is nothing."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0

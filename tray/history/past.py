"""A past session, as every list, search and preview knows it. Plain frozen data.

Times are Unix seconds; `None` means "not known". All text is somebody else's: it has to go
through `tray.untrusted` before it is shown.
"""

from __future__ import annotations

import msgspec

LOCAL = "local"
"""The source of what this machine's own clients wrote."""
KEPT = "kept"
"""The source of the copies that were kept from being deleted."""


class Place(msgspec.Struct, frozen=True):
    """A folder that is laid out like a config root: transcripts lie in `projects/*/`."""

    path: str
    source: str = LOCAL
    """`local`, the name of a remote, or `kept`."""


class Past(msgspec.Struct, frozen=True, array_like=True):
    """One transcript and all that a list tells of it.

    The index keeps it as it is: a field that is added or moved makes that count anew by itself.
    """

    transcript: str
    """Path of the file."""
    session_id: str
    project: str | None = None
    """Base name of the directory that it was begun in; of its repository, for a worktree that
    the client made."""
    cwd: str | None = None
    """Where it was begun: `claude --resume` looks for it there."""
    branch: str | None = None
    title: str | None = None
    """The strongest title there is; `title_source` tells which."""
    title_source: str | None = None
    """`custom-title`, `ai-title`, `last-prompt`, `summary` or `first-prompt`."""
    name: str | None = None
    """The title that the person gave (marked with a star)."""
    tag: str | None = None
    first_prompt: str | None = None
    """The first typed prompt, one line of at most 200 characters."""
    summary: str | None = None
    turns: int = 0
    """Typed prompts."""
    messages: int = 0
    malformed_lines: int = 0
    first_timestamp: float | None = None
    last_timestamp: float | None = None
    duration_s: float | None = None
    created: float | None = None
    modified: float | None = None
    size: int = 0
    """Bytes."""
    version: str | None = None
    entrypoint: str | None = None
    forked_from: str | None = None
    """Session id of the direct parent of a fork."""
    continued_in: str | None = None
    """Session id of the successor."""
    source: str = LOCAL
    live: bool = False
    """A process has it right now."""
    state: str | None = None
    """The state of that process (`tray.session.State`); `None` without one."""
    reason: str | None = None
    """Why that session needs its person (`tray.session.Reason`)."""
    pid: int | None = None
    """That process."""
    last_cwd: str | None = None
    """Where it was last at work."""
    config_root: str | None = None
    """The folder that `projects/` lies in."""
    skipped: str | None = None
    """Why it is no session of a person's; `None` for one that is listed."""
    marks: bytes = b""
    """By what its lines are known to be those of a fork's (`tray.claude.counting.Tally`)."""
    starts: bytes = b""
    kept: bool = False
    """A copy of it is kept from being deleted."""

    @property
    def fork(self) -> bool:
        """Whether it was forked off another session."""
        return self.forked_from is not None


PUBLISHED: tuple[str, ...] = (
    *("transcript", "session_id", "project", "cwd", "branch", "title", "title_source", "name"),
    *("tag", "first_prompt", "summary", "turns", "messages", "malformed_lines"),
    *("first_timestamp", "last_timestamp", "duration_s", "created", "modified", "size"),
    *("version", "entrypoint", "forked_from", "continued_in", "source", "live", "state"),
)
"""The fields that scripts see, in their order: names are only ever added."""
TIMES = frozenset({"first_timestamp", "last_timestamp", "created", "modified"})
"""Those of them that are moments."""

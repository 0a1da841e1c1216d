"""Which projects' sessions are shown at all, and which are told. Pure."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.config import Settings
    from tray.session import Observation, Snapshot


def matches(session: Observation, globs: Iterable[str]) -> bool:
    """Whether the directory or the project's name of `session` matches one of `globs`."""
    names = [name for name in (session.cwd, session.project) if name]
    patterns = [os.path.expanduser(glob) for glob in globs]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def shown(sessions: Iterable[Observation], settings: Settings) -> tuple[Observation, ...]:
    """Return `sessions` without those of projects to ignore."""
    ignore = settings.projects.ignore
    return tuple(session for session in sessions if not ignore or not matches(session, ignore))


def narrowed(snapshot: Snapshot, settings: Settings) -> Snapshot:
    """Return `snapshot` without the sessions of projects to ignore, whose keys it keeps."""
    sessions = shown(snapshot.sessions, settings)
    if len(sessions) == len(snapshot.sessions):
        return snapshot
    present = {session.key for session in sessions}
    ignored = frozenset(
        key
        for session in snapshot.sessions
        if session.key not in present
        for key in (session.key, *session.aliases)
    )
    return replace(snapshot, sessions=sessions, ignored=ignored)

"""The conversations that ended last, newest first, from the transcripts' own folders."""

from __future__ import annotations

import heapq
import os
from typing import TYPE_CHECKING

import msgspec

from tray.claude.locate import ID
from tray.claude.transcript import Transcript
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

LIMIT = 10
"""Conversations that are told of."""
_LOOKED_AT = 20
"""Files at most that are opened: some of the newest are no conversations of a person's."""
_TITLE = 200
_HEADLESS = "sdk-"


class Recent(msgspec.Struct, frozen=True):
    """A conversation that no live session has."""

    session_id: str
    config_root: str
    transcript: str
    last_at: float
    """When it was last written to, Unix seconds."""
    cwd: str | None = None
    title: str | None = None


class RecentSessions:
    """Finds them, and remembers what the files said that have not changed since."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], Recent | None]] = {}

    def look(
        self,
        config_roots: Iterable[str],
        live_ids: Container[str],
        live_transcripts: Container[str] = frozenset(),
        *,
        since: float = 0.0,
    ) -> tuple[Recent, ...]:
        """Return the newest conversations but those of live sessions. Never raises.

        `since` (Unix seconds) leaves out what is older. Reads the disk: not for the loop's thread.
        """
        newest = heapq.nlargest(
            _LOOKED_AT,
            (
                (mtime, size, path, root)
                for root in dict.fromkeys(map(os.path.realpath, config_roots))
                for mtime, size, session_id, path in _transcripts(root)
                if mtime >= since * 1e9
                and session_id not in live_ids
                and path not in live_transcripts
            ),
        )
        known = self._known
        self._known = {}
        found = []
        for mtime, size, path, root in newest:
            stamp, recent = known.get(path, ((-1, -1), None))
            if stamp != (mtime, size):
                recent = _read(path, root, mtime / 1e9)
            self._known[path] = (mtime, size), recent
            if recent is not None:
                found.append(recent)
        found.sort(key=lambda recent: recent.last_at, reverse=True)
        return tuple(found[:LIMIT])


def _transcripts(root: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield change time (ns), size, session id and path of each transcript of a root."""
    for folder in _entries(os.path.join(root, "projects")):
        for entry in _entries(folder.path):
            session_id = entry.name.removesuffix(".jsonl")
            # Agents' files and what else lies there have other names.
            if session_id == entry.name or ID.fullmatch(session_id) is None:
                continue
            try:
                if entry.is_file():
                    found = entry.stat()
                    yield found.st_mtime_ns, found.st_size, session_id, entry.path
            except OSError:
                continue


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _read(path: str, root: str, changed_at: float) -> Recent | None:
    """Return what one transcript is about; `None` if no person could go on with it."""
    conversation = Transcript(path).refresh()
    if conversation is None or not conversation.begun:
        return None
    if conversation.sidechain or conversation.team:
        return None
    if (conversation.entrypoint or "").startswith(_HEADLESS):
        return None
    title = conversation.title
    # Bookkeeping is written long after the last message, as when a client is closed.
    last_at = conversation.last_timestamp or changed_at
    # Where it began: a `cd` within the conversation does not move the transcript, and the client
    # looks for it by the directory it is started in.
    cwd = conversation.first_cwd or conversation.cwd
    if cwd is None and title is None:
        return None
    return Recent(
        session_id=os.path.basename(path).removesuffix(".jsonl"),
        config_root=root,
        transcript=path,
        last_at=last_at,
        cwd=cwd if cwd is not None and os.path.isabs(cwd) and "\0" not in cwd else None,
        title=one_line(title[0], _TITLE) if title is not None else None,
    )

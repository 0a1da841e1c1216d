"""What /clear leaves behind: a new transcript that begins with it, and a line in the history of
typed prompts that names the session it was typed in (seen on 2.0.76 to 2.1.332).
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tray.claude.entries import EntryKind, parse
from tray.claude.files import json_object, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = 64 * 1024
"""Bytes of a transcript within which its first user line is looked for."""
_TAIL = 1024 * 1024
"""Bytes of the history that are looked at: thousands of prompts."""
_APART = 2.0
"""Seconds by which the two lines of one /clear may differ at most."""
_CALENDAR_END = 2.5e14
"""Milliseconds since 1970 beyond which there is no moment: too large a number divides to none."""
_CLEAR = "<command-name>/clear</command-name>"


def cleared_at(path: str) -> float | None:
    """Return when the /clear was typed that a transcript begins with; `None` if with none."""
    for data in _lines(path, 0, _HEAD):
        entry = parse(data)
        if entry.line.type != "user" or entry.line.isMeta:
            continue
        content = entry.line.message.content if entry.line.message is not None else None
        typed = entry.kind is EntryKind.COMMAND and isinstance(content, str)
        return entry.at if typed and _CLEAR in str(content) else None
    return None


class PromptHistory:
    """The history of typed prompts of one config root."""

    def __init__(self, config_root: str) -> None:
        self._path = os.path.join(config_root, "history.jsonl")
        self._stamp: tuple[int, int] | None = None
        self._commands: list[tuple[float, str]] = []

    def session_at(self, at: float) -> str | None:
        """Return the session in which a command was typed at that moment (Unix seconds).

        `None` if none was, or if commands in several sessions fit.
        """
        self._refresh()
        near = [(abs(at - typed), session) for typed, session in self._commands]
        sessions = {session for apart, session in near if apart <= _APART}
        return sessions.pop() if len(sessions) == 1 else None

    def _refresh(self) -> None:
        try:
            found = os.stat(self._path)
        except (OSError, ValueError):
            self._stamp, self._commands = None, []
            return
        stamp = (found.st_size, found.st_mtime_ns)
        if stamp != self._stamp:
            lines = _lines(self._path, max(found.st_size - _TAIL, 0), _TAIL)
            self._commands = [command for data in lines if (command := _command(data))]
            self._stamp = stamp


def _command(data: bytes) -> tuple[float, str] | None:
    """Return when and in which session a line's command was typed; `None` for a prompt."""
    found = json_object(data)
    if found is None or not (text_of(found, "display") or "").startswith("/"):
        return None
    milliseconds, session = number_of(found, "timestamp"), text_of(found, "sessionId")
    if milliseconds is None or session is None or not 0 < milliseconds < _CALENDAR_END:
        return None
    return milliseconds / 1000, session


def _lines(path: str, start: int, limit: int) -> Iterator[bytes]:
    """Yield the lines of a part of a file; nothing of what is none or cannot be read."""
    try:
        # Without blocking: a FIFO in the file's place would never answer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        data = os.pread(descriptor, limit, start)
    except OSError:
        return
    finally:
        os.close(descriptor)
    yield from data.splitlines()

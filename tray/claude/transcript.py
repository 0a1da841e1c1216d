"""Following one transcript file: only what is new is read, however large the file.

The first look reads a window at the end, widened until a turn's beginning is in it, and one at
the beginning; then each refresh reads on from the last whole line. Lines are never cut: what
stands behind the last line feed is looked at again later, unless it is whole already.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from tray.claude.conversation import Conversation, TitleSource, fold
from tray.claude.entries import Entry, EntryKind, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 256 * 1024
_TAIL = 128 * 1024
"""Bytes of the first window at the end."""
_TAIL_LIMIT = 16 * 1024 * 1024
"""Bytes within which a turn's beginning is looked for."""
_SAID_LIMIT = 2 * 1024 * 1024
"""Bytes within which the model's last text is looked for."""
_MESSAGE_LIMIT = 256 * 1024 * 1024
"""Bytes within which any message is looked for."""
_HEAD = 16 * 1024
"""Bytes at the beginning that are read in any case."""
_HEAD_LIMIT = 4 * 1024 * 1024
"""Bytes at the beginning within which the first prompt is looked for."""
_SETTING_LIMIT = 64 * 1024 * 1024
"""Bytes before the window within which titles and the like are looked for."""
_LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of the longest line that is held; a longer one counts as malformed."""
_DECISIVE = frozenset(
    {
        EntryKind.PROMPT,
        EntryKind.CUSTOM_COMMAND,
        EntryKind.NOTIFICATION,
        EntryKind.COMMAND,
    }
)
"""Lines from which on a fold is right whatever came before."""
_OVERLAP = 32
"""Bytes more than what `_SETTING` takes, so that none is missed between two pieces."""
_SETTING = re.compile(rb'"type":"(custom-title|ai-title|tag|permission-mode)"')
_MARK = 64
"""Bytes by which a file is known again."""
_SMALL_FILE = 256 * 1024
"""Bytes up to which a file is simply read whole."""


class Transcript:
    """One transcript, as far as it has been read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._conversation: Conversation | None = None
        self._identity: tuple[int, int] | None = None
        self._stamp: tuple[int, int] | None = None
        self._offset = 0
        """Where the first line not yet folded begins, bytes."""
        self._mark = b""
        """What stands right before `_offset`: another file's end if it was written anew."""

    def refresh(self) -> Conversation | None:
        """Read what is new; `None` if there is no such file or it cannot be read."""
        try:
            found = os.stat(self.path)
        except (OSError, ValueError):
            found = None
        if found is None or not stat.S_ISREG(found.st_mode):
            self._forget()
            return None
        stamp = (found.st_size, found.st_mtime_ns)
        identity = (found.st_dev, found.st_ino)
        if identity == self._identity and stamp == self._stamp:
            return self._conversation
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                self._read(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            self._forget()
        return self._conversation

    def _forget(self) -> None:
        self._conversation = self._identity = self._stamp = None
        self._offset = 0
        self._mark = b""

    def _read(self, descriptor: int) -> None:
        # Of the open file, for another may have taken its name meanwhile.
        found = os.fstat(descriptor)
        size, identity = found.st_size, (found.st_dev, found.st_ino)
        known = self._conversation
        same = identity == self._identity and size >= self._offset
        if known is not None and same and _before(descriptor, self._offset) == self._mark:
            self._offset = _fold_range(descriptor, self._offset, size, known)
        else:
            self._conversation, self._offset = _first_look(descriptor, size)
        self._mark = _before(descriptor, self._offset)
        self._identity = identity
        self._stamp = (size, found.st_mtime_ns)


def lines(descriptor: int, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line of a byte range, without its line feed, and where the next one begins.

    The last one may lack its line feed; it then ends at `end`. Raises OSError.
    """
    pieces: list[bytes] = []
    held = 0
    offset = start
    while offset < end:
        data = os.pread(descriptor, min(_CHUNK, end - offset), offset)
        if not data:
            break
        begin = 0
        while (feed := data.find(b"\n", begin)) >= 0:
            pieces.append(data[begin:feed])
            yield b"".join(pieces), offset + feed + 1
            pieces, held, begin = [], 0, feed + 1
        rest = data[begin:]
        held += len(rest)
        # Of a line that is too long to be held only enough is kept to be malformed.
        pieces = [*pieces, rest] if held <= _LINE_LIMIT else [b"{"]
        offset += len(data)
    if pieces and held:
        yield b"".join(pieces), end


def _before(descriptor: int, offset: int) -> bytes:
    start = max(offset - _MARK, 0)
    return os.pread(descriptor, offset - start, start)


def _first_look(descriptor: int, size: int) -> tuple[Conversation, int]:
    """Read a file of `size` bytes for the first time: its end, and what its beginning adds."""
    window = _SMALL_FILE if size <= _SMALL_FILE else _TAIL
    while True:
        start = max(size - window, 0)
        entries, offset = _window(descriptor, start, size)
        decisive = any(entry.kind in _DECISIVE for entry in entries)
        message = any(entry.line.type in ("user", "assistant") for entry in entries)
        said = any(entry.kind is EntryKind.ASSISTANT and entry.text for entry in entries)
        if decisive:
            limit = _TAIL if said else _SAID_LIMIT
        else:
            limit = _TAIL_LIMIT if message else _MESSAGE_LIMIT
        if start == 0 or window >= limit:
            break
        window *= 4
    conversation = Conversation(partial=start > 0 and not message)
    for entry in entries:
        fold(conversation, entry)
    if start > 0:
        wanted = {"custom-title", "ai-title", "tag"} - {entry.line.type for entry in entries}
        if conversation.permission_mode is None:
            wanted.add("permission-mode")
        _add_settings(descriptor, start, conversation, wanted)
        _add_head(descriptor, start, conversation)
    return conversation, offset


def _window(descriptor: int, start: int, size: int) -> tuple[list[Entry], int]:
    """Parse the whole lines between `start` and `size`; return them and where the rest begins."""
    entries: list[Entry] = []
    # One byte earlier, so that a line that begins right at the start is not taken for torn.
    begin = max(start - 1, 0)
    offset = start
    for index, (data, after) in enumerate(lines(descriptor, begin, size)):
        if index == 0 and start > 0:
            offset = after
            continue
        entry = _whole(descriptor, data, after, size)
        if entry is not None:
            entries.append(entry)
        elif data:
            return entries, offset
        offset = after
    return entries, offset


def _fold_range(descriptor: int, start: int, end: int, conversation: Conversation) -> int:
    """Fold the whole lines between `start` and `end`; return where the rest begins."""
    offset = start
    for data, after in lines(descriptor, start, end):
        entry = _whole(descriptor, data, after, end)
        if entry is not None:
            fold(conversation, entry)
            if entry.line.type in ("user", "assistant"):
                conversation.partial = False
        elif data:
            break
        offset = after
    return offset


def _whole(descriptor: int, data: bytes, after: int, end: int) -> Entry | None:
    """Parse a line; `None` for a blank one, or the last one if it may still be being written."""
    if not data.strip():
        return None
    entry = parse(data)
    if entry.kind is EntryKind.MALFORMED and after == end:
        terminated = os.pread(descriptor, 1, end - 1) == b"\n"
        return entry if terminated else None
    return entry


def _add_head(descriptor: int, start: int, conversation: Conversation) -> None:
    """Add what only the beginning of the file tells."""
    head = Conversation()
    for data, after in lines(descriptor, 0, min(start, _HEAD_LIMIT)):
        fold(head, parse(data))
        if TitleSource.FIRST_PROMPT in head.titles and after > _HEAD:
            break
    conversation.first_timestamp = head.first_timestamp or conversation.first_timestamp
    conversation.first_cwd = head.first_cwd or conversation.first_cwd
    conversation.forked_from = conversation.forked_from or head.forked_from
    conversation.sidechain = head.sidechain
    conversation.team = conversation.team or head.team
    first_prompt = head.titles.get(TitleSource.FIRST_PROMPT)
    if first_prompt:
        conversation.titles[TitleSource.FIRST_PROMPT] = first_prompt
    for source, title in head.titles.items():
        conversation.titles.setdefault(source, title)


def _add_settings(
    descriptor: int, start: int, conversation: Conversation, wanted: set[str]
) -> None:
    """Add the last titles, tag and permission mode that stand between beginning and window."""
    end, lowest = start, max(start - _SETTING_LIMIT, 0)
    while wanted and end > lowest:
        begin = max(end - _CHUNK * 4, lowest)
        data = os.pread(descriptor, end - begin + _OVERLAP, begin)
        for found in reversed(list(_SETTING.finditer(data))):
            if found[1].decode() in wanted:
                entry = parse(_line_around(descriptor, begin + found.start()))
                if entry.kind is EntryKind.TITLE and entry.line.type in wanted:
                    fold(conversation, entry)
                    wanted.remove(entry.line.type)
        end = begin


def _line_around(descriptor: int, position: int) -> bytes:
    """Return the line that `position` lies in, if it is a short one, as titles are."""
    reach = 64 * 1024
    begin = max(position - reach, 0)
    data = os.pread(descriptor, 2 * reach, begin)
    middle = position - begin
    left = data.rfind(b"\n", 0, middle) + 1
    right = data.find(b"\n", middle)
    return data[left : right if right >= 0 else len(data)]

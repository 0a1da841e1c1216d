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
_SMALL_FILE = 256 * 1024
"""Bytes up to which a file is simply read whole."""
_TAIL = 128 * 1024
"""Bytes of the first window at the end of a larger one."""
_TAIL_LIMIT = 16 * 1024 * 1024
"""Bytes within which a turn's beginning is looked for."""
_SAID_LIMIT = 2 * 1024 * 1024
"""Bytes within which the model's last text and the person's last act are looked for."""
_MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes within which any message is looked for."""
_HEAD = 16 * 1024
"""Bytes at the beginning that are read in any case."""
_HEAD_LIMIT = 4 * 1024 * 1024
"""Bytes at the beginning within which the first prompt is looked for."""
_SETTING_LIMIT = 64 * 1024 * 1024
"""Bytes before the window within which titles and the like are looked for."""
_SETTING_REACH = 64 * 1024
"""Bytes of the longest line that is taken for one of those."""
_LINE_LIMIT = 32 * 1024 * 1024
"""Bytes of the longest line that is held, which no request to the model's API exceeds; a longer
one counts as malformed."""
_SETTING = re.compile(rb'\n\{"type":"(custom-title|ai-title|tag|permission-mode)"')
"""How the lines begin that are looked for before the window."""
_OVERLAP = 64
"""Bytes more than what `_SETTING` takes, so that none is missed between two pieces."""
_MARK = 64
"""Bytes by which a file is known again."""


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
        """Read what is new; `None` if there is no such file or it cannot be read.

        What is returned goes on to be folded by the next call.
        """
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
        followed = identity == self._identity and 0 <= size - self._offset <= _TAIL_LIMIT
        if known is not None and followed and _before(descriptor, self._offset) == self._mark:
            self._offset = _fold_range(descriptor, self._offset, size, known)
        else:
            self._conversation, self._offset = _first_look(descriptor, size)
        self._mark = _before(descriptor, self._offset)
        self._identity = identity
        self._stamp = (size, found.st_mtime_ns)


def lines(descriptor: int, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line of a byte range, without its line feed, and where the next one begins.

    The last one may lack its line feed; it then ends at `end`. Of one that is too long to be
    held there is nothing but a beginning. Raises OSError.
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
            if held <= _LINE_LIMIT:
                pieces.append(data[begin:feed])
            yield b"".join(pieces), offset + feed + 1
            pieces, held, begin = [], 0, feed + 1
        held += len(data) - begin
        if held <= _LINE_LIMIT:
            pieces.append(data[begin:])
        offset += len(data)
    if held:
        yield b"".join(pieces), end


def _before(descriptor: int, offset: int) -> bytes:
    start = max(offset - _MARK, 0)
    return os.pread(descriptor, offset - start, start)


def _first_look(descriptor: int, size: int) -> tuple[Conversation, int]:
    """Read a file of `size` bytes for the first time; return also where the rest begins."""
    if size <= _SMALL_FILE:
        whole = Conversation()
        return whole, _fold_range(descriptor, 0, size, whole)
    head = _head(descriptor, size)
    window = _TAIL
    while True:
        start = max(size - window, 0)
        conversation = Conversation(
            begun=head.begun, sidechain=head.sidechain, partial=start > 0, mid_turn=start > 0
        )
        offset = _fold_range(descriptor, _line_start(descriptor, start, size), size, conversation)
        limit = _looked_at(conversation)
        if start == 0 or window >= limit:
            break
        window = min(window * 4, limit)
    if start > 0:
        _add_settings(descriptor, start, conversation)
        _add_head(conversation, head)
    return conversation, offset


def _looked_at(conversation: Conversation) -> int:
    """Return how much of the end is to be read for what a fold of it still lacks, bytes."""
    if conversation.partial:
        return _MESSAGE_LIMIT
    if conversation.mid_turn:
        return _TAIL_LIMIT
    said = conversation.preview is not None and conversation.last_act is not None
    return 0 if said else _SAID_LIMIT


def _line_start(descriptor: int, position: int, size: int) -> int:
    """Return where the first line begins at or after `position`; `size` if none does."""
    # One byte earlier, so that a line that begins right there is not taken for torn.
    offset = position - 1
    while 0 <= offset < size:
        data = os.pread(descriptor, min(_CHUNK, size - offset), offset)
        feed = data.find(b"\n")
        if feed >= 0:
            return offset + feed + 1
        if not data:
            break
        offset += len(data)
    return size if position > 0 else 0


def _fold_range(descriptor: int, start: int, end: int, conversation: Conversation) -> int:
    """Fold the whole lines between `start` and `end`; return where the rest begins."""
    offset = start
    for entry, after in _entries(descriptor, start, end):
        fold(conversation, entry)
        offset = after
    return offset


def _entries(descriptor: int, start: int, end: int) -> Iterator[tuple[Entry, int]]:
    """Yield what each whole line is, and where the next one begins.

    Blank ones are left out, and the last one if it may still be being written.
    """
    for data, after in lines(descriptor, start, end):
        if not data or data.isspace():
            continue
        entry = parse(data)
        torn = entry.kind is EntryKind.MALFORMED and after == end
        if torn and os.pread(descriptor, 1, end - 1) != b"\n":
            return
        yield entry, after


def _head(descriptor: int, size: int) -> Conversation:
    """Fold the beginning of a file, as far as the first prompt."""
    head = Conversation()
    for entry, after in _entries(descriptor, 0, min(size, _HEAD_LIMIT)):
        fold(head, entry)
        if TitleSource.FIRST_PROMPT in head.titles and after > _HEAD:
            break
    return head


def _add_head(conversation: Conversation, head: Conversation) -> None:
    """Add what only the beginning of the file tells, or the beginning too."""
    conversation.first_timestamp = head.first_timestamp or conversation.first_timestamp
    conversation.first_cwd = head.first_cwd or conversation.first_cwd
    conversation.forked_from = conversation.forked_from or head.forked_from
    conversation.team = conversation.team or head.team
    # The first in the window is not the first of all.
    conversation.titles.pop(TitleSource.FIRST_PROMPT, None)
    for source, title in head.titles.items():
        if source is not TitleSource.LAST_PROMPT:
            conversation.titles.setdefault(source, title)
    if conversation.tag is None:
        conversation.tag = head.tag
    if conversation.permission_mode is None:
        conversation.permission_mode = head.permission_mode


def _add_settings(descriptor: int, start: int, conversation: Conversation) -> None:
    """Add the last titles, tag and permission mode that stand before the window."""
    known = {
        b"custom-title": TitleSource.CUSTOM in conversation.titles,
        b"ai-title": TitleSource.AI in conversation.titles,
        b"tag": conversation.tag is not None,
        b"permission-mode": conversation.permission_mode is not None,
    }
    wanted = {kind for kind, found in known.items() if not found}
    end, lowest = start, max(start - _SETTING_LIMIT, 0)
    while wanted and end > lowest:
        begin = max(end - 4 * _CHUNK, lowest)
        data = os.pread(descriptor, end - begin + _OVERLAP, begin)
        if begin == 0:
            data = b"\n" + data
        for match in reversed(list(_SETTING.finditer(data))):
            if match.group(1) not in wanted:
                continue
            entry = parse(_line_around(descriptor, begin + match.start(1)))
            if entry.kind is EntryKind.TITLE:
                fold(conversation, entry)
                wanted.discard(match.group(1))
        end = begin


def _line_around(descriptor: int, position: int) -> bytes:
    """Return the line that `position` lies in, if it is a short one, as titles are."""
    begin = max(position - _SETTING_REACH, 0)
    data = os.pread(descriptor, 2 * _SETTING_REACH, begin)
    middle = position - begin
    left = data.rfind(b"\n", 0, middle) + 1
    right = data.find(b"\n", middle)
    return data[left : right if right >= 0 else len(data)]

"""Reading a transcript in blocks of whole lines, in bounded memory however long the lines are.

Of a text in a line that is longer than any prompt (a picture, a log that was pasted), the middle
is left out while it is read; what kind of line it is, and how many blocks it has, stays.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1024 * 1024
"""Bytes that are read at once."""
LINE_LIMIT = 8 * 1024 * 1024
"""Bytes of the longest line that is read as it is."""
_KEPT = 64 * 1024
"""Bytes kept at either end of a text in a longer one."""
_BACKSLASH = ord("\\")
GAP = " [...] "
"""What stands for the part left out."""
_WHOLE_ESCAPES = re.compile(rb"(?:[^\\]|\\u[0-9a-fA-F]{4}|\\[^u])*", re.DOTALL)
_CLEAR_OF_ESCAPES = re.compile(rb"[^\\]{6}(?=[\x00-\x7f\xc0-\xff])", re.DOTALL)
"""Where neither an escape nor a character of several bytes can have begun before."""


def blocks(descriptor: int, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield bytes, how many of them are whole lines, and where in the file those end.

    Only the last block can lack its line feed. Ends early if the file does. Raises OSError.
    """
    offset = start
    while offset < end:
        data = os.pread(descriptor, min(BLOCK, end - offset), offset)
        if not data:
            return
        length = data.rfind(b"\n") + 1
        if length > 0:
            offset += length
        elif offset + len(data) >= end:
            length, offset = len(data), end
        else:
            data, offset = _long_line(descriptor, offset, end)
            length = len(data)
        yield data, length, offset


def lines(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """Yield each line of a range that is not blank, without its line feed. Raises OSError."""
    for data, length, _ in blocks(descriptor, start, end):
        for line in data[:length].split(b"\n"):
            if line and not line.isspace():
                yield line


def _long_line(descriptor: int, start: int, end: int) -> tuple[bytes, int]:
    """Return a line, with its line feed if it has one, and where it ends."""
    held: list[bytes] = []
    shortened: _Shortened | None = None
    offset = start
    feed = -1
    while offset < end and feed < 0:
        data = os.pread(descriptor, min(BLOCK, end - offset), offset)
        if not data:
            break
        feed = data.find(b"\n")
        if feed >= 0:
            data = data[:feed]
        offset += len(data) + (feed >= 0)
        if shortened is None and offset - start > LINE_LIMIT:
            shortened = _Shortened()
            for piece in held:
                shortened.add(piece)
            held.clear()
        if shortened is None:
            held.append(data)
        else:
            shortened.add(data)
    whole = b"".join(held) if shortened is None else shortened.line()
    return whole + (b"\n" if feed >= 0 else b""), offset


def _backslashes(data: bytes, begin: int, end: int) -> int:
    """Return how many backslashes stand right before `end`, back to `begin`."""
    at = end
    while at > begin and data[at - 1] == _BACKSLASH:
        at -= 1
    return end - at


class _Shortened:
    """A line of JSON whose long texts lose their middle."""

    def __init__(self) -> None:
        self._made = bytearray()
        self._inside = False
        """Within a text."""
        self._escaped = False
        """What comes next in it is escaped."""
        self._head = bytearray()
        self._tail = bytearray()
        self._length = 0

    def add(self, data: bytes) -> None:
        """Take in the next bytes."""
        begin = 0
        while begin < len(data) and len(self._made) <= LINE_LIMIT:
            if self._inside:
                begin = self._add_text(data, begin)
                continue
            quote = data.find(b'"', begin)
            if quote < 0:
                self._made += data[begin:]
                return
            self._made += data[begin : quote + 1]
            begin = quote + 1
            self._inside = True

    def line(self) -> bytes:
        """Return the line as far as it came; what is too long even so makes no sense any more."""
        if self._inside:
            self._end_text()
            self._made = self._made[:-1]
        return bytes(self._made) if len(self._made) <= LINE_LIMIT else b"{"

    def _add_text(self, data: bytes, begin: int) -> int:
        """Take in a text's next bytes; return where what follows it begins."""
        at = begin
        while True:
            quote = data.find(b'"', at)
            end = quote if quote >= 0 else len(data)
            backslashes = _backslashes(data, begin, end)
            escaped = backslashes % 2 == 1
            if backslashes == end - begin:
                escaped ^= self._escaped
            if quote < 0 or not escaped:
                break
            at = quote + 1
        self._keep(data[begin:end])
        self._escaped = escaped
        if quote < 0:
            return end
        self._end_text()
        return quote + 1

    def _keep(self, data: bytes) -> None:
        self._length += len(data)
        room = _KEPT - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-_KEPT:]
        del self._tail[:-_KEPT]

    def _end_text(self) -> None:
        if self._length <= len(self._head) + len(self._tail):
            self._made += self._head + self._tail
        else:
            head = _WHOLE_ESCAPES.match(self._head)
            tail = _CLEAR_OF_ESCAPES.search(self._tail)
            whole = head.group().decode("utf-8", "ignore").encode() if head is not None else b""
            self._made += whole + GAP.encode()
            self._made += self._tail[tail.end() :] if tail is not None else b""
        self._made += b'"'
        self._head, self._tail = bytearray(), bytearray()
        self._length = 0
        self._inside = self._escaped = False

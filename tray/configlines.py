"""On which line of a TOML text something stands. Needed only to explain what is wrong with it.

Neither `tomllib` nor `tomlkit` keeps the lines of what it has read.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Keys = tuple[str | int, ...]
"""A way into the tables: names, and numbers for the items of lists."""
LONGEST_NUMBER = 4300
"""Digits above which Python reads no integer (`sys.int_info.default_max_str_digits`)."""
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^\[\]{},#\r\n]+")
_STRINGS = {
    # Up to two quotes more than the closing three belong to the text (TOML 1.0, "String").
    '"""': re.compile(r'"""(?:\\.|[^\\])*?""""{0,2}', re.DOTALL),
    "'''": re.compile(r"'''.*?''''{0,2}", re.DOTALL),
    '"': re.compile(r'"(?:\\.|[^"\\\n])*"'),
    "'": re.compile(r"'[^'\n]*'"),
}


class Opening(NamedTuple):
    """Something that was begun."""

    sign: str
    """`[`, `{`, or the quotes."""
    line: int


def line_of(text: str, keys: Sequence[str | int]) -> int | None:
    """Return the line on which a setting is, or the nearest around it; counted from 1."""
    found = _scanned(text).found
    for length in range(len(keys), 0, -1):
        wanted = tuple(keys[:length])
        for here, at in found:
            if here[:length] == wanted:
                return _line(text, at)
    return None


def never_closed(text: str) -> Opening | None:
    """Return the innermost list, table or string that is open where `text` cannot be read on."""
    scanner = _scanned(text)
    if not scanner.open:
        return None
    sign, at = scanner.open[-1]
    return Opening(sign, _line(text, at))


def endless_number(text: str) -> tuple[Keys, int] | None:
    """Return the first number that is longer than Python reads: its keys and its line."""
    for keys, at in _scanned(text).numbers:
        return keys, _line(text, at)
    return None


def _line(text: str, at: int) -> int:
    # By line feeds alone: U+2028 and the like may stand in the middle of a line.
    return text.count("\n", 0, at) + 1


def _scanned(text: str) -> _Scanner:
    scanner = _Scanner(text)
    # What was found so far is all there is to tell.
    with contextlib.suppress(_LostError, RecursionError, tomllib.TOMLDecodeError):
        scanner.scan()
    return scanner


class _LostError(Exception):
    """The text is no TOML from here on."""


class _Scanner:
    """Goes through a text that need not be right to its end."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[Keys, int]] = []
        """Every table, setting and item of a list, and where it begins."""
        self.open: list[tuple[str, int]] = []
        """What has begun and not ended at the place reached."""
        self.numbers: list[tuple[Keys, int]] = []
        """Those that are too long."""
        self._text = text
        self._at = 0

    def scan(self) -> None:
        """Read to the end; raises `_LostError` where that is not possible."""
        table: Keys = ()
        while self._skip(_BLANK):
            begin = self._at
            if self._next("[["):
                table = self._header("]]")
                self.found.append((table, begin))
            elif self._next("["):
                table = self._header("]")
                self.found.append((table, begin))
            else:
                self._assignment(table)

    def _header(self, end: str) -> Keys:
        keys = self._keys()
        self._expect(end)
        return keys

    def _assignment(self, table: Keys) -> None:
        begin = self._at
        keys = (*table, *self._keys())
        self._expect("=")
        self._skip(_SPACE)
        self.found.append((keys, begin))
        self._value(keys)

    def _keys(self) -> Keys:
        """Read a dotted key."""
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            if (bare := self._match(_BARE_KEY)) is not None:
                keys.append(bare)
            else:
                keys.append(tomllib.loads(f"key = {self._string()}")["key"])
            self._skip(_SPACE)
            if not self._next("."):
                return tuple(keys)

    def _value(self, keys: Keys) -> None:
        begin = self._at
        if self._next("["):
            self.open.append(("[", begin))
            index = 0
            while self._inside("]", first=index == 0):
                self.found.append(((*keys, index), self._at))
                self._value((*keys, index))
                index += 1
            self.open.pop()
        elif self._next("{"):
            self.open.append(("{", begin))
            first = True
            while self._inside("}", first=first):
                self._assignment(keys)
                first = False
            self.open.pop()
        elif self._text[begin : begin + 1] in ('"', "'"):
            self._string()
        else:
            value = self._match(_BARE_VALUE)
            if value is None:
                raise _LostError
            if len(value) > LONGEST_NUMBER:
                self.numbers.append((keys, begin))

    def _inside(self, end: str, *, first: bool) -> bool:
        """Go to the next item of a list or an inline table; whether there is one."""
        self._skip(_BLANK)
        if self._next(end):
            return False
        if not first:
            self._expect(",")
            self._skip(_BLANK)
            return not self._next(end)
        return True

    def _string(self) -> str:
        for quotes, pattern in _STRINGS.items():
            if self._text.startswith(quotes, self._at):
                found = self._match(pattern)
                if found is None:
                    self.open.append((quotes, self._at))
                    raise _LostError
                return found
        raise _LostError

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        """Skip what `pattern` matches; whether there is anything after it."""
        self._match(pattern)
        return self._at < len(self._text)

    def _next(self, sign: str) -> bool:
        """Skip `sign` if it stands here; whether it did."""
        stands = self._text.startswith(sign, self._at)
        if stands:
            self._at += len(sign)
        return stands

    def _expect(self, sign: str) -> None:
        if not self._next(sign):
            raise _LostError

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[0]

"""Command lines as desktop files have them: the key `Exec`.

Desktop Entry Specification, "The Exec key" and "Values of type string": an argument is quoted
first, and the whole is then escaped as any other string, so that a backslash may come to be four.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESERVED = frozenset(" \t\n\"'\\><~|&;$*?#()`")
_ESCAPED_IN_QUOTES = re.compile(r'(["`$\\])')
_STRING = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPED = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_ENV = "/usr/bin/env"
_FIELD_CODES = frozenset("fFuUdDnNickvm")


def escape(text: str) -> str:
    """Return `text` as a value of type string."""
    escaped = "".join(_STRING.get(char, char) for char in text)
    return f"\\s{escaped[1:]}" if escaped.startswith(" ") else escaped


def unescape(value: str) -> str:
    """Undo `escape`."""
    return re.sub(r"\\(.)", lambda m: _UNESCAPED.get(m[1], m[0]), value, flags=re.DOTALL)


def compose(argv: Sequence[str]) -> str:
    """Return the value of `Exec` that runs `argv`.

    A program whose path has a percent sign is run by env(1): what starts a desktop file looks
    for its program before it puts `%` for `%%` (GLib does).
    """
    if "%" in argv[0]:
        argv = (_ENV, *argv)
    return escape(" ".join(map(_quote, argv)))


def _quote(argument: str) -> str:
    argument = argument.replace("%", "%%")
    if argument and _RESERVED.isdisjoint(argument):
        return argument
    return '"' + _ESCAPED_IN_QUOTES.sub(r"\\\1", argument) + '"'


def parse(value: str) -> tuple[str, ...] | None:
    """Return the arguments of an `Exec` value, without its field codes; `None` if it has none.

    As forgiving as what starts them: other quotes than the specification's are taken too.
    """
    words: list[str] = []
    inside = False
    text = unescape(value)
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:  # a quote without its end
            return None
        place = part.end()
        if part["blank"]:
            inside = False
            continue
        if not inside:
            words.append("")
        inside = True
        words[-1] += _plain(part)
    argv = tuple(_expand(word) for word in words if not _is_field_code(word))
    if argv[:1] == (_ENV,) and argv[1:]:
        argv = argv[1:]
    return argv or None


_PART = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"'
    r"|'(?P<single>[^']*)'"
    r"|\\(?P<escaped>.)"
    r"|(?P<blank>[ \t\n]+)"
    r"|(?P<bare>[^ \t\n\"'\\]+)",
    re.DOTALL,
)


def _plain(part: re.Match[str]) -> str:
    if part["quoted"] is not None:
        return re.sub(r'\\(["`$\\])', r"\1", part["quoted"])
    return next(
        text for text in (part["single"], part["escaped"], part["bare"]) if text is not None
    )


def _is_field_code(word: str) -> bool:
    return len(word) == 2 and word[0] == "%" and word[1] in _FIELD_CODES


def _expand(word: str) -> str:
    return re.sub(r"%(.)", lambda m: "%" if m[1] == "%" else "", word, flags=re.DOTALL)

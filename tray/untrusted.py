"""Making text from elsewhere safe to show.

Everything read from transcripts, registry records and process titles is somebody else's
text: it may hold terminal escapes, bidirectional overrides, markup or megabytes.
"""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b]*(?:\x1b\\)?"
    r"|[@-Z\\-_])?"
)
"""ECMA-48 control sequences, with their parameters: CSI, OSC, DCS/SOS/PM/APC, two-byte escapes."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")

_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_JOINERS = frozenset("\u200c\u200d")
"""Zero-width (non-)joiners are format characters that scripts and emoji need."""


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` as one printable line of at most `limit` characters.

    Control sequences, control, bidirectional and other invisible characters are removed,
    white space is folded to single blanks, and a cut is marked with an ellipsis.
    """
    if len(text) <= limit and _plain(text) and "  " not in text and text == text.strip():
        return text
    return _cap(" ".join(_strip(text[: limit * 8 + 4096]).split()), limit)


def block(text: str, limit: int = 4000) -> str:
    """Return `text` with its line breaks kept, cleaned as `one_line` does, capped at `limit`."""
    lines = (" ".join(_strip(line).split()) for line in text[: limit * 2 + 4096].splitlines())
    return _cap("\n".join(lines).strip(), limit)


def verbatim(text: str) -> str:
    """Return `text` whole, with its line breaks and indentation, cleaned as `one_line` does."""
    return "\n".join(_strip(line.expandtabs(4)).rstrip() for line in text.splitlines())


def identifier(text: str | None) -> str | None:
    """Return an id that may become a word of a command or part of a path, else `None`.

    One that begins with a hyphen would be an option of the command.
    """
    return text if text is not None and _IDENTIFIER.fullmatch(text) is not None else None


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def left_to_right(line: str) -> str:
    """Keep the parts of `line` in their order where its first letter runs the other way."""
    foreign = any(unicodedata.bidirectional(char) in ("R", "AL") for char in line)
    return f"\N{LEFT-TO-RIGHT MARK}{line}" if foreign else line


def _strip(text: str) -> str:
    if _plain(text):
        return text
    return _ESCAPES.sub("", text).translate(_SHOWN)


class _Shown(dict[int, str | None]):
    """What each character is shown as, by its code; looked up once and then known."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        kept = char in _JOINERS or unicodedata.category(char) not in _DROPPED_CATEGORIES
        self[code] = shown = " " if char.isspace() else char if kept else None
        return shown


_SHOWN = _Shown()


def _cap(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"

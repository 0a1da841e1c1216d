"""Comparing text as people do: whatever the case, however its accents are encoded. Pure."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """Return `text` so that what differs only in case or composition becomes equal."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", composed.casefold())


def fold_with_places(text: str) -> tuple[str, list[int]]:
    """Return `text` folded, and for each of its characters and the end the place in `text`.

    What is folded together (a letter and its accents) has one place, that of its beginning.
    """
    if text.isascii():
        return text.lower(), list(range(len(text) + 1))
    if unicodedata.is_normalized("NFC", text):
        simple = fold(text)
        # No letter is folded to none, so none has become several.
        if len(simple) == len(text.casefold()) == len(text):
            return simple, list(range(len(text) + 1))
    folded: list[str] = []
    places: list[int] = []
    begin = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and _belongs(text[begin:end], text[end]):
            continue
        part = fold(text[begin:end])
        folded.append(part)
        places += [begin] * len(part)
        begin = end
    return "".join(folded), [*places, len(text)]


def _belongs(before: str, char: str) -> bool:
    """Whether `char` is composed with what stands before it."""
    if char.isascii():
        return False
    if unicodedata.combining(char):
        return True
    apart = unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", char)
    return unicodedata.normalize("NFC", before + char) != apart

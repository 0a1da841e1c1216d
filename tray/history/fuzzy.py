"""Which texts a few typed letters mean, the best first. Pure.

Each word has to be in a text, in any letter case: at the beginning of a word of it, anywhere, or
with letters left out (`shpapi` means shop-api). No library that is well kept does this: over
10,000 titles rapidfuzz's `partial_ratio` takes 40 to 140 ms and misses left-out letters, and
Textual's own matcher tries all combinations of places, which takes seconds for some words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tray.history.folding import fold, fold_with_places

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = 6
"""Letters that may be left out between two that were typed. Without such a bound every long
text would have every word."""
_SHORTEST = 3
"""Letters of a word from which on some may be left out between them."""
_ENOUGH = 100
"""Texts that have the words as typed, from which on no others are looked for."""


def searchable(*parts: str | None) -> str:
    """Return what `ranked` looks at for these parts of one thing."""
    return " " + fold(" ".join(part for part in parts if part))


def ranked(query: str, texts: Sequence[str], among: Sequence[int]) -> list[int]:
    """Return the places `among` those of `texts` that fit, the best first.

    `texts` are made by `searchable`. Equally good ones come by their places. Those with letters
    left out come only where few have the words as they were typed.
    """
    words = fold(query).split()
    found = among
    for word in words:
        found = [place for place in found if word in texts[place]]
    begun = [f" {word}" for word in words]
    costs = dict.fromkeys(found, 0)
    for word in begun:
        for place in found:
            if word not in texts[place]:
                costs[place] += 1
    if len(found) < _ENOUGH:
        rest = [place for place in among if place not in costs]
        for letter in set("".join(words)):
            rest = [place for place in rest if letter in texts[place]]
        patterns = [(word, _scattered(word)) for word in words]
        for place in rest:
            cost = _cost(patterns, texts[place])
            if cost:
                costs[place] = cost
    count = len(texts)
    keys = sorted(cost * count + place for place, cost in costs.items())
    return [key % count for key in keys]


def marks(query: str, text: str) -> list[int]:
    """Return which characters of `text`, as it is shown, the words of the query stand for."""
    folded, places = fold_with_places(text)
    found: set[int] = set()
    for word in fold(query).split():
        at = f" {folded}".find(f" {word}")
        at = at if at >= 0 else folded.find(word)
        inside = range(at, at + len(word)) if at >= 0 else _places(word, folded)
        found.update(places[place] for place in inside)
    return sorted(found)


def _scattered(word: str) -> re.Pattern[str] | None:
    """Return what a word matches with letters left out; `None` if it is too short for that.

    After each letter comes the nearest of the next one: there is nothing to be tried twice.
    """
    if len(word) < _SHORTEST:
        return None
    letters = [re.escape(letter) for letter in word]
    gaps = (f"[^{letter}]{{0,{_GAP}}}{letter}" for letter in letters[1:])
    return re.compile("".join((letters[0], *gaps)), re.DOTALL)


def _cost(patterns: Sequence[tuple[str, re.Pattern[str] | None]], text: str) -> int:
    """Return what it costs that letters are left out, more for more; 0 if one word is not there."""
    cost = 0
    for word, pattern in patterns:
        if word not in text:
            found = pattern.search(text) if pattern is not None else None
            if found is None:
                return 0
            begin, end = found.span()
            cost += len(patterns) + end - begin - len(word)
    return cost


def _places(word: str, text: str) -> tuple[int, ...]:
    """Return where the letters of a word stand in a text, as its pattern finds them."""
    pattern = _scattered(word)
    found = pattern.search(text) if pattern is not None else None
    if found is None:
        return ()
    places = [found.start()]
    for letter in word[1:]:
        places.append(text.index(letter, places[-1] + 1))
    return tuple(places)

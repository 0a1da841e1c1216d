"""What a few typed letters mean among many texts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.history.fuzzy import marks, ranked, searchable

TEXTS = (
    "shop-api Fix the flaky checkout test",
    "shop-web Add a basket",
    "notes Über die Größe der Wörter",
    "workshop Plan the api",
    "blog Hop over the fence",
)


def find(query: str, texts: tuple[str, ...] = TEXTS) -> list[str]:
    made = [searchable(text) for text in texts]
    return [texts[place] for place in ranked(query, made, range(len(made)))]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", TEXTS),
        ("   ", TEXTS),
        ("flaky", TEXTS[:1]),
        ("FLAKY", TEXTS[:1]),
        ("test shop", TEXTS[:1]),  # words in any order
        ("shop", (TEXTS[0], TEXTS[1], TEXTS[3])),  # a word's beginning before its middle
        ("hop", (TEXTS[4], TEXTS[0], TEXTS[1], TEXTS[3])),
        ("shpapi", TEXTS[:1]),
        ("grösse", TEXTS[2:3]),
        ("uber", ()),  # an accent is a letter of its own, but
        ("u\u0308ber", TEXTS[2:3]),  # it is one however it is encoded
        ("zzz", ()),
        ("fy", ()),  # of two letters none may be left out between
    ],
)
def test_finds_what_is_meant_the_best_first(query: str, expected: tuple[str, ...]) -> None:
    assert find(query) == list(expected)


def test_letters_that_are_far_apart_are_no_match() -> None:
    assert find("xyz", ("x 12345 y 12345 z",)) == []
    assert find("xyz", ("x 1234 y 1234 z",)) != []


def test_looks_only_among_those_it_is_told_to() -> None:
    assert ranked("shop", [searchable(text) for text in TEXTS], [1, 4]) == [1]


def test_a_text_of_one_letter_takes_no_time() -> None:
    """Trying all combinations of places would take years."""
    begun = time.process_time()
    assert find("a" * 40 + "b", ("a" * 4000,)) == []
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("fla", "the flaky", "fla"),
        ("shpapi", "shop-api", "shpapi"),
        ("api", "rapid api", "api"),
        ("grösse", "Die Größe", "Größe"),
        ("nothing", "at all", ""),
    ],
)
def test_marks_the_letters_that_are_meant(query: str, text: str, expected: str) -> None:
    assert "".join(text[at] for at in marks(query, text)) == expected


def test_marks_the_beginning_of_a_word_before_its_middle() -> None:
    assert marks("api", "rapid api") == [6, 7, 8]


@given(st.text(max_size=30), st.text(max_size=60))
def test_marks_are_places_in_the_text(query: str, text: str) -> None:
    found = marks(query, text)
    assert found == sorted(set(found))
    assert all(0 <= at < len(text) for at in found)

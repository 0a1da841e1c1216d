"""Text from elsewhere loses everything that could act on a terminal, a menu or a reader."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.untrusted import block, identifier, left_to_right, one_line


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain", "plain"),
        ("  two \t words \n", "two words"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1;2|payload\x1b\\after", "after"),
        ("a\x1b", "a"),
        ("\x9b31mC1", "31mC1"),
        ("bell\x07 back\x08space nul\x00", "bell backspace nul"),
        ("abc\u202edef\u202c\u2066x\u2069\u200f", "abcdefx"),
        ("soft\u00adhyphen bom\ufeff zero\u200bwidth", "softhyphen bom zerowidth"),
        ("family \U0001f468\u200d\U0001f469", "family \U0001f468\u200d\U0001f469"),
        ("lone \ud83d surrogate", "lone surrogate"),
        ("line\u2028sep para\u2029 nbsp\u00a0x", "line sep para nbsp x"),
        ("tag\U000e0041 private\ue000", "tag private"),
        ("é 日本 عربى", "é 日本 عربى"),
        ("<b>&amp;_x</b>", "<b>&amp;_x</b>"),
        ("", ""),
    ],
)
def test_one_line(raw: str, clean: str) -> None:
    assert one_line(raw) == clean


def test_a_cut_is_marked_and_never_longer_than_asked() -> None:
    assert one_line("x" * 300, 10) == "x" * 9 + "…"
    assert one_line("x" * 10, 10) == "x" * 10


def test_megabytes_cost_no_more_than_what_is_shown() -> None:
    assert one_line("\x1b[31m" * 500 + "seen" + "y" * 10_000_000, 12) == "seenyyyyyyy…"


def test_block_keeps_lines() -> None:
    assert block("one\r\n\n\x1b[1mtwo\x07  x\n") == "one\n\ntwo x"


def test_a_line_that_begins_with_a_foreign_script_keeps_its_order() -> None:
    assert left_to_right("plain") == "plain"
    assert left_to_right("עברית needs permission") == "\u200eעברית needs permission"


@given(st.text(st.characters(exclude_categories=[]), max_size=300), st.integers(1, 50))
def test_nothing_unprintable_is_left(raw: str, limit: int) -> None:
    clean = one_line(raw, limit)
    assert len(clean) <= limit
    assert not [c for c in clean if unicodedata.category(c) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}]
    assert "\x1b" not in clean
    assert one_line(clean, limit) == clean


NO_IDENTIFIERS = [
    "",
    " ",
    "-",
    "_x",
    "-x",
    "--dangerously-skip-permissions",
    "a b",
    "a\n",
    "a/b",
    "..",
    "a.b",
    "a=b",
    "a;b",
    "é",
    "²",
    "a\0",
    "\u202ea",
    "a" * 101,
]


@pytest.mark.parametrize("text", NO_IDENTIFIERS)
def test_what_a_command_or_a_path_could_take_for_something_else_is_no_identifier(text: str) -> None:
    assert identifier(text) is None


@pytest.mark.parametrize(
    "text", ["a", "540a544a", "A_b-1", "11111111-2222-3333-4444-555555555555", "a" * 100]
)
def test_an_identifier_stays_as_it_is(text: str) -> None:
    assert identifier(text) == text
    assert identifier(None) is None

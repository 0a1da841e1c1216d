"""Search: what a person reads, whatever its case and composition, and nothing else."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.claude.lines import assistant, encoded, line, result, text, tool, user
from tray.claude import blocks
from tray.claude.speech import Role
from tray.history import search as searching
from tray.history.folding import fold, fold_with_places
from tray.history.past import Past
from tray.history.reading import newest, pieces
from tray.history.search import Found, Query, QueryError, search

if TYPE_CHECKING:
    from pathlib import Path

LINES = [
    user("Why does the Straße fail?", cwd="/secretdir"),
    assistant({"type": "thinking", "thinking": "pondering"}, text("It says: connection Refused")),
    assistant(tool("Bash", command="grep needle *.py", description="look for it")),
    result("t1", "needle found\nin haystack"),
    user("<system-reminder>hidden rule</system-reminder>do it"),
    user("meta words", isMeta=True),
    user("aside", isSidechain=True),
    user("<command-name>/deploy</command-name><command-args>now</command-args>"),
    line("ai-title", None, aiTitle="metatitle"),
    line("summary", None, summary="metasummary"),
]


def session(path: Path, *lines: dict[str, Any] | bytes) -> Past:
    data = (one if isinstance(one, bytes) else encoded(one) for one in lines)
    path.write_bytes(b"".join(one + b"\n" for one in data))
    return Past(str(path), path.stem, size=path.stat().st_size)


def find(past: Past, words: str, **how: Any) -> Found | None:
    found = list(search([past], Query(words, **how)))
    return found[0] if found else None


def counts(past: Past, words: str, **how: Any) -> int:
    found = find(past, words, **how)
    return found.count if found is not None else 0


@pytest.mark.parametrize(
    ("words", "read", "with_tools"),
    [
        ("refused", 1, 1),
        ("STRASSE", 1, 1),
        ("straße", 1, 1),
        ("does the", 1, 1),
        ("/deploy now", 1, 1),
        ("needle", 0, 2),
        ("look for it", 0, 1),
        ("haystack", 0, 1),
        ("pondering", 0, 0),
        ("hidden", 0, 0),
        ("meta", 0, 0),
        ("aside", 0, 0),
        ("secretdir", 0, 0),
        ("tool_result", 0, 0),
        ("content", 0, 0),
    ],
)
def test_only_what_a_person_reads_is_found(
    tmp_path: Path, words: str, read: int, with_tools: int
) -> None:
    past = session(tmp_path / "a.jsonl", *LINES)
    assert counts(past, words) == read
    assert counts(past, words, tools=True) == with_tools
    if read:
        assert counts(past, words.replace("/", "."), regex=True) == (words != "STRASSE")


def test_a_hit_is_the_line_with_its_places_and_time(tmp_path: Path) -> None:
    said = "first\n" + "x" * 500 + " the Ne\u0301edle and nÉEDLE " + "y" * 500 + "\nlast"
    past = session(tmp_path / "a.jsonl", user("nothing"), assistant(text(said), at=1_800_000_500.0))
    found = find(past, "néedle")
    assert found is not None
    assert found.count == 2
    (hit,) = found.hits
    assert hit.role is Role.ASSISTANT
    assert hit.at == 1_800_000_500.0
    assert [hit.line[begin:end] for begin, end in hit.spans] == ["Ne\u0301edle", "nÉEDLE"]
    assert len(hit.line) <= 240


def test_no_more_lines_than_wanted_but_every_match_counts(tmp_path: Path) -> None:
    past = session(tmp_path / "a.jsonl", *[user("word and word\nWORD")] * 5)
    (found,) = search([past], Query("word"), lines=3)
    assert (found.count, len(found.hits)) == (15, 3)
    (found,) = search([past], Query("w.rd", regex=True), lines=3)
    assert (found.count, len(found.hits)) == (15, 3)


@pytest.mark.parametrize("words", ["", "  ", "a\nb"])
def test_what_is_no_query(words: str) -> None:
    with pytest.raises(QueryError):
        list(search([], Query(words)))


def test_what_is_no_expression() -> None:
    with pytest.raises(QueryError, match="no regular expression"):
        list(search([], Query("(", regex=True)))


def test_sessions_come_in_their_order_and_unreadable_ones_not_at_all(tmp_path: Path) -> None:
    every = [
        session(tmp_path / f"{n}.jsonl", user("word" if n % 2 else "none"), *LINES)
        for n in range(9)
    ]
    every.insert(3, Past("/nowhere/at/all.jsonl", "x", size=10))
    found = [one.session.session_id for one in search(every, Query("word"))]
    assert found == ["1", "3", "5", "7"]
    assert list(search(every, Query("word"), cancelled=lambda: True)) == []


NEEDLES = ["s", "ss", "k", "ﬁx", "I", "straße", "é", "e\u0301", "ß", "漢字", "привет", "a-b", "st"]
PIECES = [*NEEDLES, "Straße", "\u212a", "ſt", "ﬆ", "İ", "fix", "PРИВЕТ", "Привет", "E\u0301", "x "]


@given(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.sampled_from(NEEDLES),
    st.booleans(),
)
def test_the_look_at_the_bytes_misses_nothing(said: str, needle: str, escaped: bool) -> None:
    # With half of the text as other writers of JSON would escape it.
    data = json.dumps(user(said), ensure_ascii=escaped, separators=(",", ":")).encode()
    matcher = searching._Matcher(Query(needle))
    expected = fold(said.strip()).count(fold(needle))
    hits: list[Any] = []
    count = sum(
        matcher.take(piece, hits, 9)
        for one in matcher.candidates(data)
        for piece in searching.spoken(one)
    )
    assert count == expected
    for hit in hits:
        for begin, end in hit.spans:
            assert fold(needle) in fold(hit.line[begin:end])


def test_all_that_folds_to_ascii_is_known() -> None:
    folds = {}
    for code in range(0x80, sys.maxunicode + 1):
        char = chr(code)
        if not 0xD800 <= code < 0xE000 and (found := [c for c in fold(char) if c.isascii()]):
            folds[char] = found
    punctuation = {char for char in folds if not "".join(folds[char]).isalpha()}
    assert {unicodedata.normalize("NFC", char) for char in punctuation} == {";", "`"}
    letters = folds.keys() - punctuation
    assert letters == set(searching._OTHERS)
    assert {c for char in letters for c in folds[char]} == searching._MADE_OF_OTHERS


@given(st.text(alphabet="aE\u0301\u0327ßﬁİ가\u1100\u1161k\u212a漢 ", max_size=12))
def test_places_lead_back_to_the_text(said: str) -> None:
    folded, places = fold_with_places(said)
    assert folded == fold(said)
    assert len(places) == len(folded) + 1
    assert places == sorted(places)
    assert places[-1] == len(said)


def test_every_hit_is_in_what_is_shown(tmp_path: Path) -> None:
    past = session(tmp_path / "a.jsonl", *LINES)
    shown = "\n".join(f"{piece.text}\n{piece.more or ''}" for piece in pieces(past.transcript))
    for words in ("refused", "needle", "Straße", "/deploy"):
        found = find(past, words, tools=True)
        assert found is not None
        for hit in found.hits:
            assert hit.line in shown


def test_a_conversation_as_it_is_read(tmp_path: Path) -> None:
    past = session(tmp_path / "a.jsonl", *LINES)
    said = list(pieces(past.transcript))
    assert [(piece.role, piece.text) for piece in said] == [
        (Role.USER, "Why does the Straße fail?"),
        (Role.THINKING, "pondering"),
        (Role.ASSISTANT, "It says: connection Refused"),
        (Role.TOOL, "Bash: grep needle *.py"),
        (Role.RESULT, "needle found\nin haystack"),
        (Role.USER, "do it"),
        (Role.COMMAND, "/deploy now"),
    ]
    assert newest(past.transcript, 2) == tuple(said[-2:])
    assert newest(past.transcript, 99) == tuple(said)


def test_the_newest_of_a_long_conversation(tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = [user(f"{number} " + "z" * chance.randrange(20_000)) for number in range(200)]
    past = session(tmp_path / "a.jsonl", *lines)
    said = list(pieces(past.transcript))
    assert len(said) == 200
    assert newest(past.transcript, 90) == tuple(said[-90:])


def test_a_subagents_own_file_is_read_too(tmp_path: Path) -> None:
    past = session(tmp_path / "a.jsonl", user("go", isSidechain=True))
    assert [piece.text for piece in pieces(past.transcript)] == ["go"]
    assert counts(past, "go") == 1


def test_the_middle_of_an_endless_text_is_left_out_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LINE_LIMIT", 300_000)
    monkeypatch.setattr(blocks, "BLOCK", 70_001)
    said = "begin " + 'w\n"é\\' * 100_000 + " and this is the end"
    past = session(tmp_path / "a.jsonl", user(said), user("after"))
    first, second = pieces(past.transcript)
    assert first.text.startswith("begin w")
    assert first.text.endswith(" end")
    assert "[...]" in first.text
    assert len(first.text) < 200_000
    assert second.text == "after"
    assert counts(past, "after") == 1

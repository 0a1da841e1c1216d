"""Which session a fork was forked off, where only the lines that it copied tell."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.claude.lines import T0, assistant, encoded, line, text, user
from tray.history.kinship import with_parents
from tray.history.past import KEPT, LOCAL, Past, Place
from tray.history.scan import scan

if TYPE_CHECKING:
    from pathlib import Path


def past(name: str, marks: str, made: float, **fields: Any) -> Past:
    """A session whose lines are known by one letter each; a capital is a compaction's summary."""
    parts = [letter.encode() * 8 for letter in marks]
    starts = b"".join(part for at, part in enumerate(parts) if at == 0 or marks[at].isupper())
    told = {"created": made, "last_timestamp": made + 100.0, "modified": made + 100.0} | fields
    return Past(f"/{name}", name, marks=b"".join(parts), starts=starts, **told)


def parents(*sessions: Past) -> dict[str, str]:
    return {one.session_id: one.forked_from for one in with_parents(sessions) if one.forked_from}


FAMILIES = {
    "a fork": ([("p", "abc", 1), ("f", "abcd", 2)], {"f": "p"}),
    "both went on": ([("p", "abcx", 1), ("f", "abcd", 2)], {"f": "p"}),
    "a chain": (
        [("p", "abx", 1), ("f", "abcy", 2), ("g", "abcd", 3)],
        {"f": "p", "g": "f"},
    ),
    "two forks of one": (
        [("p", "abx", 1), ("f", "abc", 2), ("g", "abd", 3)],
        {"f": "p", "g": "p"},
    ),
    "a second fork off the parent, which had gone on": (
        [("p", "abxy", 1), ("f", "abc", 2), ("g", "abxz", 3)],
        {"f": "p", "g": "p"},
    ),
    "rewound before it was forked": ([("p", "abcd", 1), ("f", "abde", 2)], {"f": "p"}),
    "from its last compaction on": ([("p", "abSx", 1), ("f", "Sxy", 2)], {"f": "p"}),
    "compacted by itself": (
        [("p", "ab", 1), ("f", "abScd", 2), ("g", "Sce", 3)],
        {"f": "p"} | {"g": "f"},
    ),
    "nothing said in it": ([("p", "abc", 1), ("f", "abc", 2)], {"f": "p"}),
    "strangers": ([("p", "abc", 1), ("q", "dbc", 2), ("r", "", 3), ("s", "", 4)], {}),
}


@pytest.mark.parametrize("case", FAMILIES)
def test_parents_are_told_by_the_lines_that_are_shared(case: str) -> None:
    family, expected = FAMILIES[case]
    sessions = [past(*one) for one in family]
    assert parents(*sessions) == expected
    assert parents(*reversed(sessions)) == expected


def test_copies_of_a_session_are_no_forks_and_do_not_hide_them() -> None:
    original = past("p", "abc", 1)
    copy = past("p", "ab", 9, source=KEPT)
    assert parents(original, copy) == {}
    assert parents(copy, past("f", "abcd", 20)) == {"f": "p"}


def test_files_that_were_brought_here_tell_their_age_by_their_lines() -> None:
    """A backup that is put back, or another machine's: all were made at once, in any order."""
    for source in ("desk", LOCAL):
        fork = past("f", "abcd", 1_000_000, source=source, last_timestamp=50.0, modified=50.0)
        parent = past("p", "abc", 1_000_009, source=source, last_timestamp=40.0, modified=40.0)
        assert parents(fork, parent) == {"f": "p"}


def test_what_is_written_down_holds_unless_it_was_copied() -> None:
    told = past("f", "abc", 2, forked_from="elsewhere")
    assert parents(past("p", "ab", 1), told) == {"f": "elsewhere"}
    first = past("f", "abc", 2, forked_from="p")
    second = past("g", "abcd", 3, forked_from="p")
    assert parents(past("p", "ab", 1), first, second) == {"f": "p", "g": "f"}
    # Without the first one nobody knows what the second one copied.
    assert parents(first, second) == {"f": "p", "g": "p"}


@pytest.mark.parametrize("seed", range(20))
def test_random_families(seed: int) -> None:
    """Sessions go on and are forked at random; each fork is told by the copied lines alone."""
    chance = random.Random(seed)
    letters = map(chr, range(0x100, 0x2000))
    lines = {"0": next(letters)}
    truth = {}
    made = {"0": 1.0}
    for moment in range(2, 60):
        one = chance.choice(list(lines))
        if chance.random() < 0.3:
            name = str(len(lines))
            lines[name] = lines[one] + next(letters)
            truth[name], made[name] = one, float(moment)
            # Its parent has something of its own from then on.
            lines[one] += next(letters)
        else:
            lines[one] += next(letters)
    sessions = []
    for name, said in lines.items():
        marks = b"".join(letter.encode("utf-32-le") * 2 for letter in said)
        sessions.append(
            Past(
                *(f"/{name}", name),
                marks=marks,
                starts=marks[:8],
                created=made[name],
                last_timestamp=99.0,
            )
        )
    chance.shuffle(sessions)
    assert parents(*sessions) == truth


def said(number: int, words: str, **fields: Any) -> dict[str, Any]:
    return user(words, T0 + number, uuid=f"{number:08x}-0000-4000-8000-000000000000", **fields)


def test_a_fork_is_found_in_the_files(tmp_path: Path) -> None:
    parent = "aaaa0000-0b0a-4908-8706-050403020100"
    fork = "bbbb0000-0b0a-4908-8706-050403020100"
    copied = [said(1, "draw", cwd="/w"), assistant(text("Drawn.")), said(2, "again")]
    files = {
        parent: [line("mode", None), *copied, said(3, "in red")],
        fork: [line("custom-title", None, customTitle="x"), *copied, said(4, "in blue")],
    }
    for place, (name, found) in enumerate(files.items()):
        path = tmp_path / "projects" / "-w" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(encoded(one) + b"\n" for one in found))
        at = time.time() - 100 + place
        os.utime(path, (at, at))
    told = {one.session_id: one.forked_from for one in scan([Place(str(tmp_path))])}
    assert told == {parent: None, fork: parent}
    other = tmp_path / "projects" / "-w" / "cccc0000-0b0a-4908-8706-050403020100.jsonl"
    # The same ids, of other lines.
    other.write_bytes(encoded(copied[0] | {"timestamp": "2020-01-01T00:00:00.000Z"}) + b"\n")
    told = {one.session_id: one.forked_from for one in scan([Place(str(tmp_path))])}
    assert told == {parent: None, fork: parent, other.stem: None}
    other.unlink()
    (tmp_path / "projects" / "-w" / f"{parent}.jsonl").unlink()
    assert [one.forked_from for one in scan([Place(str(tmp_path))])] == [None]

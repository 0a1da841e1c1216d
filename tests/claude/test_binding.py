"""Which transcript is whose: told apart, or left open, never guessed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.claude.binding import Bindings, Candidate, Claimant, bind

UNTOLD = "?"
"""Stands for a process of which it cannot be told."""


def process(key: str, started: float, pressed: float | None = None, **more: object) -> Claimant:
    """A process that keeps no record."""
    return Claimant(key, started, key_pressed=pressed, **more)  # type: ignore[arg-type]


def recorded(key: str, started: float, session_id: str, **more: object) -> Claimant:
    """A process with a record of a version that does not follow /clear."""
    return Claimant(key, started, session_id, recorded=True, **more)  # type: ignore[arg-type]


def settled(key: str, started: float, session_id: str) -> Claimant:
    return recorded(key, started, session_id, settled=True)


def transcript(session_id: str, first: float, last: float, **more: object) -> Candidate:
    return Candidate(session_id, f"/{session_id}", first, last, **more)  # type: ignore[arg-type]


def cleared(session_id: str, first: float, last: float, origin: str | None = None) -> Candidate:
    return transcript(session_id, first, last, cleared=True, cleared_from=origin)


def told(bindings: Bindings) -> dict[str, str]:
    found = {key: path.removeprefix("/") for key, path in bindings.transcripts.items()}
    assert not found.keys() & bindings.ambiguous
    return {**found, **dict.fromkeys(bindings.ambiguous, UNTOLD)}


CASES = {
    "nothing": ([], [], {}),
    "a process without a prompt yet": ([process("p", 100)], [], {}),
    "its first prompt": ([process("p", 100)], [transcript("t", 130, 150)], {"p": "t"}),
    "a transcript from before it started": (
        [process("p", 100)],
        [transcript("t", 10, 90)],
        {},
    ),
    "an older transcript that was gone on with": (
        [process("p", 100)],
        [transcript("t", 10, 130)],
        {"p": "t"},
    ),
    "two transcripts in one life": (
        [process("p", 100)],
        [transcript("t", 130, 150), transcript("u", 160, 170)],
        {"p": UNTOLD},
    ),
    "the second was begun when no key had been pressed for long": (
        [process("p", 100, pressed=140)],
        [transcript("t", 130, 150), transcript("u", 160, 170)],
        {"p": "t"},
    ),
    "what another left within the first seconds, while no key was pressed here": (
        [process("p", 100, pressed=98)],
        [transcript("t", 115, 150)],
        {"p": UNTOLD},
    ),
    "the same, but the terminal answered the client at its start": (
        [process("p", 100, pressed=101)],
        [transcript("t", 115, 150)],
        {"p": UNTOLD},
    ),
    "a key in the same step of the terminal's clock as the prompt": (
        [process("p", 100, pressed=112)],
        [transcript("t", 118, 150)],
        {"p": "t"},
    ),
    "a key in the step before, sent in the next": (
        [process("p", 100, pressed=112)],
        [transcript("t", 120.5, 150)],
        {"p": "t"},
    ),
    "a key long after the prompt": (
        [process("p", 100, pressed=900)],
        [transcript("t", 118, 150)],
        {"p": "t"},
    ),
    "what another went on with, while no key was pressed here": (
        [process("p", 100, pressed=98)],
        [transcript("t", 10, 150, acted=112)],
        {"p": UNTOLD},
    ),
    "a key at the prompt that went on with it": (
        [process("p", 100, pressed=112)],
        [transcript("t", 10, 150, acted=112)],
        {"p": "t"},
    ),
    "/clear in one that is gone, the history does not tell, and no key was pressed here": (
        [recorded("p", 100, "t", key_pressed=144)],
        [transcript("t", 130, 140), cleared("u", 153, 160)],
        {"p": UNTOLD},
    ),
    "two processes, each with a transcript of its time": (
        [process("p", 100), process("q", 200)],
        [transcript("t", 130, 300), transcript("u", 230, 300)],
        {"p": "t", "q": "u"},
    ),
    "two processes that both started before either wrote": (
        [process("p", 100), process("q", 101)],
        [transcript("t", 130, 300), transcript("u", 230, 300)],
        {"p": UNTOLD, "q": UNTOLD},
    ),
    "the same, but one's keyboard has rested": (
        [process("p", 100, pressed=150), process("q", 101, pressed=300)],
        [transcript("t", 130, 300), transcript("u", 230, 300)],
        {"p": "t", "q": "u"},
    ),
    "one of two may have begun it": (
        [process("p", 100), process("q", 101)],
        [transcript("t", 130, 300)],
        {"p": UNTOLD, "q": UNTOLD},
    ),
    "a late-comer before its first prompt leaves its sibling's alone": (
        [process("p", 100), process("q", 200)],
        [transcript("t", 130, 300)],
        {"p": "t"},
    ),
    "a named one is no other's": (
        [recorded("p", 100, "t"), process("q", 110)],
        [transcript("t", 130, 300)],
        {"p": "t"},
    ),
    "two that name the same both have it": (
        [settled("p", 100, "t"), settled("q", 200, "t")],
        [transcript("t", 130, 300)],
        {"p": "t", "q": "t"},
    ),
    "at the trust dialog beside what a client with a record left": (
        [process("p", 100)],
        [transcript("t", 90, 130, recorded=True), transcript("u", 110, 130, recorded=True)],
        {},
    ),
    "--continue: the record names a session that never was": (
        [recorded("p", 100, "nowhere")],
        [transcript("t", 10, 130, recorded=True)],
        {"p": "t"},
    ),
    "--continue before the first prompt": (
        [recorded("p", 100, "nowhere")],
        [transcript("t", 10, 90, recorded=True)],
        {},
    ),
    "a fresh session with a record begins none that it does not name": (
        [recorded("p", 100, "nowhere")],
        [transcript("t", 110, 130)],
        {},
    ),
    "/clear": (
        [recorded("p", 100, "t")],
        [transcript("t", 130, 140), cleared("u", 150, 160, "t")],
        {"p": "u"},
    ),
    "/clear twice": (
        [recorded("p", 100, "t")],
        [transcript("t", 130, 140), cleared("v", 170, 180, "u"), cleared("u", 150, 160, "t")],
        {"p": "v"},
    ),
    "/clear before the first prompt": (
        [recorded("p", 100, "nowhere")],
        [cleared("u", 150, 160, "nowhere")],
        {"p": "u"},
    ),
    "/clear in one of two": (
        [recorded("p", 100, "t"), recorded("q", 101, "s")],
        [transcript("t", 130, 140), transcript("s", 130, 140), cleared("u", 150, 160, "s")],
        {"p": "t", "q": "u"},
    ),
    "/clear in one of two, and the history does not tell in which": (
        [recorded("p", 100, "t"), recorded("q", 101, "s")],
        [transcript("t", 130, 140), transcript("s", 130, 140), cleared("u", 150, 160)],
        {"p": UNTOLD, "q": UNTOLD},
    ),
    "the same, but one has written to its own since": (
        [recorded("p", 100, "t"), recorded("q", 101, "s")],
        [transcript("t", 130, 170), transcript("s", 130, 140), cleared("u", 150, 160)],
        {"p": "t", "q": "u"},
    ),
    "/clear in a process that is gone": (
        [recorded("p", 100, "t")],
        [transcript("t", 130, 140), cleared("u", 150, 160, "gone")],
        {"p": "t"},
    ),
    "/clear in a session that is open in two terminals": (
        [recorded("p", 100, "t"), recorded("q", 101, "t")],
        [transcript("t", 130, 140), cleared("u", 150, 160, "t")],
        {"p": UNTOLD, "q": UNTOLD},
    ),
    "/clear of a client that keeps no record": (
        [process("p", 100)],
        [transcript("t", 130, 140), cleared("u", 150, 160, "t")],
        {"p": "u"},
    ),
    "a record that follows /clear needs no guess": (
        [settled("p", 100, "t")],
        [transcript("t", 130, 140), cleared("u", 150, 160, "t")],
        {"p": "t"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bindings(case: str) -> None:
    claimants, candidates, expected = CASES[case]
    for some in itertools.permutations(claimants):
        for others in itertools.permutations(candidates):
            assert told(bind(some, others)) == expected


TIMES = st.integers(min_value=0, max_value=400)


@given(
    st.lists(st.tuples(TIMES, st.none() | TIMES, st.booleans()), max_size=5),
    st.lists(st.tuples(TIMES, TIMES, st.booleans(), st.booleans()), max_size=5),
)
def test_no_two_processes_share_what_neither_names(
    processes: list[tuple[int, int | None, bool]],
    transcripts: list[tuple[int, int, bool, bool]],
) -> None:
    claimants = [
        recorded(f"p{n}", started, f"t{n}") if named else process(f"p{n}", started, pressed)
        for n, (started, pressed, named) in enumerate(processes)
    ]
    candidates = [
        transcript(f"t{n}", first, first + lasted, recorded=known, cleared=clear)
        for n, (first, lasted, known, clear) in enumerate(transcripts)
    ]
    bindings = bind(claimants, candidates)
    assert len(set(bindings.transcripts.values())) == len(bindings.transcripts)
    by_path = {candidate.path: candidate for candidate in candidates}
    for claimant in claimants:
        path = bindings.transcripts.get(claimant.key)
        if path is not None and path != f"/{claimant.session_id}":
            assert by_path[path].last + 2 >= claimant.started

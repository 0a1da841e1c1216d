"""Which transcript belongs to which process, where no record says so for certain. Pure.

Clients before 2.1.81 keep no record, and up to about 2.1.204 a record goes on naming the session
that the process began with, after /clear and --continue too. What then tells them apart: a
process begins at most one transcript by itself, writes only to one at a time, and only while it
lives; /clear begins a new one, and the history of typed prompts says in which session that was.
What fits several is nobody's: never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SLACK = 2.0
"""Seconds by which a process's start may seem later than what it wrote: its clock is a tick."""
_KEY_LAG = 10.0
"""Seconds by which a terminal's access time may lag behind a key: the kernel's 8, and some."""
_FROM_COMMAND_LINE = 20.0
"""Seconds after its start within which a first prompt may have come without a keystroke."""
_KEY_STEP = 8
"""Seconds: a terminal's access time moves once in each step (tty_update_time in tty_io.c)."""
_ENTER_LAG = 1.0
"""Seconds between the key that sends a prompt and the prompt's line, at most."""


class Claimant(msgspec.Struct, frozen=True):
    """A live process that may have a transcript in the directory."""

    key: str
    started: float
    """Unix seconds."""
    session_id: str | None = None
    """The session that its record or command line names."""
    recorded: bool = False
    """It keeps a record."""
    settled: bool = False
    """What is named is the present session for certain."""
    key_pressed: float | None = None
    """The last keystroke in its terminal, Unix seconds; `None` if not known."""


class Candidate(msgspec.Struct, frozen=True):
    """A transcript of the directory. Times are Unix seconds, of its message lines."""

    session_id: str
    path: str
    first: float
    last: float
    recorded: bool = False
    """Written by a client of a version that keeps a record of every such session."""
    cleared: bool = False
    """It begins with /clear."""
    cleared_from: str | None = None
    """The session that the /clear was typed in, where the history tells."""
    acted: float | None = None
    """The person's last act in it."""


class Bindings(msgspec.Struct, frozen=True):
    """What could be told."""

    transcripts: Mapping[str, str]
    """The path of each process's present transcript, by the process's key."""
    ambiguous: frozenset[str]
    """The processes that have one of several, and nothing tells which."""


def bind(claimants: Sequence[Claimant], candidates: Sequence[Candidate]) -> Bindings:
    """Bind the live processes of one directory to its transcripts."""
    by_id = {candidate.session_id: candidate for candidate in candidates}
    own = {c.key: by_id[c.session_id] for c in claimants if c.session_id in by_id}
    seekers = [c for c in claimants if not c.settled and c.key not in own]
    named = {claimant.session_id for claimant in claimants}
    free = [c for c in candidates if c.session_id not in named]
    doubtful: set[str] = set()
    for possible, likely in (
        (_may_have_begun, _was_there_at_first),
        (_may_have_resumed, _was_there_at_last),
    ):
        found, doubted = _match(seekers, free, possible)
        own.update(found)
        doubtful |= doubted
        doubtful.update(c.key for c in seekers if c.key in found and not likely(c, found[c.key]))
        seekers = [c for c in seekers if c.key not in found and c.key not in doubted]
        free = [c for c in free if c not in found.values()]
    for candidate in sorted(free, key=lambda candidate: candidate.first):
        if candidate.cleared:
            heirs = _went_on(candidate, claimants, own)
            told = candidate.cleared_from is not None
            if len(heirs) == 1 and (told or _was_there_at_first(heirs[0], candidate)):
                own[heirs[0].key] = candidate
            else:
                doubtful.update(heir.key for heir in heirs)
    transcripts = {key: found.path for key, found in own.items() if key not in doubtful}
    return Bindings(transcripts, frozenset(doubtful))


def _may_have_begun(claimant: Claimant, candidate: Candidate) -> bool:
    """Whether a process may have begun that transcript with its first prompt."""
    # The first prompt of a process with a record goes to the session that the record names.
    return (
        not (claimant.recorded or candidate.recorded or candidate.cleared)
        and claimant.started <= candidate.first + _SLACK
        and (
            candidate.first <= claimant.started + _FROM_COMMAND_LINE
            or _typed(claimant, candidate.first)
        )
    )


def _may_have_resumed(claimant: Claimant, candidate: Candidate) -> bool:
    """Whether a process may have gone on with that older transcript."""
    return (
        candidate.first + _SLACK < claimant.started <= candidate.last + _SLACK
        and candidate.recorded <= claimant.recorded
    )


def _went_on(
    candidate: Candidate, claimants: Iterable[Claimant], own: Mapping[str, Candidate]
) -> list[Claimant]:
    """Return the processes in which the /clear that began a transcript may have been typed."""
    heirs = []
    for claimant in claimants:
        present = own.get(claimant.key)
        if claimant.settled:
            continue
        if candidate.cleared_from is not None:
            session_id = present.session_id if present is not None else claimant.session_id
            if session_id == candidate.cleared_from:
                heirs.append(claimant)
        elif (
            claimant.started <= candidate.first + _SLACK
            and _typed(claimant, candidate.first)
            and (present is None or present.last <= candidate.first + _SLACK)
        ):
            heirs.append(claimant)
    return heirs


def _typed(claimant: Claimant, at: float) -> bool:
    """Whether a key may have been pressed in the process's terminal at that moment."""
    return claimant.key_pressed is None or claimant.key_pressed + _KEY_LAG >= at


def _was_there_at_first(claimant: Claimant, candidate: Candidate) -> bool:
    """Whether a key was pressed in the process's terminal by the time a transcript began."""
    return _pressed(claimant, candidate.first)


def _was_there_at_last(claimant: Claimant, candidate: Candidate) -> bool:
    """Whether a key was pressed in the process's terminal by a transcript's last act."""
    return _pressed(claimant, max(candidate.acted or 0.0, claimant.started))


def _pressed(claimant: Claimant, at: float) -> bool:
    """Whether a key was pressed in the process's life, at that moment or later.

    Without a terminal no key could tell.
    """
    key = claimant.key_pressed
    if key is None:
        return True
    return key > claimant.started and key // _KEY_STEP >= (at - _ENTER_LAG) // _KEY_STEP


def _match(
    claimants: Sequence[Claimant],
    candidates: Sequence[Candidate],
    possible: Callable[[Claimant, Candidate], bool],
) -> tuple[dict[str, Candidate], set[str]]:
    """Return who has what in every way to give the most processes one, and who is in doubt."""
    choices = {
        claimant.key: [c.path for c in candidates if possible(claimant, c)]
        for claimant in claimants
    }
    choices = {key: paths for key, paths in choices.items() if paths}
    by_path = {candidate.path: candidate for candidate in candidates}
    matching = _largest_matching(choices)
    found = {}
    for key, path in matching.items():
        others = {
            other: [p for p in paths if (other, p) != (key, path)]
            for other, paths in choices.items()
        }
        if len(_largest_matching(others)) < len(matching):
            found[key] = by_path[path]
    return found, choices.keys() - found.keys()


def _largest_matching(choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Give as many keys as possible a path of their own (by augmenting paths)."""
    owner: dict[str, str] = {}

    def give(key: str, tried: set[str]) -> bool:
        for path in choices[key]:
            if path not in tried:
                tried.add(path)
                if path not in owner or give(owner[path], tried):
                    owner[path] = key
                    return True
        return False

    for key in choices:
        give(key, set())
    return {key: path for path, key in owner.items()}

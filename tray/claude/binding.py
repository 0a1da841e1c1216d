"""Which transcript belongs to which process where no record says so. Pure.

A transcript is a process's own if its first line was written in that process's life and in no
other's; one older than all of them was resumed by whichever could have. What fits several is
nobody's, until one of them is seen to have gone on elsewhere: never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SLACK = 1.0
"""Seconds by which a process's start may seem later than its first line."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """A process that needs a transcript."""

    key: str
    started: float
    """Unix seconds."""
    named: str | None = None
    """The transcript that its command line or record names."""
    settled: bool = False
    """Its record always names the present one, so no other can be its."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transcript of the same directory."""

    path: str
    first: float
    """When its first message was written, Unix seconds."""
    last: float
    """When its newest message was written, Unix seconds."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """What could be told."""

    transcripts: Mapping[str, str]
    """The transcript of each process, by the process's key."""
    ambiguous: frozenset[str]
    """The processes that one of several transcripts may belong to, or the other way round."""


def bind(claimants: Sequence[Claimant], candidates: Sequence[Candidate]) -> Bindings:
    """Bind the processes of one directory to its transcripts.

    `claimants` are all live processes there, with a record or without; a candidate is named by
    at most those that say so, and then is no other's.
    """
    named = {claimant.named for claimant in claimants}
    owners = {
        candidate.path: _possible_owners(candidate, claimants)
        for candidate in candidates
        if candidate.path not in named
    }
    by_path = {candidate.path: candidate for candidate in candidates}
    own: dict[str, set[str]] = {
        claimant.key: {claimant.named} if claimant.named is not None else set()
        for claimant in claimants
    }
    _eliminate(owners, own, by_path)
    for path, keys in owners.items():
        if len(keys) == 1:
            own[next(iter(keys))].add(path)
    ambiguous = {key for keys in owners.values() if len(keys) > 1 for key in keys}
    transcripts = {
        key: max(paths, key=lambda path: by_path[path].first if path in by_path else 0.0)
        for key, paths in own.items()
        if paths and key not in ambiguous
    }
    return Bindings(transcripts, frozenset(ambiguous))


def _possible_owners(candidate: Candidate, claimants: Sequence[Claimant]) -> set[str]:
    born_in = {c.key for c in claimants if c.started <= candidate.first + _SLACK}
    if born_in:
        return born_in
    return {c.key for c in claimants if c.named is None and c.started <= candidate.last + _SLACK}


def _eliminate(
    owners: dict[str, set[str]], own: dict[str, set[str]], by_path: Mapping[str, Candidate]
) -> None:
    """Take a process off each transcript that began while it was still writing to another."""
    changed = True
    while changed:
        changed = False
        settled: dict[str, set[str]] = {key: set(paths) for key, paths in own.items()}
        for path, keys in owners.items():
            if len(keys) == 1:
                settled[next(iter(keys))].add(path)
        for path, keys in owners.items():
            if len(keys) < 2:
                continue
            first = by_path[path].first
            busy_elsewhere = {
                key
                for key in keys
                if any(
                    other in by_path and by_path[other].first <= first < by_path[other].last
                    for other in settled[key]
                )
            }
            if busy_elsewhere and busy_elsewhere != keys:
                keys -= busy_elsewhere
                changed = True

"""The transcripts of the live sessions: found, told apart, and followed."""

from __future__ import annotations

import functools
import os
import time
from typing import TYPE_CHECKING

import msgspec

from tray.claude import asks
from tray.claude.agents import Agents
from tray.claude.binding import Candidate, Claimant, bind
from tray.claude.joining import version
from tray.claude.lineage import PromptHistory, cleared_at
from tray.claude.locate import find_beside, find_transcript, transcripts_since
from tray.claude.transcript import Transcript
from tray.system.processes import tty_access_time

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from tray.claude.agents import AgentAsk
    from tray.claude.conversation import Conversation
    from tray.claude.facts import Child
    from tray.claude.joining import Session

_RECORDED_SINCE = (2, 1, 81)
"""A version all of whose terminal sessions keep a record (seen; 2.0.76 keeps none)."""
_SEARCH_EACH = 10.0
"""Seconds after which the folders of all projects are looked through for a transcript again."""
_SLACK = 5.0
"""Seconds by which a file may seem older than what was written to it."""


class Assignment(msgspec.Struct, frozen=True):
    """Which transcript each session has."""

    paths: Mapping[str, str]
    """By the session's key."""
    ambiguous: frozenset[str]
    """Keys of the sessions that have one of several, and nothing tells which."""


class _Followed:
    """A transcript, the agents beside it, and how it began."""

    def __init__(self, path: str) -> None:
        self.transcript = Transcript(path)
        self.agents = Agents(path)

    @functools.cached_property
    def cleared_at(self) -> float | None:
        """When the /clear was typed that it begins with; only asked for once it has begun."""
        return cleared_at(self.transcript.path)


class Library:
    """Follows the transcripts of the sessions; what nobody asks for any more is let go."""

    def __init__(self) -> None:
        self._followed: dict[str, _Followed] = {}
        self._used: set[str] = set()
        self._found: dict[tuple[str, str, str | None], tuple[float, str | None]] = {}
        """What the last search for a transcript found, and when that was (monotonic seconds)."""
        self._sought: set[tuple[str, str, str | None]] = set()
        self._histories: dict[str, PromptHistory] = {}

    def assign(self, sessions: Sequence[Session], roots: Mapping[str, str]) -> Assignment:
        """Find the transcript of each session; `roots` are their config roots, by key."""
        paths = {}
        unsettled: dict[tuple[str, str], list[Session]] = {}
        for session in sessions:
            root, cwd = roots.get(session.key), session.cwd
            if root is None:
                continue
            if session.session_id is not None:
                path = self.find(root, session.session_id, cwd)
                if path is not None:
                    paths[session.key] = path
            if not session.settled and session.process is not None and cwd is not None:
                unsettled.setdefault((root, cwd), []).append(session)
        ambiguous: set[str] = set()
        for (root, cwd), group in unsettled.items():
            beside = [s for s in sessions if s.cwd == cwd and roots.get(s.key) == root]
            keys = {session.key for session in beside}
            elsewhere = {path for key, path in paths.items() if key not in keys}
            named = {path for key, path in paths.items() if key in keys}
            since = min(_started(session) for session in group)
            candidates = [
                *(self._named(path) for path in sorted(named)),
                *self._candidates(root, cwd, since, elsewhere | named),
            ]
            bindings = bind([_claimant(session) for session in beside], candidates)
            paths = {key: path for key, path in paths.items() if key not in keys}
            paths |= bindings.transcripts
            ambiguous |= bindings.ambiguous
        return Assignment(paths, frozenset(ambiguous))

    def find(self, root: str, session_id: str, cwd: str | None) -> str | None:
        """Return the path of a session's transcript, if there is one.

        It nearly always lies in the folder of `cwd`; all others are looked through seldom.
        """
        key = (root, session_id, cwd)
        self._sought.add(key)
        now = time.monotonic()
        searched_at, path = self._found.get(key, (float("-inf"), None))
        vanished = path is not None and not os.path.isfile(path)
        if vanished or now - searched_at >= _SEARCH_EACH:
            path = find_transcript(root, session_id, cwd)
            self._found[key] = (now, path)
        elif path is None and cwd is not None:
            path = find_beside(root, session_id, cwd)
        return path

    def conversation(self, path: str | None) -> Conversation | None:
        """Return what a transcript says now."""
        return self._follow(path).transcript.refresh() if path is not None else None

    def agent_ask(self, path: str, children: Iterable[Child] | None) -> AgentAsk | None:
        """Return the prompt of a session's agent, if the session has no tool that could ask."""
        conversation = self.conversation(path)
        tools = conversation.open_tools.values() if conversation is not None else ()
        if all(asks.is_agent(tool.name) for tool in tools):
            return self._follow(path).agents.ask(children)
        return None

    def let_go(self) -> None:
        """Forget what was not asked for since the last call."""
        for path in self._followed.keys() - self._used:
            del self._followed[path]
        for key in self._found.keys() - self._sought:
            del self._found[key]
        self._used, self._sought = set(), set()

    def _follow(self, path: str) -> _Followed:
        self._used.add(path)
        followed = self._followed.get(path)
        if followed is None:
            followed = self._followed[path] = _Followed(path)
        return followed

    def _named(self, path: str) -> Candidate:
        """Return a transcript that a session names, whatever can be told of it."""
        conversation = self.conversation(path)
        first = conversation.first_timestamp if conversation is not None else None
        last = conversation.last_timestamp if conversation is not None else None
        return Candidate(_session_id(path), path, first or 0.0, last or first or 0.0)

    def _candidates(
        self, root: str, cwd: str, since: float, others: Container[str]
    ) -> Iterator[Candidate]:
        """Yield the transcripts of a directory that were written to since, but for `others`."""
        for path in transcripts_since(root, cwd, since - _SLACK):
            if path in others:
                continue
            conversation = self.conversation(path)
            if conversation is None or conversation.sidechain or conversation.team:
                continue
            first, last = conversation.first_timestamp, conversation.last_timestamp
            if first is None or last is None or last < since - _SLACK:
                continue
            if cwd not in (conversation.cwd, conversation.first_cwd):
                continue
            cleared = self._follow(path).cleared_at
            yield Candidate(
                _session_id(path),
                path,
                first,
                last,
                recorded=_keeps_record(conversation),
                cleared=cleared is not None,
                cleared_from=self._history(root).session_at(cleared) if cleared else None,
                acted=conversation.last_act,
            )

    def _history(self, root: str) -> PromptHistory:
        return self._histories.setdefault(root, PromptHistory(root))


def _claimant(session: Session) -> Claimant:
    return Claimant(
        session.key,
        _started(session),
        session.session_id,
        recorded=session.record is not None,
        settled=session.settled,
        key_pressed=tty_access_time(session.tty) if session.tty is not None else None,
    )


def _started(session: Session) -> float:
    return session.started if session.started is not None else 0.0


def _session_id(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")


def _keeps_record(conversation: Conversation) -> bool:
    return conversation.entrypoint == "cli" and version(conversation.version) >= _RECORDED_SINCE

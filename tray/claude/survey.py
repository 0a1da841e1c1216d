"""One look at everything: config roots, records, processes and transcripts, to a snapshot.

What is kept between two looks only saves reading the same bytes again; it never changes what
a look finds.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tray.claude import asks
from tray.claude import roots as config
from tray.claude.agents import Agents
from tray.claude.binding import Candidate, Claimant, bind
from tray.claude.commandline import is_client, maybe
from tray.claude.domains import ForeignProcesses
from tray.claude.facts import Child, Facts, Verdict
from tray.claude.jobs import read_job
from tray.claude.joining import Session, join
from tray.claude.locate import find_transcript, transcripts_since
from tray.claude.observing import observe, observe_dead
from tray.claude.registry import Registry
from tray.claude.transcript import Transcript
from tray.claude.verdict import judge
from tray.session import Observation, Problem, Snapshot, State
from tray.system.processes import (
    Process,
    ProcessTable,
    children,
    environment,
    read_process,
    tty_access_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tray.claude.agents import AgentAsk
    from tray.claude.conversation import Conversation
    from tray.claude.registry import Record

log = logging.getLogger(__name__)

POLL = 0.5
"""Seconds between two looks at the transcript of a working session that has no status."""
_CHILD_SESSION = "CLAUDE_CODE_CHILD_SESSION"
_ENVIRONMENT = config.ENVIRONMENT | {_CHILD_SESSION}
"""All that is ever read of a client's environment: tokens stand there too."""


@dataclass(slots=True)
class _Followed:
    """A transcript that some session has, and the agents beside it."""

    transcript: Transcript
    agents: Agents


class Surveyor:
    """Looks at all sessions, again and again; not thread-safe."""

    def __init__(
        self,
        *,
        home: str | None = None,
        environ: Mapping[str, str] | None = None,
        roots: Sequence[str] | None = None,
        idle_after: float = 60.0,
    ) -> None:
        """Look at the roots of this user and of every live client, or at `roots` alone.

        `idle_after`: seconds after which a finished turn counts as idle.
        """
        self._home = home if home is not None else os.path.expanduser("~")
        self._environ = environ if environ is not None else os.environ
        self._only_roots = None if roots is None else tuple(map(os.path.realpath, roots))
        self._idle_after = idle_after
        self._table = ProcessTable(is_client, maybe)
        self._environments: dict[tuple[int, int], dict[str, str]] = {}
        self._registries: dict[str, Registry] = {}
        self._foreign = ForeignProcesses()
        self._paths: dict[tuple[str, str], str] = {}
        self._followed: dict[str, _Followed] = {}
        self._pids: frozenset[tuple[int, int]] = frozenset()
        self.roots: tuple[str, ...] = ()
        """The config roots found by the last look."""
        self.next_look: float | None = None
        """When to look again though nothing happens, Unix seconds."""

    def survey(self, now: float | None = None) -> Snapshot:
        """Look at everything; what goes wrong with one session costs only that one."""
        at = time.time() if now is None else now
        self.next_look = None
        problems: list[Problem] = []
        processes = self._table.scan()
        self._read_environments(processes)
        self.roots = self._find_roots()
        records = [record for root in self.roots for record in self._registry(root).read()]
        records, foreign = self._foreign.sort_out(records)
        processes = self._with_recorded(processes, records)
        joined = join(records, filter(self._in_roots, processes), foreign)
        paths, ambiguous = self._bind(joined.live)
        used: set[str] = set()
        sessions: list[Observation] = []
        for session in joined.live:
            path = paths.get(session.key)
            used.update((path,) if path is not None else ())
            try:
                sessions.append(self._look(session, path, at, ambiguous=session.key in ambiguous))
            except Exception:
                log.exception("session %s could not be read", session.key)
                problems.append(
                    Problem("session", f"session {session.key} could not be read; see the log")
                )
                sessions.append(Observation(key=session.key, state=State.UNKNOWN))
        for record in joined.dead:
            path = self._transcript_path(record)
            used.update((path,) if path is not None else ())
            row = observe_dead(record, self._conversation(path), path, at)
            if row is not None:
                sessions.append(row)
        self._forget_all_but(used)
        self._pids = frozenset(
            (process.pid, process.start_ticks)
            for session in joined.live
            for process in (session.process, session.front)
            if process is not None
        )
        leftover = frozenset(record.path for record in joined.dead)
        return Snapshot(at, tuple(sessions), tuple(problems), leftover)

    def folders(self) -> frozenset[str]:
        """Return the folders to be watched: the registry of every root, made yet or not."""
        return frozenset(os.path.join(root, "sessions") for root in self.roots)

    def pids(self) -> frozenset[tuple[int, int]]:
        """Return (pid, start ticks) of the live sessions' processes, as the last look found."""
        return self._pids

    def _read_environments(self, processes: Iterable[Process]) -> None:
        known = self._environments
        self._environments = {}
        for process in processes:
            identity = (process.pid, process.start_ticks)
            self._environments[identity] = (
                known[identity] if identity in known else environment(process.pid, _ENVIRONMENT)
            )

    def _find_roots(self) -> tuple[str, ...]:
        if self._only_roots is not None:
            return self._only_roots
        of_processes = map(config.root_of, self._environments.values())
        return config.config_roots(self._home, self._environ, filter(None, of_processes))

    def _in_roots(self, process: Process) -> bool:
        return self._only_roots is None or self._root_of(process) in self._only_roots

    def _root_of(self, process: Process) -> str | None:
        identity = (process.pid, process.start_ticks)
        return config.root_of(self._environments.get(identity, {}))

    def _registry(self, root: str) -> Registry:
        return self._registries.setdefault(root, Registry(root))

    def _with_recorded(
        self, processes: tuple[Process, ...], records: Iterable[Record]
    ) -> tuple[Process, ...]:
        """Add the processes that only a record tells of: with another name, or just started."""
        found = {process.pid: process for process in processes}
        for record in records:
            if record.pid not in found and (process := read_process(record.pid)) is not None:
                found[record.pid] = process
                identity = (process.pid, process.start_ticks)
                self._environments[identity] = {config.CONFIG_DIR: record.config_root}
        return tuple(found.values())

    def _transcript_path(self, record: Record) -> str | None:
        """Return the transcript that a record names, if it is there."""
        if record.session_id is None:
            return None
        known = self._paths.get((record.config_root, record.session_id))
        if known is not None and os.path.isfile(known):
            return known
        path = find_transcript(record.config_root, record.session_id, record.cwd)
        if path is not None:
            self._paths[record.config_root, record.session_id] = path
        return path

    def _bind(self, live: Sequence[Session]) -> tuple[dict[str, str], frozenset[str]]:
        """Find each session's transcript; return the paths by key, and who was ambiguous."""
        paths: dict[str, str] = {}
        unsure: dict[tuple[str, str], list[Session]] = {}
        for session in live:
            path = self._named_path(session)
            if path is not None:
                paths[session.key] = path
            process = session.process
            if process is not None and process.cwd is not None and not _settled(session):
                for root in self._roots_of(session):
                    unsure.setdefault((root, process.cwd), []).append(session)
        ambiguous: set[str] = set()
        for (root, cwd), sessions in unsure.items():
            beside = [
                session
                for session in live
                if session.process is not None and session.process.cwd == cwd
            ]
            bindings = bind(
                [_claimant(session, paths.get(session.key)) for session in beside],
                self._candidates(root, cwd, min(_started(session) for session in sessions)),
            )
            paths.update(bindings.transcripts)
            ambiguous |= bindings.ambiguous
        return paths, frozenset(ambiguous - paths.keys())

    def _roots_of(self, session: Session) -> tuple[str, ...]:
        """Return where a session's transcript may lie."""
        if session.record is not None:
            return (session.record.config_root,)
        root = self._root_of(session.process) if session.process is not None else None
        return (root,) if root is not None else self.roots

    def _named_path(self, session: Session) -> str | None:
        """Return the transcript that a session's record or command line names."""
        if session.record is not None:
            path = self._transcript_path(session.record)
            if path is not None or session.record.session_id is not None:
                return path
        if session.command.session_id is not None and session.process is not None:
            for root in self._roots_of(session):
                path = find_transcript(root, session.command.session_id, session.process.cwd)
                if path is not None:
                    return path
        return None

    def _candidates(self, root: str, cwd: str, since: float) -> list[Candidate]:
        candidates = []
        for path in transcripts_since(root, cwd, since):
            conversation = self._conversation(path)
            if (
                conversation is None
                or conversation.first_timestamp is None
                or conversation.last_timestamp is None
                or conversation.last_timestamp < since
                or conversation.sidechain
                or conversation.team
                or cwd not in (conversation.cwd, conversation.first_cwd)
            ):
                continue
            candidates.append(
                Candidate(path, conversation.first_timestamp, conversation.last_timestamp)
            )
        return candidates

    def _conversation(self, path: str | None) -> Conversation | None:
        return self._follow(path).transcript.refresh() if path is not None else None

    def _follow(self, path: str) -> _Followed:
        followed = self._followed.get(path)
        if followed is None:
            followed = self._followed[path] = _Followed(Transcript(path), Agents(path))
        return followed

    def _forget_all_but(self, used: set[str]) -> None:
        for path in self._followed.keys() - used:
            del self._followed[path]
        for key in [key for key, path in self._paths.items() if path not in used]:
            del self._paths[key]

    def _look(
        self, session: Session, path: str | None, at: float, *, ambiguous: bool
    ) -> Observation:
        conversation = self._conversation(path)
        record, process = session.record, session.process
        silent = record is None or record.status is None
        facts = Facts(
            now=at,
            record=record,
            stopped=process is not None and process.state in "Tt",
            started=process.started if process is not None else None,
            conversation=conversation,
            children=self._children(session, conversation, silent=silent),
            job=(
                read_job(record.config_root, record.job_id)
                if record is not None and record.job_id is not None
                else None
            ),
            tty_access=tty_access_time(session.tty) if session.tty is not None else None,
            child_session=self._is_child_session(process),
            headless=session.headless,
            idle_after=self._idle_after,
            cwd=process.cwd if process is not None else None,
        )
        if path is not None and record is not None and record.status == "waiting":
            facts = replace(facts, agent=self._agent_ask(path, conversation))
        verdict = judge(facts)
        if ambiguous and conversation is None:
            verdict = Verdict(
                State.UNKNOWN,
                detail="one of several sessions in its directory, not to be told apart",
                since=facts.started,
            )
        self._look_again(verdict, at, silent=silent)
        return observe(session, facts, verdict, path)

    def _agent_ask(self, path: str, conversation: Conversation | None) -> AgentAsk | None:
        """Look for an agent's prompt where the session itself has no tool that could ask."""
        tools = conversation.open_tools.values() if conversation is not None else ()
        if all(asks.is_agent(tool.name) for tool in tools):
            return self._follow(path).agents.ask()
        return None

    def _children(
        self, session: Session, conversation: Conversation | None, *, silent: bool
    ) -> tuple[Child, ...] | None:
        """Read a session's children where they say anything; `None` if they cannot be seen."""
        process, record = session.process, session.record
        if process is None:
            return None
        needed = (
            conversation is not None and bool(conversation.open_tools)
            if silent
            else record is not None and record.status in ("waiting", "shell")
        )
        if not needed:
            return ()
        return tuple(Child(child.started, child.argv) for child in children(process.pid))

    def _is_child_session(self, process: Process | None) -> bool:
        if process is None:
            return False
        found = self._environments.get((process.pid, process.start_ticks), {})
        return bool(found.get(_CHILD_SESSION))

    def _look_again(self, verdict: Verdict, at: float, *, silent: bool) -> None:
        times = [verdict.recheck_at]
        if silent and verdict.state is State.WORKING:
            times.append(at + POLL)
        for time_ in times:
            if time_ is not None and (self.next_look is None or time_ < self.next_look):
                self.next_look = time_


def _settled(session: Session) -> bool:
    """Whether a session's record always names its present transcript: those with a status."""
    return session.record is not None and session.record.status is not None


def _started(session: Session) -> float:
    return session.process.started if session.process is not None else 0.0


def _claimant(session: Session, named: str | None) -> Claimant:
    return Claimant(session.key, _started(session), named, settled=_settled(session))

"""One look at everything: config roots, records, processes and transcripts, to a snapshot.

What is kept between two looks only saves reading the same bytes again; it never changes what
a look finds.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

import msgspec

from tray.claude import roots as config
from tray.claude.commandline import is_client, maybe
from tray.claude.domains import ForeignProcesses
from tray.claude.facts import Child, Facts, Verdict
from tray.claude.jobs import read_job
from tray.claude.joining import Session, join
from tray.claude.library import Assignment, Library
from tray.claude.locate import tool_output_changed_at
from tray.claude.observing import observe, observe_dead
from tray.claude.registry import Registry
from tray.claude.verdict import judge
from tray.session import BLOCKING, Observation, Problem, Snapshot, Source, State
from tray.system.git import Checkout, checkout
from tray.system.processes import (
    Process,
    ProcessTable,
    children,
    environment,
    read_process,
    tty_access_time,
)
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tray.claude.conversation import Conversation
    from tray.claude.registry import Record

log = logging.getLogger(__name__)

AMBIGUOUS = "which of its directory's conversations is its own cannot be told"
POLL = 0.5
"""Seconds between two looks at a session that publishes no status and is not at rest."""
TORN = 0.05
"""Seconds after which a record is read again that was just being written."""
_PLACE_KEPT = 1.5
"""Seconds for which a directory's branch is not read again."""
_CHILD_SESSION = "CLAUDE_CODE_CHILD_SESSION"
_ENVIRONMENT = config.ENVIRONMENT | {_CHILD_SESSION}
"""All that is ever read of a client's environment: tokens stand there too."""


class _Origin(msgspec.Struct, frozen=True):
    """What a client's environment tells of it."""

    root: str | None
    """Its config root, as it is named there."""
    child_session: bool
    """Started inside another session."""


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
        self.idle_after = idle_after
        self._table = ProcessTable(is_client, maybe)
        self._origins: dict[tuple[int, int], _Origin] = {}
        self._real_roots: dict[str, str] = {}
        self._places: dict[str, tuple[float, Checkout | None]] = {}
        self._registries: dict[str, Registry] = {}
        self._foreign = ForeignProcesses()
        self._library = Library()
        self._folders: frozenset[str] = frozenset()
        self._pids: frozenset[tuple[int, int]] = frozenset()
        self.roots: tuple[str, ...] = ()
        """The config roots found by the last look."""
        self.next_look: float | None = None
        """When to look again though nothing happens, Unix seconds."""

    def survey(self, now: float | None = None) -> Snapshot:
        """Look at everything; what goes wrong with one session costs only that one."""
        at = time.time() if now is None else now
        self.next_look = None
        found = self._table.scan()
        self._read_origins(found)
        self.roots = self._find_roots()
        problems: list[Problem] = []
        records = self._read_records(at, problems)
        known = self._foreign.sort_out(records)
        elsewhere = known.foreign.keys() | known.gone
        own = [record for record in known.records if record.path not in elsewhere]
        processes = self._in_roots(self._with_recorded(found, own), own)
        joined = join(known.records, processes, known.foreign, known.gone)
        assignment = self._assign(joined.live, problems)
        live = [self._row(session, assignment, at, problems) for session in joined.live]
        going_on = {row.session_id for row in live} - {None}
        dead = [self._dead_row(record, at, problems) for record in joined.dead]
        self._library.let_go()
        wanted = {session.cwd for session in joined.live}
        self._places = {cwd: place for cwd, place in self._places.items() if cwd in wanted}
        self._note_what_to_watch(joined.live)
        return Snapshot(
            at,
            # One that was resumed in another process has not ended.
            (*live, *(row for row in dead if row is not None and row.session_id not in going_on)),
            tuple(problems),
            frozenset(record.path for record in joined.dead),
        )

    def folders(self) -> frozenset[str]:
        """Return the folders to be watched, made yet or not: the registry of every root.

        Never those of transcripts: a line is written many times a second, and each would ask for
        a look. Sessions that publish no status are looked at each `POLL` seconds instead.
        """
        return self._folders

    def pids(self) -> frozenset[tuple[int, int]]:
        """Return (pid, start ticks) of the live sessions' processes, as the last look found."""
        return self._pids

    def _read_origins(self, processes: Iterable[Process]) -> None:
        known, self._origins = self._origins, {}
        for process in processes:
            identity = (process.pid, process.start_ticks)
            origin = known.get(identity)
            # In the middle of its start a program's environment is empty.
            if origin is None or origin.root is None:
                origin = _origin(process)
            self._origins[identity] = origin
        named = {origin.root for origin in self._origins.values() if origin.root is not None}
        self._real_roots = {root: os.path.realpath(root) for root in named}

    def _find_roots(self) -> tuple[str, ...]:
        if self._only_roots is not None:
            return self._only_roots
        return config.config_roots(self._home, self._environ, sorted(self._real_roots.values()))

    def _in_roots(
        self, processes: Iterable[Process], records: Iterable[Record]
    ) -> Iterable[Process]:
        """Return the processes that have to do with the roots looked at."""
        if self._only_roots is None:
            return processes
        recorded = {record.pid for record in records}
        return [
            process
            for process in processes
            if process.pid in recorded or self._root_of(process) in self._only_roots
        ]

    def _root_of(self, process: Process) -> str | None:
        origin = self._origins.get((process.pid, process.start_ticks))
        return self._real_roots.get(origin.root or "") if origin is not None else None

    def _read_records(self, at: float, problems: list[Problem]) -> list[Record]:
        records: list[Record] = []
        for root in self.roots:
            registry = self._registries.setdefault(root, Registry(root))
            records.extend(registry.read())
            if registry.failure is not None:
                problems.append(_unreadable_folder(registry.folder, registry.failure))
            if registry.torn:
                self._look_again(at + TORN)
        return records

    def _with_recorded(
        self, processes: tuple[Process, ...], records: Iterable[Record]
    ) -> tuple[Process, ...]:
        """Add the processes that only a record tells of: with another name, or just started."""
        found = {process.pid: process for process in processes}
        for record in records:
            if record.pid not in found and (process := read_process(record.pid)) is not None:
                found[record.pid] = process
        return tuple(found.values())

    def _assign(self, live: Sequence[Session], problems: list[Problem]) -> Assignment:
        """Find each session's transcript."""
        roots = {}
        for session in live:
            root = self._transcripts_root(session)
            if root is not None:
                roots[session.key] = root
        try:
            return self._library.assign(live, roots)
        except Exception:
            log.exception("the sessions' transcripts could not be found")
            problems.append(Problem("transcripts", "transcripts could not be found; see the log"))
            return Assignment({}, frozenset(session.key for session in live))

    def _transcripts_root(self, session: Session) -> str | None:
        """Return the root that a session's transcript lies in; `None` if it keeps none."""
        if session.record is not None:
            return session.record.config_root
        if session.process is None or self._is_child_session(session.process):
            return None
        return self._root_of(session.process)

    def _row(
        self, session: Session, assignment: Assignment, at: float, problems: list[Problem]
    ) -> Observation:
        """Return what is seen of a live session; of a faulty one no more than that it lives."""
        try:
            return self._look(session, assignment, at)
        except Exception:
            log.exception("session %s could not be read", session.key)
            problems.append(_unreadable(session.key))
            process = session.process
            return Observation(
                key=session.key,
                state=State.UNKNOWN,
                aliases=session.aliases,
                pid=process.pid if process is not None else None,
                detail="could not be read; see the log",
            )

    def _dead_row(self, record: Record, at: float, problems: list[Problem]) -> Observation | None:
        """Return what there is to say of a leftover record, if anything."""
        try:
            if record.status not in (None, "busy", "waiting"):
                return None
            session_id = record.session_id
            path = (
                self._library.find(record.config_root, session_id, record.cwd)
                if session_id is not None
                else None
            )
            conversation = self._library.conversation(path)
            return observe_dead(record, conversation, path, self._place(record.cwd), at)
        except Exception:
            log.exception("the record %s could not be read", record.path)
            problems.append(_unreadable(record.path))
            return None

    def _note_what_to_watch(self, live: Iterable[Session]) -> None:
        self._folders = frozenset(os.path.join(root, "sessions") for root in self.roots)
        self._pids = frozenset(
            (process.pid, process.start_ticks)
            for session in live
            for process in (session.process, session.front)
            if process is not None
        )

    def _look(self, session: Session, assignment: Assignment, at: float) -> Observation:
        path = assignment.paths.get(session.key)
        conversation = self._library.conversation(path)
        record, process = session.record, session.process
        waiting = record is not None and record.status == "waiting"
        children = self._children(session, conversation)
        facts = Facts(
            now=at,
            record=record,
            stopped=process is not None and process.state == "T",
            started=session.started,
            conversation=conversation,
            unreadable=conversation is None and path is not None and os.path.lexists(path),
            children=children,
            tool_ran_at=(
                tool_output_changed_at(conversation.session_id, session.cwd)
                if session.silent
                and conversation is not None
                and conversation.open_tools
                and conversation.session_id is not None
                and session.cwd is not None
                else None
            ),
            agent=(
                self._library.agent_ask(path, children) if waiting and path is not None else None
            ),
            job=(
                read_job(record.config_root, record.job_id)
                if record is not None and record.job_id is not None
                else None
            ),
            tty_access=tty_access_time(session.tty) if session.tty is not None else None,
            child_session=process is not None and self._is_child_session(process),
            headless=session.headless(conversation.entrypoint if conversation else None),
            idle_after=self.idle_after,
            cwd=session.cwd,
        )
        if session.silent and session.key in assignment.ambiguous:
            verdict = Verdict(
                State.UNKNOWN, detail=AMBIGUOUS, source=Source.PROCESS, since=facts.started
            )
        else:
            verdict = judge(facts)
        if verdict.recheck_at is not None:
            self._look_again(verdict.recheck_at)
        at_work = verdict.state is State.WORKING or verdict.reason in BLOCKING
        if session.silent and at_work:
            # Its lines are not watched, and a tool that was approved shows by its process alone.
            self._look_again(at + POLL)
        cwd = session.cwd or (conversation.cwd if conversation is not None else None)
        return observe(session, facts, verdict, path, self._place(cwd))

    def _place(self, cwd: str | None) -> Checkout | None:
        """Return the checkout that a directory is in, as it was a moment ago at most."""
        if cwd is None:
            return None
        now = time.monotonic()
        read_at, place = self._places.get(cwd, (float("-inf"), None))
        if now - read_at >= _PLACE_KEPT:
            place = checkout(cwd)
            self._places[cwd] = (now, place)
        return place

    def _children(
        self, session: Session, conversation: Conversation | None
    ) -> tuple[Child, ...] | None:
        """Read a session's children where they say anything; `None` if they cannot be seen."""
        if session.process is None:
            return None
        if session.silent:
            needed = conversation is not None and bool(conversation.open_tools)
        else:
            needed = session.record is not None and session.record.status in ("waiting", "shell")
        if not needed:
            return ()
        return tuple(Child(child.started, child.argv) for child in children(session.process.pid))

    def _is_child_session(self, process: Process) -> bool:
        origin = self._origins.get((process.pid, process.start_ticks))
        return origin is not None and origin.child_session

    def _look_again(self, at: float) -> None:
        if self.next_look is None or at < self.next_look:
            self.next_look = at


def _origin(process: Process) -> _Origin:
    found = environment(process.pid, _ENVIRONMENT)
    return _Origin(config.root_of(found), bool(found.get(_CHILD_SESSION)))


def _unreadable_folder(folder: str, failure: str) -> Problem:
    return Problem(
        "registry",
        f"{one_line(folder)} cannot be read ({failure}), so its sessions are not seen as they are;"
        " check whose it is",
    )


def _unreadable(what: str) -> Problem:
    return Problem("session", f"session {one_line(what)} could not be read; see the log")

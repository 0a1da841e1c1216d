"""What a Claude Code session is: plain, frozen data shared by every layer.

Nothing here does I/O or knows how Claude Code stores anything. All wall-clock
times are Unix seconds (`float`); `None` always means "not known".

Structs and not dataclasses, here and in all that `list` needs: a frozen dataclass takes a
millisecond to define, and thirty of them a quarter of that command's time.
"""

from __future__ import annotations

import enum

import msgspec


class State(enum.StrEnum):
    """What a session is doing. The values are part of the scripts' contract."""

    WORKING = "working"
    NEEDS_INPUT = "needs_input"
    IDLE = "idle"
    UNKNOWN = "unknown"
    ENDED = "ended"
    """Only after an unclean end: the process died while working or blocked."""


class Reason(enum.StrEnum):
    """Why a session is in `State.NEEDS_INPUT`. Part of the scripts' contract."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    INPUT = "input"
    TURN_OVER = "turn_over"
    ERROR = "error"


BLOCKING: frozenset[Reason] = frozenset(
    {Reason.PERMISSION, Reason.QUESTION, Reason.PLAN, Reason.INPUT}
)
"""The reasons that stop a session in mid-turn until its person acts."""


class Kind(enum.StrEnum):
    """How a session is run. Part of the scripts' contract."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"
    HEADLESS = "headless"


class Source(enum.StrEnum):
    """Which evidence decided a session's state. Part of the scripts' contract."""

    REGISTRY = "registry"
    TRANSCRIPT = "transcript"
    PROCESS = "process"


class TurnEnd(enum.StrEnum):
    """How a session's newest turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    """Interrupted or rejected by the person: nothing to tell them."""


class Ask(msgspec.Struct, frozen=True):
    """One thing a session waits for. Two asks with equal `id` in one session are one ask."""

    id: str
    """Identity within the session: `s<statusUpdatedAt ms>`, or the tool_use id without a status."""
    reason: Reason
    tool: str | None = None
    """The tool that asks, as Claude Code names it (`Bash`, `mcp__github__create_issue`)."""
    text: str | None = None
    """What is asked, whole: the full command, the question with its options, the plan."""
    options: tuple[str, ...] = ()
    """The answers offered, for a question."""
    since: float | None = None
    """When it was first asked, Unix seconds."""
    deciding: bool = False
    """A child that started with the ask and is no Bash tool lives: a hook may be answering."""


class Observation(msgspec.Struct, frozen=True):
    """What one survey saw of one session.

    A function of the files, /proc and their own timestamps alone (never of what an earlier
    survey saw), so a one-shot listing and a long-running tray agree.
    """

    key: str
    """Identity of the row: `<pid>:<start ticks>`, `job:<jobId>`, or `<pid domain>:<pid>:<start>`
    for a process of another pid namespace."""
    state: State
    aliases: tuple[str, ...] = ()
    """Keys this session may have been known by earlier (a front parked into a background job)."""
    pid: int | None = None
    session_id: str | None = None
    name: str | None = None
    """A name the person gave (/rename, --name)."""
    title: str | None = None
    project: str | None = None
    """Base name of the project's directory."""
    cwd: str | None = None
    worktree: str | None = None
    """Name of the git worktree, where `cwd` lies in a linked one."""
    branch: str | None = None
    reason: Reason | None = None
    detail: str | None = None
    """What is asked, failed, or cannot be told, in one line."""
    ask: Ask | None = None
    """The open ask, with every blocking reason."""
    unseen: bool = False
    """A turn ended or failed and the person has not been there since."""
    background: tuple[str, ...] = ()
    """Commands still running behind the prompt, one line each."""
    preview: str | None = None
    """The last thing Claude said, one line."""
    since: float | None = None
    """When the present state began."""
    started: float | None = None
    """When the process started."""
    kind: Kind = Kind.INTERACTIVE
    entrypoint: str | None = None
    version: str | None = None
    source: Source = Source.PROCESS
    transcript: str | None = None
    """Path of the transcript file."""
    config_root: str | None = None
    record: str | None = None
    """Path of the registry record."""
    tty: str | None = None
    """The terminal the person sits at (`/dev/pts/3`): the front's, for a background job."""
    turn_end: TurnEnd | None = None
    """How the newest turn ended; `None` while one runs or before the first."""
    turn_ended_at: float | None = None
    turn_by_person: bool = True
    """The newest turn was begun by a typed prompt (not by a task notification or a schedule)."""
    last_act: float | None = None
    """The person's last visible act: a prompt, an answer, or a keystroke at the tty."""
    error: str | None = None
    """The failed turn's error in stable words, equal for the same fault in several sessions."""
    verified: bool = True
    """The process was seen from here (False in a foreign pid domain)."""
    job_id: str | None = None
    outcome: str | None = None
    """For a background job that came to its end: `done`, `failed` or `blocked`."""

    @property
    def blocking(self) -> bool:
        """Whether the session stands still until its person acts."""
        return self.state is State.NEEDS_INPUT and self.reason in BLOCKING


class Problem(msgspec.Struct, frozen=True):
    """Something that keeps sessionbell from seeing or telling everything."""

    code: str
    """Stable short name (`inotify-watches`, `bus`, `observer`)."""
    message: str
    """Cause, consequence and the way out, in one line for a person."""


class Snapshot(msgspec.Struct, frozen=True):
    """All sessions at one moment."""

    at: float
    """Unix seconds of the survey."""
    sessions: tuple[Observation, ...] = ()
    problems: tuple[Problem, ...] = ()
    leftover: frozenset[str] = frozenset()
    """Paths of registry records whose process is gone (an unclean end: a client that exits by
    itself removes its record first)."""
    ignored: frozenset[str] = frozenset()
    """Keys, old ones too, of the sessions that are left out because the person wants it so."""


PUBLISHED: tuple[str, ...] = (
    "pid",
    "session_id",
    "name",
    "title",
    "project",
    "cwd",
    "worktree",
    "branch",
    "state",
    "reason",
    "detail",
    "unseen",
    "background",
    "preview",
    "since",
    "started",
    "kind",
    "entrypoint",
    "version",
    "source",
    "transcript",
    "config_root",
    "tty",
)
"""The fields of `Observation` that scripts see, in their order: names are only ever added."""


class EventKind(enum.StrEnum):
    """The kinds of change told by `watch`. Part of the scripts' contract."""

    APPEARED = "appeared"
    CHANGED = "changed"
    TRANSITION = "transition"
    ENDED = "ended"


class How(enum.StrEnum):
    """How a session ended. Part of the scripts' contract."""

    EXIT = "exit"
    KILLED = "killed"
    CLEARED = "cleared"
    """/clear: the process lives on with a new session id."""
    IGNORED = "ignored"
    """It lives, but its project is one to ignore by now."""


class Transition(msgspec.Struct, frozen=True):
    """A change worth telling, seen between two snapshots."""

    kind: EventKind
    at: float
    """Unix seconds."""
    session: Observation
    """The session after the change (as last seen, for an end)."""
    from_state: State | None = None
    from_reason: Reason | None = None
    fields: tuple[str, ...] = ()
    """Names of the contract's fields that changed, with `changed` and `transition`."""
    how: How | None = None


def order(session: Observation) -> tuple[int, float, str]:
    """Sort key of every list: blocking by longest wait, then errors and finished turns,
    working, idle, unknown, ended.
    """
    if session.blocking:
        rank = 0
    elif session.state is State.NEEDS_INPUT:
        rank = 1 if session.reason is Reason.ERROR else 2
    else:
        rank = {State.WORKING: 3, State.IDLE: 4, State.UNKNOWN: 5, State.ENDED: 6}[session.state]
    return (rank, session.since or 0.0, session.key)

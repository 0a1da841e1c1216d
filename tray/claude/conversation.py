"""A conversation as folded from its transcript's lines, in file order.

The fold keeps what state, titles and the menu need, and nothing that grows with the file.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tray.claude.entries import Block, Entry, EntryKind, decode_raw, goes_on
from tray.session import TurnEnd

if TYPE_CHECKING:
    from collections.abc import Callable

_GOES_ON = frozenset({"tool_use", "pause_turn"})
_ENDED_BY_ITSELF = frozenset(
    {"end_turn", "max_tokens", "stop_sequence", "refusal", "model_context_window_exceeded"}
)
ANSWERED_BY_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode", "exit_plan_mode"})
"""Tools whose result is what the person answered."""
_TYPED = frozenset({EntryKind.PROMPT, EntryKind.CUSTOM_COMMAND})
_TEXT_LIMIT = 4000
"""Characters kept of a text that is only going to be shown shortened."""
_INPUT_LIMIT = 1024 * 1024
"""Bytes of a tool's input that are decoded; a larger one is shown by its tool's name."""


class Phase(enum.Enum):
    """Whose turn it is, as far as the lines go."""

    FRESH = enum.auto()
    """No turn yet, or a command of the person's own since the last one."""
    RUNNING = enum.auto()
    OVER = enum.auto()


class TitleSource(enum.StrEnum):
    """Which lines a title came from, the strongest first."""

    CUSTOM = "custom-title"
    AI = "ai-title"
    LAST_PROMPT = "last-prompt"
    SUMMARY = "summary"
    FIRST_PROMPT = "first-prompt"


class ToolUse(msgspec.Struct, frozen=True):
    """A tool that the model asked for."""

    id: str
    name: str
    input: dict[str, Any]
    at: float | None
    """When its line was written, Unix seconds."""
    progress_at: float | None = None
    """When it last told how far it was, which a tool that still asks does not (old clients)."""


class Conversation(msgspec.Struct):
    """All that the lines so far tell. Times are Unix seconds."""

    phase: Phase = Phase.FRESH
    turn_end: TurnEnd | None = None
    """How the newest turn ended; `None` unless `phase` is `OVER`."""
    turn_ended_at: float | None = None
    turn_by_person: bool = True
    turn_began_at: float | None = None
    dequeued_at: float | None = None
    """When a prompt typed ahead was taken that has no line of its own yet."""
    pending_agents: int = 0
    """Agents and workflows still at work behind a turn that is over."""
    open_tools: dict[str, ToolUse] = msgspec.field(default_factory=dict)
    """Tools of the newest assistant message without a result, by id, in file order."""
    newest: EntryKind | None = None
    """The newest line that says anything about the state."""
    newest_at: float | None = None
    unsure_end: bool = False
    """The newest line is text that does not say whether the turn is over (old clients)."""
    error: str | None = None
    """The text of the API error that ended the newest turn."""
    last_act: float | None = None
    """The person's last prompt, command or answer."""
    preview: str | None = None
    """The last text of the model."""
    titles: dict[TitleSource, str] = msgspec.field(default_factory=dict)
    tag: str | None = None
    """Empty if it was taken off again, `None` if there never was one."""
    permission_mode: str | None = None
    git_branch: str | None = None
    cwd: str | None = None
    first_cwd: str | None = None
    version: str | None = None
    entrypoint: str | None = None
    session_id: str | None = None
    forked_from: str | None = None
    continued_in: str | None = None
    team: bool = False
    """A team member's own file."""
    sidechain: bool = False
    """Begins with a subagent's line."""
    first_timestamp: float | None = None
    last_timestamp: float | None = None
    """Of user and assistant lines: bookkeeping is written at any time."""
    partial: bool = False
    """No message line was found in what was read of a large file: nothing can be told."""
    mid_turn: bool = False
    """Folded from the middle of a turn on: what its beginning tells is not known."""
    malformed: int = 0
    message_id: str | None = None
    """Of the newest assistant message: one is spread over several lines."""
    begun: bool = False
    """Whether a message line has been folded."""

    @property
    def title(self) -> tuple[str, TitleSource] | None:
        """The strongest title there is, and where it came from."""
        for source in TitleSource:
            text = self.titles.get(source)
            if text:
                return text, source
        return None

    def as_ended(self, end: TurnEnd, at: float | None) -> Conversation:
        """Return a copy whose newest turn has ended; this one is unchanged."""
        ended = replace(self, open_tools={}, titles=dict(self.titles))
        _end(ended, end, at)
        return ended


def fold(conversation: Conversation, entry: Entry) -> None:
    """Take in the next line."""
    if entry.kind is EntryKind.MALFORMED:
        conversation.malformed += 1
        return
    if entry.kind is EntryKind.TITLE:
        _fold_title(conversation, entry)
        return
    line = entry.line
    if line.type in ("user", "assistant"):
        if not conversation.begun:
            conversation.begun = True
            conversation.sidechain = bool(line.isSidechain)
        conversation.partial = False
        if line.isSidechain and not conversation.sidechain:
            return
        _fold_facts(conversation, entry)
    handler = _HANDLERS.get(entry.kind)
    if handler is not None and handler(conversation, entry):
        conversation.newest = entry.kind
        conversation.newest_at = entry.at or conversation.newest_at


def _fold_title(conversation: Conversation, entry: Entry) -> None:
    line = entry.line
    for source, text in (
        (TitleSource.CUSTOM, line.customTitle),
        (TitleSource.AI, line.aiTitle),
        (TitleSource.LAST_PROMPT, line.lastPrompt),
        (TitleSource.SUMMARY, line.summary),
    ):
        if text is not None:
            conversation.titles[source] = text.strip()[:_TEXT_LIMIT]
    if line.type == "tag":
        conversation.tag = (line.tag or "").strip()[:_TEXT_LIMIT]
    if line.permissionMode is not None:
        conversation.permission_mode = line.permissionMode
    if line.continuedInSessionId is not None:
        conversation.continued_in = line.continuedInSessionId


def _fold_facts(conversation: Conversation, entry: Entry) -> None:
    line, at = entry.line, entry.at
    if at is not None:
        if conversation.first_timestamp is None:
            conversation.first_timestamp = at
        conversation.last_timestamp = max(at, conversation.last_timestamp or at)
    if line.cwd is not None:
        conversation.cwd = line.cwd
        conversation.first_cwd = conversation.first_cwd or line.cwd
    if line.gitBranch is not None:
        conversation.git_branch = line.gitBranch or None
    if line.permissionMode is not None:
        conversation.permission_mode = line.permissionMode
    conversation.version = line.version or conversation.version
    conversation.entrypoint = line.entrypoint or conversation.entrypoint
    conversation.session_id = line.sessionId or conversation.session_id
    if line.forkedFrom is not None and line.forkedFrom.sessionId:
        conversation.forked_from = line.forkedFrom.sessionId
    if line.teamName:
        conversation.team = True


def _prompt(conversation: Conversation, entry: Entry) -> bool:
    _begin(conversation, entry)
    conversation.mid_turn = False
    typed = entry.kind in _TYPED
    conversation.turn_by_person = typed
    if typed:
        conversation.last_act = _later(conversation.last_act, entry.at)
    if entry.kind is EntryKind.PROMPT and entry.text:
        conversation.titles.setdefault(TitleSource.FIRST_PROMPT, entry.text[:_TEXT_LIMIT])
    return True


def _dequeued(conversation: Conversation, entry: Entry) -> bool:
    # In mid-turn it only joins the turn that runs.
    if conversation.phase is Phase.RUNNING:
        return False
    _begin(conversation, entry)
    conversation.dequeued_at = entry.at
    return True


def _begin(conversation: Conversation, entry: Entry) -> None:
    _run(conversation)
    conversation.open_tools.clear()
    conversation.pending_agents = 0
    conversation.turn_began_at = entry.at
    conversation.dequeued_at = None
    conversation.error = None


def _tool_result(conversation: Conversation, entry: Entry) -> bool:
    for block in entry.blocks:
        if block.tool_use_id is None:
            continue
        tool = conversation.open_tools.pop(block.tool_use_id, None)
        if tool is not None and tool.name in ANSWERED_BY_PERSON:
            conversation.last_act = _later(conversation.last_act, entry.at)
    refusal = entry.refusal
    if refusal is not None:
        conversation.last_act = _later(conversation.last_act, entry.at)
    if refusal is not None and not goes_on(refusal):
        if not conversation.open_tools:
            _end(conversation, TurnEnd.STOPPED, entry.at)
    elif conversation.phase is not Phase.OVER:
        _run(conversation)
    return True


def _assistant(conversation: Conversation, entry: Entry) -> bool:
    message = entry.line.message
    stop_reason = message.stop_reason if message is not None else None
    message_id = message.id if message is not None else None
    if message_id is None or message_id != conversation.message_id:
        conversation.message_id = message_id
        conversation.open_tools.clear()
    _run(conversation)
    for block in entry.blocks:
        if block.type == "tool_use" and block.id is not None:
            conversation.open_tools[block.id] = _tool_use(block, entry.at)
    if entry.text:
        conversation.preview = entry.text[:_TEXT_LIMIT]
    if not conversation.open_tools:
        if stop_reason in _ENDED_BY_ITSELF:
            _end(conversation, TurnEnd.COMPLETED, entry.at)
        elif stop_reason not in _GOES_ON and entry.text:
            conversation.unsure_end = True
    return True


def _tool_use(block: Block, at: float | None) -> ToolUse:
    small = len(bytes(block.input)) <= _INPUT_LIMIT
    found = decode_raw(block.input) if small else None
    return ToolUse(block.id or "", block.name or "", found if isinstance(found, dict) else {}, at)


def _api_error(conversation: Conversation, entry: Entry) -> bool:
    conversation.error = entry.text[:_TEXT_LIMIT]
    _end(conversation, TurnEnd.FAILED, entry.at)
    return True


def _interrupted(conversation: Conversation, entry: Entry) -> bool:
    _end(conversation, TurnEnd.STOPPED, entry.at)
    conversation.last_act = _later(conversation.last_act, entry.at)
    return True


def _turn_over(conversation: Conversation, entry: Entry) -> bool:
    line = entry.line
    conversation.pending_agents = (line.pendingBackgroundAgentCount or 0) + (
        line.pendingWorkflowCount or 0
    )
    if conversation.phase is Phase.RUNNING:
        _end(conversation, TurnEnd.COMPLETED, entry.at)
    return True


def _stop_hooks(conversation: Conversation, entry: Entry) -> bool:
    if conversation.unsure_end:
        _end(conversation, TurnEnd.COMPLETED, entry.at)
    return False


def _goes_on(conversation: Conversation, _entry: Entry) -> bool:
    _run(conversation)
    return True


def _progress(conversation: Conversation, entry: Entry) -> bool:
    line = entry.line
    tool = conversation.open_tools.get(line.parentToolUseID or "")
    # Hooks run before a tool asks.
    if tool is not None and line.data is not None and line.data.type != "hook_progress":
        conversation.open_tools[tool.id] = replace(tool, progress_at=entry.at)
    # A Stop hook's progress comes after the last text of an old client: no sign of work.
    return conversation.phase is Phase.RUNNING and not conversation.unsure_end


def _command(conversation: Conversation, entry: Entry) -> bool:
    conversation.mid_turn = False
    conversation.last_act = _later(conversation.last_act, entry.at)
    dequeued_at = conversation.dequeued_at
    if dequeued_at is not None:
        # The lines of a command that ran before (/compact) may come after a prompt's dequeuing.
        output = entry.text.startswith("<local-command")
        if output or (entry.at is not None and entry.at < dequeued_at):
            return False
    conversation.phase = Phase.FRESH
    conversation.turn_end = conversation.turn_ended_at = None
    conversation.turn_by_person = True
    conversation.turn_began_at = conversation.dequeued_at = conversation.error = None
    conversation.pending_agents = 0
    conversation.unsure_end = False
    conversation.open_tools.clear()
    return True


_HANDLERS: dict[EntryKind, Callable[[Conversation, Entry], bool]] = {
    EntryKind.PROMPT: _prompt,
    EntryKind.CUSTOM_COMMAND: _prompt,
    EntryKind.NOTIFICATION: _prompt,
    EntryKind.DEQUEUED: _dequeued,
    EntryKind.TOOL_RESULT: _tool_result,
    EntryKind.ASSISTANT: _assistant,
    EntryKind.API_ERROR: _api_error,
    EntryKind.INTERRUPTED: _interrupted,
    EntryKind.TURN_OVER: _turn_over,
    EntryKind.STOP_HOOKS: _stop_hooks,
    EntryKind.CONTINUATION: _goes_on,
    EntryKind.RETRYING: _goes_on,
    EntryKind.PROGRESS: _progress,
    EntryKind.COMMAND: _command,
}
"""Each takes in a line of its kind and says whether that is now the newest one that counts."""


def _run(conversation: Conversation) -> None:
    conversation.phase = Phase.RUNNING
    conversation.turn_end = conversation.turn_ended_at = None
    conversation.unsure_end = False


def _end(conversation: Conversation, end: TurnEnd, at: float | None) -> None:
    conversation.phase = Phase.OVER
    conversation.turn_end = end
    conversation.turn_ended_at = at
    conversation.unsure_end = False
    conversation.open_tools.clear()


def _later(known: float | None, at: float | None) -> float | None:
    if known is None or at is None:
        return known if at is None else at
    return max(known, at)

"""The state of a session whose client publishes none, from transcript and processes. Pure.

Old clients (before 2.1.119), and those hosted by an SDK, an editor or the desktop application.
A question is certain; a permission prompt is told by a tool that should be running and is not;
what could be either is `working` for a while, then `unknown`: never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.claude import asks
from tray.claude.conversation import Phase
from tray.claude.entries import EntryKind
from tray.claude.facts import Verdict
from tray.claude.turns import judge_turn, last_act
from tray.session import Ask, Reason, Source, State, TurnEnd

if TYPE_CHECKING:
    from tray.claude.conversation import Conversation, ToolUse
    from tray.claude.facts import Facts

CANNOT_TELL = "running or waiting, this client does not say"
STARTING = "starting, or at a first dialog"
KEEPS_NO_RECORDS = "keeps no records: started inside another session"
UNREADABLE = "its transcript cannot be read"
TOO_LARGE = "its transcript holds no message that could be read"

PERMISSION_HOLD = 2.0
"""Seconds for which a tool may stand open before its process is missed."""
CERTAIN_FOR = 60.0
"""Seconds after a line for which what it began counts as running."""
QUIET = 8.0
"""Seconds after which the last text of an old client is the end of its turn."""
_CHILD_CLOCK = 0.5
"""Seconds by which a tool's process may seem to precede its line."""
_SHELL_TOOLS = frozenset({"Bash"})
_EDIT_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_QUICK_TOOLS = frozenset(
    {
        *("Read", "Grep", "Glob", "LS", "NotebookRead", "ToolSearch"),
        *("TodoRead", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"),
        *("BashOutput", "TaskOutput", "KillShell", "TaskStop"),
    }
)
_ALONE = _SHELL_TOOLS | _EDIT_TOOLS
"""Tools behind which a question is only asked once they have run; beside a command that does
nothing but read it is asked at once (seen on 2.1.81 and 2.1.332)."""
_NEVER_ASKS = frozenset({"bypassPermissions", "dontAsk"})
_RUNS_FREELY = _NEVER_ASKS | {"auto"}
_EDITS_FREELY = _RUNS_FREELY | {"acceptEdits"}


def judge_silent(facts: Facts) -> Verdict:
    """Judge a session without a status."""
    conversation = facts.conversation
    if conversation is None:
        return _without_transcript(facts)
    if conversation.partial:
        return Verdict(State.UNKNOWN, detail=TOO_LARGE, source=Source.TRANSCRIPT)
    newest = conversation.newest_at
    before_start = newest is not None and facts.started is not None and newest < facts.started
    if before_start or conversation.phase is Phase.FRESH:
        return Verdict(
            State.IDLE, source=Source.TRANSCRIPT, since=facts.started, last_act=last_act(facts)
        )
    if facts.headless:
        working = conversation.phase is Phase.RUNNING
        return Verdict(
            State.WORKING if working else State.IDLE,
            source=Source.TRANSCRIPT,
            since=conversation.turn_began_at if working else conversation.turn_ended_at,
            last_act=conversation.last_act,
        )
    if conversation.phase is Phase.OVER:
        if conversation.pending_agents and conversation.turn_end is TurnEnd.COMPLETED:
            return _working(facts, conversation)
        return judge_turn(facts, Source.TRANSCRIPT)
    if conversation.open_tools:
        return _judge_tools(facts, conversation)
    return _judge_running(facts, conversation)


def _without_transcript(facts: Facts) -> Verdict:
    if facts.unreadable:
        return Verdict(State.UNKNOWN, detail=UNREADABLE, source=Source.TRANSCRIPT)
    if facts.record is not None and facts.record.session_id is not None:
        # Its record comes after the first dialogs, its transcript with the first prompt.
        return Verdict(State.IDLE, since=facts.record.started_at, last_act=facts.tty_access)
    detail = KEEPS_NO_RECORDS if facts.child_session else STARTING
    return Verdict(State.UNKNOWN, detail=detail, source=Source.PROCESS, since=facts.started)


def _judge_running(facts: Facts, conversation: Conversation) -> Verdict:
    """Judge a turn in which no tool is open."""
    newest = conversation.newest_at
    if conversation.unsure_end:
        quiet_at = (newest if newest is not None else facts.now) + QUIET
        if facts.now < quiet_at:
            return _working(facts, conversation, quiet_at)
        ended = conversation.as_ended(TurnEnd.COMPLETED, newest)
        return judge_turn(replace(facts, conversation=ended), Source.TRANSCRIPT)
    if conversation.newest in (EntryKind.PROMPT, EntryKind.CUSTOM_COMMAND, EntryKind.DEQUEUED):
        return _working_for_a_while(facts, conversation, newest)
    return _working(facts, conversation)


def _judge_tools(facts: Facts, conversation: Conversation) -> Verdict:
    """Judge a turn with open tools: the most certain of what they tell, in the order asked."""
    verdicts = []
    tools = list(conversation.open_tools.values())
    for number, tool in enumerate(tools, 1):
        verdict = _judge_tool(facts, conversation, tool)
        if verdict.reason is not None:
            return verdict
        verdicts.append(verdict)
        if tool.name in _ALONE:
            if any(asks.is_question(other.name) for other in tools[number:]):
                verdicts.append(_working_for_a_while(facts, conversation, tool.at))
            break
    unknown = next((found for found in verdicts if found.state is State.UNKNOWN), None)
    if unknown is not None:
        return unknown
    rechecks = [found.recheck_at for found in verdicts if found.recheck_at is not None]
    return _working(facts, conversation, min(rechecks, default=None))


def _judge_tool(facts: Facts, conversation: Conversation, tool: ToolUse) -> Verdict:
    if asks.is_question(tool.name):
        return _asking(facts, conversation, tool, Reason.QUESTION)
    if asks.is_plan(tool.name):
        return _asking(facts, conversation, tool, Reason.PLAN)
    mode = conversation.permission_mode
    if tool.name in _QUICK_TOOLS or mode in _NEVER_ASKS:
        return _working(facts, conversation)
    if tool.name in _ALONE:
        free = _EDITS_FREELY if tool.name in _EDIT_TOOLS else _RUNS_FREELY
        if mode in free or tool.progress_at is not None:
            return _working(facts, conversation)
        return _judge_started(facts, conversation, tool)
    return _working_for_a_while(facts, conversation, tool.progress_at or tool.at)


def _judge_started(facts: Facts, conversation: Conversation, tool: ToolUse) -> Verdict:
    """Judge a tool that asks first, by whether anything was started since."""
    if facts.children is None or tool.at is None:
        return _working_for_a_while(facts, conversation, tool.at)
    if any(
        (child.runs_tool or child.may_be_hook) and child.started >= tool.at - _CHILD_CLOCK
        for child in facts.children
    ):
        return _working(facts, conversation)
    newest = max(tool.at, conversation.newest_at or tool.at)
    if facts.tool_ran_at is not None and facts.tool_ran_at > newest:
        # It has come to its end; its result is about to be written.
        return _working(facts, conversation)
    held_until = tool.at + PERMISSION_HOLD
    if facts.now < held_until:
        return _working(facts, conversation, held_until)
    return _asking(facts, conversation, tool, Reason.PERMISSION)


def _asking(facts: Facts, conversation: Conversation, tool: ToolUse, reason: Reason) -> Verdict:
    request = asks.describe(tool.name, tool.input, facts.cwd or conversation.cwd)
    return Verdict(
        State.NEEDS_INPUT,
        reason=reason,
        detail=asks.with_more(request.detail, len(conversation.open_tools) - 1),
        ask=Ask(tool.id, reason, tool.name, request.text, request.options, tool.at),
        since=tool.at,
        source=Source.TRANSCRIPT,
        last_act=last_act(facts),
        turn_by_person=conversation.turn_by_person,
    )


def _working(facts: Facts, conversation: Conversation, recheck_at: float | None = None) -> Verdict:
    return Verdict(
        State.WORKING,
        since=conversation.turn_began_at or conversation.newest_at,
        source=Source.TRANSCRIPT,
        last_act=last_act(facts),
        turn_by_person=conversation.turn_by_person,
        recheck_at=recheck_at,
    )


def _working_for_a_while(
    facts: Facts, conversation: Conversation, began_at: float | None
) -> Verdict:
    """Judge what cannot be told from a prompt: running at first, then not to be told."""
    certain_until = began_at + CERTAIN_FOR if began_at is not None else facts.now
    if facts.now < certain_until:
        return _working(facts, conversation, certain_until)
    return Verdict(
        State.UNKNOWN,
        detail=CANNOT_TELL,
        since=certain_until,
        source=Source.TRANSCRIPT,
        last_act=last_act(facts),
    )

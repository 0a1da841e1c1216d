"""Which state a session is in, from what is known of it. Pure.

The client's own status decides where it publishes one (terminal clients since 2.1.119), and
the transcript says what is asked. Where there is no status, `tray.claude.silent` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.claude import asks
from tray.claude.conversation import Phase
from tray.claude.facts import Facts, Verdict, background_commands, not_running
from tray.claude.silent import judge_silent
from tray.claude.turns import judge_turn, last_act
from tray.session import Ask, Reason, Source, State, TurnEnd
from tray.untrusted import block, one_line

if TYPE_CHECKING:
    from tray.claude.conversation import ToolUse
    from tray.claude.registry import Record

BELIED_AFTER = 1.0
"""Seconds for which an open question must have stood under `busy` to be believed instead."""
LAG = 1.0
"""Seconds for which the transcript may lag behind the record."""
REREAD = 0.05
"""Seconds between two looks for what is still missing."""
DECIDING_FOR = 10.0
"""Seconds for which a hook's answer is waited for at most."""
_STARTED_WITH_ASK = 0.5
"""Seconds by which a hook's start may differ from the record of its ask."""
SETTLING = 0.4
"""Seconds for which the newest lines may still be about what was before (seen: 30-150 ms)."""
_INPUT_WAITS = frozenset({"input needed", "goal proposal"})
_PERMISSION_WAITS = frozenset({"permission prompt", "sandbox request", "worker request"})
_APPROVE = "approve "
_DIALOG = "dialog open"


def judge(facts: Facts) -> Verdict:
    """Judge one session."""
    record = facts.record
    if facts.stopped:
        since = record.status_updated_at if record is not None else None
        return Verdict(State.IDLE, detail="suspended", source=Source.PROCESS, since=since)
    if record is None or record.status is None:
        return judge_silent(facts)
    if record.status == "busy":
        return _judge_busy(facts, record)
    if record.status == "waiting":
        return _judge_waiting(facts, record)
    if record.status in ("idle", "shell"):
        return _judge_at_prompt(facts, record)
    return Verdict(
        State.UNKNOWN, detail=one_line(record.status, 80), since=record.status_updated_at
    )


def _judge_busy(facts: Facts, record: Record) -> Verdict:
    """Judge a session that says it works, unless stronger evidence belies it.

    Older clients stay `busy` under an open question of a background session.
    """
    working = Verdict(
        State.WORKING,
        since=record.status_updated_at,
        last_act=last_act(facts),
        turn_by_person=facts.conversation.turn_by_person if facts.conversation else True,
    )
    if facts.headless:
        return working
    tools = _open_tools(facts)
    # One behind another tool may only be asked once that has run.
    reason = _asked_reason(tools[0]) if tools else None
    if reason is not None and not _of_another_process(facts):
        question = tools[0]
        # Counted from the later of both: an answer's line lags behind the record.
        stood_since = max(question.at or 0.0, record.status_updated_at or 0.0)
        if facts.now - stood_since < BELIED_AFTER:
            return replace(working, recheck_at=stood_since + BELIED_AFTER)
        return _asking(facts, reason, question, question.id, question.at)
    job = facts.job
    if job is not None and job.tempo == "blocked" and job.needs is not None:
        tool = _asked_tool(facts)
        reason = Reason.QUESTION if job.questions else Reason.PERMISSION if tool else Reason.INPUT
        return _asking(facts, reason, tool, f"j{job.needs}", record.status_updated_at)
    return working


def _judge_waiting(facts: Facts, record: Record) -> Verdict:
    waiting_for = record.waiting_for or ""
    tool = _asked_tool(facts)
    if waiting_for == _DIALOG:
        if not _in_turn(facts):
            # The person's own dialog: they are there, and nothing stands still for them.
            return Verdict(State.IDLE, since=record.status_updated_at, last_act=last_act(facts))
        if 0 <= facts.now - (record.status_updated_at or 0.0) < LAG:
            # One of the person's own, opened in mid-turn, shows before the line of its end
            # (0.1 s before, and more than 0.7 s on a busy machine: seen on 2.1.332).
            return Verdict(State.WORKING, recheck_at=facts.now + REREAD, last_act=last_act(facts))
        reason = Reason.INPUT
    elif waiting_for in _PERMISSION_WAITS or waiting_for.startswith(_APPROVE):
        reason = _asked_reason(tool) or Reason.PERMISSION
    elif waiting_for in _INPUT_WAITS:
        tool = next((t for t in _open_tools(facts) if asks.is_question(t.name)), tool)
        reason = _asked_reason(tool) or Reason.INPUT
    else:
        reason = Reason.INPUT
    milliseconds = record.status_updated_ms
    ask_id = f"s{milliseconds}" if milliseconds is not None else (tool.id if tool else "waiting")
    return _asking(facts, reason, tool, ask_id, record.status_updated_at)


def _judge_at_prompt(facts: Facts, record: Record) -> Verdict:
    since = record.status_updated_at
    conversation = facts.conversation
    if conversation is not None and conversation.unsure_end:
        ended = conversation.as_ended(TurnEnd.COMPLETED, conversation.newest_at)
        facts = replace(facts, conversation=ended)
    verdict = judge_turn(facts, Source.REGISTRY, over_since=since)
    if record.status == "shell":
        verdict = replace(verdict, background=background_commands(facts))
    age = facts.now - since if since is not None else LAG
    # A moment to come is one from before the clock was set back.
    if _in_turn(facts) and 0 <= age < LAG:
        # How it ended is about to be written; until then it would seem never to have run.
        state = State.WORKING if age < SETTLING else verdict.state
        verdict = replace(verdict, state=state, recheck_at=facts.now + REREAD)
    return verdict


def _in_turn(facts: Facts) -> bool:
    """Whether a turn runs, as far as the lines go."""
    conversation = facts.conversation
    if conversation is None or conversation.unsure_end or _of_another_process(facts):
        return False
    return conversation.phase is Phase.RUNNING


def _of_another_process(facts: Facts) -> bool:
    """Whether all lines are from before the process started: what they left open nobody asks."""
    newest = facts.conversation.newest_at if facts.conversation is not None else None
    return newest is not None and facts.started is not None and newest < facts.started


def _asking(
    facts: Facts, reason: Reason, tool: ToolUse | None, ask_id: str, since: float | None
) -> Verdict:
    """Compose the verdict of a session that waits for its person."""
    conversation, agent, job = facts.conversation, facts.agent, facts.job
    detail = text = None
    options: tuple[str, ...] = ()
    if tool is not None:
        request = asks.describe(tool.name, tool.input, facts.cwd)
        detail, text, options = request.detail, request.text, request.options
        if agent is not None and tool is agent.tool:
            detail = asks.of_agent(detail, agent.title)
            detail = asks.with_more(detail, agent.more)
        else:
            detail = asks.with_more(detail, len(_open_tools(facts)) - 1)
    elif job is not None and (job.needs or job.questions):
        needs = "\n".join(job.questions) or job.needs or ""
        detail, text = one_line(needs), block(needs)
    else:
        detail = _said_of_waiting(facts.record)
    ask = Ask(
        ask_id,
        reason,
        tool.name if tool is not None else None,
        text,
        options,
        since,
        deciding=reason is Reason.PERMISSION and _hook_decides(facts, since),
    )
    return Verdict(
        State.NEEDS_INPUT,
        reason=reason,
        detail=detail,
        ask=ask,
        since=since,
        last_act=last_act(facts),
        turn_by_person=conversation.turn_by_person if conversation is not None else True,
        recheck_at=_reread_at(facts.now, ask),
    )


def _said_of_waiting(record: Record | None) -> str | None:
    """Return what a record's `waitingFor` itself says about the ask, if anything."""
    waiting_for = record.waiting_for if record is not None else None
    if waiting_for is None or waiting_for in ("permission prompt", "input needed"):
        return None
    if waiting_for.startswith(_APPROVE):
        return asks.tool_label(waiting_for.removeprefix(_APPROVE))
    return one_line(waiting_for, 80)


def _asked_reason(tool: ToolUse | None) -> Reason | None:
    """Return what a tool waits for that is an ask by itself."""
    if tool is None:
        return None
    if asks.is_question(tool.name):
        return Reason.QUESTION
    return Reason.PLAN if asks.is_plan(tool.name) else None


def _asked_tool(facts: Facts) -> ToolUse | None:
    """Return the tool that asks: the earliest open one, or that of an agent at work."""
    tools = _open_tools(facts)
    for tool in tools:
        if not asks.is_agent(tool.name):
            return tool
    if facts.agent is not None:
        return facts.agent.tool
    return tools[0] if tools else None


def _open_tools(facts: Facts) -> list[ToolUse]:
    """Return the open tools that are not visibly running, in the order in which they ask."""
    conversation = facts.conversation
    return not_running(conversation.open_tools.values(), facts.children) if conversation else []


def _hook_decides(facts: Facts, since: float | None) -> bool:
    """Whether a child lives that started with the ask and is no Bash tool: a hook."""
    if since is None or facts.now - since > DECIDING_FOR:
        return False
    return any(
        abs(child.started - since) <= _STARTED_WITH_ASK and child.may_be_hook
        for child in facts.children or ()
    )


def _reread_at(now: float, ask: Ask) -> float | None:
    """Return when to look again for a detail or the end of a hook."""
    unsettled_for = LAG if ask.tool is None else SETTLING
    if ask.since is not None and 0 <= now - ask.since < unsettled_for:
        return now + REREAD
    return now + 2 * REREAD if ask.deciding else None

"""The state of a session, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.claude.lines import (
    INTERRUPTED,
    REJECTED,
    T0,
    assistant,
    calls,
    conversation,
    line,
    prompt,
    result,
    text,
    tool,
    user,
)
from tray.claude.agents import AgentAsk
from tray.claude.conversation import ToolUse
from tray.claude.facts import Child, Facts
from tray.claude.jobs import Job
from tray.claude.registry import Record
from tray.claude.silent import CANNOT_TELL, KEEPS_NO_RECORDS, STARTING, TOO_LARGE
from tray.claude.verdict import judge
from tray.session import Reason, Source, State, TurnEnd

W, N, I, U = State.WORKING, State.NEEDS_INPUT, State.IDLE, State.UNKNOWN  # noqa: E741
SHELL = ("/bin/bash", "-c", "source /h/shell-snapshots/s.sh && eval 'npm publish' < /dev/null")
SNAPSHOT = ("/bin/bash", "-c", "-l", "SNAPSHOT_FILE=/h/shell-snapshots/s.sh")
HOOK = ("/bin/sh", "-c", "/home/me/approve.sh")
BASH = tool("Bash", command="npm publish")
QUESTION = tool(
    "AskUserQuestion",
    questions=[{"question": "Which port?", "options": [{"label": "80"}, {"label": "8080"}]}],
)
PLAN = tool("ExitPlanMode", plan="# Move to Rust\n\n1. rewrite")
FINISHED = (prompt(at=T0 - 30), assistant(text("All done."), at=T0))
OVERLOADED = assistant(
    text('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}'),
    isApiErrorMessage=True,
)


def record(status: str | None, waiting_for: str | None = None, since: float = T0) -> Record:
    return Record(
        path="/r/sessions/7.json",
        config_root="/r",
        pid=7,
        session_id="s",
        status=status,
        waiting_for=waiting_for,
        status_updated_at=since,
        status_updated_ms=round(since * 1000),
    )


def progress(kind: str, at: float = T0 + 1) -> dict[str, Any]:
    return line("progress", at, data={"type": kind}, parentToolUseID="t1", toolUseID="p")


def told(*lines: dict[str, Any]) -> Facts:
    return Facts(now=T0 + 5, conversation=conversation(*lines), started=T0 - 100, cwd="/app")


PERMISSION = record("waiting", "permission prompt")
ASKING_BASH = told(prompt(at=T0 - 1), calls(BASH))


@pytest.mark.parametrize(
    ("facts", "state", "reason", "detail"),
    [
        # busy
        (replace(told(prompt()), record=record("busy")), W, None, None),
        (replace(told(*FINISHED), record=record("busy")), W, None, None),
        (Facts(now=T0, record=record("busy")), W, None, None),
        # permission
        (replace(ASKING_BASH, record=PERMISSION), N, Reason.PERMISSION, "Bash: npm publish"),
        (
            replace(told(calls(tool("Edit", file_path="/app/src/a.py"))), record=PERMISSION),
            N, Reason.PERMISSION, "Edit: src/a.py",
        ),
        (
            replace(told(calls(tool("Write", file_path="/etc/x"))), record=PERMISSION),
            N, Reason.PERMISSION, "Write: /etc/x",
        ),
        (
            replace(told(calls(tool("mcp__github__create_issue", title="t"))), record=PERMISSION),
            N, Reason.PERMISSION, "github: create_issue",
        ),
        (replace(told(calls(PLAN)), record=PERMISSION), N, Reason.PLAN, "Move to Rust"),
        (
            replace(ASKING_BASH, record=record("waiting", "sandbox request")),
            N, Reason.PERMISSION, "Bash: npm publish",
        ),
        (
            Facts(now=T0 + 5, record=record("waiting", "worker request")),
            N, Reason.PERMISSION, "worker request",
        ),
        (
            Facts(now=T0 + 5, record=record("waiting", "approve Bash")),
            N, Reason.PERMISSION, "Bash",
        ),
        (Facts(now=T0 + 5, record=PERMISSION), N, Reason.PERMISSION, None),
        # The last finished tool is never what is asked.
        (
            replace(told(calls(BASH), result()), record=PERMISSION),
            N, Reason.PERMISSION, None,
        ),
        # input
        (
            replace(told(calls(QUESTION)), record=record("waiting", "input needed")),
            N, Reason.QUESTION, "Which port? (80 / 8080)",
        ),
        (
            replace(told(calls(tool("mcp__db__ask"))), record=record("waiting", "input needed")),
            N, Reason.INPUT, "db: ask",
        ),
        (
            Facts(now=T0 + 5, record=record("waiting", "goal proposal")),
            N, Reason.INPUT, "goal proposal",
        ),
        (
            Facts(now=T0 + 5, record=record("waiting", "something new")),
            N, Reason.INPUT, "something new",
        ),
        (Facts(now=T0 + 5, record=record("waiting")), N, Reason.INPUT, None),
        # dialog open: the person's own between turns, Claude's own in a turn
        (replace(told(*FINISHED), record=record("waiting", "dialog open")), I, None, None),
        (Facts(now=T0 + 5, record=record("waiting", "dialog open")), I, None, None),
        (
            replace(told(prompt()), record=record("waiting", "dialog open")),
            N, Reason.INPUT, "dialog open",
        ),
        (
            replace(ASKING_BASH, record=record("waiting", "dialog open")),
            N, Reason.INPUT, "Bash: npm publish",
        ),
        (
            replace(told(prompt(), assistant(text("Done."), stop=None)),
                    record=record("waiting", "dialog open")),
            I, None, None,
        ),
        # idle
        (replace(told(*FINISHED), record=record("idle")), N, Reason.TURN_OVER, None),
        (
            replace(told(prompt(), assistant(text("Done."), stop=None)), record=record("idle")),
            N, Reason.TURN_OVER, None,
        ),
        (replace(told(*FINISHED), record=record("idle"), now=T0 + 60), I, None, None),
        (
            replace(told(*FINISHED), record=record("idle", since=T0 + 50), now=T0 + 60),
            N, Reason.TURN_OVER, None,
        ),
        (replace(told(*FINISHED), record=record("idle"), idle_after=4), I, None, None),
        # Stop hooks ran for long; or its background shell came to an end much later
        (
            replace(told(*FINISHED), record=record("idle", since=T0 + 590), now=T0 + 600),
            N, Reason.TURN_OVER, None,
        ),
        (
            replace(told(*FINISHED), record=record("idle", since=T0 + 5000), now=T0 + 5001),
            I, None, None,
        ),
        (Facts(now=T0, record=record("idle")), I, None, None),
        (replace(told(line("mode", mode="x")), record=record("idle")), I, None, None),
        (
            replace(told(prompt(), OVERLOADED), record=record("idle"), now=T0 + 9999),
            N, Reason.ERROR, "API error: overloaded",
        ),
        (
            replace(told(prompt(), user([text(INTERRUPTED)])), record=record("idle")),
            I, None, None,
        ),
        (
            replace(told(calls(BASH), result(content=REJECTED, is_error=True)),
                    record=record("idle")),
            I, None, None,
        ),
        (
            replace(told(*FINISHED, user("<command-name>/model</command-name>", T0 + 2)),
                    record=record("idle")),
            I, None, None,
        ),
        # A conversation that was resumed: its last turn was told by another process.
        (
            replace(told(*FINISHED), record=record("idle", since=T0 + 100), started=T0 + 99,
                    now=T0 + 101),
            I, None, None,
        ),
        (
            replace(told(prompt(), OVERLOADED), record=record("idle"), started=T0 + 99),
            I, None, None,
        ),
        # anything else
        (Facts(now=T0, record=record("dreaming")), U, None, "dreaming"),
        (replace(ASKING_BASH, record=PERMISSION, stopped=True), I, None, "suspended"),
        (Facts(now=T0, stopped=True), I, None, "suspended"),
    ],
)  # fmt: skip
def test_with_a_status(
    facts: Facts, state: State, reason: Reason | None, detail: str | None
) -> None:
    verdict = judge(facts)
    assert (verdict.state, verdict.reason, verdict.detail) == (state, reason, detail)
    assert (verdict.ask is not None) == (reason not in (None, Reason.TURN_OVER, Reason.ERROR))


@pytest.mark.parametrize(
    ("facts", "state", "reason", "detail"),
    [
        (Facts(now=T0), U, None, STARTING),
        (Facts(now=T0, child_session=True), U, None, KEEPS_NO_RECORDS),
        (Facts(now=T0, record=record(None)), I, None, None),
        (told(line("mode", mode="x")), I, None, None),
        (told(*FINISHED), N, Reason.TURN_OVER, None),
        (replace(told(*FINISHED), now=T0 + 61), I, None, None),
        (
            told(*FINISHED, line("system", T0 + 1, subtype="turn_duration",
                                 pendingBackgroundAgentCount=2)),
            W, None, None,
        ),
        (
            told(prompt(), OVERLOADED, line("system", T0 + 1, subtype="turn_duration",
                                            pendingBackgroundAgentCount=2)),
            N, Reason.ERROR, "API error: overloaded",
        ),
        (told(prompt(), user([text(INTERRUPTED)])), I, None, None),
        (told(prompt(), OVERLOADED), N, Reason.ERROR, "API error: overloaded"),
        (told(prompt(), line("system", subtype="api_error")), W, None, None),
        (told(prompt()), W, None, None),
        (replace(told(prompt()), now=T0 + 61), U, None, CANNOT_TELL),
        (replace(told(calls(BASH), result()), now=T0 + 999), W, None, None),
        (replace(told(*FINISHED, user("<task-notification>x")), now=T0 + 999), W, None, None),
        (replace(told(*FINISHED, user("Stop hook feedback:", isMeta=True)), now=T0 + 9),
         W, None, None),
        # the person is asked for certain
        (told(calls(QUESTION)), N, Reason.QUESTION, "Which port? (80 / 8080)"),
        (told(calls(PLAN)), N, Reason.PLAN, "Move to Rust"),
        (replace(told(calls(PLAN)), now=T0 + 9999), N, Reason.PLAN, "Move to Rust"),
        # a shell that should run and does not
        (replace(told(calls(BASH)), now=T0 + 1), W, None, None),
        (told(calls(BASH)), N, Reason.PERMISSION, "Bash: npm publish"),
        (replace(told(calls(BASH)), now=T0 + 9999), N, Reason.PERMISSION, "Bash: npm publish"),
        (replace(told(calls(BASH)), children=(Child(T0 + 1, SHELL),), now=T0 + 9999),
         W, None, None),
        (replace(told(calls(BASH)), children=(Child(T0 - 90, ("mcp-server",)),)),
         N, Reason.PERMISSION, "Bash: npm publish"),
        (replace(told(calls(BASH)), children=None), W, None, None),
        (replace(told(calls(BASH)), children=None, now=T0 + 61), U, None, CANNOT_TELL),
        (
            told(line("permission-mode", None, permissionMode="bypassPermissions"), calls(BASH)),
            W, None, None,
        ),
        (replace(told(calls(BASH)), children=(Child(T0 + 1, ("npm", "view", "x")),)),
         N, Reason.PERMISSION, "Bash: npm publish"),
        (replace(told(calls(BASH)), children=(Child(T0 + 0.1, HOOK),), now=T0 + 30),
         W, None, None),
        (
            told(line("permission-mode", None, permissionMode="auto"), calls(BASH)),
            W, None, None,
        ),
        # one that has told how far it is was let run; its hooks run before it asks
        (
            replace(told(calls(BASH), progress("bash_progress")), now=T0 + 99),
            W, None, None,
        ),
        (
            told(calls(BASH), progress("hook_progress")),
            N, Reason.PERMISSION, "Bash: npm publish",
        ),
        # a question behind it waits until it has run, or is asked beside it
        (
            replace(told(calls(BASH, tool("AskUserQuestion", "t2"))),
                    children=(Child(T0 + 1, SHELL),), now=T0 + 59),
            W, None, None,
        ),
        (
            replace(told(calls(BASH, tool("AskUserQuestion", "t2"))),
                    children=(Child(T0 + 1, SHELL),), now=T0 + 61),
            U, None, CANNOT_TELL,
        ),
        (
            replace(told(calls(BASH, tool("WebFetch", "t2"))),
                    children=(Child(T0 + 1, SHELL),), now=T0 + 99),
            W, None, None,
        ),
        # one whose output file was taken away again has run
        (replace(told(calls(BASH)), tool_ran_at=T0 + 1, now=T0 + 99), W, None, None),
        (
            replace(told(calls(BASH)), tool_ran_at=T0 - 1, now=T0 + 99),
            N, Reason.PERMISSION, "Bash: npm publish",
        ),
        (
            replace(told(calls(BASH, tool("Bash", "t2", command="make")), result("t1", at=T0 + 9)),
                    tool_ran_at=T0 + 8, now=T0 + 99),
            N, Reason.PERMISSION, "Bash: make",
        ),
        # an edit that should be done and is not
        (told(calls(tool("Edit", file_path="/app/a.py"))), N, Reason.PERMISSION, "Edit: a.py"),
        (
            told(line("permission-mode", None, permissionMode="acceptEdits"),
                 calls(tool("Write", file_path="/app/a.py"))),
            W, None, None,
        ),
        (
            replace(told(calls(tool("Edit", file_path="/app/a.py"))),
                    children=(Child(T0 + 1, HOOK),), now=T0 + 16),
            W, None, None,
        ),
        # what cannot be told from a prompt
        (told(calls(tool("WebFetch", url="http://x"))), W, None, None),
        (replace(told(calls(tool("WebFetch", url="http://x"))), now=T0 + 61), U, None,
         CANNOT_TELL),
        (replace(told(calls(tool("mcp__a__b"))), now=T0 + 61), U, None, CANNOT_TELL),
        (replace(told(calls(tool("Agent", description="x"))), now=T0 + 61), U, None, CANNOT_TELL),
        (replace(told(calls(tool("Agent")), progress("agent_progress", T0 + 50)), now=T0 + 100),
         W, None, None),
        (replace(told(calls(tool("Agent")), progress("agent_progress", T0 + 50)), now=T0 + 111),
         U, None, CANNOT_TELL),
        (replace(told(line("permission-mode", None, permissionMode="bypassPermissions"),
                      calls(tool("WebFetch", url="http://x"))), now=T0 + 999),
         W, None, None),
        (replace(told(calls(tool("Read", file_path="/x"))), now=T0 + 9999), W, None, None),
        # old clients do not say that a turn is over
        (told(prompt(), assistant(text("Done."), stop=None)), W, None, None),
        (replace(told(prompt(), assistant(text("Done."), stop=None)), now=T0 + 10),
         N, Reason.TURN_OVER, None),
        # resumed, and nothing since
        (replace(told(calls(BASH)), started=T0 + 3), I, None, None),
        # nobody sits before a headless one
        (replace(told(calls(BASH)), headless=True), W, None, None),
        (replace(told(calls(QUESTION)), headless=True), W, None, None),
        (replace(told(*FINISHED), headless=True), I, None, None),
    ],
)  # fmt: skip
def test_without_a_status(
    facts: Facts, state: State, reason: Reason | None, detail: str | None
) -> None:
    verdict = judge(facts)
    assert (verdict.state, verdict.reason, verdict.detail) == (state, reason, detail)


def test_a_file_too_large_to_find_a_message_in_tells_nothing() -> None:
    facts = Facts(now=T0, conversation=replace(conversation(), partial=True))
    assert judge(facts).detail == TOO_LARGE


@pytest.mark.parametrize("block", [QUESTION, PLAN])
def test_an_open_question_belies_busy_after_a_second(block: dict[str, Any]) -> None:
    facts = replace(told(calls(block, at=T0 + 10)), record=record("busy"))
    early = judge(replace(facts, now=T0 + 10.9))
    assert (early.state, early.recheck_at) == (W, T0 + 11)
    late = judge(replace(facts, now=T0 + 11))
    assert late.state is N
    assert late.reason in (Reason.QUESTION, Reason.PLAN)
    assert late.ask is not None
    assert late.ask.id == "t1"


@pytest.mark.parametrize(
    ("found", "state"), [(record("busy"), W), (record("waiting", "dialog open"), I)]
)
def test_what_a_killed_process_left_open_is_not_asked_by_the_next(
    found: Record, state: State
) -> None:
    asking = calls(tool("AskUserQuestion", "t1", questions=[{"question": "Which?"}]), at=T0 - 60)
    facts = replace(told(prompt(at=T0 - 61), asking), started=T0 - 9, record=found)
    assert judge(facts).state is state
    assert judge(replace(facts, started=T0 - 90)).state is N


def test_a_question_behind_another_tool_is_not_asked_yet() -> None:
    both = replace(told(calls(BASH, tool("AskUserQuestion", "t2"))), record=record("busy"))
    assert judge(replace(both, now=T0 + 99)).state is W
    ran = told(calls(BASH, tool("AskUserQuestion", "t2")), result("t1"))
    assert judge(replace(ran, record=record("busy"), now=T0 + 99)).reason is Reason.QUESTION


def test_what_a_session_waits_for_tells_which_tool_it_is() -> None:
    both = told(calls(BASH, tool("AskUserQuestion", "t2", questions=[{"question": "Which?"}])))
    verdict = judge(replace(both, record=record("waiting", "input needed")))
    assert (verdict.reason, verdict.detail) == (Reason.QUESTION, "Which? +1 more")
    asked = judge(replace(told(calls(QUESTION)), record=PERMISSION))
    assert asked.reason is Reason.QUESTION


def test_nobody_is_asked_by_a_headless_session() -> None:
    asking = replace(told(calls(QUESTION)), headless=True, now=T0 + 99)
    assert judge(replace(asking, record=record("busy"))).state is W
    over = judge(replace(told(*FINISHED), headless=True, record=record("idle")))
    assert (over.state, over.unseen) == (I, False)


def test_an_answer_whose_line_lags_is_not_asked_again() -> None:
    """The record turns busy first; the open question has then stood for long already."""
    facts = replace(told(calls(QUESTION)), record=record("busy", since=T0 + 60))
    assert judge(replace(facts, now=T0 + 60.5)).state is W


def test_a_blocked_background_job_belies_busy() -> None:
    job = Job("j", tempo="blocked", needs="Which port?", questions=("Which port?",))
    verdict = judge(Facts(now=T0, record=record("busy"), job=job))
    assert (verdict.state, verdict.reason, verdict.detail) == (N, Reason.QUESTION, "Which port?")
    assert verdict.ask is not None
    assert (verdict.ask.text, verdict.ask.id) == ("Which port?", "jWhich port?")
    needy = replace(job, needs="a port", questions=())
    verdict = judge(Facts(now=T0, record=record("busy"), job=needy))
    assert (verdict.reason, verdict.detail) == (Reason.INPUT, "a port")
    verdict = judge(replace(ASKING_BASH, record=record("busy"), job=needy))
    assert (verdict.reason, verdict.detail) == (Reason.PERMISSION, "Bash: npm publish")
    assert judge(Facts(now=T0, record=record("busy"), job=replace(job, tempo="idle"))).state is W
    assert judge(Facts(now=T0, record=record("busy"), job=replace(job, needs=None))).state is W


def test_two_asks_at_once_are_told_in_the_order_asked() -> None:
    both = calls(BASH, tool("Bash", "t2", command="git push"))
    facts = replace(told(both), record=PERMISSION)
    assert judge(facts).detail == "Bash: npm publish +1 more"
    after = replace(told(both, result("t1")), record=record("waiting", "permission prompt", T0 + 1))
    assert judge(after).detail == "Bash: git push"


def test_a_tool_that_runs_is_not_what_is_asked() -> None:
    both = calls(BASH, tool("Bash", "t2", command="git push"))
    facts = replace(told(both), record=PERMISSION, children=(Child(T0 + 1, SHELL),))
    assert judge(facts).detail == "Bash: git push"


def test_an_agents_prompt_is_told_with_the_agents_name() -> None:
    agent = AgentAsk("Sub job", ToolUse("a1", "Bash", {"command": "make"}, T0), more=1)
    facts = replace(told(*FINISHED), record=PERMISSION, agent=agent)
    assert judge(facts).detail == 'agent "Sub job": Bash: make +1 more'
    waits_for_it = calls(tool("Agent", description="Sub job"))
    assert judge(replace(told(waits_for_it), record=PERMISSION, agent=agent)).detail == (
        'agent "Sub job": Bash: make +1 more'
    )


def test_an_ask_is_known_by_when_it_was_asked() -> None:
    ask = judge(replace(ASKING_BASH, record=PERMISSION)).ask
    assert ask is not None
    assert (ask.id, ask.since, ask.tool) == (f"s{round(T0 * 1000)}", T0, "Bash")
    again = judge(replace(ASKING_BASH, record=record("waiting", "permission prompt", T0 + 0.065)))
    assert again.ask is not None
    assert again.ask.id != ask.id


def test_an_ask_without_a_time_is_known_by_its_tool() -> None:
    untimed = replace(PERMISSION, status_updated_at=None, status_updated_ms=None)
    verdict = judge(replace(ASKING_BASH, record=untimed, children=(Child(T0, HOOK),)))
    assert verdict.ask is not None
    assert (verdict.ask.id, verdict.ask.deciding, verdict.recheck_at) == ("t1", False, None)
    nameless = judge(Facts(now=T0, record=untimed)).ask
    assert nameless is not None
    assert nameless.id == "waiting"


@pytest.mark.parametrize("after", [-9.0, 0.0, 0.39])
def test_a_dialog_in_mid_turn_is_first_given_time_to_be_the_persons_own(after: float) -> None:
    dialog = replace(told(prompt(at=T0 - 9)), record=record("waiting", "dialog open"))
    verdict = judge(replace(dialog, now=T0 + after))
    assert (verdict.state is W) == (after >= 0)
    assert judge(replace(dialog, now=T0 + 1.01)).reason is Reason.INPUT


@pytest.mark.parametrize(
    ("children", "after", "deciding"),
    [
        ((), 0.1, False),
        ((Child(T0 + 0.01, HOOK),), 0.1, True),
        ((Child(T0 - 0.2, HOOK),), 0.1, True),
        ((Child(T0 - 60, ("node", "mcp-server.js")),), 0.1, False),
        ((Child(T0 + 0.01, SHELL),), 0.1, False),
        ((Child(T0 + 3, HOOK),), 4.0, False),
        ((Child(T0 + 0.01, SNAPSHOT),), 0.1, False),
        ((Child(T0 + 0.01, ("/usr/bin/git", "for-each-ref")),), 0.1, False),
        ((Child(T0 + 0.01, ("/bin/sh", "-c", "npm config get prefix")),), 0.1, False),
        ((Child(T0 + 0.01, ("claude", "--resume")),), 0.1, False),
        ((Child(T0 + 0.01, HOOK),), 10.1, False),
    ],
)
def test_a_hook_may_be_deciding(children: tuple[Child, ...], after: float, deciding: bool) -> None:
    facts = replace(ASKING_BASH, record=PERMISSION, children=children, now=T0 + after)
    ask = judge(facts).ask
    assert ask is not None
    assert ask.deciding is deciding


def test_the_end_of_a_hook_is_looked_for() -> None:
    hook = (Child(T0, HOOK),)
    facts = replace(ASKING_BASH, record=PERMISSION, children=hook, now=T0 + 3)
    assert judge(facts).recheck_at == pytest.approx(T0 + 3.1)
    assert judge(replace(facts, children=())).recheck_at is None


def test_a_missing_detail_is_looked_for_again_at_once_but_not_for_ever() -> None:
    facts = Facts(now=T0 + 0.1, record=PERMISSION)
    assert judge(facts).recheck_at == pytest.approx(T0 + 0.15)
    assert judge(replace(facts, now=T0 + 2)).recheck_at is None
    # The line of the ask before may lag too.
    asking = replace(ASKING_BASH, record=PERMISSION)
    assert judge(replace(asking, now=T0 + 0.1)).recheck_at == pytest.approx(T0 + 0.15)
    assert judge(replace(asking, now=T0 + 0.5)).recheck_at is None


def test_the_persons_dialog_that_shows_before_the_end_of_the_turn_is_no_ask() -> None:
    facts = replace(told(prompt()), record=record("waiting", "dialog open"), now=T0 + 0.1)
    verdict = judge(facts)
    assert (verdict.state, verdict.recheck_at) == (W, pytest.approx(T0 + 0.15))


def test_an_end_whose_line_lags_is_looked_for_again() -> None:
    facts = replace(told(prompt(at=T0 - 9)), record=record("idle"), now=T0 + 0.05)
    verdict = judge(facts)
    assert (verdict.state, verdict.recheck_at) == (W, pytest.approx(T0 + 0.1))
    later = judge(replace(facts, now=T0 + 0.5))
    assert (later.state, later.recheck_at) == (I, pytest.approx(T0 + 0.55))
    assert judge(replace(facts, now=T0 + 2)).recheck_at is None


@pytest.mark.parametrize(
    ("found", "state"), [(record("idle"), I), (record("waiting", "dialog open"), N)]
)
def test_after_the_clock_was_set_back_nothing_is_waited_for(found: Record, state: State) -> None:
    verdict = judge(replace(told(prompt(at=T0 - 9)), record=found, now=T0 - 3600))
    assert (verdict.state, verdict.recheck_at) == (state, None)


def test_a_finished_turn_decays_by_time_alone() -> None:
    verdict = judge(replace(told(*FINISHED), record=record("idle")))
    assert verdict.recheck_at == T0 + 60
    assert verdict.turn_end is TurnEnd.COMPLETED
    assert judge(replace(told(*FINISHED), record=record("idle"), now=T0 + 60)).unseen


@pytest.mark.parametrize(
    ("tty_access", "unseen"),
    # The last one is from before the clock was set back.
    [(None, True), (T0 - 1, True), (T0, False), (T0 + 8, False), (T0 + 3600, True)],
)
def test_a_keystroke_after_the_end_has_seen_it(tty_access: float | None, unseen: bool) -> None:
    facts = replace(told(*FINISHED), record=record("idle"), now=T0 + 9)
    assert judge(replace(facts, tty_access=tty_access)).unseen is unseen


def test_the_persons_last_act() -> None:
    facts = replace(told(*FINISHED), record=record("idle"))
    assert judge(facts).last_act == T0 - 30
    assert judge(replace(facts, tty_access=T0 - 10)).last_act == T0 - 10
    answered = told(prompt(at=T0 - 30), calls(QUESTION, at=T0 - 20), result(at=T0 - 5))
    assert judge(replace(answered, record=record("busy"))).last_act == T0 - 5


def test_a_turn_that_a_task_began_is_not_the_persons() -> None:
    woken = (user("<task-notification>x", T0 - 9), assistant(text("ok")))
    assert not judge(replace(told(*FINISHED, *woken), record=record("idle"))).turn_by_person
    assert judge(replace(told(*FINISHED), record=record("idle"))).turn_by_person


def test_lines_without_a_time_are_no_reason_to_fail() -> None:
    untimed = [
        {key: value for key, value in found.items() if key != "timestamp"}
        for found in (prompt(), calls(BASH))
    ]
    facts = told(*untimed)
    assert judge(facts).state is U, "how long the tool has stood open is not known"
    assert judge(replace(facts, record=PERMISSION)).detail == "Bash: npm publish"
    over = told(assistant(text("Done."), at=None))
    for facts in (over, replace(over, record=record("idle"))):
        assert judge(facts).reason is Reason.TURN_OVER
        assert judge(replace(facts, started=None, tty_access=T0)).unseen


def test_since_when() -> None:
    headless = replace(told(prompt(at=T0 - 9), calls(BASH)), headless=True)
    assert judge(headless).since == T0 - 9
    assert judge(replace(told(*FINISHED), headless=True)).since == T0
    assert judge(told(prompt(at=T0 - 9), calls(BASH), result(at=T0 + 1))).since == T0 - 9
    assert judge(told(calls(BASH, at=T0 - 4))).since == T0 - 4
    assert judge(replace(ASKING_BASH, record=PERMISSION)).since == T0


def test_a_background_shell_is_named() -> None:
    children = (Child(T0 - 5, SHELL), Child(T0 - 90, ("mcp-server",)))
    verdict = judge(replace(told(*FINISHED), record=record("shell"), children=children))
    assert (verdict.reason, verdict.background) == (Reason.TURN_OVER, ("npm publish",))
    later = replace(told(*FINISHED), record=record("shell"), children=children, now=T0 + 9999)
    assert judge(later).state is I


def test_the_same_fault_has_the_same_words() -> None:
    keys = {
        judge(replace(told(prompt(), error), record=record("idle"))).error
        for error in (OVERLOADED, assistant(text("API Error: 529"), isApiErrorMessage=True))
    }
    assert keys == {"api error: overloaded"}


def test_what_decided_is_told() -> None:
    assert judge(Facts(now=T0, record=record("busy"))).source is Source.REGISTRY
    assert judge(told(*FINISHED)).source is Source.TRANSCRIPT
    assert judge(Facts(now=T0)).source is Source.PROCESS


def test_hostile_text_is_made_harmless() -> None:
    facts = replace(told(calls(tool("Bash", command="a\x1b[31m\u202eb\n" + "x" * 999))),
                    record=PERMISSION)  # fmt: skip
    detail = judge(facts).detail
    assert detail is not None
    assert detail.startswith("Bash: ab x")
    assert len(detail) <= 200

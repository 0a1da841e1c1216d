"""What the lines of a transcript come to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.claude.lines import (
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
from tray.claude.conversation import Phase, TitleSource
from tray.session import TurnEnd

ENQUEUE = line("queue-operation", operation="enqueue", content="next")
DEQUEUE = line("queue-operation", T0 + 5, operation="dequeue")
OVER = (prompt(), assistant(text("done")))


@pytest.mark.parametrize(
    ("lines", "phase", "end"),
    [
        ((), Phase.FRESH, None),
        ((prompt(),), Phase.RUNNING, None),
        (OVER, Phase.OVER, TurnEnd.COMPLETED),
        ((prompt(), assistant(text("x"), stop="max_tokens")), Phase.OVER, TurnEnd.COMPLETED),
        ((prompt(), assistant(text("x"), stop="refusal")), Phase.OVER, TurnEnd.COMPLETED),
        ((prompt(), assistant(text("x"), stop="pause_turn")), Phase.RUNNING, None),
        ((prompt(), assistant(text("x"), stop=None)), Phase.RUNNING, None),
        (
            (prompt(), assistant(text("x"), stop=None), line("system", subtype="turn_duration")),
            Phase.OVER, TurnEnd.COMPLETED,
        ),
        (
            (prompt(), assistant(text("x"), stop=None),
             line("progress", data={"type": "hook_progress", "hookEvent": "Stop"}),
             line("system", subtype="stop_hook_summary")),
            Phase.OVER, TurnEnd.COMPLETED,
        ),
        ((*OVER, user("Stop hook feedback: no", isMeta=True)), Phase.RUNNING, None),
        ((*OVER, user("<task-notification>x")), Phase.RUNNING, None),
        ((*OVER, user("<command-name>/model</command-name>")), Phase.FRESH, None),
        ((*OVER, user("<command-message>review</command-message>")), Phase.RUNNING, None),
        ((*OVER, line("permission-mode", permissionMode="plan")), Phase.OVER, TurnEnd.COMPLETED),
        ((*OVER, ENQUEUE), Phase.OVER, TurnEnd.COMPLETED),
        ((*OVER, ENQUEUE, DEQUEUE), Phase.RUNNING, None),
        # A command's lines after the dequeuing of a prompt are of an earlier command ...
        (
            (*OVER, ENQUEUE, DEQUEUE, user("<command-name>/compact</command-name>", T0 + 1),
             user("<local-command-stdout>Compacted", T0 + 6)),
            Phase.RUNNING, None,
        ),
        # ... or what was dequeued was that command.
        (
            (*OVER, ENQUEUE, DEQUEUE, user("<command-name>/model</command-name>", T0 + 6)),
            Phase.FRESH, None,
        ),
        # A subagent's lines in the same file are not the session's.
        ((*OVER, user("go", isSidechain=True)), Phase.OVER, TurnEnd.COMPLETED),
    ],
)  # fmt: skip
def test_whose_turn_it_is(
    lines: tuple[dict[str, Any], ...], phase: Phase, end: TurnEnd | None
) -> None:
    found = conversation(*lines)
    assert (found.phase, found.turn_end) == (phase, end)
    assert (found.turn_ended_at is not None) == (phase is Phase.OVER)


def test_one_message_over_several_lines() -> None:
    found = conversation(
        prompt(),
        assistant(text("I will"), stop=None, message_id="m"),
        assistant(tool("Bash", "t1"), stop=None, message_id="m"),
        assistant(tool("Read", "t2"), stop="tool_use", message_id="m"),
        result("t2"),
    )
    assert list(found.open_tools) == ["t1"]
    assert not found.unsure_end


def test_what_an_older_message_left_open_is_not_open() -> None:
    found = conversation(calls(tool("Bash", "t1")), calls(tool("Read", "t2")))
    assert list(found.open_tools) == ["t2"]


def test_what_was_open_before_a_prompt_is_not_open() -> None:
    assert conversation(calls(tool("Bash")), prompt()).open_tools == {}
    assert conversation(calls(tool("Bash")), user("<command-name>/model")).open_tools == {}


def test_a_turn_that_ended_has_no_open_tools() -> None:
    found = conversation(calls(tool("Bash")), user([text("[Request interrupted by user]")]))
    assert found.open_tools == {}


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ((), None),
        ((prompt("fix it"),), ("fix it", TitleSource.FIRST_PROMPT)),
        ((prompt("one"), prompt("two")), ("one", TitleSource.FIRST_PROMPT)),
        ((user("caveat", isMeta=True), prompt("x")), ("x", TitleSource.FIRST_PROMPT)),
        (
            (user("<command-message>review</command-message>"), user([{"type": "image"}]),
             prompt("x")),
            ("x", TitleSource.FIRST_PROMPT),
        ),
        ((prompt("x"), line("summary", summary="sum")), ("sum", TitleSource.SUMMARY)),
        (
            (line("summary", summary="sum"), line("last-prompt", lastPrompt="last")),
            ("last", TitleSource.LAST_PROMPT),
        ),
        (
            (line("ai-title", aiTitle="a1"), line("ai-title", aiTitle="a2"),
             line("last-prompt", lastPrompt="last")),
            ("a2", TitleSource.AI),
        ),
        (
            (line("custom-title", customTitle="c"), line("ai-title", aiTitle="a")),
            ("c", TitleSource.CUSTOM),
        ),
        (
            (line("custom-title", customTitle="  "), line("ai-title", aiTitle="a")),
            ("a", TitleSource.AI),
        ),
    ],
)  # fmt: skip
def test_the_title(
    lines: tuple[dict[str, Any], ...], title: tuple[str, TitleSource] | None
) -> None:
    assert conversation(*lines).title == title


def test_facts_of_the_newest_line() -> None:
    found = conversation(
        user("a", T0, cwd="/a", gitBranch="main", version="2.0.0", sessionId="s", entrypoint="cli",
             forkedFrom={"sessionId": "parent", "messageUuid": "m"}),
        assistant(text("x"), at=T0 + 9, cwd="/a/b", gitBranch="fix", version="2.1.0"),
        line("tag", tag="red"),
        line("tag", tag=""),
        line("continued-in", continuedInSessionId="next"),
        line("permission-mode", permissionMode="plan"),
    )  # fmt: skip
    assert (found.first_cwd, found.cwd, found.git_branch) == ("/a", "/a/b", "fix")
    assert (found.version, found.session_id, found.forked_from) == ("2.1.0", "s", "parent")
    assert (found.entrypoint, found.turn_began_at) == ("cli", T0)
    assert (found.tag, found.continued_in, found.permission_mode) == ("", "next", "plan")
    assert (found.first_timestamp, found.last_timestamp) == (T0, T0 + 9)


def test_a_refusal_is_the_persons_act() -> None:
    said = f"{REJECTED} the user said: use pnpm"
    for content, phase in ((REJECTED, Phase.OVER), (said, Phase.RUNNING)):
        found = conversation(
            prompt(), calls(tool("Bash")), result(content=content, at=T0 + 7, is_error=True)
        )
        assert (found.last_act, found.phase) == (T0 + 7, phase)


@pytest.mark.parametrize(
    ("found", "act"),
    [
        (prompt(at=T0 + 9), True),
        (user("<command-message>review</command-message>", T0 + 9), True),
        (user("<command-name>/model</command-name>", T0 + 9), True),
        (user([text("[Request interrupted by user]")], T0 + 9), True),
        (user("<task-notification>x", T0 + 9), False),
        (result(at=T0 + 9), False),
        (assistant(text("x"), at=T0 + 9), False),
        (line("progress", T0 + 9, data={"type": "bash_progress"}), False),
    ],
)
def test_the_persons_last_act(found: dict[str, Any], act: bool) -> None:
    assert conversation(prompt(), calls(tool("Bash")), found).last_act == (T0 + 9 if act else T0)


def test_an_answer_is_the_persons_act() -> None:
    answered = conversation(calls(tool("AskUserQuestion")), result(at=T0 + 9))
    assert answered.last_act == T0 + 9


def test_the_last_text_of_the_model() -> None:
    said = assistant(text("It is " + "done. " * 1000))
    found = conversation(said, calls(tool("Bash")), assistant(text("not mine"), isSidechain=True))
    assert found.preview is not None
    assert found.preview.startswith("It is done. ")
    assert len(found.preview) == 4000


def test_a_prompt_may_carry_the_permission_mode() -> None:
    assert conversation(user("x", permissionMode="plan")).permission_mode == "plan"
    kept = conversation(user("x", permissionMode="plan"), prompt("y"))
    assert kept.permission_mode == "plan"


def test_a_reason_to_stop_that_nobody_knows_yet_may_be_an_end() -> None:
    assert conversation(prompt(), assistant(text("x"), stop="out_of_ideas")).unsure_end
    assert not conversation(prompt(), assistant(text("x"), stop="tool_use")).unsure_end
    assert (
        conversation(prompt(), assistant(text("x"), stop="model_context_window_exceeded")).turn_end
        is TurnEnd.COMPLETED
    )


def test_a_command_of_the_persons_own_begins_afresh() -> None:
    woken = conversation(
        user("<task-notification>x"),
        assistant(text("x")),
        line("system", subtype="turn_duration", pendingBackgroundAgentCount=2),
        user("<command-name>/model</command-name>"),
    )
    assert (woken.turn_by_person, woken.pending_agents, woken.turn_began_at) == (True, 0, None)


def test_times_may_run_backwards() -> None:
    found = conversation(prompt(at=T0 + 9), assistant(text("x"), at=T0))
    assert found.last_timestamp == T0 + 9
    assert found.phase is Phase.OVER


def test_pending_agents_are_counted_until_the_next_turn() -> None:
    over = line("system", subtype="turn_duration", pendingBackgroundAgentCount=2,
                pendingWorkflowCount=1)  # fmt: skip
    assert conversation(*OVER, over).pending_agents == 3
    assert conversation(*OVER, over, prompt()).pending_agents == 0


def test_files_that_are_no_sessions_of_their_own() -> None:
    assert conversation(user("go", isSidechain=True)).sidechain
    assert conversation(user("go", teamName="red")).team
    assert not conversation(prompt()).sidechain


def test_parent_links_in_a_circle_mean_nothing() -> None:
    found = conversation(
        user("a", uuid="1", parentUuid="2"), assistant(text("b"), uuid="2", parentUuid="1")
    )
    assert found.phase is Phase.OVER


def test_a_huge_input_is_not_decoded() -> None:
    found = conversation(calls(tool("Write", content="x" * 2_000_000)))
    assert found.open_tools["t1"].input == {}

"""What holds of every conversation, however it goes and however its file is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.claude.lines import (
    INTERRUPTED,
    REJECTED,
    T0,
    assistant,
    calls,
    encoded,
    line,
    prompt,
    result,
    text,
    tool,
    user,
)
from tray.claude import transcript as module
from tray.claude.agents import AgentAsk
from tray.claude.conversation import Conversation, ToolUse, fold
from tray.claude.entries import parse
from tray.claude.facts import Child, Facts
from tray.claude.jobs import Job
from tray.claude.registry import Record
from tray.claude.transcript import Transcript
from tray.claude.verdict import judge
from tray.session import BLOCKING, Reason, State

QUESTION = {"questions": [{"question": "Which?", "options": [{"label": "a"}]}]}
TOOLS: list[dict[str, Any]] = [
    tool("Bash", "t1", command="npm publish"),
    tool("Bash", "t2", command="make"),
    tool("Edit", "t3", file_path="/app/a.py"),
    tool("Read", "t4", file_path="/app/a.py"),
    tool("WebFetch", "t5", url="https://x.org"),
    tool("Agent", "t6", description="Sub job"),
    tool("AskUserQuestion", "t7", **QUESTION),
    tool("ExitPlanMode", "t8", plan="# Go"),
    tool("mcp__db__ask", "t9"),
]
ids = st.sampled_from([one["id"] for one in TOOLS])
stops = st.sampled_from(["end_turn", None, "tool_use", "max_tokens", "pause_turn", "new one"])
messages = st.sampled_from(["m1", "m2", "m3"])
words = st.sampled_from(["done", "I begin", "x" * 150])
plain: list[dict[str, Any]] = [
    user([text(INTERRUPTED)]),
    user("<task-notification>x"),
    user("<command-name>/model</command-name>"),
    user("<local-command-stdout>set</local-command-stdout>"),
    user("<command-message>review</command-message>"),
    user("Stop hook feedback: go on", isMeta=True),
    user("caveat", isMeta=True),
    user("summed up", isCompactSummary=True),
    user("sub", isSidechain=True),
    assistant(text("sub done"), isSidechain=True),
    assistant(text('API Error: 529 {"type":"overloaded_error"}'), isApiErrorMessage=True),
    line("system", subtype="turn_duration"),
    line("system", subtype="turn_duration", pendingBackgroundAgentCount=1),
    line("system", subtype="stop_hook_summary"),
    line("system", subtype="api_error"),
    line("progress", data={"type": "bash_progress"}),
    line("progress", data={"type": "hook_progress", "hookEvent": "Stop"}),
    line("queue-operation", operation="dequeue"),
    line("attachment", attachment={"type": "x" * 200}),
]
settings: list[dict[str, Any]] = [
    line("custom-title", None, customTitle="mine"),
    line("custom-title", None, customTitle=""),
    line("ai-title", None, aiTitle="its"),
    line("tag", None, tag="red"),
    line("tag", None, tag=""),
    line("permission-mode", None, permissionMode="acceptEdits"),
    line("permission-mode", None, permissionMode="default"),
]
steps = st.one_of(
    st.sampled_from(plain),
    st.sampled_from(settings),
    st.builds(prompt, words),
    st.builds(lambda said, stop, of: assistant(text(said), stop=stop, message_id=of),
              words, stops, messages),
    st.builds(lambda used, of: calls(*used, message_id=of),
              st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3), messages),
    st.builds(result, ids),
    st.builds(lambda of: result(of, REJECTED, is_error=True), ids),
)  # fmt: skip
noise = st.sampled_from([b"", b"  ", b"\0\0", b'{"type":"user"', b"\xff", b"[1]"])


@st.composite
def stories(draw: st.DrawFn) -> list[bytes]:
    """The lines of a session that begins with a prompt, each a second after the one before."""
    story = [encoded(prompt("the first"))]
    length = draw(st.integers(0, 16))
    untimed = draw(st.sampled_from([*[False] * 9, True]))
    for number, step in enumerate(
        draw(st.lists(steps | noise, min_size=length, max_size=length)), 1
    ):
        if isinstance(step, bytes):
            story.append(step)
        else:
            timed = "timestamp" in step and not untimed
            at = line("", T0 + number)["timestamp"] if timed else None
            story.append(encoded({**step, "timestamp": at}))
    return story


def folded(story: list[bytes]) -> Conversation:
    conversation = Conversation()
    for data in story:
        if data.strip():
            fold(conversation, parse(data))
    return conversation


statuses = st.sampled_from([None, "busy", "waiting", "waiting", "idle", "shell", "dreaming"])
waits = st.sampled_from(
    [None, "permission prompt", "input needed", "dialog open", "approve Bash", "?"]
)
SHELL = ("/bin/bash", "-c", "source /h/shell-snapshots/s.sh && eval 'make'")
HOOK = ("/bin/sh", "-c", "approve.sh")


@st.composite
def surroundings(draw: st.DrawFn) -> Facts:
    """Everything but the conversation and the moment."""
    status = draw(statuses)
    since = T0 + draw(st.integers(0, 30))
    record = Record(
        path="/r/sessions/7.json", config_root="/r", pid=7, session_id="s", status=status,
        waiting_for=draw(waits) if status == "waiting" else None,
        status_updated_at=since, status_updated_ms=round(since * 1000),
    )  # fmt: skip
    agent = AgentAsk("Sub job", ToolUse("a1", "Bash", {"command": "make"}, T0 + 3), 0)
    job = Job("j", tempo="blocked", needs="a port")
    return Facts(
        now=T0,
        record=draw(st.sampled_from([record, record, None])),
        stopped=draw(st.sampled_from([*[False] * 9, True])),
        started=draw(st.sampled_from([*[T0 - 9] * 5, None, T0 + 10])),
        children=draw(st.sampled_from(
            [(), (), None, (Child(T0 - 50, HOOK),), (Child(T0 + 5, SHELL),), (Child(since, HOOK),)]
        )),
        agent=draw(st.sampled_from([None, agent])),
        job=draw(st.sampled_from([None, job])),
        tty_access=draw(st.sampled_from([None, T0, T0 + 20])),
        headless=draw(st.sampled_from([*[False] * 5, True])),
        cwd="/app",
    )  # fmt: skip


@given(stories(), surroundings(), st.integers(0, 100))
def test_a_window_at_the_end_tells_the_same_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, story: list[bytes], facts: Facts, age: int
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    path.write_bytes(b"\n".join(story) + b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL_FILE", 0)
        patch.setattr(module, "_TAIL", 200)
        patch.setattr(module, "_HEAD", 0)
        patch.setattr(module, "_SAID_LIMIT", 0)
        window = Transcript(str(path)).refresh()
    whole = folded(story)
    assert window is not None
    moment = replace(facts, now=T0 + age)
    # What was said and done before the turn is looked for in a window of its own size.
    assert window.last_act in (None, whole.last_act)
    whole.last_act = window.last_act
    seen = judge(replace(moment, conversation=window))
    expected = judge(replace(moment, conversation=whole))
    if seen.since is None:
        # The newest lines bear no time, and the ones that do are out of the window.
        expected = replace(expected, since=None)
    assert seen == expected
    for name in ("titles", "tag", "permission_mode", "forked_from", "sidechain"):
        assert getattr(window, name) == getattr(whole, name), name


@given(stories(), st.lists(st.integers(1, 400), max_size=12))
def test_following_tells_the_same_as_reading_once(
    tmp_path_factory: pytest.TempPathFactory, story: list[bytes], pieces: list[int]
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    data = b"\n".join(story) + b"\n"
    followed = Transcript(str(path))
    end = 0
    with path.open("ab", buffering=0) as file:
        for piece in pieces:
            file.write(data[end : end + piece])
            end = min(end + piece, len(data))
            followed.refresh()
        file.write(data[end:])
    assert followed.refresh() == folded(story)


@given(stories(), surroundings(), st.floats(0, 200))
def test_a_verdict_holds_together(story: list[bytes], facts: Facts, age: float) -> None:
    facts = replace(facts, conversation=folded(story), now=T0 + age)
    verdict = judge(facts)
    assert (verdict.state is State.NEEDS_INPUT) == (verdict.reason is not None)
    assert (verdict.ask is not None) == (verdict.reason in BLOCKING)
    if verdict.ask is not None:
        assert verdict.ask.reason is verdict.reason
    if verdict.unseen:
        assert verdict.turn_end is not None
    assert (verdict.error is not None) == (verdict.reason is Reason.ERROR)
    assert verdict.detail is None or ("\n" not in verdict.detail and len(verdict.detail) < 400)
    silent = facts.record is None or facts.record.status is None
    if silent and facts.headless:
        assert verdict.state is not State.NEEDS_INPUT
    assert verdict.recheck_at is None or verdict.recheck_at > facts.now


@given(stories(), surroundings(), st.floats(0, 200), st.floats(0, 100_000))
def test_a_verdict_changes_with_time_only_when_it_says_so(
    story: list[bytes], facts: Facts, age: float, later: float
) -> None:
    facts = replace(facts, conversation=folded(story), now=T0 + age)
    verdict = judge(facts)
    until = verdict.recheck_at
    now = facts.now + later if until is None else min(facts.now + later, until - 0.001)
    later_on = judge(replace(facts, now=max(now, facts.now)))
    assert replace(later_on, recheck_at=None) == replace(verdict, recheck_at=None)


@given(stories(), surroundings(), st.floats(1, 100_000))
def test_what_blocks_never_turns_idle_by_age(
    story: list[bytes], facts: Facts, later: float
) -> None:
    facts = replace(facts, conversation=folded(story), now=T0 + 31)
    verdict = judge(facts)
    if verdict.reason in BLOCKING:
        assert judge(replace(facts, now=facts.now + later)).reason is verdict.reason

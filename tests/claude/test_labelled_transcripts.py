"""Real transcripts, cut where somebody wrote down what the person at the keyboard saw."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tray.claude.conversation import Conversation, Phase, fold
from tray.claude.entries import parse, timestamp
from tray.claude.facts import Child, Facts
from tray.claude.silent import QUIET
from tray.claude.transcript import Transcript
from tray.claude.verdict import judge
from tray.session import BLOCKING, Reason, State

if TYPE_CHECKING:
    from pathlib import Path

SHELL = ("/bin/bash", "-c", "source /h/.claude/shell-snapshots/s.sh && eval 'make'")


def moment(lines: list[bytes], cut: int, conversation: Conversation) -> float:
    """When to judge: just before the next line with a time; an old client's end needs quiet."""
    at = max((conversation.last_timestamp or 0.0), conversation.newest_at or 0.0)
    if conversation.unsure_end:
        return at + QUIET
    following = (timestamp(json.loads(line).get("timestamp")) for line in lines[cut:])
    upcoming = next((time for time in following if time is not None and time > at), at + 1)
    return min(upcoming, at + 30)


def test_every_cut_point(transcripts: Path) -> None:
    labels = json.loads((transcripts / "labels.json").read_text())
    wrong = []
    for label in labels:
        lines = (transcripts / label["file"]).read_bytes().splitlines()
        cut = label["cut_after_line"]
        conversation = Conversation()
        for line in lines[:cut]:
            fold(conversation, parse(line))
        now = moment(lines, cut, conversation)
        tools = list(conversation.open_tools.values())
        # A tool that ran had a process, as a client's children would have shown.
        ran = label["true_state"] == "working" and tools
        children = (Child(tools[0].at or now, SHELL),) if ran else ()
        verdict = judge(Facts(now=now, conversation=conversation, children=children))
        answer = str(verdict.state)
        if verdict.reason in (Reason.TURN_OVER, Reason.ERROR):
            answer = "idle"
        allowed = {label["true_state"], label["file_alone_suggests"]}
        if answer not in allowed or (verdict.reason in BLOCKING and "needs_input" not in allowed):
            wrong.append((label["file"], cut, label["why"], sorted(allowed), verdict))
    assert len(labels) > 40
    assert wrong == []


def test_following_a_growing_file_tells_the_same_as_reading_it_once(
    transcripts: Path, tmp_path: Path
) -> None:
    for number, source in enumerate(sorted(transcripts.glob("*/transcript.jsonl"))):
        data = source.read_bytes()
        copy = tmp_path / f"{number}.jsonl"
        followed = Transcript(str(copy))
        for end in range(0, len(data), max(len(data) // 40, 1)):
            with copy.open("ab") as file:
                file.write(data[copy.stat().st_size : end])
            followed.refresh()
        copy.write_bytes(data)
        once = Transcript(str(copy)).refresh()
        assert once is not None
        assert followed.refresh() == once, source
        assert once.phase is not Phase.FRESH


def test_a_plan_and_a_question_are_told_in_their_words(transcripts: Path) -> None:
    details = {}
    for name, cut in (
        ("04-plan-approval-pending-2.1.149", 16),
        ("05-ask-user-question-2.1.104", 172),
    ):
        conversation = Conversation()
        lines = (transcripts / name / "transcript.jsonl").read_bytes().splitlines()
        for line in lines[:cut]:
            fold(conversation, parse(line))
        verdict = judge(Facts(now=conversation.newest_at or 0, conversation=conversation))
        assert verdict.state is State.NEEDS_INPUT
        details[verdict.reason] = verdict.detail
    assert details[Reason.QUESTION] is not None
    assert details[Reason.QUESTION].startswith("What would you like to do next? (Run tests / ")
    assert details[Reason.PLAN]

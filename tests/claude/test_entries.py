"""What one line is, kind by kind, and that no bytes are too much."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.claude.lines import (
    INTERRUPTED,
    REJECTED,
    assistant,
    encoded,
    line,
    result,
    text,
    tool,
    user,
)
from tray.claude.entries import EntryKind, block_text, decode_raw, goes_on, parse, timestamp

if TYPE_CHECKING:
    from pathlib import Path


def synthetic(words: str) -> dict[str, Any]:
    """What the client says in the model's place."""
    found = assistant(text(words), stop="stop_sequence")
    found["message"]["model"] = "<synthetic>"
    return found


REMINDER = "<system-reminder>\nbe brief\n</system-reminder>"


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (user("fix the bug"), EntryKind.PROMPT),
        (user([text("fix the bug")]), EntryKind.PROMPT),
        (user([{"type": "image", "source": {}}]), EntryKind.PROMPT),
        (user("<Button> is broken"), EntryKind.PROMPT),
        (user(f"{REMINDER}fix it"), EntryKind.PROMPT),
        (user("<ide_opened_file>a.py</ide_opened_file>fix it"), EntryKind.PROMPT),
        (user(REMINDER), EntryKind.META),
        (user(""), EntryKind.META),
        (user([]), EntryKind.META),
        (result(), EntryKind.TOOL_RESULT),
        (user("ran", toolUseResult={"stdout": "x"}), EntryKind.TOOL_RESULT),
        (user("text", toolUseResult=None), EntryKind.PROMPT),
        (user([text("[Request interrupted by user]")]), EntryKind.INTERRUPTED),
        (user([text(INTERRUPTED)]), EntryKind.INTERRUPTED),
        (user("This session is being continued", isCompactSummary=True), "compact_summary"),
        (user("Caveat: the messages below", isMeta=True), EntryKind.META),
        (user("Stop hook feedback:\n- tests fail", isMeta=True), EntryKind.CONTINUATION),
        (user("<command-name>/compact</command-name>"), EntryKind.COMMAND),
        (user("<local-command-stdout>Compacted</local-command-stdout>"), EntryKind.COMMAND),
        (user("<local-command-stderr>no</local-command-stderr>"), EntryKind.COMMAND),
        (user("<bash-input>ls</bash-input>"), EntryKind.COMMAND),
        (user("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), EntryKind.COMMAND),
        (user("<command-message>review</command-message>\n<command-name>/review</command-name>"),
         EntryKind.CUSTOM_COMMAND),
        (user("<task-notification>\n<task-id>a</task-id>"), EntryKind.NOTIFICATION),
        (user("<teammate-message from=x>hi</teammate-message>"), EntryKind.NOTIFICATION),
        (assistant(text("done")), EntryKind.ASSISTANT),
        (assistant(text("API Error: 529"), isApiErrorMessage=True), EntryKind.API_ERROR),
        (assistant(text("fine"), isApiErrorMessage=False), EntryKind.ASSISTANT),
        (synthetic("No response requested."), EntryKind.META),
        (synthetic("What was said before Esc"), EntryKind.ASSISTANT),
        (assistant(text("No response requested.")), EntryKind.ASSISTANT),
        (line("system", subtype="turn_duration"), EntryKind.TURN_OVER),
        (line("system", subtype="api_error"), EntryKind.RETRYING),
        (line("system", subtype="stop_hook_summary"), EntryKind.STOP_HOOKS),
        (line("system", subtype="local_command"), EntryKind.COMMAND),
        (line("system", subtype="compact_boundary"), EntryKind.COMPACTED),
        (line("system", subtype="scheduled_task_fire"), EntryKind.NOTIFICATION),
        (line("system", subtype="away_summary"), EntryKind.BOOKKEEPING),
        (line("progress", data={"type": "bash_progress"}), EntryKind.PROGRESS),
        (line("queue-operation", operation="dequeue"), EntryKind.DEQUEUED),
        (line("queue-operation", operation="enqueue"), EntryKind.BOOKKEEPING),
        (line("custom-title", customTitle="x"), EntryKind.TITLE),
        (line("ai-title", aiTitle="x"), EntryKind.TITLE),
        (line("tag", tag=""), EntryKind.TITLE),
        (line("summary", summary="x"), EntryKind.TITLE),
        (line("file-history-snapshot", snapshot={}), EntryKind.BOOKKEEPING),
        (line("something-new", answer=42), EntryKind.BOOKKEEPING),
        ({}, EntryKind.BOOKKEEPING),
        ({"type": 7}, EntryKind.BOOKKEEPING),
        ({"type": "user"}, EntryKind.META),
        ({"type": "assistant"}, EntryKind.BOOKKEEPING),
    ],
)  # fmt: skip
def test_kind(found: dict[str, Any], kind: str) -> None:
    assert parse(encoded(found)).kind == kind


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"type":"user"', b"null", b"[]", b"7", b'"x"', b"\x00\x00", b"\xff\xfe",
     b"[" * 100_000, b'{"a":' * 100_000],
)  # fmt: skip
def test_what_is_no_object_is_malformed(data: bytes) -> None:
    assert parse(data).kind is EntryKind.MALFORMED


def test_one_field_of_a_wrong_type_costs_only_that_field() -> None:
    found = user("fix it", isMeta="yes", cwd=["/"], gitBranch="main")
    found["timestamp"] = 12
    entry = parse(encoded(found))
    assert entry.kind is EntryKind.PROMPT
    assert (entry.text, entry.line.cwd, entry.line.gitBranch) == ("fix it", None, "main")
    assert entry.at is None


def test_a_block_of_another_shape_costs_only_that_block() -> None:
    entry = parse(encoded(user(["stray", 7, None, text("fix it")])))
    assert (entry.kind, entry.text) == (EntryKind.PROMPT, "fix it")
    found = assistant(text("x"))
    found["message"]["content"][0]["text"] = {"no": "text"}
    assert parse(encoded(found)).kind is EntryKind.ASSISTANT


def test_half_a_surrogate_pair_becomes_writable_text() -> None:
    entry = parse(rb'{"type":"user","message":{"content":"a \ud83d b"}}')
    assert entry.kind is EntryKind.PROMPT
    assert entry.text.encode() == b"a ? b"


def test_half_a_surrogate_pair_costs_no_input_of_a_tool_and_no_refusal() -> None:
    half = "a \ud83d b \N{BELL}"
    (block,) = parse(encoded(assistant(tool("Bash", command=half)))).blocks
    assert decode_raw(block.input) == {"command": "a ? b \N{BELL}"}
    refused = parse(encoded(result(content=REJECTED + half, is_error=True)))
    assert refused.refusal == REJECTED + "a ? b \N{BELL}"
    assert decode_raw(msgspec.Raw(rb'"a \ud83d"')) == "a ?"


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    entry = parse(b'{"type":"user","message":{"content":"caf\xe9"}}')
    assert entry.text == "caf�"


def test_prefixes_are_stripped_from_what_was_typed() -> None:
    found = user(f"{REMINDER}\n<ide_selection>x</ide_selection>  hello {REMINDER}")
    assert parse(encoded(found)).text == f"hello {REMINDER}"


@pytest.mark.parametrize(
    ("content", "is_error", "refused"),
    [
        (REJECTED, True, True),
        ([text(REJECTED)], True, True),
        (REJECTED, False, False),
        ("exit code 1", True, False),
    ],
)
def test_a_refusal(content: Any, is_error: bool, refused: bool) -> None:
    entry = parse(encoded(result(content=content, is_error=is_error)))
    assert entry.refusal == (REJECTED if refused else None)


def test_a_refusal_with_words_goes_on() -> None:
    assert not goes_on(REJECTED)
    assert goes_on(f"{REJECTED} To tell you how to proceed, the user said:\nuse pnpm")


def test_the_text_of_a_tool_result() -> None:
    entry = parse(encoded(result(content=[text("a"), {"type": "image"}, text("b")])))
    assert block_text(entry.blocks[0]) == "a\nb"


@pytest.mark.parametrize(
    ("given_text", "seconds"),
    [
        ("2026-04-08T21:35:20.831Z", 1775684120.831),
        ("2026-04-08T21:35:20.831", 1775684120.831),
        ("2026-04-08T23:35:20.831+02:00", 1775684120.831),
        ("yesterday", None),
        ("", None),
        (None, None),
        ("9999-99-99", None),
        ("0001-01-01T00:00:00+00:01", -62135596860.0),
    ],
)
def test_timestamp(given_text: str | None, seconds: float | None) -> None:
    assert timestamp(given_text) == seconds


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    parse(data)


_plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_json = (
    _plain
    | st.lists(_plain, max_size=3)
    | st.dictionaries(st.sampled_from(["type", "content", "id", "sessionId"]), _plain, max_size=3)
)
_names = st.sampled_from(
    ["type", "subtype", "message", "content", "timestamp", "isMeta", "data", "forkedFrom", "tag"]
)


@given(
    st.sampled_from(["user", "assistant", "system", "progress", "tag"]),
    st.dictionaries(_names, _json, max_size=6),
    st.lists(st.dictionaries(st.sampled_from(["type", "text", "id", "input"]), _json), max_size=3),
)
def test_no_line_raises(kind: str, fields: dict[str, Any], blocks: list[Any]) -> None:
    found = {"type": kind, "message": {"content": blocks}, **fields}
    entry = parse(json.dumps(found).encode())
    assert entry.kind is not EntryKind.MALFORMED
    assert entry.at is None or isinstance(entry.at, float)
    assert entry.refusal is None or isinstance(entry.refusal, str)
    assert all(isinstance(block_text(block), str) for block in entry.blocks)


def test_every_single_entry_of_real_clients_is_known(transcripts: Path) -> None:
    kinds = {}
    for path in sorted((transcripts / "25-single-entries-1.0.31-2.1.198").glob("*.jsonl")):
        for data in path.read_bytes().splitlines():
            kinds[path.stem] = parse(data).kind
    assert EntryKind.MALFORMED not in kinds.values()
    assert {kind for name, kind in kinds.items() if "tool_result" in name} == {
        EntryKind.TOOL_RESULT
    }
    assert {kind for name, kind in kinds.items() if "tool_use" in name} == {EntryKind.ASSISTANT}
    assert kinds["user__user_slash_command"] in (EntryKind.CUSTOM_COMMAND, EntryKind.META)
    assert kinds["user__bash_input"] is EntryKind.COMMAND
    assert kinds["user__image"] is EntryKind.PROMPT


def test_tool_uses_are_assistant_blocks() -> None:
    entry = parse(encoded(assistant(tool("Bash", command="ls"), stop="tool_use")))
    assert [(block.type, block.name) for block in entry.blocks] == [("tool_use", "Bash")]

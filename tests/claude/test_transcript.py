"""A transcript is followed whatever happens to its file, at a cost that does not grow."""

from __future__ import annotations

import json
import os
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.claude.lines import T0, assistant, calls, encoded, line, prompt, result, text, tool, user
from tray.claude import transcript as module
from tray.claude.conversation import Phase, TitleSource
from tray.claude.transcript import Transcript

if TYPE_CHECKING:
    from pathlib import Path

    from tray.claude.conversation import Conversation

PADDING = line("progress", data={"type": "bash_progress", "output": "x" * 400})


class File:
    """A transcript that a test writes, and the follower of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.transcript = Transcript(str(path))

    def write(self, *lines: dict[str, Any] | bytes, torn: bool = False) -> None:
        data = b"\n".join(one if isinstance(one, bytes) else encoded(one) for one in lines)
        with self.path.open("ab") as file:
            file.write(data if torn else data + b"\n")

    def pad(self, size: int) -> None:
        one = encoded(PADDING) + b"\n"
        with self.path.open("ab") as file:
            file.write(one * (size // len(one) + 1))

    def read(self) -> Conversation:
        found = self.transcript.refresh()
        assert found is not None
        return found


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "t.jsonl")


def test_what_is_not_there_yet(file: File) -> None:
    assert file.transcript.refresh() is None
    file.write(prompt("hello"))
    assert file.read().phase is Phase.RUNNING


def test_new_lines_are_added(file: File) -> None:
    file.write(prompt("hello"))
    file.read()
    file.write(assistant(text("hi")))
    assert (file.read().phase, file.read().preview) == (Phase.OVER, "hi")


def test_only_what_is_new_is_read(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write(prompt("hello"))
    file.pad(1_000_000)
    file.read()
    read = 0
    real = os.pread

    def counting(descriptor: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = real(descriptor, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(module.os, "pread", counting)
    file.write(assistant(text("hi")))
    assert file.read().phase is Phase.OVER
    assert read < 2000
    read = 0
    file.read()
    assert read == 0


def test_a_torn_last_line_is_read_once_it_is_whole(file: File) -> None:
    whole = encoded(assistant(text("hi")))
    file.write(prompt("hello"))
    file.write(whole[:40], torn=True)
    assert file.read().phase is Phase.RUNNING
    file.write(whole[40:90], torn=True)
    assert file.read().phase is Phase.RUNNING
    file.write(whole[90:])
    assert (file.read().phase, file.read().malformed) == (Phase.OVER, 0)


def test_a_whole_last_line_without_its_line_feed_counts_once(file: File) -> None:
    file.write(prompt("hello"))
    file.write(calls(tool("Bash", command="ls")), torn=True)
    assert list(file.read().open_tools) == ["t1"]
    file.write(b"", result())
    assert (file.read().open_tools, file.read().malformed) == ({}, 0)


def test_broken_lines_in_the_middle_cost_only_themselves(file: File) -> None:
    file.write(
        prompt("hello"), b'{"type":"assist', b"\0" * 50, b"\xff\xfe", b"", assistant(text("hi"))
    )
    assert (file.read().phase, file.read().malformed) == (Phase.OVER, 3)


@pytest.mark.parametrize("blank", [b"", b"   ", b"\r", b"\t \x0b"])
def test_blank_lines_are_passed_over(file: File, blank: bytes) -> None:
    file.write(prompt("hello"), blank, assistant(text("hi")))
    assert (file.read().phase, file.read().malformed) == (Phase.OVER, 0)
    file.write(blank, prompt("again"))
    assert file.read().phase is Phase.RUNNING


def test_bytes_of_a_lost_write_do_not_cost_the_line_behind_them(file: File) -> None:
    """What a power cut leaves: the client then goes on behind the zeros."""
    file.write(prompt("hello"))
    file.write(b"\0" * 500, torn=True)
    assert (file.read().phase, file.read().malformed) == (Phase.RUNNING, 0)
    file.write(assistant(text("hi")))
    assert (file.read().phase, file.read().malformed) == (Phase.OVER, 0)


def test_a_subagents_line_at_the_windows_beginning_is_still_not_the_sessions(file: File) -> None:
    file.write(prompt("hello"))
    file.write(prompt("again"), calls(tool("Task", "t9", description="sub")))
    aside = (user("sub job", isSidechain=True), assistant(text("did " * 99), isSidechain=True))
    file.write(*aside * 1500)
    found = file.read()
    assert not found.sidechain
    assert (found.phase, list(found.open_tools)) == (Phase.RUNNING, ["t9"])


def test_an_agents_file_is_known_by_its_first_line(file: File) -> None:
    file.write(*[user("go " * 50, isSidechain=True)] * 3000)
    file.write(calls(tool("Bash", command="ls"), isSidechain=True))
    assert list(file.read().open_tools) == ["t1"]


def test_a_turn_longer_than_the_window_is_known_from_its_beginning(file: File) -> None:
    file.write(user("<task-notification>done</task-notification>", T0 + 3))
    file.pad(3_000_000)
    file.write(calls(tool("Bash", command="ls"), at=T0 + 90))
    found = file.read()
    assert (found.turn_by_person, found.turn_began_at) == (False, T0 + 3)
    assert not found.mid_turn


def test_the_first_prompt_in_the_window_is_not_the_first(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HEAD_LIMIT", 100_000)
    file.pad(600_000)
    file.write(prompt("the ninth"), assistant(text("hi")))
    assert file.read().title is None


def test_what_was_appended_at_once_is_not_all_read(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TAIL_LIMIT", 1_000_000)
    file.write(prompt("hello"))
    file.read()
    file.pad(3_000_000)
    file.write(prompt("again"), assistant(text("hi")))
    read = 0
    real = os.pread

    def counting(descriptor: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = real(descriptor, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(module, "_add_settings", lambda *_: None)
    monkeypatch.setattr(module.os, "pread", counting)
    found = file.read()
    assert (found.phase, found.title) == (Phase.OVER, ("hello", TitleSource.FIRST_PROMPT))
    assert read < 1_000_000


def test_a_cut_file_is_read_anew(file: File) -> None:
    file.write(prompt("first"), assistant(text("hi")))
    file.read()
    os.truncate(file.path, len(encoded(prompt("first"))) + 1)
    assert file.read().phase is Phase.RUNNING


def test_a_file_written_anew_and_longer_is_read_anew(file: File) -> None:
    file.write(prompt("first"), assistant(text("hi")))
    file.read()
    file.path.write_bytes(b"")
    file.write(prompt("second " * 100))
    found = file.read()
    assert found.phase is Phase.RUNNING
    assert found.titles[TitleSource.FIRST_PROMPT].startswith("second")


def test_another_file_under_the_same_name(file: File, tmp_path: Path) -> None:
    file.write(prompt("first"))
    file.read()
    other = File(tmp_path / "other")
    other.write(prompt("second"), assistant(text("hi")))
    other.path.rename(file.path)
    assert file.read().title == ("second", TitleSource.FIRST_PROMPT)


def test_a_file_that_vanishes_and_returns(file: File) -> None:
    file.write(prompt("first"))
    file.read()
    file.path.unlink()
    assert file.transcript.refresh() is None
    file.write(prompt("again"), assistant(text("hi")))
    assert file.read().phase is Phase.OVER


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path), str(tmp_path / "fifo"), "a\0b", "/dev/null/x", "/dev/zero"):
        assert Transcript(path).refresh() is None


@pytest.mark.parametrize("size", [1_500_000, 6_000_000])
def test_a_very_long_last_line_is_held_whole(file: File, size: int) -> None:
    file.write(prompt("hello"), calls(tool("Bash", command="ls")))
    file.pad(5_000_000)
    file.write(user([{"type": "tool_result", "tool_use_id": "t1", "content": "y" * size}]))
    assert file.read().open_tools == {}
    assert file.read().phase is Phase.RUNNING


def test_a_line_too_long_to_hold_counts_as_malformed(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LINE_LIMIT", 500_000)
    file.write(prompt("hello"))
    file.write(prompt("z" * 2_000_000), assistant(text("hi")))
    assert (file.read().phase, file.read().malformed) == (Phase.OVER, 1)


def test_a_large_file_tells_the_same_as_a_small_one(file: File) -> None:
    file.write(
        prompt("the first prompt", at=T0),
        line("custom-title", None, customTitle="early name"),
        line("tag", None, tag="urgent"),
    )
    file.pad(6_000_000)
    file.write(line("custom-title", None, customTitle="my name"))
    file.pad(1_000_000)
    file.write(prompt("again", at=T0 + 50), calls(tool("Bash", command="ls"), at=T0 + 51))
    file.pad(1_000_000)
    found = file.read()
    assert found.titles[TitleSource.FIRST_PROMPT] == "the first prompt"
    assert found.title == ("my name", TitleSource.CUSTOM)
    assert found.tag == "urgent"
    assert (found.first_timestamp, found.last_act) == (T0, T0 + 50)
    assert list(found.open_tools) == ["t1"]


def test_what_a_large_file_said_far_above_its_end_is_found(file: File) -> None:
    file.write(
        line("permission-mode", permissionMode="acceptEdits"),
        line("tag", None, tag="urgent"),
        line("custom-title", None, customTitle="early name"),
    )
    file.pad(3_000_000)
    file.write(prompt("go"), assistant(text("I begin.")))
    file.pad(300_000)
    file.write(prompt("and on"), line("tag", None, tag=""), calls(tool("Bash", command="ls")))
    found = file.read()
    assert found.permission_mode == "acceptEdits"
    assert found.preview == "I begin."
    assert found.title == ("early name", TitleSource.CUSTOM)
    assert found.tag == "", "the newest one clears it"


def test_a_title_quoted_in_a_message_is_no_title(file: File) -> None:
    quoted = json.dumps({"type": "custom-title", "customTitle": "forged"}, separators=(",", ":"))
    file.write(prompt(f"look: {quoted}"))
    file.pad(6_000_000)
    file.write(prompt("again"))
    assert TitleSource.CUSTOM not in file.read().titles


def test_a_huge_file_costs_no_more_than_a_small_one(file: File) -> None:
    with file.path.open("wb") as opened:
        opened.write(encoded(prompt("hello")) + b"\n")
        opened.truncate(2_000_000_000)
        opened.seek(0, os.SEEK_END)
        opened.write(b"\n" + encoded(prompt("again")) + b"\n")
    tracemalloc.start()
    try:
        found = file.read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.phase is Phase.RUNNING
    assert found.titles[TitleSource.FIRST_PROMPT] == "hello"
    assert peak < 20_000_000


def test_a_large_file_without_any_message_says_that_it_tells_nothing(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MESSAGE_LIMIT", 1_000_000)
    file.write(prompt("hello"))
    file.pad(5_000_000)
    assert file.read().partial
    file.write(assistant(text("hi")))
    assert not file.read().partial


@given(st.lists(st.binary(max_size=80), max_size=8), st.integers(0, 400))
def test_no_bytes_raise(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cut: int
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    data = b"\n".join([encoded(prompt("hello")), *lines, encoded(assistant(text("hi")))]) + b"\n"
    path.write_bytes(data[:cut])
    followed = Transcript(str(path))
    followed.refresh()
    path.write_bytes(data)
    assert followed.refresh() == Transcript(str(path)).refresh()

"""What each line counts for, one rule after the other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.claude.lines import T0, assistant, calls, encoded, line, result, stamp, text, tool, user
from tests.history import reference
from tray.claude.counting import Tally, count, title
from tray.claude.marks import MARK, mark_of

PICTURE = {"type": "image", "source": {"type": "base64", "data": "QUJD"}}


def tally(*found: object) -> Tally:
    counted = Tally()
    lines = [one if isinstance(one, bytes) else encoded(one) for one in found]  # type: ignore[arg-type]
    count(counted, b"\n".join(lines))
    return counted


@pytest.mark.parametrize(
    ("content", "turns", "messages"),
    [
        ("fix it", 1, 1),
        ("", 0, 1),
        ("<Button> is broken", 1, 1),
        ("<div class='x'>", 1, 1),
        ("< 5 seconds", 1, 1),
        ("[Image #1] what is this", 1, 1),
        ("[Image #1]", 1, 1),
        ("[Pasted text #2 +40 lines]", 1, 1),
        ("[WIP] look at this", 1, 1),
        ("[Request interrupted by user]", 0, 1),
        ("[Request interrupted by user for tool use]", 0, 1),
        ("[local command output]", 0, 1),
        ("/compact", 0, 1),
        ("/review the last commit", 0, 1),
        ("/etc/hosts is wrong", 1, 1),
        ("<command-name>/clear</command-name>", 0, 1),
        ("<command-message>review</command-message>", 0, 1),
        ("<local-command-stdout>done</local-command-stdout>", 0, 1),
        ("<local-command-caveat>Caveat</local-command-caveat>", 0, 1),
        ("<bash-input>ls</bash-input>", 0, 1),
        ("<bash-stdout>a</bash-stdout>", 0, 1),
        ("<ide_opened_file>a.py</ide_opened_file>", 0, 1),
        ("<ide_opened_file>a.py</ide_opened_file>\nexplain it", 1, 1),
        ("<system-reminder>late</system-reminder>", 0, 1),
        ("<system-reminder>late</system-reminder> go home", 1, 1),
        ("<task-notification>done</task-notification>", 0, 1),
        ('<teammate-message teammate_id="a">hi</teammate-message>', 0, 1),
        ("<tick>", 0, 1),
        ("<session-start-hook>x</session-start-hook>", 0, 1),
        ([text("fix it")], 1, 1),
        ([text("fix"), text("it")], 1, 2),
        ([PICTURE], 1, 0),
        ([text("what is this"), PICTURE], 1, 1),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}], 0, 1),
        ([{"type": "tool_result", "content": "ok"}, text("and this")], 0, 2),
        ([], 0, 0),
    ],
)
def test_user_lines(content: object, turns: int, messages: int) -> None:
    counted = tally(user(content))
    assert (counted.turns, counted.messages) == (turns, messages)


@pytest.mark.parametrize(
    ("found", "messages"),
    [
        (assistant(text("done")), 1),
        (assistant({"type": "thinking", "thinking": "hm"}, text("so"), tool("Bash")), 3),
        (assistant({"type": "redacted_thinking", "data": "x"}), 0),
        (assistant(), 0),
        (line("progress", data={"type": "hook_progress"}), 1),
        (line("file-history-snapshot", snapshot={}), 1),
        (line("summary", None, summary="s"), 1),
        (line("system", subtype="turn_duration"), 0),
        (line("queue-operation", operation="enqueue"), 0),
        (line("attachment"), 0),
        (line("brand-new", message={"content": "x"}), 0),
        (user("meta", isMeta=True), 1),
        (user("summary", isCompactSummary=True), 1),
    ],
)
def test_other_lines(found: dict[str, object], messages: int) -> None:
    counted = tally(found)
    assert (counted.turns, counted.messages, counted.malformed) == (0, messages, 0)


def test_a_subagents_lines_are_no_turns() -> None:
    counted = tally(
        user("mine", cwd="/a"), user("its own", T0 + 5, isSidechain=True, cwd="/elsewhere")
    )
    assert (counted.turns, counted.messages) == (1, 2)
    assert (counted.cwd, counted.last_cwd, counted.last_timestamp) == ("/a", "/a", T0)


@pytest.mark.parametrize(
    ("data", "malformed"),
    [
        (b'{"type":"user"', 1),
        (b"7", 1),
        (b'{"type":"a"}{"type":"b"}', 1),
        (b'{"type":\n"summary"}', 2),
        (b"\n  \n\r\n", 0),
        (b"\0\0\0" + encoded(user("after a power cut")), 0),
        (b'{"type":"progress","x":"\\ud83d"}', 0),
        (b'{"type":"progress","x":"\xff"}', 0),
        (b'{"type":"progress","timestamp":7,"message":[1]}', 0),
        (b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}", 1),
    ],
)
def test_malformed_lines_count_apart(data: bytes, malformed: int) -> None:
    whole = tally(user("before"), data, user("after"))
    assert whole.malformed == malformed
    assert whole.turns >= 2


def test_titles_in_their_order_the_last_of_each_wins_and_blank_is_none() -> None:
    lines = [user("first of all")]
    expected = [("first of all", "first-prompt")]
    for kind, key in (
        ("summary", "summary"),
        ("last-prompt", "lastPrompt"),
        ("ai-title", "aiTitle"),
        ("custom-title", "customTitle"),
    ):
        lines += [line(kind, None, **{key: "old"}), line(kind, None, **{key: f" {kind} "})]
        expected.append((kind, kind))
    assert [title(tally(*lines[: 1 + 2 * place])) for place in range(5)] == expected
    lines.append(line("custom-title", None, customTitle=" "))
    assert title(tally(*lines)) == ("ai-title", "ai-title")


def test_tag_fork_successor_and_facts() -> None:
    counted = tally(
        user("copied", T0, forkedFrom={"sessionId": "p", "messageUuid": "m"}, cwd="/a"),
        line("tag", None, tag="bug"),
        user("mine", T0 + 9, cwd="/b", gitBranch="dev", version="2", entrypoint="cli"),
        user("earlier", T0 - 9),
        line("continued-in", None, continuedInSessionId="next"),
    )
    assert (counted.tag, counted.forked_from, counted.continued_in) == ("bug", "p", "next")
    assert (counted.cwd, counted.last_cwd, counted.branch) == ("/a", "/b", "dev")
    assert (counted.version, counted.entrypoint) == ("2", "cli")
    assert (counted.first_timestamp, counted.last_timestamp) == (T0, T0 + 9)
    assert tally(line("tag", None, tag="bug"), line("tag", None, tag="")).tag == ""


def test_times_of_any_form_are_compared_as_moments() -> None:
    later = stamp(T0 + 3600).replace("+00:00", "")
    counted = tally(
        user("a", T0),
        user("b") | {"timestamp": "2001-01-01T00:00:00+02:00"},
        user("c") | {"timestamp": later},
        user("d") | {"timestamp": "zzz"},
    )
    assert (counted.first_timestamp, counted.last_timestamp) == (T0, T0 + 3600)


def test_a_sidechain_and_a_team_members_file_are_told() -> None:
    assert tally(user("go", isSidechain=True)).sidechain
    assert not tally(user("go"), user("x", isSidechain=True)).sidechain
    assert tally(user("go", teamName="crew")).team


BLOCKS = st.sampled_from(
    [
        *(text("words"), text("[notice]"), text("<tick>"), text("/help me"), text("")),
        *(PICTURE, tool("Bash"), {"type": "thinking", "thinking": "x"}),
        {"type": "tool_result", "content": "r"},
    ]
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["<Button>", "/x y", "[a]", "<system-reminder>a</system-reminder>b", "<bash-input>"]
    ),
)
FLAGS = st.fixed_dictionaries(
    {}, optional={"isMeta": st.booleans(), "isCompactSummary": st.booleans()}
)
LINES = st.one_of(
    st.builds(lambda c, f: encoded(user(c, **f)), st.one_of(TEXTS, st.lists(BLOCKS)), FLAGS),
    st.builds(lambda b: encoded(assistant(*b)), st.lists(BLOCKS)),
    st.sampled_from([b"", b" ", b"{", b"[]", b"}", b'{"type":"summary"}', b'{"type":"progress"}']),
    st.binary(max_size=8).map(lambda data: data.replace(b"\n", b"")),
)


@given(st.lists(LINES, max_size=12), st.integers(0, 12))
def test_any_lines_count_as_the_obvious_reference_counts_them(lines: list[bytes], cut: int) -> None:
    expected = reference.count(b"\n".join(lines))
    counted = Tally()
    # In two parts, as when a file has grown.
    count(counted, b"".join(one + b"\n" for one in lines[:cut]))
    count(counted, b"\n".join(lines[cut:]))
    assert {name: getattr(counted, name) for name in expected} == expected


def test_the_labelled_transcripts_count_as_the_reference_counts_them(transcripts) -> None:
    files = sorted(transcripts.glob("*/*.jsonl"))
    assert len(files) > 50
    for path in files:
        data = path.read_bytes()
        expected = reference.count(data)
        counted = Tally()
        count(counted, data)
        found = {name: getattr(counted, name) for name in expected}
        assert found == expected | {"first_prompt": expected["first_prompt"][:1000]}, path
        assert counted.malformed == 0


def test_lines_by_which_a_fork_is_known_are_marked() -> None:
    ids = [f"{number:08x}-1111-4222-8333-444444444444" for number in range(6)]
    said = user("one", uuid=ids[0])
    summary = user("what was said", isCompactSummary=True, uuid=ids[1])
    others = [
        assistant(text("yes"), uuid=ids[2]),
        user([{"type": "tool_result", "content": "r"}], uuid=ids[3]),
        user("aside", isSidechain=True, uuid=ids[4]),
        user("of no id"),
        user("of another form", uuid="u1"),
        user("of another form", uuid=ids[5].replace("-", "é")),
    ]
    first, second = (mark_of(f'"{name}"'.encode(), said["timestamp"]) for name in ids[:2])
    assert len(first) == len(second) == MARK
    assert first != second != mark_of(f'"{ids[1]}"'.encode(), None)
    later = user("two", uuid=ids[0], at=T0 + 1)
    counted = tally(said, *others, summary, later)
    assert counted.marks == first + second + mark_of(f'"{ids[0]}"'.encode(), later["timestamp"])
    assert counted.starts == first + second


def test_calls_are_messages() -> None:
    assert tally(calls(tool("Bash"), tool("Read", "t2")), result("t1")).messages == 3
    assert json.loads(encoded(result("t1")))["type"] == "user"

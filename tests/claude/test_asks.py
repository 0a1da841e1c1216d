"""What is asked, in the words a person needs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.claude.asks import describe, of_agent, tool_label, with_more
from tray.claude.errors import describe_failure

TWO = [
    {"question": "Which port?", "options": [{"label": "80", "description": "plain"}]},
    {"question": "Which host?", "options": []},
]


@pytest.mark.parametrize(
    ("tool", "given", "detail"),
    [
        ("Bash", {"command": "npm publish", "description": "Publish"}, "Bash: npm publish"),
        ("Bash", {"command": "a \\\n  b"}, "Bash: a \\ b"),
        ("Bash", {}, "Bash"),
        ("Bash", {"command": 7, "description": "Seven"}, "Bash: Seven"),
        ("Edit", {"file_path": "/app/src/app.py"}, "Edit: src/app.py"),
        ("Edit", {"file_path": "/apps/x.py"}, "Edit: /apps/x.py"),
        ("NotebookEdit", {"notebook_path": "/app/n.ipynb"}, "NotebookEdit: n.ipynb"),
        ("WebFetch", {"url": "https://x.org", "prompt": "p"}, "WebFetch: https://x.org"),
        ("WebSearch", {"query": "rust"}, "WebSearch: rust"),
        ("Agent", {"description": "Sub job", "prompt": "long"}, "Agent: Sub job"),
        ("mcp__github__create_issue", {"title": "t"}, "github: create_issue"),
        ("mcp__db__query", {"query": "select 1"}, "db: query: select 1"),
        ("mcp__odd", {}, "odd"),
        ("", {}, "a tool"),
        ("ExitPlanMode", {"plan": "\n## Move it\n1. x"}, "Move it"),
        ("ExitPlanMode", {"plan": "###"}, "a plan"),
        ("ExitPlanMode", {"plan": "# Plan\n\n## Context\nAdd a greeting."}, "Add a greeting."),
        ("ExitPlanMode", {"plan": "# Plan"}, "a plan"),
        ("Grep", {"pattern": "TODO", "path": "/app"}, "Grep: TODO"),
        ("ExitPlanMode", {}, "a plan"),
        ("exit_plan_mode", {"plan": "Go"}, "Go"),
        ("AskUserQuestion", {"questions": TWO[:1]}, "Which port? (80)"),
        ("AskUserQuestion", {"questions": TWO}, "Which port? (80) +1 more"),
        ("AskUserQuestion", {"questions": "x"}, "a question"),
        ("AskUserQuestion", {"questions": [{}, 7, {"question": 1}]}, "a question"),
    ],
)
def test_describe(tool: str, given: dict[str, Any], detail: str) -> None:
    assert describe(tool, given, "/app").detail == detail


def test_the_whole_of_a_question() -> None:
    request = describe("AskUserQuestion", {"questions": TWO})
    assert request.text == "Which port?\n- 80: plain\nWhich host?"
    assert request.options == ("80",)


def test_a_long_question_keeps_its_options_as_long_as_there_is_room() -> None:
    question = {"question": "w " * 200, "options": [{"label": "yes"}, {"label": "no"}]}
    detail = describe("AskUserQuestion", {"questions": [question]}).detail
    assert detail.endswith("… (yes / no)")
    assert len(detail) <= 200
    many = {"question": "w " * 200, "options": [{"label": "x" * 70}] * 4}
    assert len(describe("AskUserQuestion", {"questions": [many]}).detail) <= 200


def test_small_words() -> None:
    assert with_more("x", 0) == "x"
    assert with_more("x", 2) == "x +2 more"
    assert of_agent("Bash: ls", None) == "agent: Bash: ls"
    assert tool_label("mcp__a\x1b[31m__b") == "a: b"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', "overloaded"),
        ("API Error: 529", "overloaded"),
        ("API Error (429)", "rate limit"),
        ("API Error: Repeated 529 Overloaded errors", "overloaded"),
        ("API Error: 529 Overloaded. This is a server-side issue", "overloaded"),
        (
            'API Error: 400 {"error":{"type":"invalid_request_error","message":"no such \\"x\\""}}',
            'no such "x"',
        ),
        ('API Error: 400 {"error":{"type":"invalid_request_error"}}', "invalid request"),
        (
            'API Error: 400 {"error":{"type":"invalid_request_error","message":"\\q"}}',
            "invalid request",
        ),
        (
            'API Error: 429 {"error":{"type":"rate_limit_error","message":"Number of"}}',
            "rate limit",
        ),
        (
            'API Error: 500 {"error":{"type":"api_error","message":"Internal server error"}}',
            "Internal server error",
        ),
        ("API Error: 500 Internal server error", "Internal server error"),
        ("API Error: Connection error.", "Connection error."),
    ],
)
def test_an_api_error(text: str, detail: str) -> None:
    assert describe_failure(text).detail == f"API error: {detail}"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("5-hour limit reached ∙ resets 3pm", "usage limit reached, resets 3pm"),
        ("You've hit your limit · resets 3pm (Europe/Berlin)",
         "usage limit reached, resets 3pm (Europe/Berlin)"),
        ("Claude usage limit reached. Your limit will reset at 3pm (UTC).",
         "usage limit reached, resets 3pm (UTC)"),
        ("Invalid API key · Please run /login", "Invalid API key · Please run /login"),
        ("", "API error"),
    ],
)  # fmt: skip
def test_another_failure(text: str, detail: str) -> None:
    assert describe_failure(text).detail == detail


def test_a_limits_reset_is_told_by_the_persons_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = describe_failure("Claude AI usage limit reached|1800000000")
        assert found.detail == "usage limit reached, resets 17:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_one_fault_has_one_key() -> None:
    texts = ("API Error: Connection error. req_abc1", "API Error: Connection error. req_xyz9")
    assert len({describe_failure(text).key for text in texts}) == 1


_keys = st.sampled_from(
    ["questions", "question", "options", "label", "description", "plan", "command", "file_path"]
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=8,
)
_tools = st.sampled_from(["AskUserQuestion", "ExitPlanMode", "Bash", "mcp__a__b", "mcp__", ""])


@given(_tools, st.dictionaries(_keys, _json), st.none() | st.text(max_size=5))
def test_no_input_raises(tool: str, given_input: dict[str, Any], cwd: str | None) -> None:
    request = describe(tool, given_input, cwd)
    assert request.detail.strip()
    assert len(request.detail) <= 200
    assert "\n" not in request.detail


@given(st.text() | st.builds("API Error: {} {{{}".format, st.integers(), st.text()))
def test_no_failure_raises(text: str) -> None:
    assert describe_failure(text).detail

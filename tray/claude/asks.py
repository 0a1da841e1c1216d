"""What a tool's request says, in the words a person needs. Pure."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from tray.untrusted import block, one_line

_LINE = 200
"""Characters of a detail at most."""
_FILE_KEYS = ("file_path", "notebook_path", "path")
_SUBJECT_KEYS = (
    *("command", "file_path", "notebook_path", "url", "query", "pattern"),
    *("path", "skill", "description"),
)
"""The inputs that say most about what a tool is about to do, the best first."""
_QUESTION_TOOL = "AskUserQuestion"
_AGENT_TOOLS = frozenset({"Agent", "Task"})
_UNTELLING = frozenset({"plan", "context", "overview", "summary", "implementation plan"})
"""Headings of plans that do not say what is planned."""
_PLAN_TOOLS = frozenset({"ExitPlanMode", "exit_plan_mode"})


class Request(msgspec.Struct, frozen=True):
    """What one tool use asks for."""

    detail: str
    """One line."""
    text: str
    """All of it, with its line breaks."""
    options: tuple[str, ...] = ()


def is_question(tool: str) -> bool:
    """Whether the tool asks the person a question."""
    return tool == _QUESTION_TOOL


def is_plan(tool: str) -> bool:
    """Whether the tool asks for a plan's approval."""
    return tool in _PLAN_TOOLS


def is_agent(tool: str) -> bool:
    """Whether the tool sets an agent to work, which then asks for itself."""
    return tool in _AGENT_TOOLS


def describe(tool: str, given: dict[str, Any], cwd: str | None = None) -> Request:
    """Say what `tool` asks for with that input; file paths are shortened against `cwd`."""
    if is_question(tool):
        return _question(given)
    if is_plan(tool):
        return _plan(given)
    label = tool_label(tool)
    for key in _SUBJECT_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            whole = _relative(value, cwd) if key in _FILE_KEYS else value
            return Request(one_line(f"{label}: {whole}", _LINE), block(f"{label}: {whole}"))
    return Request(one_line(label, _LINE), block(label))


def tool_label(tool: str) -> str:
    """Return a tool's name as a person says it: `github: create_issue` for one of an MCP server."""
    if tool.startswith("mcp__"):
        server, _, name = tool.removeprefix("mcp__").partition("__")
        tool = f"{server}: {name}" if name else server
    return one_line(tool, 80) or "a tool"


def with_more(detail: str, more: int) -> str:
    """Add how many others are going to be asked after this one."""
    return f"{detail} +{more} more" if more > 0 else detail


def of_agent(detail: str, title: str | None) -> str:
    """Say that an agent of the session asks."""
    name = f'agent "{one_line(title, 60)}"' if title else "agent"
    return one_line(f"{name}: {detail}", _LINE)


def _question(given: dict[str, Any]) -> Request:
    questions = [item for item in _items(given.get("questions")) if _string(item, "question")]
    if not questions:
        return Request("a question", "a question")
    first = questions[0]
    options = tuple(
        one_line(label, 80) for item in _items(first.get("options")) if (label := _label(item))
    )
    detail = one_line(_string(first, "question"), _LINE)
    choice = f" ({' / '.join(options)})" if options else ""
    more = f" +{len(questions) - 1} more" if len(questions) > 1 else ""
    room = _LINE - len(choice) - len(more)
    if room < _LINE // 3:
        choice, room = "", _LINE - len(more)
    detail = f"{one_line(detail, room)}{choice}{more}"
    lines = []
    for item in questions:
        lines.append(_string(item, "question"))
        for option in _items(item.get("options")):
            explained = _string(option, "description")
            lines.append(f"- {_label(option)}" + (f": {explained}" if explained else ""))
    return Request(detail, block("\n".join(lines)), options)


def _plan(given: dict[str, Any]) -> Request:
    plan = given.get("plan")
    if not isinstance(plan, str) or not plan.strip():
        return Request("a plan", "a plan")
    titles = (line.strip().lstrip("#").strip() for line in plan.splitlines())
    telling = (title for title in titles if title and title.lower() not in _UNTELLING)
    return Request(one_line(next(telling, ""), _LINE) or "a plan", block(plan))


def _relative(path: str, cwd: str | None) -> str:
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        return os.path.relpath(path, cwd)
    return path


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _label(option: dict[str, Any]) -> str:
    return _string(option, "label")


def _string(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""

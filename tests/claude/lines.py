"""Transcript lines as the client writes them, for tests."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from typing import Any

from tray.claude.conversation import Conversation, fold
from tray.claude.entries import parse

T0 = 1_800_000_000.0
"""The moment of every test's first line, Unix seconds."""
_ids = itertools.count(1)


def stamp(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).isoformat(timespec="milliseconds")


def line(kind: str, at: float | None = T0, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind, **fields}
    if at is not None:
        found["timestamp"] = stamp(at)
    return found


def user(content: Any, at: float = T0, **fields: Any) -> dict[str, Any]:
    return line("user", at, message={"role": "user", "content": content}, **fields)


def prompt(text: str = "do it", at: float = T0) -> dict[str, Any]:
    return user(text, at)


def assistant(
    *blocks: dict[str, Any],
    at: float | None = T0,
    stop: str | None = "end_turn",
    message_id: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "id": message_id or f"msg_{next(_ids)}",
        "stop_reason": stop,
        "content": list(blocks),
    }
    return line("assistant", at, message=message, **fields)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(name: str, use_id: str = "t1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use_id, "name": name, "input": given}


def calls(*blocks: dict[str, Any], at: float = T0, **fields: Any) -> dict[str, Any]:
    """An assistant line that asks for tools."""
    return assistant(*blocks, at=at, stop="tool_use", **fields)


def result(
    use_id: str = "t1", content: Any = "ok", at: float = T0, is_error: bool = False
) -> dict[str, Any]:
    found = {"type": "tool_result", "tool_use_id": use_id, "content": content, "is_error": is_error}
    return user([found], at)


REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it"
    " was a file edit, the new_string was NOT written to the file)."
)
INTERRUPTED = "[Request interrupted by user for tool use]"


def encoded(found: dict[str, Any]) -> bytes:
    return json.dumps(found, separators=(",", ":")).encode()


def conversation(*found: dict[str, Any]) -> Conversation:
    """Fold lines as a transcript would."""
    folded = Conversation()
    for one in found:
        fold(folded, parse(encoded(one)))
    return folded

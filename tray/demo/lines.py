"""The lines of a transcript and the registry record, as Claude Code 2.1.332 writes them. Pure.

Only what a reader can tell a state, a title or an ask from is filled in; what the client adds
for itself (token counts, request ids, file snapshots) is left out.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from typing import Any

VERSION = "2.1.332"
"""The client whose format is written."""

Line = dict[str, Any]
"""One JSON object, ready to be dumped."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What every message line repeats of its session."""

    session_id: str
    cwd: str
    branch: str


def timestamp(seconds: float) -> str:
    """Return Unix `seconds` as the client writes it: ISO 8601, UTC, milliseconds."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message(origin: Origin, kind: str, uuid: str, parent: str | None, at: float) -> Line:
    """Return the frame of a `user`, `assistant` or `system` line."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        "uuid": uuid,
        "timestamp": timestamp(at),
        "userType": "external",
        "entrypoint": "cli",
        "cwd": origin.cwd,
        "sessionId": origin.session_id,
        "version": VERSION,
        "gitBranch": origin.branch,
    }


def prompt(text: str) -> Line:
    """Return what a typed prompt adds to a `user` line."""
    return {"message": {"role": "user", "content": text}, "permissionMode": "default"}


def tool_result(tool_use_id: str, text: str) -> Line:
    """Return what a tool's result adds to a `user` line."""
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": text}
    return {"message": {"role": "user", "content": [block]}, "toolUseResult": text}


def answer(message_id: str, block: Line, stop_reason: str) -> Line:
    """Return what one content block of the model's adds to an `assistant` line."""
    return {
        "message": {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5",
            "content": [block],
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 42},
        }
    }


def api_error(message_id: str, text: str) -> Line:
    """Return what a failed turn adds to an `assistant` line."""
    line = answer(message_id, {"type": "text", "text": text}, "stop_sequence")
    line["message"]["model"] = "<synthetic>"
    return line | {"error": "unknown", "isApiErrorMessage": True}


def turn_duration(milliseconds: int) -> Line:
    """Return what the end of a turn adds to a `system` line."""
    return {
        "subtype": "turn_duration",
        "durationMs": milliseconds,
        "messageCount": 2,
        "isMeta": False,
    }


def title(origin: Origin, text: str) -> Line:
    """Return the line that names a conversation."""
    return {"type": "ai-title", "aiTitle": text, "sessionId": origin.session_id}


def question(text: str, options: dict[str, str]) -> Line:
    """Return the input of an AskUserQuestion: one question, each option with what it means."""
    choices = [{"label": label, "description": meaning} for label, meaning in options.items()]
    return {
        "questions": [
            {"question": text, "header": "Choice", "options": choices, "multiSelect": False}
        ]
    }


@dataclass(frozen=True, slots=True)
class Life:
    """What the registry record says of a session's process."""

    pid: int
    start_ticks: int
    pid_domain: str | None
    started: float
    """Unix seconds."""


def record(life: Life, origin: Origin, status: str, waiting_for: str | None, since: float) -> Line:
    """Return the registry record of a session that has been in `status` since `since`."""
    line: Line = {
        "pid": life.pid,
        "sessionId": origin.session_id,
        "cwd": origin.cwd,
        "startedAt": int(life.started * 1000),
        "procStart": str(life.start_ticks),
        "pidDomain": life.pid_domain,
        "version": VERSION,
        "kind": "interactive",
        "entrypoint": "cli",
        "name": f"{os.path.basename(origin.cwd)}-{origin.session_id[:2]}",
        "nameSource": "derived",
        "status": status,
        "updatedAt": int(since * 1000),
        "statusUpdatedAt": int(since * 1000),
    }
    if waiting_for is not None:
        line["waitingFor"] = waiting_for
    return line

"""The same counts in a slow, obvious way: the whole file, one line after the other."""

from __future__ import annotations

import json
import re
from typing import Any

MACHINE = re.compile(
    r"<(command-name|command-args|command-message|local-command-|bash-|task-notification"
    r"|teammate-message|cross-session-message|tick>|goal>|session-start-hook"
    r"|ultraplan-mode|mcp-(resource|resource-update|polling-update)[ >])"
)


def text_of(content: Any) -> str:
    texts = [content] if isinstance(content, str) else []
    if isinstance(content, list):
        texts = [b["text"] for b in content if b["type"] == "text" and b.get("text")]
    stripped = []
    for text in texts:
        before = None
        while text != before:
            before = text
            text = re.sub(
                r"\A\s*<(system-reminder|ide_[a-z_]+)>.*?</\1>\s*", "", text, flags=re.DOTALL
            )
        stripped.append(text.strip())
    return "\n".join(filter(None, stripped))


def is_prompt(line: dict[str, Any]) -> bool:
    content = line["message"]["content"]
    if isinstance(content, list) and any(b["type"] == "tool_result" for b in content):
        return False
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isSidechain"):
        return False
    text = text_of(content)
    if not text:
        return isinstance(content, list) and any(b["type"] == "image" for b in content)
    if MACHINE.match(text) or re.match(r"/[A-Za-z][\w:.-]*(\s|$)", text):
        return False
    if text.startswith("[Request interrupted by user"):
        return False
    return not re.fullmatch(r"\[(?!Image #|Pasted text #)[^\[\]]*\]", text)


def messages(line: dict[str, Any]) -> int:
    kind = line.get("type")
    if kind in ("progress", "file-history-snapshot", "summary"):
        return 1
    if kind not in ("user", "assistant"):
        return 0
    content = line["message"]["content"]
    if isinstance(content, str):
        return 1 if kind == "user" else 0
    counted = ("tool_result", "text") if kind == "user" else ("thinking", "text", "tool_use")
    return sum(block["type"] in counted for block in content)


def count(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"turns": 0, "messages": 0, "malformed": 0, "first_prompt": ""}
    for raw in data.split(b"\n"):
        if not raw.strip():
            continue
        try:
            line = json.loads(raw.lstrip(b"\0").decode("utf-8", "replace"))
        except ValueError:
            line = None
        if not isinstance(line, dict):
            found["malformed"] += 1
            continue
        found["messages"] += messages(line)
        if line.get("type") == "user" and is_prompt(line):
            found["turns"] += 1
            found["first_prompt"] = found["first_prompt"] or text_of(line["message"]["content"])
    return found

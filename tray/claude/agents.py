"""The prompts of a session's agents: `<session>/subagents/**/agent-*.jsonl` beside its transcript.

An agent's tool uses stand in its own file, not in the session's (seen on 2.1.332).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from tray.claude.facts import not_running
from tray.claude.files import json_object, read_small, text_of
from tray.claude.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.claude.conversation import ToolUse
    from tray.claude.facts import Child

_LOOKED_AT = 16
"""Agents' files looked at, the newest first: one that asks has just written."""


class AgentAsk(msgspec.Struct, frozen=True):
    """An agent's open tool use."""

    title: str | None
    """What the agent is for."""
    tool: ToolUse
    more: int = 0
    """Further open tool uses of the same message."""


class Agents:
    """The agents' files of one session, followed as long as it asks."""

    def __init__(self, transcript: str) -> None:
        self._folder = os.path.join(transcript.removesuffix(".jsonl"), "subagents")
        self._followed: dict[str, Transcript] = {}

    def ask(self, children: Iterable[Child] | None) -> AgentAsk | None:
        """Return the earliest open tool use of the newest file that has one.

        What visibly runs, as one of the session's `children`, is not asked for.
        """
        paths = self._newest()
        self._followed = {path: self._followed.get(path) or Transcript(path) for path in paths}
        for path, transcript in self._followed.items():
            conversation = transcript.refresh()
            if conversation is None:
                continue
            tools = not_running(conversation.open_tools.values(), children)
            if tools:
                return AgentAsk(_title(path), tools[0], len(tools) - 1)
        return None

    def _newest(self) -> list[str]:
        found: list[tuple[int, str]] = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                if name.startswith("agent-") and name.endswith(".jsonl"):
                    path = os.path.join(folder, name)
                    try:
                        found.append((os.stat(path).st_mtime_ns, path))
                    except OSError:
                        continue
        return [path for _, path in sorted(found, reverse=True)[:_LOOKED_AT]]


def _title(path: str) -> str | None:
    data = read_small(path.removesuffix(".jsonl") + ".meta.json", 64 * 1024)
    found = json_object(data) if data is not None else None
    if found is None:
        return None
    return text_of(found, "description") or text_of(found, "name") or text_of(found, "agentType")

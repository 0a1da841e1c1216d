"""What a state is judged from, and the judgement. Plain data."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from tray.session import Source, State
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.claude.agents import AgentAsk
    from tray.claude.conversation import Conversation, ToolUse
    from tray.claude.jobs import Job
    from tray.claude.registry import Record
    from tray.session import Ask, Reason, TurnEnd

_TOOL_SHELL = "shell-snapshots"
"""In the command line of every shell that a Bash tool starts (seen on 2.0.14 to 2.1.332), and of
the one that once writes the snapshot, which evaluates nothing."""
_HOUSEKEEPING = frozenset({"claude", "git", "node", "npm", "ps", "rg", "ssh", "which", "xdg-mime"})
"""Programs that a client starts at any time for itself (seen on 2.1.81 and 2.1.332); right after
a fork a child's command line is the client's own."""
_EVALUATED = re.compile(r"\beval '((?:[^']|'\\''|'\"'\"')*)'")


class Child(msgspec.Struct, frozen=True):
    """A direct child process of a session."""

    started: float
    """Unix seconds."""
    argv: tuple[str, ...]

    @property
    def runs_tool(self) -> bool:
        """Whether it is the shell of a Bash tool (not a hook, not an MCP server)."""
        return any(_TOOL_SHELL in word and "eval " in word for word in self.argv)

    @property
    def may_be_hook(self) -> bool:
        """Whether it may be a hook of the person's: neither a tool nor the client's own."""
        if not self.argv or any(_TOOL_SHELL in word for word in self.argv):
            return False
        program = os.path.basename(self.argv[0].strip())
        if program in ("sh", "bash") and self.argv[1:2] == ("-c",):
            words = self.argv[2].split() if len(self.argv) > 2 else []
            program = os.path.basename(words[0]) if words else ""
        return program not in _HOUSEKEEPING

    @property
    def command(self) -> str:
        """The command that a Bash tool's shell runs, as the model wrote it."""
        text = self.argv[-1] if self.argv else ""
        match = _EVALUATED.search(text)
        if match is None:
            return text
        return match.group(1).replace("'\"'\"'", "'").replace("'\\''", "'")


class Facts(msgspec.Struct, frozen=True):
    """All that is known of one session at one moment. Times are Unix seconds."""

    now: float
    record: Record | None = None
    stopped: bool = False
    """The process is suspended (ctrl-Z)."""
    started: float | None = None
    """When the process started."""
    conversation: Conversation | None = None
    """`None` without a transcript."""
    unreadable: bool = False
    """There is a transcript, but it cannot be read."""
    children: tuple[Child, ...] | None = ()
    """`None` if they cannot be seen from here."""
    tool_ran_at: float | None = None
    """When a tool's process last began or ended, as its output file tells."""
    agent: AgentAsk | None = None
    job: Job | None = None
    tty_access: float | None = None
    """The last keystroke, coarsened by the kernel to 8 s, never later than it was."""
    child_session: bool = False
    """Started inside another session: such a client keeps no records."""
    headless: bool = False
    idle_after: float = 60.0
    """Seconds after which a finished turn counts as idle."""
    cwd: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """The state of one session and all that goes with it."""

    state: State
    reason: Reason | None = None
    detail: str | None = None
    ask: Ask | None = None
    unseen: bool = False
    background: tuple[str, ...] = ()
    since: float | None = None
    source: Source = Source.REGISTRY
    turn_end: TurnEnd | None = None
    turn_ended_at: float | None = None
    turn_by_person: bool = True
    last_act: float | None = None
    error: str | None = None
    recheck_at: float | None = None
    """When to judge again though nothing happens, Unix seconds."""


def not_running(tools: Iterable[ToolUse], children: Iterable[Child] | None) -> list[ToolUse]:
    """Return those of `tools` that are not visibly running, in their order."""
    running = {child.command for child in children or () if child.runs_tool}
    return [
        tool for tool in tools if tool.name != "Bash" or tool.input.get("command") not in running
    ]


def background_commands(facts: Facts) -> tuple[str, ...]:
    """Return the commands that run behind the prompt, the oldest first."""
    running = [child for child in facts.children or () if child.runs_tool]
    running.sort(key=lambda child: child.started)
    return tuple(one_line(child.command, 120) for child in running)

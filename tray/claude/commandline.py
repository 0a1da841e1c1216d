"""What a process is, by its command line: words count by their position, never by substring.

A project folder may be called `daemon`, a prompt may contain `--bg-spare`. Seen on clients
2.0.14 to 2.1.332: `claude [options] [prompt]`, natively or as a node program that sets its own
title (its arguments are then lost).
"""

from __future__ import annotations

import enum
import os
import re
from dataclasses import dataclass

_PROGRAMS = frozenset({"claude", "claude.exe"})
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[\w.]+)?")
_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno"})
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_ONE_SHOTS = frozenset(
    {
        *("agents", "attach", "auth", "auto-mode", "config", "doctor", "install", "kill", "logs"),
        *("mcp", "migrate-installer", "plugin", "plugins", "ps", "rm", "setup-token", "stop"),
        *("update", "upgrade"),
    }
)
_TAKE_VALUE = frozenset(
    {
        *("--add-dir", "--agent", "--agents", "--allowed-tools", "--allowedTools"),
        *("--append-system-prompt", "--append-system-prompt-file", "--betas", "--effort"),
        *("--disallowed-tools", "--disallowedTools", "--fallback-model", "--file"),
        *("--input-format", "--json-schema", "--max-budget-usd", "--max-turns", "--mcp-config"),
        *("--model", "-n", "--name", "--output-format", "--permission-mode"),
        *("--permission-prompt-tool", "--plugin-dir", "--session-id", "--setting-sources"),
        *("--settings", "--system-prompt", "--system-prompt-file", "--tools"),
    }
)
"""Options whose next word is their value whatever it looks like."""


class Role(enum.Enum):
    """What a process of the client's program is."""

    SESSION = enum.auto()
    DAEMON = enum.auto()
    PTY_HOST = enum.auto()
    SPARE = enum.auto()
    """A pre-warmed worker; a claimed one is a session and has a record that says so."""
    ONE_SHOT = enum.auto()
    OTHER = enum.auto()
    """Another program."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What a command line says."""

    role: Role
    headless: bool = False
    """Prints and ends, or is driven by another program."""
    session_id: str | None = None
    """The session it was told to be."""
    name: str | None = None


_OTHER = CommandLine(Role.OTHER)


def maybe(comm: str) -> bool:
    """Whether a process of that name may be a client at all."""
    return (
        comm in _PROGRAMS
        or comm in _INTERPRETERS
        or comm.startswith("node")
        or comm == "MainThread"
        or _VERSION.fullmatch(comm) is not None
    )


def classify(comm: str, argv: tuple[str, ...]) -> CommandLine:
    """Tell what a process is."""
    arguments = _arguments(comm, argv)
    if arguments is None:
        return _OTHER
    first = arguments[0] if arguments else ""
    if first == "daemon":
        return CommandLine(Role.DAEMON)
    if first in ("bg-pty-host", "--bg-pty-host"):
        return CommandLine(Role.PTY_HOST)
    if first in ("bg-spare", "--bg-spare"):
        return CommandLine(Role.SPARE)
    if first in _ONE_SHOTS:
        return CommandLine(Role.ONE_SHOT)
    return _session(arguments)


def is_client(comm: str, argv: tuple[str, ...]) -> bool:
    """Whether a process runs the client's program, in whatever role."""
    return _arguments(comm, argv) is not None


def _arguments(comm: str, argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the arguments of the client's program; `None` for another program."""
    if not argv:
        return None
    program = os.path.basename(argv[0].strip())
    if program in _PROGRAMS:
        return argv[1:]
    if _VERSION.fullmatch(program) and "/claude/" in argv[0]:
        return argv[1:]
    if program in _INTERPRETERS:
        for index, word in enumerate(argv[1:], start=1):
            if word.startswith("-"):
                continue
            script = os.path.basename(word)
            is_script = script in _PROGRAMS or (
                script in ("cli.js", "cli.mjs") and "claude-code" in word
            )
            return argv[index + 1 :] if is_script else None
        return None
    # A program that set its name but kept another title.
    return argv[1:] if _VERSION.fullmatch(comm) and program == comm else None


def _session(arguments: tuple[str, ...]) -> CommandLine:
    headless = fork = False
    session_id = resumed = name = None
    index = 0
    while index < len(arguments) and arguments[index] != "--":
        option, equals, value = arguments[index].partition("=")
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if not equals:
            value = following
        if option in ("-p", "--print"):
            headless = True
        elif option == "--input-format":
            headless = headless or value == "stream-json"
        elif option == "--fork-session":
            fork = True
        elif option == "--session-id":
            session_id = _uuid(value)
        elif option in ("-n", "--name"):
            name = value or None
        elif option in ("-r", "--resume"):
            resumed = _uuid(value)
        index += 2 if option in _TAKE_VALUE and not equals else 1
    return CommandLine(
        Role.SESSION,
        headless=headless,
        session_id=session_id or (None if fork else resumed),
        name=name,
    )


def _uuid(text: str) -> str | None:
    """Return a session's id, given as such or as the path of its transcript."""
    stem = os.path.basename(text).removesuffix(".jsonl")
    return stem if _UUID.fullmatch(stem) else None

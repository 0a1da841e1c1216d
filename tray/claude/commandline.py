"""What a process is, by its command line: words count by their position, never by substring.

A project folder may be called `daemon`, a prompt may contain `--bg-spare`. Seen on clients
2.0.14 to 2.1.332: `claude [options] [prompt]` from a native program, which the daemon titles
`claude bg-spare`; up to 2.1.112 a Node.js program, which sets its title to `claude` and so
loses its arguments.
"""

from __future__ import annotations

import enum
import functools
import os
import re

import msgspec

_PROGRAMS = frozenset({"claude", "claude.exe"})
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[\w.]+)?", re.ASCII)
_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno"})
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_FLAGS = re.compile(r"-[cdhpv]{2,}")
"""Short options written together."""
_ONE_SHOTS = frozenset(
    {
        *("agents", "auth", "auto-mode", "config", "doctor", "gateway", "import", "install"),
        *("kill", "logs", "mcp", "migrate-installer", "plugin", "plugins", "project", "ps"),
        *("purge", "respawn", "rm", "setup-token", "stop", "ultrareview", "update", "upgrade"),
    }
)
_WITH_VALUE = frozenset(
    {
        *("--agent", "--agents", "--append-system-prompt", "--append-system-prompt-file"),
        *("--autocompact", "--debug-file", "--effort", "--environment", "--fallback-model"),
        *("--input-format", "--json-schema", "--max-budget-usd", "--max-thinking-tokens"),
        *("--max-turns", "--model", "-n", "--name", "--output-format", "--permission-mode"),
        *("--permission-prompt-tool", "--permission-prompts", "--plugin-dir", "--plugin-url"),
        *("--remote-control-session-name-prefix", "--resume-session-at", "--sdk-url"),
        *("--session-id", "--setting-sources", "--settings", "--system-prompt"),
        *("--system-prompt-file", "--system-prompt-snapshot"),
    }
)
"""Options whose next word is their value, whatever it looks like."""
_WITH_VALUES = frozenset(
    {
        *("--add-dir", "--allowed-tools", "--allowedTools", "--betas", "--disallowed-tools"),
        *("--disallowedTools", "--file", "--mcp-config", "--tools"),
    }
)
"""Options with as many values as there are words until the next option, one at least."""
_WITH_OR_WITHOUT_VALUE = frozenset(
    {
        *("--cloud", "-d", "--debug", "--from-pr", "--prompt-suggestions", "--remote-control"),
        *("-r", "--resume", "--teleport", "-w", "--worktree"),
    }
)
"""Options whose next word is their value if it is no option."""


class Role(enum.Enum):
    """What a process of the client's program is."""

    SESSION = enum.auto()
    DAEMON = enum.auto()
    PTY_HOST = enum.auto()
    SPARE = enum.auto()
    """A pre-warmed worker; a claimed one is a session and has a record that says so."""
    ATTACHED = enum.auto()
    """A terminal that shows a background session."""
    ONE_SHOT = enum.auto()
    OTHER = enum.auto()
    """Another program."""


class CommandLine(msgspec.Struct, frozen=True):
    """What a command line says."""

    role: Role
    headless: bool = False
    """Prints and ends, or is driven by another program."""
    session_id: str | None = None
    """The session it was told to be."""
    name: str | None = None
    attached_to: str | None = None
    """Id or name of the background session that it shows."""


_OTHER = CommandLine(Role.OTHER)


def maybe(comm: str) -> bool:
    """Whether a process of that name may be a client at all."""
    return (
        comm in _PROGRAMS
        or comm in _INTERPRETERS
        or comm == "MainThread"  # What Node.js 24 calls itself.
        or _VERSION.fullmatch(comm) is not None
    )


def is_client(comm: str, argv: tuple[str, ...]) -> bool:
    """Whether a process runs the client's program, in whatever role."""
    return _arguments(comm, argv) is not None


@functools.lru_cache(maxsize=1024)
def classify(comm: str, argv: tuple[str, ...]) -> CommandLine:
    """Tell what a process is."""
    arguments = _arguments(comm, argv)
    if arguments is None:
        return _OTHER
    first = arguments[0] if arguments else ""
    if first in ("bg-pty-host", "--bg-pty-host"):
        return CommandLine(Role.PTY_HOST)
    if first in ("bg-spare", "--bg-spare"):
        return CommandLine(Role.SPARE)
    options, operands = _parse(arguments)
    command = operands[0] if operands else ""
    if command == "daemon":
        return CommandLine(Role.DAEMON)
    if command == "attach":
        return CommandLine(Role.ATTACHED, attached_to=operands[1] if len(operands) > 1 else None)
    if command in _ONE_SHOTS:
        return CommandLine(Role.ONE_SHOT)
    return _session(options)


def _arguments(comm: str, argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the arguments of the client's program; `None` for another program."""
    if not argv:
        return None
    if argv[0].startswith("claude "):
        # A title, all in one word.
        return (*argv[0].split()[1:], *argv[1:])
    program = os.path.basename(argv[0])
    if program in _PROGRAMS or (_VERSION.fullmatch(program) and "/claude/" in argv[0]):
        return argv[1:]
    if program in _INTERPRETERS:
        return _script_arguments(argv[1:])
    # A program whose file is named by its version, started by that name alone.
    return argv[1:] if program == comm and _VERSION.fullmatch(comm) else None


def _script_arguments(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the arguments behind the client's script; `None` for another script."""
    for index, word in enumerate(words):
        if word.startswith("-"):
            continue
        script = os.path.basename(word)
        bundled = script in ("cli.js", "cli.mjs") and "claude-code" in word.split("/")
        return words[index + 1 :] if script in _PROGRAMS or bundled else None
    return None


def _parse(arguments: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Tell options, with their (last) values, from operands, as the client itself does."""
    options: dict[str, str] = {}
    operands: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        word = rest.pop()
        if word == "--":
            operands.extend(reversed(rest))
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        option, equals, value = word.partition("=")
        if _FLAGS.fullmatch(word):
            options.update((f"-{letter}", "") for letter in word[1:])
            continue
        following = bool(rest) and not rest[-1].startswith("-")
        if (
            not equals
            and rest
            and (
                option in _WITH_VALUE
                or option in _WITH_VALUES
                or (option in _WITH_OR_WITHOUT_VALUE and following)
            )
        ):
            value = rest.pop()
        while option in _WITH_VALUES and rest and not rest[-1].startswith("-"):
            rest.pop()
        options[option] = value
    return options, operands


def _session(options: dict[str, str]) -> CommandLine:
    resumed = options.get("--resume", options.get("-r", ""))
    forked = "--fork-session" in options
    return CommandLine(
        Role.SESSION,
        headless=(
            "-p" in options
            or "--print" in options
            or options.get("--input-format") == "stream-json"
        ),
        session_id=_uuid(options.get("--session-id", "" if forked else resumed)),
        name=options.get("--name", options.get("-n")) or None,
    )


def _uuid(text: str) -> str | None:
    """Return a session's id, given as such or as the path of its transcript."""
    stem = os.path.basename(text).removesuffix(".jsonl")
    return stem if _UUID.fullmatch(stem) else None

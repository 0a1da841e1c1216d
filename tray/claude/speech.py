"""What a person reads in a conversation: who says what in a line. Used by show, preview, search."""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING

import msgspec

from tray.claude.asks import describe
from tray.claude.entries import PICTURES, Block, EntryKind, block_text, decode_raw, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tray.claude.entries import Entry

_COMMAND_PART = re.compile(r"<(command-name|command-args|bash-input)>(.*?)</\1>", re.DOTALL)
_OUTPUT_PART = re.compile(
    r"<(local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)>(.*?)</\1>", re.DOTALL
)
_ESCAPE_CODES = re.compile(r"\x1b\[[0-9;]*m")
_TAGS = re.compile(r"</?[a-z][a-z_-]*>")


class Role(enum.StrEnum):
    """Who or what speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL = "tool"
    """A tool that the model asked for; `text` is its one-line summary, `more` its whole input."""
    RESULT = "result"
    """What a tool or a command of the person's answered."""
    COMMAND = "command"
    """A slash or shell command of the person's."""
    SUMMARY = "summary"
    """What a compacted conversation goes on from."""
    NOTICE = "notice"
    """Interrupted, failed, woken by a task."""


class Piece(msgspec.Struct, frozen=True):
    """One thing that was said or done."""

    role: Role
    text: str
    """Untrusted: it has to go through `tray.untrusted` before it is shown."""
    at: float | None = None
    """Unix seconds."""
    more: str | None = None
    failed: bool = False
    """A tool's result that is an error."""


class _Thought(msgspec.Struct):
    type: str | None = None
    thinking: str | None = None


class _Thinking(msgspec.Struct):
    content: list[_Thought] = []


class _ThinkingLine(msgspec.Struct):
    message: _Thinking = msgspec.field(default_factory=_Thinking)


def spoken(data: bytes, *, sidechain: bool = False) -> list[Piece]:
    """Return what is said and done in one line, in its order; nothing in most of them.

    `sidechain` takes a subagent's lines for those of the conversation. Never raises.
    """
    entry = parse(data)
    if entry.line.isSidechain and not sidechain:
        return []
    if entry.kind is EntryKind.ASSISTANT:
        return list(_answer(entry, data))
    if entry.kind is EntryKind.TOOL_RESULT:
        return list(_results(entry))
    if entry.kind in (EntryKind.COMMAND, EntryKind.CUSTOM_COMMAND):
        return list(_command(entry))
    if entry.kind is EntryKind.PROMPT:
        text = entry.text or ("[picture]" if _has_picture(entry) else "")
        return [Piece(Role.USER, text, entry.at)] if text else []
    if entry.kind is EntryKind.NOTIFICATION:
        text = " ".join(_TAGS.sub(" ", entry.text).split())
        return [Piece(Role.NOTICE, text, entry.at)] if text else []
    role = _ROLES.get(entry.kind)
    return [Piece(role, entry.text, entry.at)] if role is not None and entry.text else []


def of_sidechain(data: bytes) -> bool | None:
    """Tell whether a line is a subagent's; `None` if it is no message's."""
    line = parse(data).line
    return bool(line.isSidechain) if line.type in ("user", "assistant") else None


_ROLES = {
    EntryKind.COMPACT_SUMMARY: Role.SUMMARY,
    EntryKind.INTERRUPTED: Role.NOTICE,
    EntryKind.API_ERROR: Role.NOTICE,
}


def _has_picture(entry: Entry) -> bool:
    return any(block.type in PICTURES for block in entry.blocks)


def _answer(entry: Entry, data: bytes) -> Iterator[Piece]:
    if not entry.blocks and entry.text:
        yield Piece(Role.ASSISTANT, entry.text, entry.at)
    thoughts = iter(_thoughts(data) if any(b.type == "thinking" for b in entry.blocks) else ())
    for block in entry.blocks:
        if block.type == "text" and block.text and block.text.strip():
            yield Piece(Role.ASSISTANT, block.text.strip(), entry.at)
        elif block.type == "thinking":
            text = next(thoughts, "").strip()
            if text:  # newer clients keep the signature only
                yield Piece(Role.THINKING, text, entry.at)
        elif block.type == "tool_use":
            yield _tool(block, entry)


def _thoughts(data: bytes) -> list[str]:
    try:
        found = msgspec.json.decode(data, type=_ThinkingLine).message.content
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return [block.thinking or "" for block in found if block.type == "thinking"]


def _tool(block: Block, entry: Entry) -> Piece:
    given = decode_raw(block.input)
    name = block.name or ""
    if not isinstance(given, dict):
        return Piece(Role.TOOL, describe(name, {}).detail, entry.at)
    more = "\n".join(f"{key}: {_plain(value)}" for key, value in given.items())
    return Piece(Role.TOOL, describe(name, given, entry.line.cwd).detail, entry.at, more)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _results(entry: Entry) -> Iterator[Piece]:
    for block in entry.blocks:
        if block.type == "tool_result":
            text = block_text(block)
            yield Piece(Role.RESULT, text, entry.at, failed=bool(block.is_error))


def _command(entry: Entry) -> Iterator[Piece]:
    parts = {name: text.strip() for name, text in _COMMAND_PART.findall(entry.text)}
    if "command-name" in parts:
        typed = f"{parts['command-name']} {parts.get('command-args', '')}".strip()
        yield Piece(Role.COMMAND, typed, entry.at)
    elif "bash-input" in parts:
        yield Piece(Role.COMMAND, f"! {parts['bash-input']}", entry.at)
    for name, text in _OUTPUT_PART.findall(entry.text):
        said = _ESCAPE_CODES.sub("", text).strip()
        if said:
            yield Piece(Role.RESULT, said, entry.at, failed=name.endswith("stderr"))

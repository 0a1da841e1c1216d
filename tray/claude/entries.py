"""What one line of a transcript is. State, titles, counts and search all use this.

A line is decoded only in the fields that matter here, typed; one that does not fit (a field
of another type, a lone surrogate, bytes that are no UTF-8) is decoded again leniently, field by
field. What cannot be read at all is `MALFORMED`; nothing here raises. The order in which user
lines are told apart was seen on clients 1.0.31 to 2.1.332.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
from typing import Any, Protocol

import msgspec

_REJECTED = "The user doesn't want to proceed with this tool use"
_INTERRUPTED = "[Request interrupted by user"
_STOP_HOOK = "Stop hook feedback:"
_SYNTHETIC = "<synthetic>"
"""The model of what the client itself says in the model's place."""
_NOTHING_SAID = "No response requested."
"""Its answer to nobody, written when a conversation is resumed that was interrupted."""
_COMMAND = re.compile(r"<(?:command-(?:name|args)|local-command-(?:stdout|stderr|caveat)|bash-)")
_NOTIFICATION = re.compile(
    r"<(?:task-notification|teammate-message|cross-session-message|tick|goal|session-start-hook"
    r"|mcp-(?:resource|resource-update|polling-update)|ultraplan-mode)[\s>]"
)
_PREFIX = re.compile(r"\s*<(system-reminder|ide_[a-z_]+)>.*?</\1>\s*", re.DOTALL)
_FEEDBACK = re.compile(r"the user (?:said|provided the following)", re.IGNORECASE)


class EntryKind(enum.StrEnum):
    """What a line is."""

    PROMPT = "prompt"
    """Typed by the person."""
    CUSTOM_COMMAND = "custom_command"
    """A slash command that begins a turn."""
    COMMAND = "command"
    """A slash or shell command of the person's own, or its output: no turn."""
    NOTIFICATION = "notification"
    """Wakes the model without the person: a task, a team mate, a schedule."""
    CONTINUATION = "continuation"
    """A Stop hook that makes the turn go on."""
    TOOL_RESULT = "tool_result"
    INTERRUPTED = "interrupted"
    COMPACT_SUMMARY = "compact_summary"
    META = "meta"
    ASSISTANT = "assistant"
    API_ERROR = "api_error"
    """The turn ended in an API error."""
    RETRYING = "retrying"
    """An API error that the client answers by trying again."""
    TURN_OVER = "turn_over"
    """The client's own mark of a finished turn."""
    STOP_HOOKS = "stop_hooks"
    """The Stop hooks have run."""
    COMPACTED = "compacted"
    PROGRESS = "progress"
    DEQUEUED = "dequeued"
    """A prompt typed ahead is about to be sent."""
    TITLE = "title"
    """Any of the lines that name, tag or link a session."""
    BOOKKEEPING = "bookkeeping"
    """Known or unknown, of no meaning here."""
    MALFORMED = "malformed"


class Block(msgspec.Struct, gc=False):
    """One content block of a message."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"null")
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class Message(msgspec.Struct, gc=False):
    """The API message in a user or assistant line."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    content: str | list[Block] | None = None


class Progress(msgspec.Struct, gc=False):
    """The `data` of a progress line."""

    type: str | None = None
    hookEvent: str | None = None  # noqa: N815  (the file's own names, as everywhere below)


class Forked(msgspec.Struct, gc=False):
    """Where a copied line came from."""

    sessionId: str | None = None  # noqa: N815


class Line(msgspec.Struct, gc=False):
    """The fields of a line that matter here, by the names they have in the file."""

    type: str | None = None
    subtype: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815
    cwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None  # noqa: N815
    entrypoint: str | None = None
    permissionMode: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    message: Message | None = None
    toolUseResult: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    data: Progress | None = None
    parentToolUseID: str | None = None  # noqa: N815
    operation: str | None = None
    customTitle: str | None = None  # noqa: N815
    aiTitle: str | None = None  # noqa: N815
    lastPrompt: str | None = None  # noqa: N815
    summary: str | None = None
    tag: str | None = None
    continuedInSessionId: str | None = None  # noqa: N815
    forkedFrom: Forked | None = None  # noqa: N815
    teamName: str | None = None  # noqa: N815
    pendingBackgroundAgentCount: int | None = None  # noqa: N815
    pendingWorkflowCount: int | None = None  # noqa: N815


class Entry(msgspec.Struct, gc=False):
    """One line, told apart."""

    kind: EntryKind
    line: Line
    text: str = ""
    """What a person typed or the model said, without injected prefixes; else empty."""

    @property
    def at(self) -> float | None:
        """When it was written, Unix seconds."""
        return timestamp(self.line.timestamp)

    @property
    def blocks(self) -> list[Block]:
        """The content blocks of its message; none if that is a plain string."""
        message = self.line.message
        return message.content if message and isinstance(message.content, list) else []

    @property
    def refusal(self) -> str | None:
        """What a tool's result says if it is the person's no."""
        for block in self.blocks:
            if block.type == "tool_result" and block.is_error:
                text = block_text(block)
                if text.startswith(_REJECTED):
                    return text
        return None


class UserLine(Protocol):
    """The fields of a user line by which one without a tool's result is told apart."""

    isMeta: bool | None  # noqa: N815
    isCompactSummary: bool | None  # noqa: N815


PICTURES = frozenset({"image", "document"})
"""Types of the blocks that a prompt may consist of without a word."""

_decode = msgspec.json.Decoder(Line).decode
_NOTHING = Line()
_TITLE_TYPES = frozenset(
    {"summary", "ai-title", "custom-title", "last-prompt", "tag", "permission-mode", "continued-in"}
)
_SYSTEM_KINDS = {
    "turn_duration": EntryKind.TURN_OVER,
    "stop_hook_summary": EntryKind.STOP_HOOKS,
    "api_error": EntryKind.RETRYING,
    "compact_boundary": EntryKind.COMPACTED,
    "local_command": EntryKind.COMMAND,
    "scheduled_task_fire": EntryKind.NOTIFICATION,
}


def parse(data: bytes) -> Entry:
    """Tell what one line (without its line feed) is; never raises."""
    try:
        line = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        lenient = decode_leniently(data)
        if lenient is None:
            return Entry(EntryKind.MALFORMED, _NOTHING)
        line = lenient
    return _classify(line)


def goes_on(refusal: str) -> bool:
    """Whether the person said something with their no, from which the turn goes on."""
    return _FEEDBACK.search(refusal) is not None


def timestamp(text: str | None) -> float | None:
    """Return an ISO 8601 time as Unix seconds; `None` if it is none."""
    if not text:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None


def block_text(block: Block) -> str:
    """Return the text of a `text` or `tool_result` block."""
    if block.text is not None:
        return block.text
    content = decode_raw(block.content)
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def decode_raw(raw: msgspec.Raw) -> Any:  # noqa: ANN401  (any JSON value)
    """Decode a field that was left undecoded; `None` if that cannot be done."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(_encode(json.loads(bytes(raw).decode("utf-8", "replace"))))
    except (ValueError, RecursionError):
        return None


def _encode(value: object) -> bytes:
    """Encode any JSON value; half of a surrogate pair in it becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _classify(line: Line) -> Entry:
    kind = line.type
    if kind == "assistant":
        return _classify_assistant(line)
    if kind == "user":
        return _classify_user(line)
    if kind == "system":
        return Entry(_SYSTEM_KINDS.get(line.subtype or "", EntryKind.BOOKKEEPING), line)
    if kind == "progress":
        return Entry(EntryKind.PROGRESS, line)
    if kind == "queue-operation" and line.operation == "dequeue":
        return Entry(EntryKind.DEQUEUED, line)
    return Entry(EntryKind.TITLE if kind in _TITLE_TYPES else EntryKind.BOOKKEEPING, line)


def _classify_assistant(line: Line) -> Entry:
    message = line.message
    if message is None:
        return Entry(EntryKind.BOOKKEEPING, line)
    content = message.content
    if isinstance(content, list):
        text = "\n".join(b.text for b in content if b.type == "text" and b.text)
    else:
        text = content or ""
    text = text.strip()
    if line.isApiErrorMessage:
        kind = EntryKind.API_ERROR
    elif message.model == _SYNTHETIC and text == _NOTHING_SAID:
        kind = EntryKind.META
    else:
        kind = EntryKind.ASSISTANT
    return Entry(kind, line, text)


def _classify_user(line: Line) -> Entry:
    content = line.message.content if line.message is not None else None
    if isinstance(content, list):
        if any(block.type == "tool_result" for block in content):
            return Entry(EntryKind.TOOL_RESULT, line)
        texts = [block.text for block in content if block.type == "text" and block.text]
        pictures = any(block.type in PICTURES for block in content)
    else:
        texts = [content] if content else []
        pictures = False
    if bytes(line.toolUseResult) not in (b"", b"null"):
        return Entry(EntryKind.TOOL_RESULT, line)
    kind, text = tell_user(line, texts, pictures=pictures)
    return Entry(kind, line, text)


def tell_user(line: UserLine, texts: list[str], *, pictures: bool) -> tuple[EntryKind, str]:
    """Tell what a user line without a tool's result is, and what was said in it.

    `texts` are those of its message, `pictures` whether it has any.
    """
    text = "\n".join(filter(None, map(_without_prefixes, texts)))
    return _user_kind(line, text, pictures=pictures), text


def _user_kind(line: UserLine, text: str, *, pictures: bool) -> EntryKind:
    if text.startswith(_INTERRUPTED):
        kind = EntryKind.INTERRUPTED
    elif line.isCompactSummary:
        kind = EntryKind.COMPACT_SUMMARY
    elif line.isMeta:
        kind = EntryKind.CONTINUATION if text.startswith(_STOP_HOOK) else EntryKind.META
    elif text.startswith("<command-message>"):
        kind = EntryKind.CUSTOM_COMMAND
    elif _COMMAND.match(text):
        kind = EntryKind.COMMAND
    elif _NOTIFICATION.match(text):
        kind = EntryKind.NOTIFICATION
    elif text or pictures:
        kind = EntryKind.PROMPT
    else:
        kind = EntryKind.META
    return kind


def _without_prefixes(text: str) -> str:
    begin = 0
    while match := _PREFIX.match(text, begin):
        begin = match.end()
    return text[begin:].strip()


def decode_leniently(data: bytes) -> Line | None:
    """Decode a line that does not fit, keeping every field that does.

    Zeros before it are what a power cut left of a lost write.
    """
    try:
        found = json.loads(data.lstrip(b"\0").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return _fit(Line, found) if isinstance(found, dict) else None


def _fit(kind: type[Any], found: dict[str, Any]) -> Any:  # noqa: ANN401  (generic over kind)
    """Build a struct of `kind` from the fields of `found` that have the right type."""
    values = {}
    for field in msgspec.structs.fields(kind):
        value = found.get(field.name)
        if value is None:
            continue
        fitted = _fit_value(field.type, value)
        if fitted is not None:
            values[field.name] = fitted
    return kind(**values)


def _fit_value(wanted: Any, value: Any) -> Any:  # noqa: ANN401  (a type and any JSON value)
    if wanted is msgspec.Raw:
        return msgspec.Raw(_encode(value))
    if isinstance(value, dict):
        nested = [kind for kind in (Message, Progress, Forked) if wanted == (kind | None)]
        return _fit(nested[0], value) if nested else None
    if isinstance(value, list):
        if wanted == (str | list[Block] | None):
            return [_fit(Block, item) for item in value if isinstance(item, dict)]
        return None
    if isinstance(value, str) and wanted in (str | None, str | list[Block] | None):
        # Half of a surrogate pair has no place in text that is going to be written somewhere.
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return value if wanted == (bool | None) else None
    return value if isinstance(value, int) and wanted == (int | None) else None

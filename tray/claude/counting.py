"""What the lines of a transcript add up to: turns, messages, titles, times. One place for all.

Lists and detail views show what is counted here, so they cannot differ. Of a line only what is
counted gets decoded; the words of tools and of the model are passed over.
"""

from __future__ import annotations

import re

import msgspec

from tray.claude.entries import (
    PICTURES,
    EntryKind,
    Forked,
    Line,
    decode_leniently,
    decode_raw,
    tell_user,
    timestamp,
)
from tray.claude.marks import mark_of

_TEXT_LIMIT = 1000
"""Characters kept of a title or prompt: it is shown in one line."""
_ONE_EACH = frozenset({"progress", "file-history-snapshot", "summary"})
"""Types of lines that count as one message."""
_USER_BLOCKS = frozenset({"tool_result", "text"})
_ASSISTANT_BLOCKS = frozenset({"thinking", "text", "tool_use"})
_SLASH_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
_NOTICE = re.compile(r"\[(?!Image #|Pasted text #)[^\[\]]*\]\Z")
"""A whole text in brackets is the client's, but for what it writes for attachments."""
_OF_MEANING = _ONE_EACH | {"last-prompt", "ai-title", "custom-title", "tag", "continued-in"}
"""Types of other lines that are looked at."""
_TOGETHER = 32 * 1024
"""Bytes of lines that are decoded at once: where one is broken, those are decoded again."""
_TIME_LENGTH = len("2026-05-22T13:49:22.031Z")


class Tally(msgspec.Struct, array_like=True):
    """The sum of a transcript's lines so far; made to be kept and gone on from."""

    turns: int = 0
    messages: int = 0
    malformed: int = 0
    first_timestamp: float | None = None
    """Of the first user or assistant line, Unix seconds."""
    last_timestamp: float | None = None
    """The latest of one: bookkeeping is written at any time, and times can run backwards."""
    cwd: str | None = None
    """Where the conversation began."""
    last_cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    entrypoint: str | None = None
    custom_title: str = ""
    ai_title: str = ""
    last_prompt: str = ""
    summary: str = ""
    first_prompt: str = ""
    tag: str = ""
    forked_from: str | None = None
    continued_in: str | None = None
    begun: bool = False
    """There was a user or assistant line."""
    sidechain: bool = False
    """It begins with a subagent's line."""
    team: bool = False
    """A team member's own file."""
    marks: bytes = b""
    """Of each line that is no tool's and no model's, its mark (`tray.claude.marks`)."""
    starts: bytes = b""
    """Those of them at which a copy of the conversation can begin."""


class _Block(msgspec.Struct, gc=False):
    type: str | None = None
    text: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct, gc=False):
    content: str | list[_Block] | None = None


class _Counted(msgspec.Struct, gc=False):
    """The fields of a line that are counted, by the names they have in the file."""

    type: str | None = None
    uuid: msgspec.Raw = msgspec.Raw(b"")
    timestamp: str | None = None
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    message: _Message | None = None
    toolUseResult: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815
    cwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None  # noqa: N815
    entrypoint: str | None = None
    teamName: str | None = None  # noqa: N815
    forkedFrom: Forked | None = None  # noqa: N815
    customTitle: str | None = None  # noqa: N815
    aiTitle: str | None = None  # noqa: N815
    lastPrompt: str | None = None  # noqa: N815
    summary: str | None = None
    tag: str | None = None
    continuedInSessionId: str | None = None  # noqa: N815


_decoder = msgspec.json.Decoder(_Counted)
_FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def count(tally: Tally, data: bytes, end: int | None = None) -> None:
    """Add the lines in `data`, up to `end`, to `tally`; all of them whole. Never raises.

    A line that cannot be read is counted as malformed; blank ones do not count.
    """
    end = len(data) if end is None else end
    begin = 0
    lines: list[_Counted] = []
    view = memoryview(data)
    while begin < end:
        until = data.find(b"\n", min(begin + _TOGETHER, end), end) + 1 or end
        tally.malformed += _decode_all(data, view, begin, until, lines)
        begin = until
    _add(tally, lines)


def _decode_all(data: bytes, view: memoryview, begin: int, end: int, lines: list[_Counted]) -> int:
    """Append the lines in a part of `data`; return how many of them cannot be read."""
    try:
        found = _decoder.decode_lines(view[begin:end])
    except _FAILURES:
        found = None
    # Values and lines are out of step where a line feed was lost, or is in the wrong place.
    if found is not None and len(found) == _number_of_lines(data, begin, end):
        lines += found
        return 0
    # A broken line takes no others with it: they are looked for by halves.
    half = data.find(b"\n", (begin + end) // 2, end) + 1 or end
    if half == end:
        half = data.rfind(b"\n", begin, (begin + end) // 2) + 1
    if half <= begin:
        return _decode_one(data[begin:end], lines)
    return _decode_all(data, view, begin, half, lines) + _decode_all(data, view, half, end, lines)


def _number_of_lines(data: bytes, begin: int, end: int) -> int:
    # `bytes.count` looks at one byte after the other, four times as slow.
    number = 0
    find = data.find
    while (feed := find(b"\n", begin, end)) >= 0:
        number += 1
        begin = feed + 1
    return number + (begin < end)


def _decode_one(line: bytes, lines: list[_Counted]) -> int:
    line = line.removesuffix(b"\n")
    if not line or line.isspace():
        return 0
    one = _decode(line)
    if one is None:
        return 1
    lines.append(one)
    return 0


def is_turn(kind: EntryKind, text: str) -> bool:
    """Tell whether a user line of that kind, in which `text` was said, is a typed prompt.

    A slash command or a notice in brackets is none; any other word in angle brackets may be one.
    """
    if kind is not EntryKind.PROMPT:
        return False
    return not (
        (text.startswith("/") and _SLASH_COMMAND.match(text))
        or (text.startswith("[") and _NOTICE.match(text))
    )


def title(tally: Tally) -> tuple[str, str] | None:
    """Return the strongest title and where it is from; `None` if there is none."""
    for source, text in (
        ("custom-title", tally.custom_title),
        ("ai-title", tally.ai_title),
        ("last-prompt", tally.last_prompt),
        ("summary", tally.summary),
        ("first-prompt", tally.first_prompt),
    ):
        if text:
            return text, source
    return None


def _decode(line: bytes) -> _Counted | None:
    try:
        return _decoder.decode(line)
    except _FAILURES:
        lenient = decode_leniently(line)
    return _counted(lenient) if lenient is not None else None


def _counted(line: Line) -> _Counted:
    """Return the counted fields of a line that was decoded leniently."""
    message = line.message
    content = message.content if message is not None else None
    if isinstance(content, list):
        blocks = [
            _Block(block.type, msgspec.Raw(msgspec.json.encode(block.text))) for block in content
        ]
        counted = _Message(blocks)
    else:
        counted = _Message(content)
    names = [name for name in _Counted.__struct_fields__ if name not in ("message", "uuid")]
    fields = {name: getattr(line, name) for name in names}
    return _Counted(message=counted, **fields)


def _add(tally: Tally, lines: list[_Counted]) -> None:
    # One loop with as few calls as can be: it runs for every line there is.
    messages = 0
    said: list[_Counted] = []
    say = said.append
    answered: list[_Block] = []
    for line in lines:
        kind = line.type
        if kind == "assistant":
            say(line)
            content = line.message.content if line.message is not None else None
            if isinstance(content, list):
                answered += content
        elif kind == "user":
            say(line)
            content = line.message.content if line.message is not None else None
            if isinstance(content, list) and len(content) == 1 and content[0].type == "tool_result":
                messages += 1
            else:
                messages += _add_user(tally, line, content)
        elif kind in _OF_MEANING:
            messages += kind in _ONE_EACH
            _add_setting(tally, line)
    messages += len([block for block in answered if block.type in _ASSISTANT_BLOCKS])
    tally.messages += messages
    if said:
        _add_said(tally, said)


def _add_said(tally: Tally, said: list[_Counted]) -> None:
    """Add what user and assistant lines tell beside what is said in them."""
    if not tally.begun:
        tally.begun = True
        tally.sidechain = bool(said[0].isSidechain)
    if not tally.sidechain:
        said = [line for line in said if not line.isSidechain]
    if said:
        _add_origin(tally, said)
        _add_facts(tally, said)
        _add_times(tally, [line.timestamp for line in said if line.timestamp is not None])


def _add_origin(tally: Tally, said: list[_Counted]) -> None:
    if tally.cwd is None:
        tally.cwd = next((line.cwd for line in said if line.cwd), None)
    for line in [one for one in said if one.forkedFrom is not None or one.teamName]:
        if line.forkedFrom is not None and line.forkedFrom.sessionId:
            tally.forked_from = line.forkedFrom.sessionId
        if line.teamName:
            tally.team = True


def _add_facts(tally: Tally, said: list[_Counted]) -> None:
    """Add what the newest lines tell that tell it: nearly always the last one."""
    last = said[-1]
    tally.last_cwd = last.cwd or _newest([one.cwd for one in said]) or tally.last_cwd
    tally.version = last.version or _newest([one.version for one in said]) or tally.version
    tally.entrypoint = (
        last.entrypoint or _newest([one.entrypoint for one in said]) or tally.entrypoint
    )
    branch = last.gitBranch
    if branch is None:
        branch = next((one.gitBranch for one in reversed(said) if one.gitBranch is not None), None)
    if branch is not None:
        tally.branch = branch or None


def _newest(told: list[str | None]) -> str | None:
    return next(filter(None, reversed(told)), None)


def _add_times(tally: Tally, written: list[str]) -> None:
    if not written:
        return
    if tally.first_timestamp is None:
        found = (at for text in written if (at := timestamp(text)) is not None)
        tally.first_timestamp = next(found, None)
    # As clients write them, in UTC and to the millisecond, the texts are ordered as the times are.
    alike = set(map(len, written)) == {_TIME_LENGTH}
    alike = alike and set("".join(written)[_TIME_LENGTH - 1 :: _TIME_LENGTH]) == {"Z"}
    latest = timestamp(max(written)) if alike else None
    if latest is None:
        latest = max((at for at in map(timestamp, written) if at is not None), default=None)
    if latest is not None:
        known = tally.last_timestamp
        tally.last_timestamp = latest if known is None else max(latest, known)


def _add_user(tally: Tally, line: _Counted, content: str | list[_Block] | None) -> int:
    """Add what a user line says; return how many messages it is."""
    if content is None:
        return 0
    if isinstance(content, str):
        _add_prompt(tally, line, [content] if content else [], pictures=False)
        return 1
    kinds = [block.type for block in content]
    if "tool_result" not in kinds:
        texts = [text for block in content if block.type == "text" and (text := _text(block))]
        _add_prompt(tally, line, texts, pictures=not PICTURES.isdisjoint(kinds))
    return sum(kind in _USER_BLOCKS for kind in kinds)


def _add_prompt(tally: Tally, line: _Counted, texts: list[str], *, pictures: bool) -> None:
    if line.isSidechain or bytes(line.toolUseResult) not in (b"", b"null"):
        return
    mark = mark_of(bytes(line.uuid), line.timestamp)
    tally.marks += mark
    if line.isCompactSummary or not tally.starts:
        tally.starts += mark
    kind, text = tell_user(line, texts, pictures=pictures)
    if is_turn(kind, text):
        tally.turns += 1
        if not tally.first_prompt:
            tally.first_prompt = text[:_TEXT_LIMIT]


def _text(block: _Block) -> str:
    text = decode_raw(block.text)
    return text if isinstance(text, str) else ""


def _add_setting(tally: Tally, line: _Counted) -> None:
    for kind, text, field in (
        ("custom-title", line.customTitle, "custom_title"),
        ("ai-title", line.aiTitle, "ai_title"),
        ("last-prompt", line.lastPrompt, "last_prompt"),
        ("summary", line.summary, "summary"),
        ("tag", line.tag or "", "tag"),
    ):
        if kind == line.type and text is not None:
            setattr(tally, field, text.strip()[:_TEXT_LIMIT])
    if line.type == "continued-in" and line.continuedInSessionId:
        tally.continued_in = line.continuedInSessionId

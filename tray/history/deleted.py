"""Sessions whose transcript is gone, but whose prompts survive in the root's `history.jsonl`."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import msgspec

from tray.claude.counting import is_turn
from tray.claude.entries import EntryKind
from tray.claude.locate import ID
from tray.history.past import Past
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

GONE = "deleted; only prompts are left"
"""Why such a one is no session that could be read or resumed (`Past.skipped`)."""
_LINE_LIMIT = 8 * 1024 * 1024
"""Bytes of a line above which it is passed over: pasted pictures can stand in one."""
_PROMPT = 200
_CALENDAR_END = 2.5e14
"""Milliseconds since 1970 beyond which there is no moment."""


class Prompt(msgspec.Struct, frozen=True):
    """What a person typed."""

    at: float
    """Unix seconds."""
    text: str


class Deleted(msgspec.Struct, frozen=True):
    """What is left of a session."""

    session_id: str
    config_root: str
    cwd: str | None
    prompts: tuple[Prompt, ...]
    """Oldest first, at least one; without slash commands."""


class _Line(msgspec.Struct, frozen=True):
    display: str
    timestamp: float
    sessionId: str  # noqa: N815 - the client's name
    project: str | None = None


_decode = msgspec.json.Decoder(_Line).decode


def deleted(config_roots: Iterable[str], known_ids: Container[str]) -> tuple[Deleted, ...]:
    """Return what is left of sessions that are not among `known_ids`, the latest first.

    `known_ids` are those that have a transcript or a process. Old clients wrote no session id:
    what they wrote cannot be told apart. Never raises.
    """
    found = []
    for root in dict.fromkeys(map(os.path.realpath, config_roots)):
        prompts: dict[str, list[Prompt]] = {}
        places: dict[str, str | None] = {}
        for line in _lines(os.path.join(root, "history.jsonl")):
            if line.sessionId in known_ids or ID.fullmatch(line.sessionId) is None:
                continue
            text = line.display.strip()
            if not is_turn(EntryKind.PROMPT, text) or text.startswith("!"):
                continue
            prompts.setdefault(line.sessionId, []).append(Prompt(line.timestamp / 1000, text))
            places.setdefault(line.sessionId, line.project)
        found += [
            Deleted(key, root, places[key], tuple(sorted(typed, key=lambda prompt: prompt.at)))
            for key, typed in prompts.items()
        ]
    found.sort(key=lambda one: one.prompts[-1].at, reverse=True)
    return tuple(found)


def as_past(one: Deleted) -> Past:
    """Return it as a list shows it: `transcript` is empty, `skipped` says why."""
    first, last = one.prompts[0], one.prompts[-1]
    text = one_line(first.text, _PROMPT)
    name = os.path.basename((one.cwd or "").rstrip("/"))
    return Past(
        transcript="",
        session_id=one.session_id,
        project=one_line(name) or None,
        cwd=one.cwd,
        title=text,
        title_source="first-prompt",
        first_prompt=text,
        turns=len(one.prompts),
        first_timestamp=first.at,
        last_timestamp=last.at,
        duration_s=round(last.at - first.at, 3),
        created=first.at,
        modified=last.at,
        config_root=one.config_root,
        skipped=GONE,
    )


def _lines(path: str) -> Iterator[_Line]:
    """Yield the lines that make sense; nothing of what is no file or cannot be read."""
    try:
        # Without blocking: a FIFO in the file's place would never answer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        while data := _line(file.readline):
            try:
                line = _decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if 0 < line.timestamp < _CALENDAR_END:
                yield line


def _line(readline: Callable[[int], bytes]) -> bytes:
    """Return the next line, blank in place of one that is too long; empty at the end."""
    try:
        data = readline(_LINE_LIMIT)
        whole = len(data) < _LINE_LIMIT or data.endswith(b"\n")
        while data and not whole:
            rest = readline(_LINE_LIMIT)
            whole = len(rest) < _LINE_LIMIT or rest.endswith(b"\n")
            data = b"\n"
    except OSError:
        return b""
    return data

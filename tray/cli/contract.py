"""The contract for scripts: what `--json` prints.

Names and values here are promises. Fields are only ever added; an unknown value is null, and
every time is ISO 8601 in UTC with milliseconds.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import orjson

from tray.session import PUBLISHED, EventKind, order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.session import Ask, Observation, Problem, Transition

SCHEMA = 1
"""Raised only if a field's meaning changes; a script may refuse what it does not know."""

_TIMES = frozenset({"since", "started"})


def timestamp(seconds: float | None) -> str | None:
    """Return Unix `seconds` as `2026-05-22T13:49:22.031Z`; None if unknown or no such date."""
    if seconds is None:
        return None
    try:
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def session(observation: Observation) -> dict[str, object]:
    """Return the published fields of one session, in their order."""
    return {name: _field(name, getattr(observation, name)) for name in PUBLISHED}


def sessions(observations: Iterable[Observation]) -> list[dict[str, object]]:
    """Return the sessions in the order of every list, blocking ones first."""
    return [session(observation) for observation in sorted(observations, key=order)]


def detailed(observation: Observation) -> dict[str, object]:
    """Return the published fields of one session and its whole `ask` (`show --json`)."""
    return session(observation) | {"ask": _ask(observation.ask)}


def hello(version: str) -> dict[str, object]:
    """Return the first line of `watch --json`."""
    return {"event": "hello", "schema": SCHEMA, "version": version}


def snapshot(at: float, observations: Iterable[Observation]) -> dict[str, object]:
    """Return the whole truth of one moment: whatever was told before is superseded."""
    return {"event": "snapshot", "at": timestamp(at), "sessions": sessions(observations)}


def event(transition: Transition) -> dict[str, object]:
    """Return one change of one session."""
    line: dict[str, object] = {"event": transition.kind.value, "at": timestamp(transition.at)}
    if transition.kind is EventKind.TRANSITION:
        line["from"] = {
            "state": transition.from_state,
            "reason": transition.from_reason,
        }
    if transition.kind in (EventKind.TRANSITION, EventKind.CHANGED):
        line["fields"] = list(transition.fields)
    if transition.kind is EventKind.ENDED:
        line["how"] = transition.how
    line["session"] = session(transition.session)
    return line


def health(at: float, problem: Problem, *, ok: bool) -> dict[str, object]:
    """Return that a source failed, or that the problem told earlier is over (`ok`)."""
    return {
        "event": "health",
        "at": timestamp(at),
        "ok": ok,
        "code": problem.code,
        "message": _text(problem.message),
    }


def heartbeat(at: float) -> dict[str, object]:
    """Return the line that says nothing but that `watch` still looks."""
    return {"event": "heartbeat", "at": timestamp(at)}


def line(value: dict[str, object]) -> bytes:
    """Return `value` as one line of JSON, with its line end."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def document(value: object) -> bytes:
    """Return `value` as indented JSON, with a line end."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _field(name: str, value: object) -> object:
    if name in _TIMES:
        return timestamp(value) if isinstance(value, float | int) else None
    if isinstance(value, tuple):
        return [_text(item) for item in value]
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    """Return `value` without lone surrogates: a path may hold any bytes, JSON may not."""
    return str(value) if value.isascii() else value.encode("utf-8", "replace").decode()


def _ask(ask: Ask | None) -> dict[str, object] | None:
    if ask is None:
        return None
    return {
        "id": _text(ask.id),
        "reason": ask.reason,
        "tool": _text(ask.tool) if ask.tool else None,
        "text": _text(ask.text) if ask.text else None,
        "options": [_text(option) for option in ask.options],
        "since": timestamp(ask.since),
    }

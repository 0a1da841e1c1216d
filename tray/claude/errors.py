"""The text of a failed turn, in few words, and by what it is known again. Pure.

Texts seen: `API Error: 529 {"type":"error","error":{"type":"overloaded_error",...}}`,
`API Error: <sentence>`, `Claude AI usage limit reached|<Unix seconds>`,
`5-hour limit reached ∙ resets 3pm`, `You've hit your limit · resets 3pm (Europe/Berlin)`.
"""

from __future__ import annotations

import datetime as dt
import json
import re

import msgspec

from tray.untrusted import one_line

_KIND = re.compile(r'"type"\s*:\s*"(\w+)_error"')
_MESSAGE = re.compile(r'"message"\s*:\s*("(?:[^"\\]|\\.){1,2000}")')
_OVERLOADED = re.compile(r"\boverloaded(?:_error)?\b", re.IGNORECASE)
_PREFIX = re.compile(r"^\s*API Error:?\s*", re.IGNORECASE)
_STATUS = re.compile(r"^\(?(\d{3})\b[\s:)]*")
_LIMIT_AT = re.compile(r"limit reached\|(\d{10,13})", re.IGNORECASE)
_LIMIT_RESETS = re.compile(
    r"\blimit\b.{0,200}?\bresets?\s+(?:at\s+)?([^\n·∙|]{1,60})", re.IGNORECASE
)
_VARYING = re.compile(r"\b(?:req_\w+|[0-9a-f]{8}-[0-9a-f-]{27,}|\d+)\b")
_STATUS_WORDS = {
    "400": "invalid request",
    "401": "not logged in",
    "403": "not allowed",
    "404": "not found",
    "413": "request too large",
    "429": "rate limit",
    "500": "server error",
    "529": "overloaded",
}


class Failure(msgspec.Struct, frozen=True):
    """Why a turn failed."""

    detail: str
    """One line for a person."""
    key: str
    """The same for the same fault in several sessions."""


def describe_failure(text: str) -> Failure:
    """Say why a turn failed, from the text that the client wrote."""
    limit = _usage_limit(text)
    if limit is not None:
        return Failure(limit, limit)
    rest = _PREFIX.sub("", text)
    api = rest != text
    status = _STATUS.match(rest)
    kind = _KIND.search(text.replace('"type":"error"', ""))
    if (api or kind is not None) and _OVERLOADED.search(text):
        said = "overloaded"
    elif kind is not None:
        message = _message(text) if kind.group(1) != "rate_limit" else None
        said = message or kind.group(1).replace("_", " ")
    elif status is not None:
        said = _words(rest[status.end() :]) or _STATUS_WORDS.get(status.group(1), status.group(0))
    else:
        said = _words(rest)
    detail = one_line(f"API error: {said}" if api or kind else said) or "API error"
    return Failure(detail, _VARYING.sub("#", detail.lower()))


def _usage_limit(text: str) -> str | None:
    at = _LIMIT_AT.search(text)
    if at is not None:
        seconds = int(at.group(1)[:10])
        # The person's own clock: it is told to them, not to scripts.
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC).astimezone()
        return f"usage limit reached, resets {moment:%H:%M}"
    resets = _LIMIT_RESETS.search(text)
    if resets is not None:
        return one_line(f"usage limit reached, resets {resets.group(1).strip(' .')}")
    return None


def _message(text: str) -> str | None:
    """Return what the API itself says of an error."""
    match = _MESSAGE.search(text)
    if match is None:
        return None
    try:
        return one_line(json.loads(match.group(1)), 160)
    except ValueError:
        return None


def _words(text: str) -> str:
    """Return what of an error is a sentence, not JSON."""
    return one_line(text.partition("{")[0].strip(" ·:-\n") or text, 160)

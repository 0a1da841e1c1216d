"""The text of a failed turn, in few words, and by what it is known again. Pure.

Texts seen: `API Error: 529 {"type":"error","error":{"type":"overloaded_error",...}}`,
`API Error: <sentence>`, `Claude AI usage limit reached|<Unix seconds>`,
`5-hour limit reached ∙ resets 3pm`, `You've hit your limit · resets 3pm (Europe/Berlin)`.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from tray.untrusted import one_line

_KIND = re.compile(r'"type"\s*:\s*"(\w+)_error"')
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


@dataclass(frozen=True, slots=True)
class Failure:
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
    if kind is not None:
        said = kind.group(1).replace("_", " ")
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
        return one_line(f"usage limit reached, resets {resets.group(1).strip()}")
    return None


def _words(text: str) -> str:
    """Return what of an error is a sentence, not JSON."""
    return one_line(text.partition("{")[0].strip(" ·:-\n") or text, 160)

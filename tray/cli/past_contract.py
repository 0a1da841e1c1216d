"""The contract for scripts of `sessionbell history`: JSON and CSV.

Names and values are promises, as those of `tray.cli.contract`: fields are only ever added, what
is unknown is null, and times are ISO 8601 in UTC.
"""

from __future__ import annotations

import csv
import io
from operator import attrgetter
from typing import TYPE_CHECKING

from tray.cli.contract import document, timestamp
from tray.history.past import PUBLISHED, TIMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tray.claude.speech import Piece
    from tray.history.past import Past
    from tray.history.search import Found

_published = attrgetter(*PUBLISHED)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run (OWASP, CSV injection)."""


def session(past: Past) -> dict[str, object]:
    """Return the published fields of one session, in their order."""
    told = {name: _text(value) for name, value in zip(PUBLISHED, _published(past), strict=True)}
    for name in TIMES:
        told[name] = timestamp(getattr(past, name))
    # Of a deleted session there is no file.
    told["transcript"] = told["transcript"] or None
    return told


def array(sessions: Iterable[Past]) -> bytes:
    """Return the sessions as one JSON array."""
    return document([session(past) for past in sessions])


def found(results: Iterable[Found]) -> bytes:
    """Return what a search found as one JSON array: the sessions with `matches` and `hits`."""
    return document(
        [
            session(result.session)
            | {
                "matches": result.count,
                "hits": [
                    {
                        "role": hit.role,
                        "at": timestamp(hit.at),
                        "line": _text(hit.line),
                        "spans": hit.spans,
                    }
                    for hit in result.hits
                ],
            }
            for result in results
        ]
    )


def conversation(past: Past, pieces: Iterable[Piece]) -> bytes:
    """Return one session with all that was said in it, in `conversation`."""
    said = [
        {
            "role": piece.role,
            "at": timestamp(piece.at),
            "text": _text(piece.text),
            "more": _text(piece.more),
            "failed": piece.failed,
        }
        for piece in pieces
    ]
    return document(session(past) | {"conversation": said})


def table(sessions: Iterable[Past]) -> bytes:
    """Return the sessions as CSV with a head line; what is unknown is empty."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(PUBLISHED)
    for past in sessions:
        writer.writerow(map(_cell, session(past).values()))
    return file.getvalue().encode()


def _text(value: object) -> object:
    """Return `value` without lone surrogates: a path may hold any bytes, JSON may not."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value

"""Searching what a person reads in the conversations."""

from __future__ import annotations

import functools
import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tray.claude.blocks import blocks
from tray.claude.speech import Piece, Role, of_sidechain, spoken
from tray.history.crew import spread
from tray.history.folding import fold, fold_with_places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tray.history.past import Past

_TEXT = b'"type":"text"'
_NOT_READ = tuple(b'"type":"%s"' % kind for kind in (b"tool_result", b"tool_use", b"thinking"))
"""What a message has that does not consist of text."""
_LINE = 240
"""Characters of a matching line that are returned."""
_BEFORE = 60
"""Those of them before the first match, in a line that is cut."""
_SPANS = 100
_READ = frozenset({Role.USER, Role.ASSISTANT, Role.COMMAND})
_TOOLS = frozenset({Role.TOOL, Role.RESULT})
_RUN = re.compile(r"[^\x00-\x1f\x7f-\U0010ffff\"\\/<>&'`;]+")
"""Characters that stand in JSON as they are, whoever writes it; ` and ; have Greek doubles."""
_MADE_OF_OTHERS = frozenset("afiklnst")
"""Letters that something outside of ASCII is folded to: ß to ss, the Kelvin sign to k."""
_SURE_RUN = re.compile("[^afiklnst]+")
_LONG_ENOUGH = 3
"""Characters by which few enough lines are found that have something else."""
_OTHERS = "\u00df\u0130\u0149\u017f\u1e9a\u1e9e\u212a\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06"
"""All characters outside of ASCII that such letters are in once they are folded."""
_OTHERS_RAW = tuple(char.encode() for char in _OTHERS)
_OTHERS_ESCAPED = tuple(b"\\u%04x" % ord(char) for char in _OTHERS)
_PARTS = b"".join(_OTHERS_RAW)
_NO_PARTS = bytes(byte for byte in range(256) if byte not in _PARTS)


class Query(msgspec.Struct, frozen=True):
    """What is looked for: literal and in any letter case, unless it is a regular expression."""

    text: str
    regex: bool = False
    tools: bool = False
    """Also in what tools were given and answered."""


class QueryError(ValueError):
    """No query: nothing to look for, or no regular expression. Its text is for a person."""


class Hit(msgspec.Struct, frozen=True):
    """One line of a conversation that matches."""

    role: Role
    line: str
    """The line, untrusted; cut around the first match if it is long."""
    spans: tuple[tuple[int, int], ...]
    """Where in `line` the matches are: begin and end, characters."""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One session in which something was found."""

    session: Past
    count: int
    """Matches in all."""
    hits: tuple[Hit, ...]
    """The first matching lines."""


def check(query: Query) -> None:
    """Raise QueryError if `query` is none."""
    _matcher(query)


def search(
    sessions: Iterable[Past],
    query: Query,
    *,
    lines: int = 3,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[Found]:
    """Yield the sessions in which `query` is found, in the order given. Raises QueryError.

    `lines` is how many matching lines of a session are returned. Files that cannot be read are
    passed over. Nothing is yielded before all are searched, nor once it is `cancelled`.
    """
    _matcher(query)
    wanted = tuple(sessions)
    sizes = [session.size for session in wanted]
    whole, done = sum(sizes), 0
    tasks = [(place, session.transcript, query, lines) for place, session in enumerate(wanted)]
    found: dict[int, tuple[int, tuple[Hit, ...]]] = {}
    for results, size in spread(_search_files, tasks, sizes):
        found.update(results)
        done += size
        if progress is not None:
            progress(done, whole)
        if cancelled is not None and cancelled():
            return
    for place, session in enumerate(wanted):
        if place in found:
            yield Found(session, *found[place])


def _search_files(
    tasks: Sequence[tuple[int, str, Query, int]],
) -> dict[int, tuple[int, tuple[Hit, ...]]]:
    found = {}
    for place, path, query, lines in tasks:
        try:
            count, hits = search_file(path, query, lines)
        except OSError:
            continue
        if count:
            found[place] = (count, hits)
    return found


def search_file(path: str, query: Query, lines: int) -> tuple[int, tuple[Hit, ...]]:
    """Return how often `query` is in a transcript, and the first lines. Raises OSError."""
    matcher = _matcher(query)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    count = 0
    hits: list[Hit] = []
    sidechain = None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return 0, ()
        for data, length, _ in blocks(descriptor, 0, found.st_size):
            if sidechain is None:
                sidechain = _of_sidechain(data, length)
            for line in matcher.candidates(data[:length]):
                for piece in spoken(line, sidechain=bool(sidechain)):
                    if piece.role in matcher.roles:
                        count += matcher.take(piece, hits, lines)
    finally:
        os.close(descriptor)
    return count, tuple(hits)


def _of_sidechain(data: bytes, length: int) -> bool | None:
    """Whether the first message in a block is a subagent's; `None` if there is none."""
    begin = 0
    while begin < length:
        feed = data.find(b"\n", begin, length)
        end = feed if feed >= 0 else length
        said = of_sidechain(data[begin:end])
        if said is not None:
            return said
        begin = end + 1
    return None


class _Matcher:
    """Finds one query in lines of JSON and in texts."""

    def __init__(self, query: Query) -> None:
        self.roles = _READ | _TOOLS if query.tools else _READ
        self._tools = query.tools
        self._pattern = _compiled(query)
        self._folded = not query.regex
        self._needle = "" if query.regex else fold(query.text)
        self._probe, self._sure = (b"", True) if query.regex else _probe(self._needle)

    def candidates(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines of `data` that may have a match; most others are not looked at."""
        if not self._probe:
            yield from filter(self._may_match, data.split(b"\n"))
            return
        lowered = data.lower()
        if not self._sure and _has_others(lowered):
            yield from filter(self._may_be_read, filter(None, data.split(b"\n")))
            return
        at = lowered.find(self._probe)
        while at >= 0:
            begin = lowered.rfind(b"\n", 0, at) + 1
            end = lowered.find(b"\n", at)
            end = end if end >= 0 else len(data)
            line = data[begin:end]
            if self._may_be_read(line):
                yield line
            at = lowered.find(self._probe, end)

    def _may_match(self, line: bytes) -> bool:
        """Whether a line may have what nothing in ASCII tells of."""
        foreign = not self._folded or not line.isascii() or b"\\u" in line
        return foreign and line != b"" and self._may_be_read(line)

    def _may_be_read(self, line: bytes) -> bool:
        # As clients write it, and never within a text, where quotes are escaped.
        return self._tools or _TEXT in line or not any(kind in line for kind in _NOT_READ)

    def take(self, piece: Piece, hits: list[Hit], limit: int) -> int:
        """Count the matches in a piece; add its lines that have one as long as there is room."""
        text = piece.text
        if piece.role is Role.TOOL and piece.more is not None:
            text = piece.more  # of which `text` is the summary
        if not self._folded:
            return self._take(piece, unicodedata.normalize("NFC", text), hits, limit)
        folded = fold(text)
        if len(hits) >= limit:
            return folded.count(self._needle)
        return self._take(piece, text, hits, limit) if self._needle in folded else 0

    def _take(self, piece: Piece, text: str, hits: list[Hit], limit: int) -> int:
        count = 0
        for line in text.splitlines():
            if len(hits) < limit:
                spans = self._spans(line)
                count += len(spans)
                if spans:
                    hits.append(_hit(piece, line, spans))
            elif self._folded:
                count += fold(line).count(self._needle)
            else:
                count += sum(match.group() != "" for match in self._pattern.finditer(line))
        return count

    def _spans(self, line: str) -> list[tuple[int, int]]:
        if not self._folded:
            return [match.span() for match in self._pattern.finditer(line) if match.group()]
        if self._needle not in fold(line):
            return []
        folded, places = fold_with_places(line)
        spans = []
        for match in self._pattern.finditer(folded):
            begin, end = places[match.start()], places[match.end()]
            # A match that ends within a letter takes it whole.
            last = places[match.end() - 1]
            spans.append((begin, end if end > last else _next(places, match.end())))
        return spans


def _next(places: list[int], at: int) -> int:
    return next(place for place in places[at:] if place > places[at - 1])


@functools.lru_cache(maxsize=4)
def _matcher(query: Query) -> _Matcher:
    return _Matcher(query)


def _compiled(query: Query) -> re.Pattern[str]:
    if not query.text.strip():
        raise QueryError("there is nothing to search for")
    if not query.regex:
        if len(query.text.splitlines()) > 1:
            raise QueryError("only words of one line can be searched for")
        return re.compile(re.escape(fold(query.text)))
    try:
        return re.compile(unicodedata.normalize("NFC", query.text), re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise QueryError(f"{query.text!r} is no regular expression: {error}") from None


def _probe(needle: str) -> tuple[bytes, bool]:
    """Return bytes that every line with `needle` has, and whether nothing can stand for them."""
    runs = _RUN.findall(needle)
    sure = max((run for part in runs for run in _SURE_RUN.findall(part)), key=len, default="")
    if len(sure.strip()) >= _LONG_ENOUGH:
        return sure.encode(), True
    longest = max(runs, key=len, default="")
    return longest.encode(), _MADE_OF_OTHERS.isdisjoint(longest)


def _has_others(data: bytes) -> bool:
    """Whether there is anything, raw or escaped, that folds to letters of ASCII."""
    if not data.isascii():
        # One look at each byte, and not one for each of the characters.
        parts = data.translate(None, _NO_PARTS)
        if any(form in parts for form in _OTHERS_RAW):
            return True
    return b"\\u" in data and any(form in data for form in _OTHERS_ESCAPED)


def _hit(piece: Piece, line: str, spans: Sequence[tuple[int, int]]) -> Hit:
    """Return a matching line, cut around its first match if it is long."""
    start = 0
    if len(line) > _LINE:
        start = max(min(spans[0][0] - _BEFORE, len(line) - _LINE), 0)
    shown = line[start : start + _LINE]
    inside = tuple(
        (begin - start, min(end - start, len(shown)))
        for begin, end in spans[:_SPANS]
        if begin - start < len(shown)
    )
    return Hit(piece.role, shown, inside, piece.at)

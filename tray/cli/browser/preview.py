"""What the preview says of a session: where a search hit, and how the conversation ended."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from textual.strip import Strip

from tray.cli import past_reading
from tray.history.export import facts
from tray.history.reading import newest
from tray.history.search import Found, Query, QueryError, search_file
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tray.history.past import Past

_PIECES = 60
"""Things said or done that are shown, from the end."""
_LINES = 1000
"""Lines on the screen that are kept of them, from the end."""
_HITS = 500
"""Lines with something that was searched for that are shown."""
_LONGEST = 4000
"""Characters that are shown of one paragraph."""


def lines(past: Past, words: str | None, width: int) -> list[Strip]:
    """Return the preview, wrapped to so many cells: with what was searched for, each hit first.

    Reads the transcript; never raises.
    """
    console = Console(
        width=max(width, 1), color_system="truecolor", force_terminal=True, legacy_windows=False
    )
    ending = _wrapped(console, _ending(past))[-_LINES:]
    if words is None:
        return ending
    return [*_wrapped(console, _hits(past, words)), Strip.blank(0), *ending]


def _hits(past: Past, words: str) -> Iterator[Text]:
    try:
        found = Found(past, *search_file(past.transcript, Query(words), _HITS))
    except (OSError, QueryError):
        return
    # Its title stands above the preview already.
    for hit in islice(past_reading.hits([found], time.time(), signs=False), 1, None):
        # A line that was cut might lack what was found.
        hit.no_wrap, hit.overflow = False, "fold"
        yield hit
    if len(found.hits) == _HITS:
        yield Text("and more", style="dim")


def _ending(past: Past) -> Iterator[Text]:
    if not past.transcript:
        yield Text("its transcript is gone", style="dim")
        return
    try:
        pieces = newest(past.transcript, _PIECES)
    except OSError as error:
        yield Text(f"cannot be read: {one_line(error.strerror or str(error))}", style="red")
        return
    if not pieces:
        yield Text("nothing was said", style="dim")
    # Title and facts stand above the preview already.
    above = 1 + sum(1 for _ in facts(past))
    yield from islice(past_reading.conversation(past, pieces, full=False), above, None)


def _wrapped(console: Console, texts: Iterator[Text]) -> list[Strip]:
    wrapped = []
    for text in texts:
        if len(text) > _LONGEST:
            text.truncate(_LONGEST, overflow="ellipsis")
        wrapped += [Strip(line) for line in console.render_lines(text, pad=False)]
    return wrapped

"""From a key to the drawn frame, in `sessionbell browse` at a terminal with 10,000 sessions."""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

from tests.bench.trees import write_tree
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SESSIONS = 10_000
BUDGET_MS = 50.0
QUIET = 0.03
"""Seconds without a byte after which a frame is taken for whole. The preview follows later."""
SETTLED = 0.3
WHOLE = b"1/9,"
"""What the line below says once all files were looked at; 6 % of them are no sessions."""
COMMAND = (sys.executable, "-m", "tray", "browse")
ESCAPE = b"\x1b[27u"
"""As terminals send it that can. For others Textual waits 100 ms for the rest of another key."""
KEYS = {
    "move": [b"\x1b[B"] * 20 + [b"\x1b[6~"] * 20 + [b"\x1b[F", b"\x1b[H"] * 5,
    # Letters that many have, that few have, and some with others left out between them.
    "filter": [
        key
        for word in (b"se", b"prj", b"moka fe", b"xqzk", b"project-3", b"kbmdr")
        for key in (*(bytes([letter]) for letter in word), ESCAPE)
    ],
}


def press(terminal: Terminal, key: bytes) -> float:
    """Press a key; return the milliseconds until the last byte of its frame was written."""
    while terminal.read(SETTLED):
        pass
    terminal.output = b""
    begun = last = time.monotonic()
    terminal.type(key)
    while terminal.read(QUIET if terminal.output else 2.0):
        last = time.monotonic()
    return 1000 * (last - begun)


def test_browse(tmp_path: Path, report: Callable[[str], None]) -> None:
    write_tree(tmp_path / ".claude", SESSIONS, median=1)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    with Terminal(COMMAND, environment, (120, 40)) as terminal:
        report(f"browse: all counted {terminal.until(WHOLE):.2f} s after its start, without index")
    every: list[float] = []
    with Terminal(COMMAND, environment, (120, 40)) as terminal:
        rows = terminal.until(b"project-")
        whole = rows + terminal.until(WHOLE)
        report(f"browse: rows {rows:.2f} s after its start, all looked at after {whole:.2f} s")
        for kind, keys in KEYS.items():
            taken = [press(terminal, key) for key in keys]
            every += taken
            longest = keys[taken.index(max(taken))]
            report(
                f"browse, {kind}: p50 {statistics.median(taken):.0f} ms, p95 {p95(taken):.0f} ms,"
                f" at most {max(taken):.0f} ms ({longest!r}), of {len(keys)} keys"
            )
    report(f"browse, from key to frame: p95 {p95(every):.0f} ms (budget {BUDGET_MS:.0f} ms)")
    assert p95(every) < 2 * BUDGET_MS


def p95(figures: list[float]) -> float:
    return statistics.quantiles(figures, n=20)[18]

"""`sessionbell watch`: every change as it happens, for eyes or for scripts."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from tray import __version__
from tray.cli.options import chosen_roots, examples, json_option, no_color_option, roots_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tray.cli.feed import Delivery
    from tray.session import Problem

HEARTBEAT = 30.0
"""Seconds between two signs of life of `watch --json`."""
_CHECK = 5.0
"""Seconds between two looks at whether the engine still works."""


@click.command(
    epilog=examples(
        "sessionbell watch",
        "sessionbell watch --json | jq -c 'select(.event == \"transition\")'",
    )
)
@json_option
@no_color_option
@roots_option
def watch(*, as_json: bool, no_color: bool, roots: Sequence[str]) -> int:
    """Watch all sessions live, until Ctrl-C.

    On a terminal this is a table that follows every change; into a pipe, one line a change.
    With --json it is one JSON object a line: hello, snapshot, then appeared, transition,
    changed, ended, health, and a heartbeat every 30 seconds.
    """
    chosen = chosen_roots(roots)
    try:
        if as_json:
            _print_json(chosen)
        else:
            follow(chosen, color=not no_color)
    except KeyboardInterrupt:
        return 0
    return 0


def follow(roots: Sequence[str] | None, *, color: bool) -> None:
    """Show every change to a person until interrupted."""
    from tray.cli.feed import Feed
    from tray.cli.views import open_view

    with Feed(roots, sys.stdout.fileno()) as feed, open_view(color=color) as view:
        while True:
            for update in feed.wait().updates:
                view.show(update)


class JsonLines:
    """What `watch --json` prints, line by line, from the engine's deliveries. No I/O."""

    def __init__(self) -> None:
        self.started = False
        """Whether the snapshot, which comes before everything, has been printed."""
        self._problems: dict[str, Problem] = {}

    def lines(self, delivery: Delivery, now: float, *, stalled: bool) -> Iterable[bytes]:
        """Return the lines that `delivery` and the engine's health at `now` give cause for."""
        from tray.cli import contract
        from tray.engine import STALLED

        updates = delivery.updates
        if updates and not (self.started and delivery.complete):
            self.started = True
            newest = updates[-1]
            yield contract.line(contract.snapshot(newest.snapshot.at, newest.tracked.sessions))
        else:
            for update in updates:
                for transition in update.transitions:
                    yield contract.line(contract.event(transition))
        problems = dict(self._problems)
        if updates:
            problems = {problem.code: problem for problem in updates[-1].problems}
        problems.pop(STALLED.code, None)
        if stalled:
            problems[STALLED.code] = STALLED
        for code, problem in problems.items():
            if self._problems.get(code) != problem:
                yield contract.line(contract.health(now, problem, ok=False))
        for code, problem in self._problems.items():
            if code not in problems:
                yield contract.line(contract.health(now, problem, ok=True))
        self._problems = problems


def _print_json(roots: Sequence[str] | None) -> None:
    from tray.cli import contract
    from tray.cli.feed import Feed

    sys.stdout.flush()
    output = sys.stdout.fileno()
    _write(output, contract.line(contract.hello(__version__)))
    printer = JsonLines()
    beat = time.monotonic() + HEARTBEAT
    with Feed(roots, output) as feed:
        while True:
            delivery = feed.wait(min(beat, time.monotonic() + _CHECK))
            for line in printer.lines(delivery, time.time(), stalled=feed.stalled()):
                _write(output, line)
            if printer.started and time.monotonic() >= beat:
                _write(output, contract.line(contract.heartbeat(time.time())))
                beat = time.monotonic() + HEARTBEAT


def _write(descriptor: int, data: bytes) -> None:
    """Write the whole of `data` at once: a reader never waits for a buffer to fill."""
    while data:
        data = data[os.write(descriptor, data) :]

"""`sessionbell watch`: every change as it happens, for eyes or for scripts."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from tray import __version__
from tray.cli.options import (
    chosen_roots,
    complain,
    examples,
    json_option,
    no_color_option,
    roots_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tray.cli.feed import Delivery
    from tray.engine import Update
    from tray.session import Problem

HEARTBEAT = 30.0
"""Seconds between two signs of life of `watch --json`."""
_CHECK = 5.0
"""Seconds between two looks at whether the engine still works."""


def _template(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Check the value of --format."""
    if value is not None:
        from tray.cli import bars

        try:
            bars.check(value)
        except bars.TemplateError as error:
            raise click.BadParameter(str(error)) from None
    return value


@click.command(
    epilog=examples(
        "sessionbell watch",
        "sessionbell watch --json | jq -c 'select(.event == \"transition\")'",
        "sessionbell watch --waybar",
        "sessionbell watch --format '{blocked} wait, {working} work'",
        "sessionbell watch --bell      on a machine reached by ssh",
    )
)
@json_option
@click.option(
    "--waybar", is_flag=True, help="Print a JSON line for a custom module of waybar at each change."
)
@click.option(
    "--format",
    "template",
    metavar="TEMPLATE",
    callback=_template,
    help="Print one line after TEMPLATE at each change (polybar, i3blocks, tmux). It may name "
    "{blocked}, {failed}, {finished}, {unseen}, {working}, {idle}, {unknown}, {total}, and of the "
    "session that calls first {project} and {reason}; {state} is the icon's.",
)
@click.option(
    "--bell",
    is_flag=True,
    help="Ring this terminal's bell and send it a notification (OSC 9 and 777) when a session "
    "calls.",
)
@no_color_option
@roots_option
def watch(
    *,
    as_json: bool,
    waybar: bool,
    template: str | None,
    bell: bool,
    no_color: bool,
    roots: Sequence[str],
) -> int:
    """Watch all sessions live, until Ctrl-C.

    On a terminal this is a table that follows every change; into a pipe, one line a change.
    With --json it is one JSON object a line: hello, snapshot, then appeared, transition,
    changed, ended, health, and a heartbeat every 30 seconds.
    """
    if sum((as_json, waybar, template is not None, bell)) > 1:
        raise click.UsageError("--json, --waybar, --format and --bell exclude each other")
    if bell and not sys.stdout.isatty():
        raise click.UsageError("--bell rings the terminal that it is started in; this is none")
    chosen = chosen_roots(roots)
    try:
        if as_json:
            _print_json(chosen)
        elif waybar or template is not None:
            _print_bar(chosen, template)
        else:
            follow(chosen, color=not no_color, bell=bell)
    except KeyboardInterrupt:
        return 0
    return 0


def follow(roots: Sequence[str] | None, *, color: bool, bell: bool = False) -> None:
    """Show every change to a person until interrupted; `bell` rings where they should look."""
    from tray.cli.bell import Bell
    from tray.cli.feed import Feed
    from tray.cli.views import open_view
    from tray.mutefile import MuteFile

    ringer = Bell(os.environ) if bell else None
    muted = MuteFile()
    output = sys.stdout.fileno()
    with Feed(roots, output) as feed, open_view(color=color) as view:
        while True:
            until = None
            if ringer is not None:
                until = time.monotonic() + _CHECK
                until = until if ringer.wake_at is None else min(until, ringer.wake_at)
            for update in feed.wait(until).updates:
                view.show(update)
                if ringer is not None:
                    ringer.take(update.tracked)
            if ringer is not None:
                mutes = muted.read() if muted.changed() else muted.mutes
                rung = ringer.ring(time.monotonic(), time.time(), feed.settings, mutes)
                _write(output, rung)


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


def _print_bar(roots: Sequence[str] | None, template: str | None) -> None:
    """Print waybar's JSON, or `template` filled in, whenever that changes."""
    import orjson

    from tray.cli import bars
    from tray.cli.feed import Feed
    from tray.engine import STALLED

    sys.stdout.flush()
    output = sys.stdout.fileno()
    printed: bytes | None = None
    newest: Update | None = None
    said: Problem | None = None
    with Feed(roots, output) as feed:
        while True:
            delivery = feed.wait(time.monotonic() + _CHECK)
            newest = delivery.updates[-1] if delivery.updates else newest
            if newest is None:
                continue
            sessions, problems = newest.tracked.sessions, newest.problems
            stalled = feed.stalled()
            if template is not None:
                # Its one line has no room for that; the bar keeps it in its log.
                complain(found for found in problems if found.code == "config" and found != said)
                said = next((found for found in problems if found.code == "config"), None)
                line = bars.fill(template, sessions, healthy=not stalled).encode()
            else:
                told = (STALLED, *problems) if stalled else problems
                line = orjson.dumps(bars.waybar(sessions, told, healthy=not stalled))
            if line != printed:
                printed = line
                _write(output, line + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    """Write the whole of `data` at once: a reader never waits for a buffer to fill."""
    while data:
        data = data[os.write(descriptor, data) :]

"""`sessionbell demo`: the whole main job, without Claude Code."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

import click

from tray.cli.options import examples, no_color_option

if TYPE_CHECKING:
    from tray.demo.stage import Session, Stage

FAST = 8.0
"""How many times faster `--fast` plays."""


@click.command(epilog=examples("sessionbell demo", "sessionbell demo --once --fast"))
@click.option("--once", is_flag=True, help="End when the story is over instead of starting anew.")
@click.option("--seconds", type=click.FloatRange(min=0), help="End after so many seconds.")
@click.option("--fast", is_flag=True, help=f"Play {FAST:.0f} times faster.")
@no_color_option
def demo(*, once: bool, seconds: float | None, fast: bool, no_color: bool) -> int:
    """Show everything sessionbell does on make-believe sessions.

    Seven sessions work, ask for a permission, an answer and a plan's approval, finish, fail
    and die, in a folder of their own that is gone afterwards. The tray icon and the
    notifications are the real ones; without a desktop the live table shows the same.
    """
    with contextlib.suppress(KeyboardInterrupt):
        return _play(FAST if fast else 1.0, once=once, seconds=seconds, color=not no_color)
    return 0


def _play(pace: float, *, once: bool, seconds: float | None, color: bool) -> int:
    from tray.cli.run import run_desktop
    from tray.demo.stage import Stage
    from tray.demo.story import open_scene

    stopped = threading.Event()
    with Stage() as stage:
        cast = open_scene(stage)
        click.echo(f"See it from another terminal: sessionbell list --root {stage.root}", err=True)
        threads = [threading.Thread(target=_direct, args=(stage, cast, stopped, pace, once))]
        if seconds is not None:
            threads.append(threading.Thread(target=_end_after, args=(seconds, stopped)))
        try:
            for thread in threads:
                thread.start()
            return run_desktop([stage.root], color=color)
        finally:
            # What follows must come to its end.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            stopped.set()
            for thread in threads:
                if thread.is_alive():
                    thread.join()


def _direct(
    stage: Stage,
    cast: dict[str, Session],
    stopped: threading.Event,
    pace: float,
    once: bool,  # noqa: FBT001 - a thread's positional arguments
) -> None:
    """Play the story again and again until `stopped`, or once and end the program."""
    from tray.demo.story import open_scene, play

    while play(cast, pace, stopped):
        if once:
            _end()
            return
        stage.clear()
        cast = open_scene(stage)


def _end_after(seconds: float, stopped: threading.Event) -> None:
    if not stopped.wait(seconds):
        _end()


def _end() -> None:
    """End this program as a person would, whatever its main thread waits for."""
    os.kill(os.getpid(), signal.SIGTERM)

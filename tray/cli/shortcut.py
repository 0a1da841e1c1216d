"""`focus --next`, `--back` and SESSION as a keyboard shortcut wants them: soon.

Without click, which takes longer to import than all the rest takes; the running tray is asked
first, which knows all sessions already.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.desktop.guide import Guide
    from tray.session import Observation

Answer = tuple[bool, str]
"""Whether it was done, and one line about it."""
_TOKEN = "XDG_ACTIVATION_TOKEN"  # noqa: S105 - the name of a variable


def main(arguments: Sequence[str]) -> int | None:
    """Do what `sessionbell focus` does with just one of its options, if that is what was asked.

    Return the exit code; `None` for any other command line.
    """
    if len(arguments) != 2 or arguments[0] != "focus":
        return None
    wanted = arguments[1]
    if wanted == "--next":
        answer = ask_for_next()
    elif wanted == "--back":
        answer = back()
    else:
        answer = ask_for(wanted) if not wanted.startswith("-") else None
    if answer is None:
        return None
    done, message = answer
    print(message, file=sys.stdout if done else sys.stderr)
    return 0 if done else 1


def ask_for_next() -> Answer | None:
    """Have the tray go to the session that waits longest, or to the next one after it."""
    return _ask("FocusNext", os.environ.get(_TOKEN, ""))


def back() -> Answer:
    """Go back to the window of before."""
    answer = _ask("FocusBack")
    if answer is not None:
        return answer
    outcome = make_guide().back()
    return outcome.done, outcome.message


def ask_for(wanted: str) -> Answer | None:
    """Have the tray go to the session that `wanted` names; `None` if it knows no such one."""
    said = _call("Sessions")
    found = _named(str(said[0]), wanted) if said else None
    return _ask("Focus", found, os.environ.get(_TOKEN, "")) if found is not None else None


def go(session: Observation, guide: Guide) -> Answer:
    """Go to `session` from this process."""
    outcome = guide.go(session, os.environ.get(_TOKEN))
    message = outcome.message
    if not outcome.done and outcome.argv:
        message = f"{message}; go there with: {shlex.join(outcome.argv)}"
    return outcome.done, message


def make_guide() -> Guide:
    """Return the guide, with what earlier key presses have left to it."""
    from tray.cli.lock import runtime_folder
    from tray.desktop.guide import Guide

    try:
        folder = runtime_folder(os.environ)
    except OSError:
        folder = None
    return Guide(os.environ, folder)


def _named(document: str, wanted: str) -> str | None:
    """Return the process id of the one session of the tray's that `wanted` can mean."""
    import json
    from types import SimpleNamespace

    from tray.cli.select import matching

    try:
        told = [SimpleNamespace(**one) for one in json.loads(document)]
        found = matching(cast("list[Observation]", told), wanted)
    except (ValueError, TypeError, AttributeError):
        return None
    return str(found[0].pid) if len(found) == 1 and found[0].pid is not None else None


def _ask(member: str, *arguments: str) -> Answer | None:
    """Let the running tray do it, which knows all already; `None` if none runs or answers."""
    said = _call(member, *arguments)
    return (bool(said[0]), str(said[1])) if said is not None and len(said) == 2 else None


_silent = False
"""Whether the tray was asked in vain before: the person does not wait for it twice."""


def _call(member: str, *arguments: str) -> list[str | int | bool] | None:
    from tray.cli import remote

    global _silent
    if _silent:
        return None
    try:
        return remote.call(member, "s" * len(arguments), *arguments)
    except (remote.NotRunningError, TimeoutError):
        _silent = True
    except (remote.RefusedError, ValueError):
        pass
    return None

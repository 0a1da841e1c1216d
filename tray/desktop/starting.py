"""Starting a program of the person's desktop that runs on without us."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FAILS_WITHIN = 0.4
"""Seconds within which a program that cannot start has ended again."""
_OF_CLIENTS = ("CLAUDE_CODE_",)
_OF_MULTIPLEXERS = ("TMUX", "ZELLIJ")
_OF_EDITORS = ("VSCODE_",)
_SINGLE = frozenset(
    {"CLAUDECODE", "STY", "ELECTRON_RUN_AS_NODE", "WINDOWID", "XDG_ACTIVATION_TOKEN",
     "DESKTOP_STARTUP_ID"}
)  # fmt: skip


def fresh(environ: Mapping[str, str], token: str | None = None) -> dict[str, str]:
    """Return the environment for a program that is started anew from the desktop. Pure.

    Without what a client hands to its children, and without what tells a program that it is
    inside of a multiplexer or an editor: this one may have been started in one of them, and
    `tmux attach` refuses to be nested. `token` is an activation token for the new window.
    """
    prefixes = (*_OF_CLIENTS, *_OF_MULTIPLEXERS, *_OF_EDITORS)
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _SINGLE and not name.startswith(prefixes)
    }
    if token:
        # The one for Wayland, the other for X11; a program takes what it knows.
        kept["XDG_ACTIVATION_TOKEN"] = kept["DESKTOP_STARTUP_ID"] = token
    return kept


def start(argv: Sequence[str], environ: Mapping[str, str], cwd: str | None = None) -> int | None:
    """Start a program and leave it to itself; raises `OSError` if that fails.

    Waits a moment: returns its exit code if it has ended by then, `None` if it runs.
    """
    process = subprocess.Popen(
        argv,
        cwd=cwd or os.sep,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(_FAILS_WITHIN)
    except subprocess.TimeoutExpired:
        # Somebody must wait for its end, or it stays as a zombie for as long as we run.
        threading.Thread(target=process.wait, name="started-program", daemon=True).start()
        return None

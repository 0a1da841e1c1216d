"""Opening a file or folder with what the person's desktop has for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT = 5.0
"""Seconds after which a program that still runs is taken to have opened it: xdg-open hands on to
others, which may stay in the foreground."""


class OpenError(Exception):
    """It could not be opened; the message says why, in one line."""


def open_path(path: str, environ: Mapping[str, str]) -> None:
    """Open `path` (absolute) with `xdg-open` or `gio open`; raises `OpenError`.

    What is opened runs on without us.
    """
    if not os.path.exists(path):
        raise OpenError(f"{path} is not there")
    for program in (("xdg-open",), ("gio", "open")):
        if shutil.which(program[0], path=environ.get("PATH")) is None:
            continue
        process = subprocess.Popen(
            [*program, path],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(_LIMIT)
        except subprocess.TimeoutExpired:
            # Somebody must wait for its end, or it stays as a zombie for as long as we run.
            threading.Thread(target=process.wait, name="opened", daemon=True).start()
            return
        if code == 0:
            return
        raise OpenError(f"{program[0]} cannot open {path}")
    raise OpenError("neither xdg-open nor gio is installed (Debian: xdg-utils)")

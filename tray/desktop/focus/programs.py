"""Running a terminal's or window system's own command, with a time limit and without a shell."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tray.desktop.focus.place import CALL_LIMIT, FocusError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def output(argv: Sequence[str], desktop: Mapping[str, str], *, limit: float = CALL_LIMIT) -> str:
    """Run a command to its end and return what it printed; raises `FocusError` if it fails.

    `limit` in seconds.
    """
    try:
        done = subprocess.run(
            argv,
            env=dict(desktop),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FocusError(f"{argv[0]} does not answer") from None
    except OSError as error:
        raise FocusError(f"{argv[0]} does not start ({error.strerror})") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
        raise FocusError(f"{argv[0]} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout.decode(errors="replace")

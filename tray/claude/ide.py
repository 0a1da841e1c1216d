"""The editors that Claude Code is connected to.

Claude's plug-in of an editor writes `~/.claude/ide/<port>.lock` for each window (whatever
CLAUDE_CONFIG_DIR says), and gives that port to the terminals in it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

PORT = "CLAUDE_CODE_SSE_PORT"
"""The variable by which a client in an editor's terminal knows the window's port."""
ENVIRONMENT = frozenset({PORT, "HOME"})
"""What of a client's environment tells its editor's window."""
_LIMIT = 1024 * 1024


class _Lock(msgspec.Struct, frozen=True):
    # There is a secret in it, too, which nobody here needs.
    folders: tuple[str, ...] = msgspec.field(name="workspaceFolders", default=())


def workspace_folders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders that are open in the window of a client with that environment.

    Empty where there is no such window, or where it does not tell.
    """
    port, home = environment.get(PORT, ""), environment.get("HOME", "")
    if not (port.isascii() and port.isdecimal() and os.path.isabs(home)):
        return ()
    try:
        with open(os.path.join(home, ".claude", "ide", f"{port}.lock"), "rb") as file:
            lock = msgspec.json.decode(file.read(_LIMIT), type=_Lock)
    except (OSError, ValueError):
        return ()
    return tuple(path for path in lock.folders if os.path.isabs(path) and "\0" not in path)

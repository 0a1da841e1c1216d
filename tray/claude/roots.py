"""Where Claude Code keeps its files: the config roots."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONFIG_DIR = "CLAUDE_CONFIG_DIR"
"""The environment variable by which a client is given another root."""

ENVIRONMENT = frozenset({CONFIG_DIR, "HOME"})
"""What of a client's environment tells its root."""


def root_of(environment: Mapping[str, str]) -> str | None:
    """Return the config root of a client with that environment, under its real path."""
    root = environment.get(CONFIG_DIR)
    if not root and environment.get("HOME"):
        root = os.path.join(environment["HOME"], ".claude")
    return os.path.realpath(root) if root and os.path.isabs(root) else None


def config_roots(
    home: str, environ: Mapping[str, str], of_processes: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return every config root, existing or not, each once under its real path.

    `of_processes` are the roots of live clients, by their own environments.
    """
    config_home = environ.get("XDG_CONFIG_HOME", "")
    candidates = [
        os.path.join(home, ".claude"),
        os.path.join(config_home if os.path.isabs(config_home) else f"{home}/.config", "claude"),
        environ.get(CONFIG_DIR, ""),
        *of_processes,
    ]
    found: dict[str, None] = {}
    for candidate in candidates:
        if os.path.isabs(candidate) and "\0" not in candidate:
            found.setdefault(os.path.realpath(candidate))
    return tuple(found)

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
    """Return the config root of a client with that environment."""
    root = environment.get(CONFIG_DIR) or os.path.join(environment.get("HOME", ""), ".claude")
    return root if _is_path(root) else None


def config_roots(
    home: str, environ: Mapping[str, str], of_processes: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return every config root, existing or not, each once under its real path.

    `of_processes` are the roots of live clients, by their own environments.
    """
    config_home = environ.get("XDG_CONFIG_HOME", "")
    candidates = (
        os.path.join(home, ".claude"),
        # Where some versions look first.
        os.path.join(config_home if _is_path(config_home) else f"{home}/.config", "claude"),
        environ.get(CONFIG_DIR, ""),
        *of_processes,
    )
    paths = {path: None for path in candidates if _is_path(path)}
    return tuple(dict.fromkeys(map(os.path.realpath, paths)))


def _is_path(path: str) -> bool:
    return os.path.isabs(path) and "\0" not in path

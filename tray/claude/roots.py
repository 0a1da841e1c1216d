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
    named = environment.get(CONFIG_DIR)
    return _real(named or os.path.join(environment.get("HOME", ""), ".claude"))


def config_roots(
    home: str, environ: Mapping[str, str], of_processes: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return every config root, existing or not, each once under its real path.

    `of_processes` are the roots of live clients, by their own environments.
    """
    candidates = (
        os.path.join(home, ".claude"),
        # Where some versions look first.
        os.path.join(_real(environ.get("XDG_CONFIG_HOME")) or f"{home}/.config", "claude"),
        environ.get(CONFIG_DIR),
        *of_processes,
    )
    found = (_real(candidate) for candidate in candidates)
    return tuple(dict.fromkeys(root for root in found if root is not None))


def _real(path: str | None) -> str | None:
    """Return the real path; `None` for what is no absolute one."""
    if path is None or not os.path.isabs(path) or "\0" in path:
        return None
    return os.path.realpath(path)

"""What has been counted before: a SQLite file in the cache folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.session import Problem


class Index:
    """The cache; whatever is wrong with it makes answers slower, never wrong. A context manager."""

    def __init__(self, path: str | None = None) -> None:
        """Open nothing yet; `path` is the cache folder's file unless given."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What keeps it from being used, at most one."""
        return ()

"""Real child processes that end with the test."""

from __future__ import annotations

import os
import resource
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a function that starts a program; what still runs is killed and waited for."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*argv: str, **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(argv, **options)  # type: ignore[call-overload]
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def no_descriptor_left() -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which this process can open nothing: EMFILE, for real."""

    @contextmanager
    def limited() -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return limited

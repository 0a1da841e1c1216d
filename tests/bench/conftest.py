"""What every measurement shares: the past on disk, the desktop, and how a figure is told."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import session_bus
from tests.bench.desk import Desk
from tests.bench.world import TRANSCRIPTS, write_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROCESSES = 400
"""Processes that run at least while it is measured."""
_told: list[str] = []


def machine() -> str:
    """The machine's size in a few words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB, Linux {platform.release()},"
        f" Python {platform.python_version()}"
    )


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line of figures at once, and again at the end of the run."""

    def tell(line: str) -> None:
        _told.append(line)
        with capsys.disabled():
            print(f"\n{line}")

    return tell


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _told:
        terminalreporter.section(f"figures ({machine()})")
        for line in _told:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def bystanders() -> Iterator[None]:
    """Other programs, so that as many processes run as on any desktop."""
    missing = PROCESSES - sum(name.isdecimal() for name in os.listdir("/proc"))
    started = [subprocess.Popen(["sleep", "infinity"]) for _ in range(missing)]
    yield
    for process in started:
        process.kill()
    for process in started:
        process.wait()


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Project folders with all transcripts but those of 20 live sessions (about 500 MB)."""
    folder = tmp_path_factory.mktemp("history")
    write_history(folder, TRANSCRIPTS - 20)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    if session_bus.MISSING is not None:
        pytest.skip(session_bus.MISSING)
    with Desk(tmp_path) as desk:
        yield desk

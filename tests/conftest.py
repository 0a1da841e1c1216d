"""What every test shares: which kinds of test run here, and a deadline to wait by.

`pytest` alone runs the units. `--desktop` and `--client` add the tests on a real desktop and
with the real client; `SESSIONBELL_REQUIRE=all` runs everything (`units`: just those) and fails
on any skip.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

# A slow or busy machine is no fault of the code.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    # CI looks further than somebody who waits.
    max_examples=100 if os.environ.get("SESSIONBELL_REQUIRE") else 30,
)
settings.load_profile("patient")

TESTS = Path(__file__).parent
NEEDS = {
    "desktop": "--desktop: xvfb dbus xfwm4 xfconf xfce4-panel xfce4-notifyd dunst xclip",
    "whole": "--whole: the whole application and its screens; dbus-daemon",
    "client": "--client: Node.js and the npm package @anthropic-ai/claude-code (see tests/client)",
    "bench": "--bench: measurements, not checks (see tests/bench)",
}
UNITS_AT_ONCE = 4
"""Units wait for buses and processes more than they compute."""


def required() -> bool:
    """Whether every chosen test must run for real here: a skip is then a failure."""
    return os.environ.get("SESSIONBELL_REQUIRE") in ("units", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    for kind in NEEDS:
        parser.addoption(f"--{kind}", action="store_true", help=f"run the {kind} tests too")


def _chosen(config: pytest.Config, kind: str) -> bool:
    everything = os.environ.get("SESSIONBELL_REQUIRE") == "all" and kind != "bench"
    return bool(config.getoption(f"--{kind}")) or everything


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run units side by side; what has a desktop, a client or a clock runs alone."""
    return 0 if any(_chosen(config, kind) for kind in NEEDS) else UNITS_AT_ONCE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        parts = item.path.relative_to(TESTS).parts if item.path.is_relative_to(TESTS) else ()
        kind = parts[0] if len(parts) > 1 and parts[0] in NEEDS else None
        if kind is not None:
            item.add_marker(getattr(pytest.mark, kind))
        (kept if kind is None or _chosen(config, kind) else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for kind, needs in NEEDS.items():
        if not _chosen(config, kind):
            terminalreporter.write_line(f"left out: the {kind} tests ({needs})")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    report = yield
    if required() and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where every test must run: {report.longrepr}"
    return report


def wait_until(condition: Callable[[], object], *, within: float = 5.0, what: str = "") -> object:
    """Poll `condition` until it is truthy and return its value; fail after `within` seconds."""
    deadline = time.monotonic() + within
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            pytest.fail(f"not within {within} s: {what or condition}")
        pause.wait(0.01)


@pytest.fixture(name="wait_until")
def _wait_until() -> Callable[..., object]:
    return wait_until


@pytest.fixture
def transcripts() -> Path:
    """The folder of real labelled transcripts (`$SESSIONBELL_TRANSCRIPTS`)."""
    default = TESTS.parent.parent / "shared" / "transcripts"
    folder = Path(os.environ.get("SESSIONBELL_TRANSCRIPTS", default))
    if not (folder / "labels.json").is_file():
        pytest.skip(f"no labelled transcripts at {folder}; set SESSIONBELL_TRANSCRIPTS")
    return folder

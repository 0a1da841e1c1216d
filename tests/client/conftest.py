"""The fixtures of the tests with the real client, in two versions, one after the other.

They are found by `SESSIONBELL_CLAUDE_OLD` (2.1.81, the kind that publishes no status) and
`SESSIONBELL_CLAUDE_NEW` (2.1.332).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.client.world import VERSIONS, World

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tests.client.session import Client

_failed = pytest.StashKey[bool]()


@pytest.fixture(scope="session", params=list(VERSIONS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    version = VERSIONS[request.param]
    variable = f"SESSIONBELL_CLAUDE_{request.param.upper()}"
    program = os.environ.get(variable)
    if program is None:
        pytest.skip(
            f"{variable} is not set: npm install --prefix FOLDER"
            f" @anthropic-ai/claude-code@{version}, then set it to"
            " FOLDER/node_modules/.bin/claude"
        )
    for needed in ("tmux", "dbus-daemon"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed: apt-get install tmux dbus")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith(f"{version} "), f"{variable} is {said.stdout}"
    with World(version, program) as world:
        world.leave_alone()
        yield world


@pytest.fixture
def client(world: World, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client at its prompt, shared by the tests that leave it so."""
    yield world.pooled()
    if request.node.stash.get(_failed, False):
        world.drop_pooled()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report

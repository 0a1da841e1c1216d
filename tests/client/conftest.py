"""The fixtures of the tests with the real client, in two versions, one after the other.

They are found by `SESSIONBELL_CLAUDE_OLD` (2.1.81, the kind that publishes no status) and
`SESSIONBELL_CLAUDE_NEW` (2.1.332).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from tests.client.product import Bell, Look
from tests.client.session import Client, Home, Terminals
from tests.client.stub import Stub

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from tests.client.stub import Answer

VERSIONS = {"old": "2.1.81", "new": "2.1.332"}
_failed = pytest.StashKey[bool]()


class World:
    """One version of the client with all that it needs, and the product that watches."""

    def __init__(self, version: str, program: str) -> None:
        self.version = version
        self._program = program
        self._pooled: Client | None = None
        self._clients: list[Client] = []
        self._names = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            # Not pytest's folder: its name is too long for the sockets made below it.
            folder = Path(tempfile.mkdtemp(prefix="sessionbell-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            self.stub = stack.enter_context(Stub())
            self.home = Home(folder / "home", self.stub.url)
            stack.callback(self.home.end_all)
            self.terminals = stack.enter_context(Terminals(folder))
            self.look = Look(self.home)
            self.bell = stack.enter_context(Bell(self.home, folder))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(
        self, project: str, *arguments: str, in_shell: bool = False, trusted: bool = True
    ) -> Client:
        """Start a client in a folder of that name; it is ended with the world."""
        mode = () if arguments else ("--permission-mode", "default")
        return Client(
            self.terminals,
            self.home,
            [self._program, *mode, *arguments],
            self.home.project(project, trusted=trusted),
            in_shell=in_shell,
        )

    def pooled(self) -> Client:
        """Return a client at its prompt, for tests that leave it so."""
        if self._pooled is None:
            self._pooled = self.start("desk").wait_for_prompt()
        return self._pooled

    def drop_pooled(self) -> None:
        """Have the next test start a client of its own."""
        if self._pooled is not None:
            self._pooled.kill()
            self._pooled = None

    def ask(self, client: Client, *answers: Answer, words: str = "please") -> str:
        """Type a prompt that is answered so; return the name of these answers."""
        self._names += 1
        name = f"turn{self._names}"
        client.type(f"{words} {self.stub.teach(name, *answers)}")
        return name


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


def only(version: str) -> pytest.MarkDecorator:
    """Run a test with one version alone."""
    return pytest.mark.parametrize("world", [version], indirect=True)

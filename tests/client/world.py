"""One version of the client with all that a test needs of it, and the product that watches."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from tests.client.product import Bell, Look
from tests.client.session import Client, Home, Terminals
from tests.client.stub import Stub, bash, say, use

if TYPE_CHECKING:
    from tests.client.stub import Answer

_MCP_SERVER = str(Path(__file__).with_name("mcp_server.py"))
LEFT_ALONE = "away"
LEFT_ALONE_SAYS = "The shed is painted."
VERSIONS = {"old": "2.1.81", "new": "2.1.332"}
ONLY_OLD = pytest.mark.parametrize("world", ["old"], indirect=True)
"""Run a test with the version that publishes no status alone."""
ONLY_NEW = pytest.mark.parametrize("world", ["new"], indirect=True)
"""Run a test with the current version alone."""


class World:
    """One version of the client with all that it needs, and the product that watches."""

    def __init__(self, version: str, program: str) -> None:
        self.version = version
        self.program = program
        self._pooled: Client | None = None
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
            [self.program, *mode, *arguments],
            self.home.project(project, trusted=trusted),
            in_shell=in_shell,
        )

    def with_server(self, name: str, tool: str) -> tuple[str, ...]:
        """Return the arguments that give a client the server of `mcp_server.py`."""
        server = {"command": sys.executable, "args": [_MCP_SERVER, name, tool]}
        path = self.home.folder / f"{name}.json"
        path.write_text(json.dumps({"mcpServers": {name: server}}))
        return ("--permission-mode", "default", "--mcp-config", str(path))

    def pooled(self) -> Client:
        """Return a client at its prompt, for tests that leave it so."""
        if self._pooled is None:
            self._pooled = self.start("desk").wait_for_prompt()
        return self._pooled

    def leave_alone(self) -> None:
        """Have a client work, until `LEFT_ALONE`'s gate is opened, with nobody before it."""
        self.left_alone = self.start("shed").wait_for_prompt()
        working = use(bash("sleep 0.5")), say(LEFT_ALONE_SAYS, gated=True)
        self.left_alone.type(f"please {self.stub.teach(LEFT_ALONE, *working)}")

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

    def wait_asked(self, client: Client, name: str, step: int = 0) -> None:
        """Wait until that step of these answers has been asked for."""
        client.wait(lambda: f"{name}/{step}" in self.stub.asked, f"a request for {name}/{step}")

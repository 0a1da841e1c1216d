"""The real client in a pane of a private tmux server, with a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tray.system.processes import children, read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEY = "sk-ant-made-up-key-of-a-test-0123456789"
PATIENCE = 40.0
"""Seconds to wait for something on the screen, at most."""


class Home:
    """A made-up person's home: settings, projects, and the config root below it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.root = folder / ".claude"
        self.root.mkdir(parents=True)
        self._projects: dict[str, object] = {}

    def project(self, name: str, *, trusted: bool = True) -> Path:
        """Make a folder to work in, which the client has been told to trust."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        if trusted:
            self._projects[str(folder)] = {
                "hasTrustDialogAccepted": True,
                "hasCompletedProjectOnboarding": True,
            }
        self._write_state()
        return folder

    def settings(self, **values: object) -> None:
        """Write the person's settings (hooks)."""
        (self.root / "settings.json").write_text(json.dumps(values))

    @property
    def environment(self) -> dict[str, str]:
        """All that a client or the tray has in its environment."""
        return {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def _write_state(self) -> None:
        state: dict[str, object] = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "lastOnboardingVersion": "9.9.9",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": self._projects,
        }
        path = self.folder / ".claude.json"
        with contextlib.suppress(OSError, ValueError):
            state = json.loads(path.read_text()) | {"projects": self._projects}
        path.write_text(json.dumps(state))


class Terminals:
    """A tmux server of our own; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "tmux"
        self._names = (f"t{number}" for number in range(1000))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call("kill-server", check=False)

    def call(self, *arguments: str, check: bool = True) -> str:
        # Its own environment is not to be found in any pane.
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", str(self._socket), *arguments],
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def open(self, command: Sequence[str], cwd: Path, environment: dict[str, str]) -> str:
        """Run a command in a new pane; return the pane's name."""
        name = next(self._names)
        assignments = [f"{key}={value}" for key, value in environment.items()]
        self.call(
            *("new-session", "-d", "-s", name, "-x", "160", "-y", "50", "-c", str(cwd)),
            *("env", "-i", *assignments, *command),
        )
        return name


class Client:
    """One client in its terminal."""

    def __init__(
        self,
        terminals: Terminals,
        home: Home,
        command: Sequence[str],
        cwd: Path,
        *,
        in_shell: bool = False,
    ) -> None:
        """Start it; `in_shell`: from an interactive shell, which can suspend it."""
        self._terminals = terminals
        self.home = home
        self.cwd = cwd
        started = ["bash", "--norc", "-i"] if in_shell else list(command)
        self.pane = terminals.open(started, cwd, home.environment)
        self.pid = int(terminals.call("display-message", "-p", "-t", self.pane, "#{pane_pid}"))
        if in_shell:
            self.type(" ".join(command))
            self.wait(lambda: children(self.pid), "a client in the shell")
            self.pid = children(self.pid)[0].pid

    def wait(self, condition: Callable[[], object], what: str) -> Any:
        """Wait for a condition, with all that a person would want to know if it stays away."""
        deadline = time.monotonic() + PATIENCE
        while not (value := condition()):
            if time.monotonic() > deadline:
                pytest.fail(f"not within {PATIENCE} s: {what}; {self.describe()}")
            time.sleep(0.02)
        return value

    def describe(self) -> str:
        return f"record {self.record()}, screen:\n{self.screen()}"

    def screen(self) -> str:
        return self._terminals.call("capture-pane", "-p", "-t", self.pane, check=False)

    def wait_for(self, *texts: str) -> None:
        """Wait until all these texts stand on the screen."""
        self.wait(lambda: all(text in self.screen() for text in texts), f"{texts} on the screen")

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names."""
        self._terminals.call("send-keys", "-t", self.pane, *names)

    def write(self, text: str) -> None:
        self._terminals.call("send-keys", "-t", self.pane, "-l", text)

    def type(self, text: str) -> None:
        """Write a line, see it on the screen, and enter it."""
        self.write(text)
        self.wait(lambda: text[-30:] in self.screen(), f"{text!r} in the input line")
        self.keys("Enter")

    def record(self) -> dict[str, Any]:
        """Read the client's registry record; empty if there is none, or while it is written."""
        try:
            found = json.loads((self.home.root / "sessions" / f"{self.pid}.json").read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def lives(self) -> bool:
        return read_process(self.pid) is not None

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

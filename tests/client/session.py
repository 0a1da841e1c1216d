"""The real client in a pane of a private tmux server, with a home of its own."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tray.system.processes import children, read_process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEY = "sk-ant-made-up-key-of-a-test-0123456789"
PATIENCE = 40.0
"""Seconds to wait at most for what must come: a busy machine is no fault."""
_PROMPT = re.compile(r"^❯", re.MULTILINE)
_FOOTERS = ("? for shortcuts", "← for agents", "/tasks", "shift+tab to cycle", "manual mode on")
_RULE = re.compile(r"^\s*[─▔]{20,}\s*$")
_CURSOR = re.compile(r"^\s*❯")
_DEAF = 1.2
"""Seconds for which a dialog that has just opened may ignore keys."""
_IN_VAIN = 5.0
"""Seconds after which a key that changed nothing was not heard."""


class Home:
    """A made-up person's home: their projects, settings, and Claude Code's config root."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.root = folder / ".claude"
        self.root.mkdir(parents=True)
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "lastOnboardingVersion": "9.9.9",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            # Whoever trusts a folder trusts all below it. Once a client runs, the file is its own.
            "projects": {str(folder / "projects"): trusted},
        }
        (folder / ".claude.json").write_text(json.dumps(state))
        self.environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": url,
            # Nothing but the stub is to be called.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_INSTALLATION_CHECKS": "1",
            "npm_config_registry": url,
        }

    def project(self, name: str, *, trusted: bool = True) -> Path:
        """Make a folder to work in; the client has been told whether to trust it."""
        folder = self.folder / ("projects" if trusted else "downloads") / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def end_all(self) -> None:
        """Kill what was started in this home and still lives, and remove what it leaves in /tmp."""
        mark = f"HOME={self.folder}".encode()
        left = set(Path("/tmp").glob(f"claude-*/{re.sub('[^A-Za-z0-9]', '-', str(self.folder))}-*"))
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes()
                arguments = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
            except OSError:
                continue
            if mark in environment.split(b"\0"):
                left.update(map(Path, re.findall(r"/tmp/cc-daemon-\d+/\w+", arguments)))
                left.add(Path(f"/tmp/cc-socks/{pid}.sock"))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        for path in left:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class Terminals:
    """A tmux server of our own; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")
        self._names = (f"t{number}" for number in itertools.count())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call("kill-server", check=False)

    def call(self, *arguments: str, check: bool = True) -> str:
        """Run a command of tmux; return what it prints."""
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self._socket, *arguments],
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
    """One client in its terminal, and the person before it."""

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
        self._pane = terminals.open(started, cwd, home.environment)
        self.pid = int(terminals.call("display-message", "-p", "-t", self._pane, "#{pane_pid}"))
        if in_shell:
            self.type(" ".join(command))
            self.pid = self.wait(lambda: children(self.pid), "a client in the shell")[0].pid

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until a condition is truthy and return its value; else say how things stand."""
        deadline = time.monotonic() + PATIENCE
        while not (value := condition()):
            if time.monotonic() > deadline:
                pytest.fail(f"not within {PATIENCE} s: {what}\n{self.describe()}")
            time.sleep(0.02)
        return value

    def describe(self) -> str:
        lines = filter(str.strip, self.screen().splitlines())
        return "\n".join((f"record: {self.record()}", "screen:", *lines))

    def screen(self) -> str:
        return self._terminals.call("capture-pane", "-p", "-t", self._pane, check=False)

    def wait_for(self, *texts: str) -> None:
        """Wait until all these texts stand on the screen."""
        self.wait(lambda: all(text in self.screen() for text in texts), f"{texts} on the screen")

    def at_prompt(self) -> bool:
        """Whether it waits for a prompt."""
        screen = self.screen()
        lines = [line for line in screen.splitlines() if line.strip()]
        return (
            bool(_PROMPT.search(screen))
            and any(text in line for line in lines[-2:] for text in _FOOTERS)
            and "esc to interrupt" not in screen
        )

    def wait_for_prompt(self) -> Self:
        """Wait until it has started, and its record is there."""
        self.wait(lambda: self.at_prompt() and self.record(), "its prompt and its record")
        return self

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names."""
        self._terminals.call("send-keys", "-t", self._pane, *names)

    def write(self, text: str) -> None:
        """Write text, and see it on the screen."""
        self._terminals.call("send-keys", "-t", self._pane, "-l", text)
        self.wait(lambda: text[-30:] in self.screen(), f"{text!r} in the input line")

    def type(self, text: str) -> None:
        """Write a line and enter it."""
        self.write(text)
        self.keys("Enter")

    def command(self, name: str) -> None:
        """Enter one of the client's own commands, once the client has recognised it."""
        self.write(name)
        offered = re.compile(re.escape(name) + r"\b.*?\s{2,}\S")
        self.wait(lambda: offered.search(self.screen()), f"{name} among the commands")
        self.keys("Enter")

    def dialog(self) -> tuple[str, ...]:
        """Return what there is to answer: from the last rule above the cursor on."""
        lines = [line.rstrip() for line in self.screen().splitlines() if line.strip()]
        cursor = max((at for at, line in enumerate(lines) if _CURSOR.match(line)), default=0)
        above = [at for at, line in enumerate(lines[:cursor]) if _RULE.match(line)]
        return tuple(line for line in lines[max(above, default=0) :] if "Tip:" not in line)

    def press(self, *names: str, until: re.Pattern[str] | None = None) -> None:
        """Press keys that bring up another dialog, or what is wanted.

        A dialog that has just opened does not hear them yet, so it must first have stood for a
        while; only if nothing comes of it for long they are pressed again.
        """
        before = self.dialog()
        stood_since = pressed_at = time.monotonic()
        pressed = False

        def done() -> bool:
            nonlocal before, stood_since, pressed, pressed_at
            now = time.monotonic()
            dialog = self.dialog()
            if until is not None and any(map(until.search, dialog)):
                return True
            if dialog != before:
                if pressed and until is None:
                    return True
                before, stood_since, pressed = dialog, now, False
            elif now - stood_since > _DEAF and (not pressed or now - pressed_at > _IN_VAIN):
                pressed, pressed_at = True, now
                self.keys(*names)
            return False

        self.wait(done, f"what {names} should do")

    def approve(self, asked: str = "Do you want to proceed?") -> None:
        """Choose the first answer of a prompt."""
        self.wait_for(asked)
        self.press("Enter")

    def record(self) -> dict[str, Any]:
        """Read the client's registry record; empty if there is none, or while it is written."""
        try:
            found = json.loads((self.home.root / "sessions" / f"{self.pid}.json").read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def lives(self) -> bool:
        return read_process(self.pid) is not None

    def kill(self) -> None:
        """End it as a crash would."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close_terminal(self) -> None:
        """Close the terminal under it, as a click on the window's corner does."""
        self._terminals.call("kill-pane", "-t", self._pane)

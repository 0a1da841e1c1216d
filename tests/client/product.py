"""The product beside the clients: what a survey finds, and what the running tray notifies."""

from __future__ import annotations

import html
import os
import subprocess
import time
from typing import TYPE_CHECKING, Self

import pytest

from tests.bench.desk import SESSIONBELL, Desk
from tests.client.session import PATIENCE
from tray.claude.survey import Surveyor
from tray.session import Reason, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.session import Client, Home
    from tray.session import Observation

WORKING = (State.WORKING, None)
IDLE = (State.IDLE, None)
TURN_OVER = (State.NEEDS_INPUT, Reason.TURN_OVER)
ERROR = (State.NEEDS_INPUT, Reason.ERROR)
PERMISSION = (State.NEEDS_INPUT, Reason.PERMISSION)
QUESTION = (State.NEEDS_INPUT, Reason.QUESTION)
PLAN = (State.NEEDS_INPUT, Reason.PLAN)
INPUT = (State.NEEDS_INPUT, Reason.INPUT)


class Look:
    """Looks at one config root with the product's survey."""

    def __init__(self, home: Home) -> None:
        self._surveyor = Surveyor(roots=[str(home.root)])
        self._seen: list[str] = []

    def rows(self) -> tuple[Observation, ...]:
        snapshot = self._surveyor.survey()
        assert not snapshot.problems
        return snapshot.sessions

    def row(self, pid: int) -> Observation | None:
        return next((row for row in self.rows() if row.pid == pid), None)

    def until(
        self,
        client: Client,
        wanted: tuple[State, Reason | None],
        *,
        detail: str | None = None,
        where: Callable[[Observation], object] | None = None,
    ) -> Observation:
        """Wait until a client's row has that state, reason and detail; return it.

        `where`: what else must hold of the row.
        """

        def found() -> Observation | None:
            row = self.row(client.pid)
            self._note(row)
            right = (
                row is not None
                and (row.state, row.reason) == wanted
                and (detail is None or row.detail == detail)
                and (where is None or where(row))
            )
            return row if right else None

        deadline = time.monotonic() + PATIENCE
        while (row := found()) is None:
            if time.monotonic() > deadline:
                seen = "\n".join(self._seen[-12:])
                pytest.fail(f"never {wanted} {detail or ''}; seen:\n{seen}\n{client.describe()}")
            time.sleep(0.02)
        return row

    def until_gone(self, client: Client) -> None:
        """Wait until a client has no row."""
        client.wait(lambda: self.row(client.pid) is None, "no row")

    def _note(self, row: Observation | None) -> None:
        text = (
            f"{row.state} {row.reason} {row.detail!r} unseen={row.unseen} {row.source}"
            if row is not None
            else "no row"
        )
        if not self._seen or self._seen[-1] != text:
            self._seen.append(text)


class Bell:
    """The running tray on a bus of its own, and the notifications it shows; a context manager."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._home = home
        self._folder = folder
        self._desk = Desk(folder)

    def __enter__(self) -> Self:
        self._desk.__enter__()
        # The tests type at their clients just before these ask: that is no reason to wait here.
        settings = self._folder / "config" / "sessionbell" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("[holds]\npresence = 0\n")
        environment = self._home.environment | {
            "DBUS_SESSION_BUS_ADDRESS": self._desk.address,
            "XDG_RUNTIME_DIR": str(self._folder),
            "XDG_CONFIG_HOME": str(self._folder / "config"),
        }
        self._log = self._folder / "tray.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*SESSIONBELL, "run", "--root", str(self._home.root)],
                env=environment,
                cwd=os.getcwd(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        assert self._desk.registered.wait(PATIENCE), self._log.read_text()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        code = self._process.wait(10)
        self._desk.__exit__()
        assert code == 0, self._log.read_text()

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Title and text of each bubble on the screen."""
        bubbles = list(self._desk.daemon.screen.values())
        return [(bubble[3], html.unescape(bubble[4])) for bubble in bubbles]

    @property
    def told(self) -> list[tuple[str, str]]:
        """Title and text of everything ever shown, in order."""
        calls = list(self._desk.daemon.calls)
        return [(body[3], html.unescape(body[4])) for name, body in calls if name == "Notify"]

    def told_of(self, project: str, since: int = 0) -> list[tuple[str, str]]:
        """What was told of one project, after the first `since` notifications."""
        return [(title, text) for title, text in self.told[since:] if title.startswith(project)]

    def wait_shown(self, title: str, text: str = "") -> None:
        """Wait until a bubble with that title and text stands on the screen."""
        self._wait(lambda: self._has(title, text), f"a bubble {title!r} {text!r}")

    def wait_gone(self, title: str, text: str = "") -> None:
        """Wait until no bubble with that title and text stands on the screen."""
        self._wait(lambda: not self._has(title, text), f"{title!r} {text!r} withdrawn")

    def _has(self, title: str, text: str) -> bool:
        return any(title == shown and text in body for shown, body in self.shown)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(
                    f"not within {PATIENCE} s: {what}; shown: {self.shown};"
                    f" told last: {self.told[-5:]}; log: {self._log.read_text()[-2000:]}"
                )
            time.sleep(0.02)

"""How long `sessionbell list --json` takes, against the client's own list in the same run."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.bench.desk import SESSIONBELL, client_environment
from tests.bench.world import TRANSCRIPTS, start_sessions, world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

RUNS = 21
BUDGET = 0.6
"""Median wall time by the client's."""


def test_list(history: Path, report: Callable[[str], None]) -> None:
    client = os.environ.get("SESSIONBELL_CLAUDE_NEW") or shutil.which("claude")
    if client is None:
        pytest.skip("no Claude Code; set SESSIONBELL_CLAUDE_NEW to its program")
    with world(history) as stage:
        sessions = start_sessions(stage, 20)
        for session in sessions[:4]:
            session.prompt("Work on this")
        for session in sessions[4:6]:
            session.ask("Bash", {"command": "npm publish"})
        environment = client_environment(stage) | {
            "ANTHROPIC_API_KEY": "sk-ant-made-up",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        commands = {
            "ours": [*SESSIONBELL, "list", "--json", "--root", stage.root],
            "theirs": [client, "agents", "--json"],
            "python": [*SESSIONBELL[:1], "-c", "pass"],
        }
        found: dict[str, int] = {}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for run in range(RUNS + 2):
            for name, command in commands.items():
                seconds, output = _time(command, environment)
                if run >= 2:  # the first ones fill caches
                    times[name].append(seconds)
                found[name] = len(json.loads(output or "[]"))
    ours, theirs, python = (statistics.median(times[name]) for name in commands)
    report(
        f"list --json, 20 sessions, {TRANSCRIPTS} transcripts, median of {RUNS}:"
        f" {1000 * ours:.0f} ms; claude agents --json {1000 * theirs:.0f} ms"
        f" ({found['theirs']} sessions); ratio {ours / theirs:.2f} (budget {BUDGET});"
        f" an empty Python {1000 * python:.0f} ms"
    )
    assert found["ours"] == 20
    assert ours / theirs < 2 * BUDGET


def _time(command: Sequence[str], environment: dict[str, str]) -> tuple[float, bytes]:
    began = time.perf_counter()
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    seconds = time.perf_counter() - began
    assert done.returncode == 0, done.stderr.decode()
    return seconds, done.stdout

"""How long past sessions take: the first count, the index, the search; against peers in turns."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.bench.desk import SESSIONBELL
from tests.bench.trees import Truth, write_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

FILES = int(os.environ.get("SESSIONBELL_BENCH_FILES", "3103"))
RUNS = 7
WORDS = "Privet zuzu"
"""Planted in a few prompts; no other text has it."""


class Tree(NamedTuple):
    root: Path
    truths: list[Truth]
    bytes: int


class Run(NamedTuple):
    seconds: float
    cpu: float
    """Seconds, of the process and of all that it started."""
    peak: float
    """MB: the largest process's, as `wait4` tells it."""
    output: bytes


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    root = tmp_path_factory.mktemp("past")
    truths = write_tree(root, FILES, median=22_000, spread=1.9)
    for truth in truths[:: max(FILES // 12, 1)]:
        with open(truth.path, "a", encoding="utf-8") as file:
            message = {"role": "user", "content": f"tell me of {WORDS}, please"}
            line = {"type": "user", "message": message, "cwd": truth.cwd}
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    size = sum(os.stat(truth.path).st_size for truth in truths)
    yield Tree(root, truths, size)
    shutil.rmtree(root)


def clean() -> dict[str, str]:
    """Return the environment without what makes Python compile its modules at each start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(command: Sequence[str], environment: dict[str, str]) -> Run:
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status in (0, 256), command
    seconds = time.perf_counter() - began
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def in_turns(
    commands: dict[str, Sequence[str]], environment: dict[str, str], before: Callable[[str], None]
) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(RUNS + 1):
        for name, command in commands.items():
            before(name)
            run = timed(command, environment)
            if number:  # the first ones fill caches
                runs[name].append(run)
    return runs


def median(runs: Sequence[Run]) -> float:
    return statistics.median(run.seconds for run in runs)


def cpu(runs: Sequence[Run]) -> float:
    """Return the least: whatever else runs on the machine only adds to it."""
    return min(run.cpu for run in runs)


def test_history(tree: Tree, tmp_path: Path, report: Callable[[str], None]) -> None:
    """`SESSIONBELL_AGENT_SDK` names a Python that has `claude_agent_sdk`, to compare with."""
    cache = tmp_path / "cache"
    environment = clean() | {"XDG_CACHE_HOME": str(cache), "CLAUDE_CONFIG_DIR": str(tree.root)}
    ours = [*SESSIONBELL, "history", "--json", "--limit", "0", "--root", str(tree.root)]
    listing = "import claude_agent_sdk as s, time; b = time.perf_counter(); n = len(s.list_sessions"
    listing += "()); print(time.perf_counter() - b, n)"
    commands: dict[str, Sequence[str]] = {
        "cold": ours,
        "warm": ours,
        "table": [*SESSIONBELL, "history", "--root", str(tree.root)],
        "one more": ours,
        "cat": ["sh", "-c", f"cat {tree.root}/projects/*/*.jsonl > /dev/null"],
        "python": [sys.executable, "-c", "pass"],
    }
    peer = os.environ.get("SESSIONBELL_AGENT_SDK")
    if peer:
        commands["sdk"] = [peer, "-c", listing]
    extra = tree.root / "projects" / "-more" / "00000000-0000-4000-8000-000000000000.jsonl"
    extra.parent.mkdir(exist_ok=True)

    def before(name: str) -> None:
        if name == "cold":
            shutil.rmtree(cache, ignore_errors=True)
            extra.unlink(missing_ok=True)
        elif name == "one more":
            shutil.copy(tree.truths[0].path, extra)

    runs = in_turns(commands, environment, before)
    cat, cold = median(runs["cat"]), median(runs["cold"])
    megabytes = tree.bytes / 1e6
    peak = max(run.peak for run in runs["cold"])
    report(
        f"history, {FILES} files, {megabytes:.0f} MB, no index: {cold:.2f} s, {peak:.0f} MB;"
        f" by cat ({cat:.2f} s): {cold / cat:.1f} (budget 6)"
    )
    used = {name: cpu(found) for name, found in runs.items()}
    report(
        f"  CPU: {used['cold']:.2f} s on {len(os.sched_getaffinity(0))} cores;"
        f" by cat ({used['cat']:.2f} s): {used['cold'] / used['cat']:.1f}"
    )
    if peer:
        theirs = statistics.median(float(run.output.split()[0]) for run in runs["sdk"])
        report(f"  by claude_agent_sdk.list_sessions ({theirs:.2f} s): {cold / theirs:.2f} (0.7)")
        report(f"  CPU of a whole program that calls it: {used['sdk']:.2f} s")
        assert cold / theirs < 2 * 0.7
    for name, budget in (("warm", 0.15), ("table", 0.15), ("one more", 0.2)):
        report(
            f"  {name}: {1000 * median(runs[name]):.0f} ms (budget {1000 * budget:.0f}),"
            f" CPU {1000 * used[name]:.0f} ms"
        )
        assert median(runs[name]) < 2 * budget * max(FILES / 3103, 1)
    report(f"  an empty Python: {1000 * median(runs['python']):.0f} ms")
    found = {one["session_id"]: one for one in json.loads(runs["cold"][-1].output)}
    expected = [truth for truth in tree.truths if not truth.skipped]
    wrong = [t for t in expected[1:] if abs(found[t.session_id]["turns"] - t.turns) > 1]
    assert not wrong
    assert cold / cat < 2 * 6
    assert peak < 2 * 150


@pytest.mark.parametrize("words", [WORDS, "kubernetes", "babaco"])
def test_search(tree: Tree, tmp_path: Path, report: Callable[[str], None], words: str) -> None:
    if shutil.which("rg") is None:
        pytest.skip("no ripgrep")
    environment = clean() | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    commands: dict[str, Sequence[str]] = {
        "ours": [*SESSIONBELL, "history", "--search", words, "--json", "--root", str(tree.root)],
        "rg": ["rg", "--ignore-case", "--fixed-strings", words, str(tree.root / "projects")],
    }
    runs = in_turns(commands, environment, lambda _: None)
    ours, theirs = median(runs["ours"]), median(runs["rg"])
    found = sum(one["matches"] for one in json.loads(runs["ours"][-1].output))
    report(
        f"search for {words!r}: {ours:.2f} s, {found} matches; by ripgrep ({theirs:.2f} s):"
        f" {ours / theirs:.1f} (budget 6), CPU {cpu(runs['ours']):.2f} and {cpu(runs['rg']):.2f} s"
    )
    assert ours / theirs < 2 * 6

"""`watch` as a script and a person see it: real processes, real files, real pipes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tray import __version__
from tray.demo.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = "from tray.cli.main import main; main()"


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


class Reader:
    """The lines of a process's output, each with a deadline."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._rest = b""

    def line(self, within: float = 10.0) -> dict[str, Any]:
        deadline = time.monotonic() + within
        while b"\n" not in self._rest:
            ready, _, _ = select.select(
                [self.process.stdout], [], [], max(deadline - time.monotonic(), 0)
            )
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                pytest.fail(f"no line within {within} s; so far {self._rest!r}")
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def until(self, event: str, **session: object) -> dict[str, Any]:
        """Read on to the next `event` whose session has these values."""
        while True:
            line = self.line()
            found = line.get("session") or {}
            if line["event"] == event and all(found[key] == session[key] for key in session):
                return line


@contextlib.contextmanager
def watching(stage: Stage, code: str = RUN) -> Iterator[Reader]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, "watch", "--json", "--root", stage.root],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Reader(process)
        finally:
            process.kill()


def test_every_change_is_told_as_it_happens(stage: Stage) -> None:
    shop = stage.session("shop-api", "release")
    shop.prompt("publish it", ago=30)
    with watching(stage) as reader:
        assert reader.line() == {"event": "hello", "schema": 1, "version": __version__}
        first = reader.line()
        assert first["event"] == "snapshot"
        assert [row["state"] for row in first["sessions"]] == ["working"]

        shop.ask("Bash", {"command": "npm publish"})
        asks = reader.until("transition", reason="permission")
        assert asks["from"] == {"state": "working", "reason": None}
        if asks["session"]["detail"] is None:  # the record was read before its transcript
            asks = reader.until("changed", reason="permission")
        assert asks["session"]["detail"] == "Bash: npm publish"

        shop.answered("ok")
        works = reader.until("transition", state="working")
        assert works["from"] == {"state": "needs_input", "reason": "permission"}

        docs = stage.session("docs")
        assert reader.until("appeared", pid=docs.pid)["session"]["project"] == "docs"
        docs.quit()
        assert reader.until("ended", pid=docs.pid)["how"] == "exit"

        shop.finish("published")
        reader.until("transition", reason="turn_over")
        shop.prompt("more")
        reader.until("transition", state="working")
        shop.kill()
        assert reader.until("ended", pid=shop.pid)["how"] == "killed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_when_told_to(stage: Stage, number: signal.Signals) -> None:
    stage.session("shop")
    with watching(stage) as reader:
        reader.line()
        reader.line()
        reader.process.send_signal(number)
        out, err = reader.process.communicate(timeout=10)
        assert (reader.process.returncode, out, err) == (0, b"", b"")


def test_it_ends_as_soon_as_nobody_reads(stage: Stage) -> None:
    with watching(stage) as reader:
        reader.line()
        reader.line()
        reader.process.stdout.close()
        assert reader.process.wait(timeout=10) == 0
        assert reader.process.stderr.read() == b""


def test_silence_is_broken_by_a_heartbeat(stage: Stage) -> None:
    code = f"import tray.cli.watch as watch; watch.HEARTBEAT = 0.1; {RUN}"
    with watching(stage, code) as reader:
        assert [reader.line()["event"] for _ in range(4)] == [
            "hello",
            "snapshot",
            "heartbeat",
            "heartbeat",
        ]


def test_a_source_that_fails_is_told(stage: Stage) -> None:
    code = f"""
from tray.system import watches
from tray.session import Problem
watches.FolderWatch.check = lambda self: (Problem("inotify-watches", "no more watches"),)
{RUN}
"""
    with watching(stage, code) as reader:
        while (line := reader.line())["event"] != "health":
            pass
        assert (line["ok"], line["code"]) == (False, "inotify-watches")


def test_a_pipe_without_json_gets_a_line_a_change(stage: Stage) -> None:
    shop = stage.session("shop-api")
    shop.prompt("publish it", ago=30)
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "watch", "--root", stage.root],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            head = [process.stdout.readline() for _ in range(2)]
            assert head[0].split()[:3] == ["STATE", "PROJECT", "BRANCH"]
            assert head[1].startswith("● working")
            shop.ask("Bash", {"command": "npm publish"})
            assert re.match(r"\d\d:\d\d:\d\d  shop-api: permission", process.stdout.readline())
            shop.kill()
            while "ended (killed)" not in process.stdout.readline():
                assert process.poll() is None
        finally:
            process.kill()


@contextlib.contextmanager
def bar(stage: Stage, *arguments: str) -> Iterator[Callable[[], str]]:
    """Run `watch` with `arguments`; yield what reads its next line, with a deadline."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "watch", *arguments, "--root", stage.root],
        stdout=subprocess.PIPE,
    )

    def line() -> str:
        assert select.select([process.stdout], [], [], 10)[0], "no line within 10 s"
        return process.stdout.readline().decode().rstrip("\n")

    with process:
        try:
            yield line
        finally:
            process.kill()


def test_waybar_gets_a_line_at_once_and_at_each_change(stage: Stage) -> None:
    shop = stage.session("shop-api")
    shop.prompt("publish it", ago=30)
    with bar(stage, "--waybar") as line:
        first = json.loads(line())
        assert set(first) == {"text", "alt", "class", "tooltip", "percentage"}
        assert (first["text"], first["class"]) == ("1", "working")
        shop.ask("Bash", {"command": "npm publish && echo <done>"})
        asks = json.loads(line())
        if "npm" not in asks["tooltip"]:  # the record was read before its transcript
            asks = json.loads(line())
        assert (asks["text"], asks["class"], asks["percentage"]) == ("1", "blocked", 100)
        assert "npm publish &amp;&amp; echo &lt;done&gt;" in asks["tooltip"]
        shop.quit()
        while (ended := json.loads(line()))["class"] != "none":
            pass
        assert ended["text"] == ""


def test_a_template_is_filled_in_anew_only_when_it_says_something_else(stage: Stage) -> None:
    shop, docs = stage.session("shop-api"), stage.session("docs")
    shop.prompt("publish it", ago=30)
    docs.prompt("write", ago=30)
    with bar(stage, "--format", "{blocked}/{total} {project}") as line:
        assert line() == "0/2 "
        docs.status("idle")  # changes a state, but nothing that is named
        shop.ask("Bash", {"command": "npm publish"})
        assert line() == "1/2 shop-api"
        shop.answered("ok")
        assert line() in ("0/2 ", "0/2 docs")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "{waiting}"), "there is no {waiting}; there are blocked"),
        (("--waybar", "--json"), "exclude each other"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "watch", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr


def test_a_terminal_gets_a_table_that_follows(
    stage: Stage, wait_until: Callable[..., object]
) -> None:
    shop = stage.session("shop-api")
    shop.prompt("publish it", ago=30)
    master, slave = pty.openpty()
    subprocess.run(["stty", "cols", "80", "rows", "24"], stdin=slave, check=True)
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "watch", "--root", stage.root],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        | {"TERM": "xterm"},
        start_new_session=True,
    )
    os.close(slave)
    seen = ""

    def shows(text: str) -> bool:
        nonlocal seen
        if select.select([master], [], [], 0.01)[0]:
            seen += os.read(master, 65536).decode()
        return text in seen

    with process:
        try:
            wait_until(lambda: shows("● working"), within=10)
            shop.ask("Bash", {"command": "npm publish"})
            wait_until(lambda: shows("Bash: npm publish"), within=10)
            wait_until(lambda: shows("Ctrl-C ends"), within=10)
            process.send_signal(signal.SIGINT)
            # The cursor is shown again.
            wait_until(lambda: shows("\x1b[?25h"), within=10)
            assert process.wait(timeout=10) == 0
        finally:
            process.kill()
    os.close(master)
    assert "Traceback" not in seen

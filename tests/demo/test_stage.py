"""The make-believe sessions are real processes and files, and nothing is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tray.demo.stage import Stage
from tray.demo.story import STORY, open_scene
from tray.system.git import checkout
from tray.system.processes import environment, is_alive, pid_domain, read_process

if TYPE_CHECKING:
    from collections.abc import Callable


def record(path: str) -> dict[str, object]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_a_session_is_a_live_process_called_claude_at_its_own_terminal(
    wait_until: Callable[..., object],
) -> None:
    with Stage() as stage:
        session = stage.session("shop", "release")
        # For a moment after it has become another program, a process has no arguments yet.
        wait_until(lambda: read_process(session.pid).argv)
        process = read_process(session.pid)
        assert (process.comm, process.argv) == ("claude", ("claude",))
        assert process.cwd == session.origin.cwd
        assert environment(session.pid, {"CLAUDE_CONFIG_DIR"}) == {"CLAUDE_CONFIG_DIR": stage.root}
        wait_until(lambda: read_process(session.pid).tty == session.terminal)
        found = checkout(session.origin.cwd)
        assert (found.branch, found.root) == ("release", session.origin.cwd)


def test_its_record_is_true() -> None:
    with Stage() as stage:
        session = stage.session("shop")
        process = read_process(session.pid)
        told = record(session.record)
        assert session.record == os.path.join(stage.root, "sessions", f"{session.pid}.json")
        assert told["pid"] == process.pid
        assert told["procStart"] == str(process.start_ticks)
        assert told["pidDomain"] == pid_domain()
        assert told["status"] == "idle"
        session.ask("Bash", {"command": "ls"})
        told = record(session.record)
        assert (told["status"], told["waitingFor"]) == ("waiting", "permission prompt")
        session.answered("ok")
        told = record(session.record)
        assert told["status"] == "busy"
        assert "waitingFor" not in told


def test_a_worktree_is_a_linked_one() -> None:
    with Stage() as stage:
        found = checkout(stage.session("shop", "fast", worktree="shop-fast").origin.cwd)
        assert (found.branch, found.worktree) == ("fast", "shop-fast")


def test_the_transcript_is_a_chain_of_messages() -> None:
    with Stage() as stage:
        session = stage.session("shop")
        session.prompt("do it", ago=30)
        session.ask("Bash", {"command": "ls"})
        session.answered("a b")
        session.finish("done")
        rows = [json.loads(row) for row in Path(session.transcript).read_text().splitlines()]
        assert [row["type"] for row in rows] == ["user", "assistant", "user", "assistant", "system"]
        assert [row["parentUuid"] for row in rows] == [None, *(row["uuid"] for row in rows[:-1])]
        use, result = rows[1]["message"]["content"][0], rows[2]["message"]["content"][0]
        assert result["tool_use_id"] == use["id"]


def test_quitting_takes_the_record_along_and_dying_does_not() -> None:
    with Stage() as stage:
        quitting, dying = stage.session("a"), stage.session("b")
        quitting.quit()
        dying.kill()
        assert not os.path.exists(quitting.record)
        assert os.path.exists(dying.record)
        assert read_process(quitting.pid) is None
        assert read_process(dying.pid) is None


def test_a_keystroke_can_be_dated_back() -> None:
    with Stage() as stage:
        session = stage.session("a")
        before = os.stat(session.terminal).st_atime
        session.typed(ago=160)
        assert before - os.stat(session.terminal).st_atime == pytest.approx(100, abs=5)


def test_nothing_is_left() -> None:
    with Stage() as stage:
        cast = open_scene(stage)
        processes = [read_process(session.pid) for session in cast.values()]
        assert all(processes)
    assert not os.path.exists(stage.folder)
    assert not any(is_alive(process.pid, process.start_ticks) for process in processes)


def test_even_a_killed_stage_leaves_no_process(wait_until: Callable[..., object]) -> None:
    code = """
from tray.demo.stage import Stage
with Stage() as stage:
    session = stage.session("a")
    session.kill()
    session = stage.session("a")
    print(session.pid, session.terminal, stage.folder, flush=True)
    input()
"""
    stage = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with stage:
        pid, terminal, folder = stage.stdout.readline().split()
        # It is hung up once it has taken its terminal.
        wait_until(lambda: read_process(int(pid)).tty == terminal)
        stage.send_signal(signal.SIGKILL)
    wait_until(lambda: read_process(int(pid)) is None)
    subprocess.run(["rm", "-r", folder], check=True)


def test_every_act_of_the_story_can_be_played() -> None:
    with Stage() as stage:
        cast = open_scene(stage)
        for beat in STORY:
            beat.act(cast[beat.who])
        assert [beat.at for beat in STORY] == sorted(beat.at for beat in STORY)

"""`sessionbell resume`: what a person gets, with a client that only tells how it was started."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.claude.lines import prompt
from tray.cli import history
from tray.cli.main import cli
from tray.history.past import Past

if TYPE_CHECKING:
    from pathlib import Path

RUN = "from tray.cli.main import main; main()"


class Desk:
    """A home with sessions, and a client that writes down how it was started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = folder / "said"
        (folder / "bin").mkdir()
        client = folder / "bin" / "claude"
        client.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo "$VERSION (Claude Code)" && exit\n'
            '{ pwd; printf \'%s\\n\' "$*" "${CLAUDECODE-unset}"; } >'
            f" {shlex.quote(str(self.said))}\n"
        )
        client.chmod(0o700)

    def talk(self, cwd: Path, title: str) -> str:
        session_id = str(uuid.uuid4())
        folder = self.folder / ".claude" / "projects" / "-x"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (prompt("go") | {"cwd": str(cwd)}, {"type": "custom-title", "customTitle": title})
        (folder / f"{session_id}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        return session_id

    def resume(
        self, *arguments: str, path: str | None = None, version: str = "2.1.332"
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            "HOME": str(self.folder),
            "PATH": path or f"{self.folder}/bin:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "CLAUDECODE": "1",
            "VERSION": version,
        }
        return subprocess.run(
            [sys.executable, "-c", RUN, "resume", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_it_becomes_the_client_in_the_session_s_directory(desk, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    session_id = desk.talk(shop, "Fix the flaky test")
    done = desk.resume("flaky TEST")
    assert (done.returncode, done.stderr) == (0, "")
    assert desk.said.read_text().splitlines() == [str(shop), f"--resume {session_id}", "unset"]
    assert desk.resume(session_id[:8], "--fork").returncode == 0
    assert desk.said.read_text().splitlines()[1] == f"--resume {session_id} --fork-session"


def test_the_printed_command_does_the_same(desk, tmp_path):
    shop = tmp_path / "a 'b"
    shop.mkdir()
    session_id = desk.talk(shop, "x")
    done = desk.resume(session_id, "--print")
    assert not desk.said.exists()
    subprocess.run(
        ["/bin/sh", "-c", done.stdout],
        env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "CLAUDECODE": "1"},
        check=True,
    )
    assert desk.said.read_text().splitlines() == [str(shop), f"--resume {session_id}", "unset"]


def test_a_gone_directory_is_said_and_the_nearest_taken_if_that_is_wanted(desk, tmp_path):
    session_id = desk.talk(tmp_path / "gone" / "shop", "x")
    done = desk.resume(session_id)
    assert done.returncode == 1
    assert f"{tmp_path}/gone/shop is gone" in done.stderr
    assert "--yes" in done.stderr
    assert not desk.said.exists()
    assert desk.resume(session_id, "--yes").returncode == 0
    assert desk.said.read_text().splitlines()[0] == str(tmp_path)
    assert desk.resume(session_id, "--here").returncode == 0
    assert desk.said.read_text().splitlines()[0] == os.getcwd()


def test_what_two_sessions_answer_to_is_not_guessed(desk, tmp_path):
    ids = [desk.talk(tmp_path, "twins") for _ in range(2)]
    done = desk.resume("twins")
    assert done.returncode == 2
    assert all(session_id in done.stderr for session_id in ids)
    assert desk.resume("nobody").returncode == 1


def test_a_missing_client_is_said(desk, tmp_path):
    session_id = desk.talk(tmp_path, "x")
    done = desk.resume(session_id, path="/nowhere")
    assert done.returncode == 1
    assert "'claude' is not found" in done.stderr


def test_a_kept_copy_is_opened_by_its_path_unless_the_client_is_too_old(desk, tmp_path):
    session_id = desk.talk(tmp_path, "x")
    original = tmp_path / ".claude" / "projects" / "-x" / f"{session_id}.jsonl"
    kept = tmp_path / ".local" / "share" / "sessionbell" / "kept" / "projects" / "-x"
    kept.mkdir(parents=True)
    copy = original.rename(kept / original.name)
    done = desk.resume(session_id, version="2.1.81")
    assert (done.returncode, "2.1.81 cannot open a kept copy" in done.stderr) == (1, True)
    assert not desk.said.exists()
    assert desk.resume(session_id).returncode == 0
    assert desk.said.read_text().splitlines()[1] == f"--resume {copy}"


def live(monkeypatch, *arguments, answer=None, tty=False):
    past = Past(
        "/x.jsonl", "0000-id", name="painter", cwd="/", live=True, state="working", pid=4711
    )
    monkeypatch.setattr(history, "the_session", lambda *_: past)
    monkeypatch.setattr("sys.stdin.isatty", lambda: tty, raising=False)
    return CliRunner().invoke(cli, ["resume", "painter", *arguments], input=answer)


def test_a_live_one_is_not_resumed_a_second_time(monkeypatch):
    done = live(monkeypatch)
    assert done.exit_code == 1
    assert "painter is live in process 4711 (working)" in done.output
    assert "--fork" in done.output


def test_a_live_one_can_be_forked(monkeypatch):
    assert "--fork-session" in live(monkeypatch, "--fork", "--print").output

"""`sessionbell browse` at a real terminal: it ends, and the client has that terminal."""

from __future__ import annotations

import json
import os
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.claude.lines import prompt
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

CLIENT = """#!/bin/sh
[ "$1" = --version ] && echo "2.1.332 (Claude Code)" && exit
test -t 0 && stty -a | grep -q -- ' icanon' && echo "client: $PWD $* ${CLAUDECODE-unset}."
"""


@pytest.mark.parametrize(("keys", "more"), [(b"\r", ""), (b"\x06\r", " --fork-session")])
def test_enter_resumes_in_the_session_s_directory_in_this_terminal(
    tmp_path: Path, keys: bytes, more: str
) -> None:
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text(CLIENT)
    client.chmod(0o700)
    session_id, work = str(uuid.uuid4()), tmp_path / "the work"
    work.mkdir()
    folder = tmp_path / ".claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    said = prompt("please do it") | {"cwd": str(work)}
    (folder / f"{session_id}.jsonl").write_text(json.dumps(said) + "\n")
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{client.parent}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "CLAUDECODE": "1",
    }
    with Terminal((sys.executable, "-m", "tray", "browse"), environment) as terminal:
        terminal.until(b"1/1")
        terminal.type(keys[:1])
        if len(keys) > 1:
            terminal.until(b"It goes on in a new session")
            terminal.type(keys[1:])
        terminal.until(f"client: {work} --resume {session_id}{more} unset.".encode())
    # What was drawn is taken away, and the terminal is as it was.
    assert b"\x1b[?1049l" in terminal.output
    assert b"\x1b[?1000l" in terminal.output

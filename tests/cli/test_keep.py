"""`history keep` and `history --deleted`, from the command line."""

from __future__ import annotations

import json
import os
import time
import uuid
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.claude.lines import prompt
from tray.cli.history import history
from tray.cli.keep import keep

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

OLD, NEW = "aaaa1111-2222-3333-4444-555555555555", "bbbb1111-2222-3333-4444-555555555555"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    for kind in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    # Clients that run on this machine have roots of their own.
    monkeypatch.setattr("tray.cli.history._survey", lambda _: ((), ()))
    folder = tmp_path / ".claude" / "projects" / "-src"
    folder.mkdir(parents=True)
    for session_id, days in ((OLD, 28), (NEW, 1)):
        path = folder / f"{session_id}.jsonl"
        path.write_text(json.dumps(prompt(f"of {days} days") | {"cwd": "/src"}) + "\n")
        at = time.time() - days * 86_400
        os.utime(path, (at, at))
    return tmp_path


def run(command, *arguments: str) -> Result:
    # Garbage is not looked for any more once sessions are listed; nobody else may be without it.
    import gc

    try:
        return CliRunner().invoke(command, arguments, standalone_mode=False)
    finally:
        gc.unfreeze()
        gc.enable()


def listed(*arguments: str) -> set[tuple[str, str]]:
    found = json.loads(run(history, "--json", *arguments).stdout)
    return {(past["session_id"][:4], past["source"]) for past in found}


def test_what_is_about_to_be_deleted_is_kept_and_listed_on(home):
    original = home / ".claude" / "projects" / "-src" / f"{OLD}.jsonl"
    done = run(keep, "--expiring")
    (copy,) = done.stdout.splitlines()
    assert (done.return_value, copy.startswith(f"{home}/data/sessionbell/kept/")) == (0, True)
    assert listed() == {("aaaa", "local"), ("bbbb", "local")}
    original.unlink()
    assert listed() == {("aaaa", "kept"), ("bbbb", "local")}
    assert run(keep, "--remove", OLD[:4]).stdout == f"removed {copy}\n"
    assert listed() == {("bbbb", "local")}


def test_one_is_kept_by_its_name(home):
    assert OLD in run(keep, "of 28 days").stdout
    assert run(keep).exception is not None
    assert run(keep, OLD, "--expiring").exception is not None
    assert "not one kept copy" in str(run(keep, "--remove", NEW).exception)


def test_what_was_deleted_is_shown_when_it_is_asked_for(home):
    gone = str(uuid.uuid4())
    lines = [
        {"display": f"typed in {one[:4]}", "timestamp": 1e12, "sessionId": one, "project": "/src"}
        for one in (gone, NEW)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (home / ".claude" / "history.jsonl").write_text(text)
    assert gone[:4] not in {short for short, _ in listed()}
    assert listed("--deleted") == {(gone[:4], "local")}
    assert "only prompts are left" in run(history, "--deleted").stdout

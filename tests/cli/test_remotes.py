"""`sessionbell remotes`: what a person and a script get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tray.cli.remotes import remotes
from tray.history import syncing
from tray.history.remotes import EXAMPLE
from tray.history.syncing import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

TWO = '[[remote]]\nname = "a"\nhost = "h"\n[[remote]]\nname = "b"\nhost = "h"\n'


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "config" / "sessionbell" / "remotes.toml"


@pytest.fixture
def network(monkeypatch):
    """Machines of which `down` cannot be reached."""
    down: set[str] = set()

    def ask(chosen, *, progress, **_):
        found = tuple(Outcome(one.name, one.name not in down, f"of {one.name}") for one in chosen)
        for outcome in found:
            progress(outcome)
        return found

    monkeypatch.setattr(syncing, "sync", ask)
    monkeypatch.setattr(syncing, "check", ask)
    return down


def run(*arguments: str) -> Result:
    return CliRunner().invoke(remotes, arguments, standalone_mode=False)


def text(*arguments: str) -> tuple[int, str, str]:
    done = run(*arguments)
    code = done.return_value if done.exception is None else done.exception.exit_code
    return int(code or 0), done.stdout, done.stderr or str(getattr(done.exception, "message", ""))


def test_the_way_from_nothing(file):
    assert "`sessionbell remotes init` begins it" in text("list")[1]
    assert "remotes init" in text("sync")[2]
    assert text("init")[1] == f"{file}\n"
    assert file.read_text() == EXAMPLE
    code, _, said = text("init")
    assert (code, "was left as it is" in said) == (1, True)


@pytest.mark.parametrize(
    ("down", "arguments", "code"),
    [
        ("", ("sync",), 0),
        ("a", ("sync",), 0),
        ("a", ("sync", "--strict"), 1),
        ("ab", ("sync",), 1),
        ("a", ("sync", "a"), 1),
        ("a", ("sync", "b", "--strict"), 0),
        ("", ("check",), 0),
        ("a", ("check",), 1),
    ],
)
def test_what_fails_is_said_of_each_and_fails_if_that_is_wanted(
    file, network, down, arguments, code
):
    file.parent.mkdir(parents=True)
    file.write_text(TWO)
    network.update(down)
    done = text(*arguments)
    assert done[0] == code
    chosen = [name for name in arguments if name in "ab"] or ["a", "b"]
    assert done[1] == "".join(f"{name}: of {name}\n" for name in chosen if name not in down)
    assert done[2] == "".join(f"{name}: of {name}\n" for name in chosen if name in down)


def test_scripts_get_one_document(file, network):
    file.parent.mkdir(parents=True)
    file.write_text(TWO)
    network.add("a")
    found = json.loads(text("sync", "--json")[1])
    assert [(one["name"], one["ok"]) for one in found] == [("a", False), ("b", True)]
    (first, _) = json.loads(text("list", "--json")[1])
    assert first == {
        "name": "a",
        "target": "h",
        "path": "~/.claude",
        "auto_sync_minutes": 0.0,
        "last_sync": None,
        "ok": None,
        "message": None,
    }


def test_what_is_wrong_is_said(file):
    file.parent.mkdir(parents=True)
    file.write_text(TWO)
    assert "there are: a, b" in text("sync", "c")[2]
    file.write_text("[[remote]]\nname = 7\n")
    assert "remotes.toml: line 2: remote.name: this cannot be used" in text("list")[2]

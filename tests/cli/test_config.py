"""`config`: what a person and a script get of the settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tray.cli import main
from tray.config import Settings
from tray.configfile import load, parse
from tray.configtext import default_text

if TYPE_CHECKING:
    from pathlib import Path


class Line:
    """The command line: what it prints, and how it ends."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run it; return what it prints, which is all on stderr if it fails."""
        assert main._run(["config", *arguments]) == code
        out, err = self._capsys.readouterr()
        assert (err if code == 0 else out) == ""
        return out if code == 0 else err


@pytest.fixture
def config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Line:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return Line(capsys)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessionbell" / "config.toml"


def test_the_way_from_nothing_to_settings_of_ones_own(config: Line, path: Path) -> None:
    assert config("path") == f"{path}\n"
    assert "there is none, so the defaults hold" in config("check")
    assert config("init") == f"{path}\n"
    assert path.read_text() == default_text()
    assert "left as it is" in config("init", code=1)
    config("set", "remind_after", "10")
    config("set", "alerts.plan.timeout", "-1")
    config("set", "alerts.permission.sound", "bell")
    config("set", "projects.mute", '["~/play/*"]')
    config("set", "quiet_hours.from", "22:00", "quiet_hours.to", "07:30")
    values = json.loads(config("show", "--json"))
    assert values["remind_after"] == 10
    assert values["alerts"]["plan"]["timeout"] == -1
    assert values["alerts"]["permission"]["sound"] == "bell"
    assert values["projects"]["mute"] == ["~/play/*"]
    assert values["quiet_hours"] == {"from": "22:00", "to": "07:30"}
    assert parse(config("show")).remind_after == 10
    assert "all is well" in config("check")


def test_what_is_wrong_is_said_where_an_editor_finds_it(config: Line, path: Path) -> None:
    path.parent.mkdir()
    path.write_text("\nidle_after = 'x'\n")
    for arguments in (("check",), ("check", str(path)), ("show",)):
        assert (
            f"{path}:2: idle_after: expected number, got text; allowed: seconds from 0 to 86400\n"
        ) in config(*arguments, code=1)
    assert "nothing was changed" in config("set", "notifications", "false", code=1)
    path.write_bytes(b"#" * 1_000_001)
    assert config("check", code=1) == f"{path}: it cannot be read (it is larger than a megabyte)\n"


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (("idle_after.x", "1"), "idle_after.x: there is no such setting"),
        (("terminal.x", "q"), "terminal.x: there is no such setting"),
        (("idle_afte", "1"), "did you mean idle_after?"),
        (("quiet_hours.from", "22:00"), "quiet_hours.to: it is not set"),
        (("holds.ask", "1", "holds.hook", "-1"), "holds.hook: expected number >= 0.0"),
        (("terminal", '["\udcff"]'), "terminal: this is not of the right form"),
        (("idle_after", "9" * 5000), "idle_after: expected number, got text"),
        (("idle_after", "[" * 5000), "idle_after: expected number, got text"),
    ],
)
def test_what_cannot_be_set_is_said(
    config: Line, path: Path, pairs: tuple[str, ...], said: str
) -> None:
    config("init")
    assert said in config("set", *pairs, code=1)
    assert path.read_text() == default_text()


@pytest.mark.parametrize("arguments", [(), ("idle_after",), ("idle_after", "1", "holds.ask")])
def test_a_key_without_a_value_is_wrong_usage(config: Line, arguments: tuple[str, ...]) -> None:
    assert "Usage:" in config("set", *arguments, code=2)


def test_the_defaults_can_be_printed_without_a_file(config: Line) -> None:
    assert config("show", "--default") == default_text()
    assert parse(config("show")) == Settings()
    assert load() == Settings()

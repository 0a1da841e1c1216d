"""`sessionbell autostart`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tray.cli.main import cli
from tray.desktop.autostart import FILE_NAME

if TYPE_CHECKING:
    from click.testing import Result


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "xdg"))
    return tmp_path / "config/autostart" / FILE_NAME


def autostart(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["autostart", *arguments], standalone_mode=False)


def test_on_status_off(file: Path) -> None:
    assert autostart("status").output == "off\n"
    told = autostart("on")
    assert told.output.startswith(f"on\n  file     {file}\n  command  ")
    assert file.is_file()
    assert autostart("status").output == told.output
    assert autostart("off").output == "off\n"
    assert not file.exists()


def test_json(file: Path) -> None:
    nothing = {"state": "off", "file": None, "command": None, "reason": None}
    assert json.loads(autostart("status", "--json").output) == nothing
    told = json.loads(autostart("on", "--json").output)
    assert (told["state"], told["file"]) == ("on", str(file))
    assert told["command"][-1] == "run"
    assert os.path.isabs(told["command"][0])


def test_a_broken_entry_is_a_failure_with_a_way_out(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("[Desktop Entry]\nExec=/gone/sessionbell\n")
    result = autostart("status")
    assert result.return_value == 1
    assert "broken: /gone/sessionbell is gone" in result.output
    assert "sessionbell autostart on" in result.output


def test_a_foreign_entry_is_left_alone(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("[Desktop Entry]\nExec=/bin/sh\n")
    command = [sys.executable, "-m", "tray", "autostart", "on"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert file.read_text() == "[Desktop Entry]\nExec=/bin/sh\n"
    assert autostart("on", "--force").output.startswith("on\n")


def test_what_it_writes_can_be_run(file: Path) -> None:
    command = [sys.executable, "-m", "tray", "autostart", "on", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    argv = json.loads(done.stdout)["command"]
    version = subprocess.run(
        [*argv, "--help"], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert "Put the bell into the tray" in version.stdout

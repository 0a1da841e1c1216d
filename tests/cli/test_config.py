"""`config`: what a person and a script get of the settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tray.config import Settings
from tray.configfile import parse
from tray.configtext import default_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN = "from tray.cli.main import main; main()"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}

    def config(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", RUN, "config", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return config


def test_the_way_from_nothing_to_settings_of_ones_own(run, tmp_path: Path) -> None:
    path = tmp_path / "sessionbell" / "config.toml"
    assert run("path").stdout == f"{path}\n"
    assert "there is none, so the defaults hold" in run("check").stdout
    assert run("init").stdout == f"{path}\n"
    assert path.read_text() == default_text()
    again = run("init")
    assert (again.returncode, "left as it is" in again.stderr) == (1, True)
    assert run("set", "remind_after", "10").returncode == 0
    assert run("set", "alerts.permission.sound", "bell").returncode == 0
    assert run("set", "projects.mute", '["~/play/*"]').returncode == 0
    values = json.loads(run("show", "--json").stdout)
    assert values["remind_after"] == 10
    assert values["alerts"]["permission"]["sound"] == "bell"
    assert values["projects"]["mute"] == ["~/play/*"]
    assert parse(run("show").stdout).remind_after == 10
    assert "all is well" in run("check").stdout


def test_what_is_wrong_is_said(run, tmp_path: Path) -> None:
    path = tmp_path / "sessionbell" / "config.toml"
    path.parent.mkdir()
    path.write_text("\nidle_after = 'x'\n")
    for arguments in (("check",), ("check", str(path)), ("show",)):
        result = run(*arguments)
        assert result.returncode == 1
        assert f"{path}: line 2: idle_after: expected number, got text" in result.stderr
    refused = run("set", "notifications", "false")
    assert refused.returncode == 1
    assert "nothing was changed" in refused.stderr


def test_the_defaults_can_be_printed_without_a_file(run) -> None:
    assert run("show", "--default").stdout == default_text()
    assert parse(run("show").stdout) == Settings()

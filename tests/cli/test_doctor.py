"""`sessionbell doctor` as people and scripts see it."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests import session_bus
from tests.tray.notification_daemon import Daemon
from tray import __version__
from tray.cli.doctor import WIDTH, doctor, lines, summary
from tray.desktop.doctor.examination import CHECKS, Section
from tray.desktop.doctor.finding import Message, Status

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

FIELDS = ["check", "code", "status", "what", "cause", "consequence", "remedy", "command"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A login without desktop, bus and files."""
    for name in ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (runtime := tmp_path / "run").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    for kind in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    return tmp_path


def run(*arguments: str, color: bool = False) -> Result:
    return CliRunner().invoke(doctor, arguments, color=color, standalone_mode=False)


def break_settings(home: Path) -> None:
    (home / "config" / "sessionbell").mkdir(parents=True)
    (home / "config" / "sessionbell" / "config.toml").write_text("colors = 7\n")


def test_json_is_one_document_in_a_stable_form(home: Path) -> None:
    result = run("--json", "--root", str(home))
    document = json.loads(result.stdout)
    assert list(document) == ["schema", "version", "findings"]
    assert (document["schema"], document["version"]) == (1, __version__)
    for finding in document["findings"]:
        assert list(finding) == FIELDS
        in_order = finding["status"] == "ok"
        for field in ("cause", "consequence", "remedy"):
            assert (finding[field] is None) is in_order
    assert {finding["check"] for finding in document["findings"]} <= {one.name for one in CHECKS}
    assert {"bus-none-here", "tray-not-running", "autostart-off", "versions"} <= {
        finding["code"] for finding in document["findings"]
    }


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_exit_code_tells_whether_something_is_broken(home: Path, form: list[str]) -> None:
    arguments = [*form, "--root", str(home)]
    assert run(*arguments).return_value == 0
    break_settings(home)
    assert run(*arguments).return_value == 1


def test_it_is_told_to_people_within_80_columns(home: Path) -> None:
    break_settings(home)
    output = run("--root", str(home)).stdout
    assert "\x1b" not in output
    assert all(len(line) <= WIDTH for line in output.splitlines())
    told = output.splitlines()
    at = next(number for number, line in enumerate(told) if line.startswith("  FAIL "))
    labels = [line.split()[0] for line in told[at + 1 :] if line[7:12].strip()]
    assert [label for label in labels if label.endswith(":")][:3] == ["why:", "so:", "run:"]
    assert "line 1" in output
    assert told[-1].startswith("1 broken, ")


def test_it_is_coloured_unless_told_otherwise(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--root", str(home))
    assert "\x1b[" in run(*arguments, color=True).stdout
    assert "\x1b" not in run(*arguments).stdout
    assert "\x1b" not in run(*arguments, "--no-color", color=True).stdout
    assert "\x1b" not in run(*arguments, "--json", color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(*arguments, color=True).stdout


def test_nothing_is_written(home: Path) -> None:
    break_settings(home)
    before = sorted(home.rglob("*"))
    run("--root", str(home))
    assert sorted(home.rglob("*")) == before


def test_bytes_of_any_kind_in_paths(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = os.fsdecode(bytes(home / "odd") + b"\xff\x1b[31m")
    os.mkdir(odd)
    monkeypatch.setenv("HOME", odd)
    assert json.loads(run("--json", "--root", odd).stdout)["schema"] == 1
    assert "\x1b" not in run("--root", odd).stdout


def test_the_last_line_counts() -> None:
    def section(*statuses: Status) -> Section:
        found = (Message("x", status, "w").found() for status in statuses)
        return Section("s", "S", tuple(found))

    assert summary([section(Status.OK)]) == "All is in order."
    every = [section(*Status), section(Status.NOTE)]
    assert summary(every) == "1 broken, 1 with a warning, 2 noted, 1 in order."


def test_the_longest_words_are_kept_within_the_width() -> None:
    found = Message("x", Status.NOTE, "{a}", "{a}", "{a}", do="{a}").found(a="x" * 200)
    assert all(len(line) <= WIDTH for line in lines(found, WIDTH))


@pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING))
@pytest.mark.asyncio
async def test_a_click_on_the_test_notification_comes_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = session_bus.SessionBus(home)
    bus.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    daemon = await Daemon().start(bus.address)

    async def click() -> None:
        while not daemon.screen:  # noqa: ASYNC110  (a scripted person)
            await asyncio.sleep(0.005)
        daemon.press(next(iter(daemon.screen)), "default")

    result, _ = await asyncio.gather(
        asyncio.to_thread(run, "--notify", "--root", str(home)), click()
    )
    await daemon.stop()
    bus.stop()
    assert "Click on it: waiting for 10 s." in result.stdout
    assert "your click came back" in result.stdout
    assert [arguments[3] for arguments in daemon.called("Notify")] == ["A test of sessionbell"]

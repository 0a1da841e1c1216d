"""What lists show is what the person's settings and mutes make of the sessions."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tray.cli import main
from tray.cli.feed import Feed
from tray.cli.options import look
from tray.cli.watch import JsonLines
from tray.demo.stage import Stage
from tray.mutefile import MuteFile
from tray.mutes import mark_seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """One session works, one in `play` asks, and one ended its turn a moment ago."""
    with Stage() as made:
        made.session("docs").prompt("write", ago=40)
        asking = made.session("play")
        asking.prompt("try it", ago=30)
        asking.ask("Bash", {"command": "make"}, ago=20)
        finished = made.session("shop-api")
        finished.prompt("publish it", ago=30)
        finished.finish("published")
        yield made


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No tray, and files of one's own; `look` is for commands that end and leaves its garbage."""
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    path = tmp_path / "CONFIG" / "sessionbell" / "config.toml"
    path.parent.mkdir(parents=True)
    yield path
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def rows(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[dict[str, dict[str, Any]], str]]:
    """`list --json`: its rows by project, and what it says on stderr."""

    def run(code: int = 0) -> tuple[dict[str, dict[str, Any]], str]:
        assert main._run(["list", "--json", "--root", stage.root]) == code
        out, err = capsys.readouterr()
        return {row["project"]: row for row in json.loads(out)}, err

    return run


def mark_all_seen(stage: Stage) -> None:
    _, sessions = look([stage.root])
    MuteFile().update(lambda mutes: mark_seen(mutes, sessions))


def test_without_files_the_defaults_hold(rows) -> None:
    found, said = rows()
    assert set(found) == {"docs", "play", "shop-api"}
    assert (found["shop-api"]["reason"], found["shop-api"]["unseen"]) == ("turn_over", True)
    assert said == ""


def test_a_project_to_ignore_is_not_listed_but_found_by_its_name(
    rows, stage: Stage, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_text('projects.ignore = ["*/play"]')
    assert set(rows()[0]) == {"docs", "shop-api"}
    assert main._run(["show", "play", "--json", "--root", stage.root]) == 0
    assert json.loads(capsys.readouterr().out)["project"] == "play"
    assert main._run(["mute", "play", "--root", stage.root]) == 0
    assert main._run(["focus", "play", "--explain", "--root", stage.root]) == 0
    capsys.readouterr()
    assert main._run(["focus", "--next", "--explain", "--json", "--root", stage.root]) == 0
    shop = next(row for row in look([stage.root])[1] if row.project == "shop-api")
    assert str(shop.pid) in capsys.readouterr().out


def test_a_finished_turn_is_idle_as_soon_as_the_settings_say(rows, settings: Path) -> None:
    settings.write_text("idle_after = 0")
    assert rows()[0]["shop-api"]["state"] == "idle"


def test_what_was_marked_as_seen_is_seen(rows, stage: Stage) -> None:
    mark_all_seen(stage)
    found, said = rows()
    assert found["shop-api"]["unseen"] is False
    assert said == ""


def test_a_broken_file_is_told_once_and_changes_nothing_else(
    rows, stage: Stage, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_text("\nidle_after = five")
    found, said = rows(code=1)
    assert len(found) == 3
    assert said.startswith(f"sessionbell: {settings}: line 2: this is no TOML")
    assert said.count("\n") == 1
    for arguments, code in (
        (["show", "play"], 1),
        (["mute", "play"], 0),
        (["focus", "play", "--explain"], 0),
    ):
        assert main._run([*arguments, "--root", stage.root]) == code
        assert capsys.readouterr().err == said


def test_watching_shows_the_same(
    stage: Stage,
    settings: Path,
    wait_until: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tray.engine.TICK", 0.1)
    settings.write_text('idle_after = 300\nprojects.ignore = ["*/play"]\n')
    printer = JsonLines()
    lines: list[dict[str, Any]] = []

    with Feed([stage.root]) as feed:

        def told(event: str, **values: object) -> Callable[[], bool]:
            def look_again() -> bool:
                delivery = feed.wait(time.monotonic())
                new = printer.lines(delivery, time.time(), stalled=False)
                lines.extend(map(json.loads, new))
                return any(
                    line["event"] == event
                    and all((line | line.get("session", {})).get(k) == values[k] for k in values)
                    for line in lines
                )

            return look_again

        wait_until(told("snapshot"), within=20)
        shown = {row["project"]: row for row in lines[0]["sessions"]}
        assert set(shown) == {"docs", "shop-api"}
        assert shown["shop-api"]["unseen"] is True

        mark_all_seen(stage)
        wait_until(told("changed", project="shop-api", unseen=False), within=20)

        settings.write_text(
            "idle_after = 0\nprojects.ignore = []\n# some more words to be longer\n"
        )
        wait_until(told("appeared", project="play"), within=20)
        wait_until(told("transition", project="shop-api", state="idle"), within=20)
        settings.write_text('idle_after = 0\nprojects.ignore = ["*/docs"]\n')
        wait_until(told("ended", project="docs", how="ignored"), within=20)

        settings.write_text("idle_after = five\n" + "# some more words to be longer\n" * 3)
        wait_until(told("health", code="config", ok=False), within=20)
        wait_until(lambda: feed.settings.idle_after == 0)
        settings.write_text("idle_after = 6\n" + "# some more words to be longer\n" * 4)
        wait_until(told("health", code="config", ok=True), within=20)
    health = [line for line in lines if line["event"] == "health"]
    assert len(health) == 2
    assert f"{settings}: line 1: this is no TOML" in health[0]["message"]


def test_a_save_is_heard_at_once_through_a_link_too(
    settings: Path,
    tmp_path: Path,
    wait_until: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tray.engine.TICK", 60.0)
    own = tmp_path / "dotfiles" / "bell.toml"
    own.parent.mkdir()
    own.write_text("idle_after = 7\n")
    settings.symlink_to(own)
    with Feed([str(tmp_path / "empty")]) as feed:
        wait_until(lambda: feed.wait(time.monotonic()).updates, within=20)
        own.write_text("idle_after = 8\n")
        wait_until(lambda: feed.settings.idle_after == 8)

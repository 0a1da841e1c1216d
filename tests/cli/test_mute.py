"""`sessionbell mute`: what it takes, what it says, and who keeps it."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import threading
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests import session_bus
from tray.cli import mute as command
from tray.cli.main import cli
from tray.demo.stage import Stage
from tray.desktop.bus_object import Told
from tray.desktop.service import Service
from tray.mutefile import MuteFile
from tray.mutes import Mutes, Scope, mute, unmute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = 3600.0


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tray, and a state folder of one's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Three sessions, two of one project."""
    with Stage() as made:
        for name in ("shop-api", "docs", "docs"):
            made.session(name).prompt("write", ago=10)
        yield made


def say(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["mute", *arguments], standalone_mode=False)
    if result.exception is not None:
        assert hasattr(result.exception, "exit_code"), result.exception
        assert result.exception.exit_code == code
        return result.exception.format_message()
    assert (result.return_value or 0) == code
    return result.output


def kept() -> Mutes:
    return MuteFile().read()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800), ("1h", 3600), ("2h30m", 9000), ("1d", 86_400), ("90min", 5400),
        (" 1H ", 3600), ("", None), ("0m", None), ("m", None), ("1", None), ("-1h", None),
        ("1h1h", None), ("9999999999h", None), ("１h", 3600),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert command.duration(text) == seconds


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> float:
    return dt.datetime.fromisoformat(f"{text}+00:00").timestamp()


NOW = at("2026-05-22 14:30")  # a Friday


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("15:00", "2026-05-22 15:00"),
        ("14:30", "2026-05-23 14:30"),
        ("9:05", "2026-05-23 09:05"),
        ("tomorrow", "2026-05-23 07:00"),
        ("Tomorrow ", "2026-05-23 07:00"),
    ],
)
def test_moments(text: str, end: str) -> None:
    assert command.moment(text, NOW) == at(end)


@pytest.mark.parametrize("text", ["", "24:00", "12:60", "noon", "1:2", "12:00:00"])
def test_what_is_no_moment(text: str) -> None:
    assert command.moment(text, NOW) is None


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize(
    ("end", "said"),
    [
        (None, "until unmuted"),
        (at("2026-05-22 23:59"), "until 23:59"),
        (at("2026-05-23 07:00"), "until Sat 07:00"),
        (at("2026-05-28 07:00"), "until Thu 07:00"),
        (at("2026-05-29 07:00"), "until 29 May 2026 07:00"),
        (1e300, "until unmuted"),
    ],
)
def test_when_it_ends_in_words(end: float | None, said: str) -> None:
    assert command.when(end, NOW) == said


def test_a_session_is_muted_for_a_while(stage: Stage) -> None:
    said = say("shop-api", "--for", "1h", "--root", stage.root)
    (end,) = kept().sessions.values()
    assert end is not None
    assert abs(end - time.time() - HOUR) < 60
    assert said == f"shop-api is muted {command.when(end, time.time())}.\n"
    listed = say("--list", "--root", stage.root)
    assert listed.startswith("session ")
    assert " (shop-api)  until " in listed
    assert say("--off", "shop-api", "--root", stage.root) == "shop-api is not muted any more.\n"
    assert kept() == Mutes()


def test_who_is_meant_must_be_clear(stage: Stage) -> None:
    assert "did you mean shop-api" in say("shop-apo", "--root", stage.root, code=1)
    assert "fits 2 sessions" in say("docs", "--root", stage.root, code=2)
    assert kept() == Mutes()


def test_a_session_that_ended_can_be_unmuted_by_its_id(stage: Stage) -> None:
    ids = {"4f1c2d3e-aaaa": None, "4f1c2d3e-bbbb": None}
    MuteFile().update(lambda _: Mutes(sessions=ids))
    assert "no live session" in say("--off", "4f1c2d3e-", "--root", stage.root, code=1)
    assert say("--off", "4f1c2d3e-a", "--root", stage.root).startswith("4f1c2d3e-a is not muted")
    assert list(kept().sessions) == ["4f1c2d3e-bbbb"]


def test_a_project_is_muted_by_its_repository(tmp_path: Path) -> None:
    inside = tmp_path / "shop" / "src"
    inside.mkdir(parents=True)
    git = tmp_path / "shop" / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert "shop is muted until unmuted" in say("--project", str(inside))
    assert kept() == Mutes(projects={str(tmp_path / "shop"): None})
    say("--off", "--project", str(inside))
    assert kept() == Mutes()


def test_everything_is_muted_and_every_mute_undone(tmp_path: Path) -> None:
    say("--project", str(tmp_path))
    assert say("--all").startswith("Everything is muted until unmuted")
    assert kept() == Mutes((None,), {str(tmp_path): None})
    still = say("--off", "--project", str(tmp_path))
    assert "Everything still is, until unmuted" in still
    say("--project", str(tmp_path))
    assert say("--off") == "Nothing is muted any more.\n"
    assert kept() == Mutes()
    assert say("--off") == "Nothing was muted.\n"


def test_the_list_for_scripts_and_for_people() -> None:
    assert say("--list") == "Nothing is muted.\n"
    assert json.loads(say("--list", "--json")) == []
    MuteFile().update(lambda _: Mutes((None,), {"/src": 4e9, "/old": 1.0}))
    end = dt.datetime.fromtimestamp(4e9).astimezone()
    assert say("--list").splitlines() == [
        "everything  until unmuted",
        f"project /src  until {end:%-d %b %Y %H:%M}",
    ]
    assert json.loads(say("--list", "--json")) == [
        {"scope": "all", "what": "", "until": None},
        {"scope": "project", "what": "/src", "until": "2096-10-02T07:06:40.000Z"},
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--all", "shop"], ["--all", "--project", "."], ["--all", "--for", "soon"],
        ["--all", "--until", "25:00"], ["--all", "--for", "1h", "--until", "12:00"],
        ["--off", "--for", "1h"], ["--list", "--all"], ["--all", "--json"], ["--for", "1h"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_makes_no_sense_is_a_usage_error(arguments: list[str]) -> None:
    assert say(*arguments, code=2)
    assert kept() == Mutes()


def test_a_broken_file_is_told_on_stderr(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "sessionbell"
    folder.mkdir(parents=True)
    (folder / "mutes.json").write_text("{")
    result = CliRunner().invoke(cli, ["mute", "--all"], standalone_mode=False)
    assert result.return_value == 1
    assert result.stdout == "Everything is muted until unmuted.\n"
    assert "cannot be used" in result.stderr
    assert kept() == Mutes((None,))


# --- with a tray


class Tray:
    """The actions of a tray that keeps mutes in memory."""

    def __init__(self, stage: Stage) -> None:
        self.mutes = Mutes()
        self.service = Service(self, document=lambda _: b"[]", on_problems=lambda: None)
        from tray.claude.survey import Surveyor

        self.sessions = Surveyor(roots=(stage.root,)).survey().sessions

    def mute(self, scope: Scope, what: str, until: float | None) -> None:
        self.mutes = mute(self.mutes, scope, what, until)

    def unmute(self, scope: Scope, what: str) -> None:
        self.mutes = unmute(self.mutes, scope, what)
        self.show()

    def show(self) -> None:
        self.service.show(Told(self.sessions, self.mutes, "", 0, 0, 0, muted=False))

    async def run(self, ready: threading.Event, ending: threading.Event) -> None:
        self.loop = asyncio.get_running_loop()
        await self.service.start()
        self.show()
        ready.set()
        await asyncio.to_thread(ending.wait)
        await self.service.close()


@pytest.fixture
def tray(tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tray]:
    if session_bus.MISSING is not None:
        pytest.skip(session_bus.MISSING)
    folder = tmp_path / "bus"
    folder.mkdir()
    bus = session_bus.SessionBus(folder)
    bus.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    ready, ending = threading.Event(), threading.Event()
    one = Tray(stage)
    thread = threading.Thread(target=lambda: asyncio.run(one.run(ready, ending)))
    thread.start()
    assert ready.wait(10)
    yield one
    ending.set()
    thread.join()
    bus.stop()


def test_a_running_tray_does_it_itself(tray: Tray, stage: Stage) -> None:
    before = time.time()
    said = say("shop-api", "--for", "1h", "--root", stage.root)
    assert said.startswith("shop-api is muted until ")
    ((name, end),) = tray.mutes.sessions.items()
    assert name in {one.session_id for one in tray.sessions}
    assert end is not None
    assert before + HOUR - 1 <= end <= time.time() + HOUR + 1
    assert kept() == Mutes(), "the tray writes it, not the command"
    say("--off", "shop-api", "--root", stage.root)
    assert tray.mutes == Mutes()


def test_what_the_tray_refuses_is_left_in_the_file(tray: Tray, stage: Stage) -> None:
    tray.sessions = ()
    tray.loop.call_soon_threadsafe(tray.show)
    say("shop-api", "--root", stage.root)
    assert tray.mutes == Mutes()
    assert list(kept().sessions.values()) == [None]

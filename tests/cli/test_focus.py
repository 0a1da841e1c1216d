"""`sessionbell focus`: what it takes, what it says, and who does it."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

from tests import session_bus
from tests.conftest import wait_until
from tray.cli import remote, shortcut, start
from tray.cli.main import cli
from tray.demo.stage import Stage
from tray.system.processes import read_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No tray, no screen, and folders of one's own."""
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    monkeypatch.setattr(shortcut, "_silent", False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_ACTIVATION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return run


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """One that asks, one whose turn is over, one that works."""
    with Stage() as made:
        asking = made.session("shop-api")
        asking.prompt("publish", ago=100)
        asking.ask("Bash", {"command": "npm publish"}, ago=90)
        others = [made.session(name) for name in ("docs", "docs")]
        for session in others:
            session.prompt("write", ago=50)
        for session in (asking, *others):
            process = lambda session=session: read_process(session.pid)  # noqa: E731
            wait_until(lambda process=process: process().tty, what="it has its terminal")
        yield made


def say(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["focus", *arguments], standalone_mode=False)
    if result.exception is not None:
        assert hasattr(result.exception, "exit_code"), result.exception
        assert result.exception.exit_code == code
        return result.exception.format_message()
    assert (result.return_value or 0) == code
    return result.output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--next", "--back"),
        ("shop-api", "--next"),
        ("shop-api", "--back"),
        ("--back", "--explain"),
    ],
)
def test_usage(arguments: tuple[str, ...]) -> None:
    say(*arguments, code=2)


def test_nothing_waits() -> None:
    with Stage() as empty:
        assert say("--next", "--root", empty.root) == "nothing waits for you\n"
        said = say("--next", "--json", "--root", empty.root)
    assert json.loads(said) == {"done": True, "message": "nothing waits for you"}


def test_a_session_that_is_not_or_is_not_clear(stage: Stage) -> None:
    assert "no live session" in say("nonsense", "--root", stage.root, code=1)
    assert "fits 2 sessions" in say("docs", "--root", stage.root, code=2)


def test_where_no_window_is_found_it_says_what_to_look_for(stage: Stage, alone: Path) -> None:
    said = say("--next", "--root", stage.root, code=1)
    assert "look for pts/" in said
    assert said == say("shop-api", "--root", stage.root, code=1)
    told = json.loads(say("shop-api", "--json", "--root", stage.root, code=1))
    assert told == {"done": False, "message": said.strip()}
    (kept,) = alone.glob("sessionbell-*")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_explain_does_nothing(stage: Stage, alone: Path) -> None:
    said = say("--next", "--explain", "--root", stage.root)
    assert said.startswith("shop-api (process ")
    told = json.loads(say("shop-api", "--explain", "--json", "--root", stage.root))
    assert told["pid"] > 0
    assert told["way"]
    assert all(line.strip() in said for line in told["way"])
    assert list(alone.iterdir()) == []


def test_no_way_back(alone: Path) -> None:
    assert "no window of before" in say("--back", code=1)
    assert list(alone.iterdir()) == []


class Tray:
    """Has the tray's name on a private bus, and gives scripted answers."""

    def __init__(self, folder: Path) -> None:
        self._bus = session_bus.SessionBus(folder)
        self.address = self._bus.address
        self.calls: list[tuple[str, list[object]]] = []
        self.answers: dict[str, tuple[str, list[object]]] = {}

    def start(self) -> None:
        self._bus.start()
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        assert ready.wait(5)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._bus.stop()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        bus = await MessageBus(self.address).connect()
        bus.add_message_handler(self._answer)
        await bus.request_name(remote.NAME)
        ready.set()
        await self._end.wait()
        bus.disconnect()

    def _answer(self, message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        self.calls.append((str(message.member), list(message.body)))
        if message.member not in self.answers:
            return Message.new_error(message, f"{remote.INTERFACE}.Error.Unknown", "no such one")
        return Message.new_method_return(message, *self.answers[message.member])


@pytest.fixture
def tray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tray]:
    if session_bus.MISSING is not None:
        pytest.skip(session_bus.MISSING)
    (tmp_path / "bus").mkdir()
    made = Tray(tmp_path / "bus")
    made.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", made.address)
    yield made
    made.stop()


SESSIONS = [
    {"pid": 11, "session_id": "aaa", "name": None, "project": "shop-api"},
    {"pid": 12, "session_id": "aab", "name": "notes", "project": "docs"},
    {"pid": None, "session_id": "acc", "name": None, "project": "elsewhere"},
]


def test_the_tray_is_asked_first(tray: Tray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_ACTIVATION_TOKEN", "token")
    tray.answers = {
        "FocusNext": ("bs", [True, "tmux pane %1"]),
        "FocusBack": ("bs", [False, "gone"]),
        "Focus": ("bs", [True, "kitty tab"]),
        "Sessions": ("s", [json.dumps(SESSIONS)]),
    }
    assert say("--next") == "tmux pane %1\n"
    assert "gone" in say("--back", code=1)
    assert say("shop-api") == say("aaa") == say("11") == "kitty tab\n"
    assert json.loads(say("notes", "--json")) == {"done": True, "message": "kitty tab"}
    members = [call for call in tray.calls if call[0] != "Sessions"]
    to_first = ("Focus", ["11", "token"])
    assert members == [
        ("FocusNext", ["token"]), ("FocusBack", []), *[to_first] * 3, ("Focus", ["12", "token"])
    ]  # fmt: skip


def test_what_the_tray_cannot_tell_is_looked_for_here(
    tray: Tray, stage: Stage, monkeypatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", stage.root)
    for answers in (
        {},
        {"Sessions": ("s", ["{"])},
        {"Sessions": ("s", ["[1]"])},
        {"Sessions": ("s", [json.dumps(SESSIONS[1:])])},
        {"Sessions": ("s", [json.dumps([*SESSIONS, *SESSIONS])])},
        {"Sessions": ("s", [json.dumps(SESSIONS)])},
    ):
        tray.answers = answers
        if len(answers.get("Sessions", ("s", [""]))[1][0]) != len(json.dumps(SESSIONS)):
            tray.answers = {**answers, "Focus": ("bs", [True, "guessed"])}
        assert "no live session" in say("no-such-name", code=1)
        assert shortcut.ask_for("shop-api") is None
    # With a root or for an explanation it is not asked at all.
    tray.calls.clear()
    say("--next", "--root", stage.root, code=1)
    say("shop-api", "--explain", "--root", stage.root)
    say("--next", "--explain")
    assert tray.calls == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--next"], 0, "tmux pane %1"),
        (["--back"], 1, "gone"),
        (["shop-api"], 0, "kitty tab"),
        (["--nonsense"], 2, "No such option"),
        (["--next", "--json"], 0, '"done":true'),
    ],
)
def test_the_command_as_a_shortcut_runs_it(
    tray, monkeypatch, capsys, arguments, code, said
) -> None:
    tray.answers = {
        "FocusNext": ("bs", [True, "tmux pane %1"]),
        "FocusBack": ("bs", [False, "gone"]),
        "Focus": ("bs", [True, "kitty tab"]),
        "Sessions": ("s", [json.dumps(SESSIONS)]),
    }
    monkeypatch.setattr(sys, "argv", ["sessionbell", "focus", *arguments])
    with pytest.raises(SystemExit) as end:
        start.main()
    assert (end.value.code or 0) == code
    written = capsys.readouterr()
    assert said in (written.out if code == 0 else written.err)


def test_without_a_tray_the_shortcut_looks_itself(monkeypatch, capsys) -> None:
    with Stage() as empty:
        monkeypatch.setattr(sys, "argv", ["sessionbell", "focus", "--next", "--root", empty.root])
        with pytest.raises(SystemExit) as end:
            start.main()
    assert end.value.code == 0
    assert "nothing waits" in capsys.readouterr().out

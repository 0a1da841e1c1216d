"""A person's own programs: what they are told, and that nothing waits for them."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray.config import EVENTS, Alerts, AlertSettings, Settings
from tray.desktop import event_commands
from tray.desktop.event_commands import AT_ONCE, WAITING, EventCommands, Told, environment, event_of
from tray.machine import AlertKind
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

SESSION = Observation(
    key="4:2",
    state=State.NEEDS_INPUT,
    reason=Reason.PERMISSION,
    pid=4,
    session_id="aaa",
    project="shop",
    cwd="/src/shop",
    branch="main",
    detail="Bash: npm publish",
    ask=Ask("s1", Reason.PERMISSION, tool="Bash"),
)


HOME = os.path.expanduser("~")


def told(event: str = "permission", session: Observation = SESSION) -> Told:
    return Told(event, session, "shop needs permission")


def calling(*argv: str, limit: float = 30.0, event: str = "permission") -> Settings:
    alerts = Alerts(**{event: AlertSettings(command=argv)})
    return Settings(alerts=alerts, command_timeout=limit)


async def until(condition: Callable[[], object], *, within: float = 10.0) -> None:
    try:
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110  (any condition)
                await asyncio.sleep(0.005)
    except TimeoutError:
        pytest.fail(f"not within {within} s: {inspect.getsource(condition).strip()}")


@asynccontextmanager
async def running(**more: object) -> AsyncIterator[EventCommands]:
    commands = EventCommands(**more)
    yield commands
    await commands.close()


@pytest.mark.parametrize("kind", AlertKind)
def test_every_alert_has_settings(kind: AlertKind) -> None:
    assert event_of(kind) in EVENTS


def test_the_environment_says_what_was_told() -> None:
    inherited = {
        "PATH": "/bin",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CONFIG_DIR": "/c",
        "SESSIONBELL_OLD": "x",
    }
    found = environment(told(), inherited)
    assert (
        found.items()
        >= {
            "PATH": "/bin",
            "CLAUDE_CONFIG_DIR": "/c",
            "SESSIONBELL_EVENT": "permission",
            "SESSIONBELL_TITLE": "shop needs permission",
            "SESSIONBELL_PROJECT": "shop",
            "SESSIONBELL_CWD": "/src/shop",
            "SESSIONBELL_BRANCH": "main",
            "SESSIONBELL_SESSION_ID": "aaa",
            "SESSIONBELL_STATE": "needs_input",
            "SESSIONBELL_REASON": "permission",
            "SESSIONBELL_DETAIL": "Bash: npm publish",
            "SESSIONBELL_TOOL": "Bash",
            "SESSIONBELL_KIND": "interactive",
            "SESSIONBELL_PID": "4",
            "SESSIONBELL_TTY": "",
        }.items()
    )
    assert not {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "SESSIONBELL_OLD"} & found.keys()


def test_hostile_text_is_one_capped_line() -> None:
    nasty = Observation(
        key="4:2",
        state=State.WORKING,
        detail="a\0b\x1b]0;title\x07\nc" + "x" * 10_000,
        project="$(reboot)\r\n\udcff",
    )
    found = environment(told(session=nasty), {})
    assert found["SESSIONBELL_DETAIL"].startswith("ab c")
    assert found["SESSIONBELL_PROJECT"] == "$(reboot)"
    assert all(value.isprintable() and len(value) <= 500 for value in found.values())


@pytest.mark.parametrize(
    ("path", "told_as"),
    [
        ("/src/my  project", "/src/my  project"),
        (" /src/ends in a blank ", " /src/ends in a blank "),
        ("/src/ü", "/src/ü"),
        ("/" + "x" * 4000, "/" + "x" * 4000),
        ("/src/a\nb", ""),
        ("/src/\x1b[31mred", ""),
        ("/src/\u202eabc", ""),
        ("/src/\udcff", ""),
        ("/" + "x" * 5000, ""),
        (None, ""),
    ],
)
def test_a_path_is_the_very_one_or_none(path: str | None, told_as: str) -> None:
    session = replace(SESSION, cwd=path, transcript=path)
    found = environment(told(session=session), {})
    assert (found["SESSIONBELL_CWD"], found["SESSIONBELL_TRANSCRIPT"]) == (told_as, told_as)


@pytest.mark.asyncio
async def test_a_program_runs_with_its_arguments_as_they_are(tmp_path: Path) -> None:
    report = tmp_path / "report"
    code = (
        "import json, os, sys;"
        "print(json.dumps([sys.argv[1:], os.environ['SESSIONBELL_DETAIL'], sys.stdin.read(),"
        " os.getcwd(), os.getpgid(0) == os.getpid()]), file=open(os.environ['OUT'], 'w'))"
    )
    os.environ["OUT"] = str(report)
    try:
        async with running() as commands:
            commands.run(told(), calling(sys.executable, "-c", code, "$HOME; a b", "`id`"))
            await until(lambda: report.exists() and report.read_text().endswith("\n"))
            await until(lambda: not commands._running)
            assert commands.problems == ()
    finally:
        del os.environ["OUT"]
    assert json.loads(report.read_text()) == [
        ["$HOME; a b", "`id`"], "Bash: npm publish", "", HOME, True,
    ]  # fmt: skip


@pytest.mark.asyncio
async def test_without_a_program_nothing_runs() -> None:
    async with running() as commands:
        commands.run(told("question"), calling("/bin/false"))
        assert not commands._running
        assert commands.problems == ()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (("/nowhere/bell",), "No such file"),
        (("/etc",), "ermission denied"),
        (("/bin/sh", "-c", "exit 3"), "exit code 3"),
        (("/bin/sh", "-c", "kill -9 $$"), "signal 9"),
        (("a\0b",), "null byte"),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_a_failure_names_the_setting_until_it_works(
    argv: tuple[str, ...], cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    changes: list[int] = []
    async with running(on_problems=lambda: changes.append(1)) as commands:
        commands.run(told(), calling(*argv))
        await until(lambda: commands.problems)
        (problem,) = commands.problems
        assert problem.code == "event-command"
        assert problem.message.startswith("alerts.permission.command: ")
        assert cause in problem.message
        assert len([record for record in caplog.records if record.name.startswith("tray")]) == 1
        commands.run(told(), calling("/bin/true"))
        await until(lambda: not commands.problems)
        assert len(changes) == 2


@pytest.mark.asyncio
async def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"trap '' TERM; sleep 600 & echo $! $$ >{pids}; wait; wait; sleep 600"
    async with running() as commands:
        commands.run(told(), calling("/bin/sh", "-c", script, limit=0.3))
        await until(lambda: commands.problems)
        assert "ended after 0.3 s" in commands.problems[0].message
        await until(lambda: not commands._running)
        found = [int(pid) for pid in pids.read_text().split()]
        await until(lambda: not any(alive(pid) for pid in found))


@pytest.mark.asyncio
async def test_a_program_that_hangs_delays_no_other(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with running() as commands:
        for _ in range(AT_ONCE - 1):
            commands.run(told(), calling("/bin/sleep", "600"))
        commands.run(told("question"), calling("/usr/bin/touch", str(mark), event="question"))
        await until(mark.exists)


@pytest.mark.asyncio
async def test_only_so_many_run_and_wait(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    done = tmp_path / "done"
    settings = calling("/bin/sh", "-c", f"read line <{gate}; echo >>{done}")
    async with running() as commands:
        for _ in range(AT_ONCE + WAITING):
            commands.run(told(), settings)
        assert len(commands._running) == AT_ONCE
        assert commands.problems == ()
        commands.run(told(), settings)
        assert "others wait" in commands.problems[0].message
        commands._waiting.clear()
        descriptor = os.open(gate, os.O_RDWR)
        os.write(descriptor, b"go\n" * AT_ONCE)
        await until(lambda: done.exists() and len(done.read_bytes()) == AT_ONCE)
        os.close(descriptor)


@pytest.mark.asyncio
async def test_the_next_in_line_runs_once_one_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_commands, "AT_ONCE", 1)
    order = tmp_path / "order"
    async with running() as commands:
        for word in "abc":
            commands.run(told(), calling("/bin/sh", "-c", f"echo {word} >>{order}"))
        await until(lambda: order.exists() and order.read_text() == "a\nb\nc\n")


@pytest.mark.asyncio
async def test_closing_ends_what_runs(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with running() as commands:
        commands.run(told(), calling("/bin/sh", "-c", f"echo $$ >{pid}; exec sleep 600"))
        await until(lambda: pid.exists() and pid.read_text())
    assert not alive(int(pid.read_text()))


@pytest.mark.asyncio
async def test_closing_ends_what_does_not_want_to_and_runs_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A run that lasts too long may take its time, the end of the application may not.
    monkeypatch.setattr(event_commands, "GRACE", 600.0)
    pid = tmp_path / "pid"
    async with running() as commands:
        script = f"trap '' TERM; echo $$ >{pid}; while :; do sleep 600; done"
        commands.run(told(), calling("/bin/sh", "-c", script))
        await until(lambda: pid.exists() and pid.read_text())
    assert not alive(int(pid.read_text()))
    commands.run(told(), calling("/bin/true"))
    assert not commands._running


@pytest.mark.asyncio
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
async def test_output_is_logged_for_debugging_only(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(level, logger=event_commands.__name__)
    async with running() as commands:
        # The sleep holds the output open, and must not be waited for.
        script = "echo heard; sleep 3 & exit 1"
        commands.run(told(), calling("/bin/sh", "-c", f"{script}"))
        await until(lambda: commands.problems)
        await until(lambda: not commands._running)
    assert ("heard" in caplog.text) is (level == logging.DEBUG)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

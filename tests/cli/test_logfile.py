"""Troubles are written down, privately and within bounds, and never cost anything else."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from dbus_fast import ErrorType
from dbus_fast.errors import DBusError

from tests import session_bus
from tests.tray.notification_daemon import Daemon
from tray.cli import logfile
from tray.demo.stage import Session, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "xyzzy-plugh"
"""What sessions hold here, all over."""


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("tray.engine", logging.ERROR, "engine.py", 1, text, None, None)


def test_a_record_makes_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessionbell" / "log"
    handler = logfile.LogFile(path)
    assert not path.parent.exists()
    handler.emit(record("one \ud800"))
    handler.emit(record("two"))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ERROR ")[1] for line in lines] == [
        "tray.engine: one \\ud800",
        "tray.engine: two",
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "LIMIT", 1000)
    handler = logfile.LogFile(tmp_path / "log")
    for _ in range(100):
        handler.emit(record("x" * 90))
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) <= {"log", "log.old"}
    assert all(size < 1300 for size in sizes.values())


def test_where_nothing_can_be_written_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    logfile.LogFile(tmp_path / "file" / "log").emit(record("lost"))
    logfile.LogFile(tmp_path).emit(record("lost"))


def test_it_stands_in_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert logfile.default_path() == tmp_path / "sessionbell" / "log"


@pytest.fixture
def fresh_loggers() -> Iterator[None]:
    """Loggers as at the start of a process."""
    root, ours = logging.getLogger(), logging.getLogger(logfile.OURS)
    before = (root.handlers[:], root.level, ours.level)
    root.handlers.clear()
    yield
    root.handlers[:], level, own = before
    root.setLevel(level)
    ours.setLevel(own)


@pytest.mark.usefixtures("fresh_loggers")
@pytest.mark.parametrize(
    ("asked", "console"),
    [
        ((0,), []),
        ((1,), ["i", "w"]),
        ((2,), ["d", "i", "w"]),
        ((0, 1), ["i", "w"]),
        ((2, 1, 0), ["d", "i", "w"]),
        ((1, 2), ["d", "i", "w"]),
    ],
)
def test_the_console_has_what_was_asked_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: tuple[int, ...],
    console: list[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stderr", stderr := io.StringIO())
    for verbosity in asked:
        logfile.start(verbosity)
    log = logging.getLogger("tray.some.part")
    log.debug("d")
    log.info("i")
    log.warning("w")
    other = logging.getLogger("some.library")
    other.info("not heard")
    assert [line.rpartition(": ")[2] for line in stderr.getvalue().splitlines()] == console
    written = (tmp_path / "sessionbell" / "log").read_text().splitlines()
    assert [line.rpartition(": ")[2] for line in written] == ["w"]


def told(logger: str, log: Callable[[logging.Logger], object]) -> str:
    """What the log file has of what `log` does."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logfile.PrivateFormatter("%(message)s"))
    one = logging.Logger(logger)  # noqa: LOG001  (one that nobody else has)
    one.addHandler(handler)
    log(one)
    return stream.getvalue()


def raising(error: Exception) -> Callable[[logging.Logger], None]:
    def log(logger: logging.Logger) -> None:
        try:
            try:
                raise error  # noqa: TRY301
            except Exception as first:
                raise RuntimeError(f"over {SECRET}") from first
        except RuntimeError:
            logger.exception("it failed")

    return log


@pytest.mark.parametrize(
    "error",
    [
        ValueError(f"invalid literal for int() with base 10: '{SECRET}'"),
        KeyError(SECRET),
        UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET),
        DBusError(ErrorType.FAILED, SECRET),
    ],
)
def test_an_exception_is_told_by_its_kind_and_place(error: Exception) -> None:
    text = told("tray.x", raising(error))
    assert SECRET not in text
    assert type(error).__name__ in text
    assert "RuntimeError" in text
    assert "test_logfile.py" in text


def test_what_the_system_says_of_a_file_stands() -> None:
    text = told("tray.x", raising(FileNotFoundError(2, SECRET, "/some/path")))
    assert "No such file or directory: '/some/path'" in text
    assert SECRET not in text


def test_the_name_of_an_error_on_the_bus_stands() -> None:
    error = DBusError("org.example.TooMany", SECRET)
    text = told("tray.x", lambda logger: logger.warning("refused: %s", error))
    assert "org.example.TooMany" in text
    assert SECRET not in text


def test_another_handlers_text_is_not_taken_over() -> None:
    made = record("it failed")
    made.exc_info = (ValueError, ValueError(SECRET), None)
    assert SECRET in logging.Formatter().format(made)
    assert SECRET not in logfile.PrivateFormatter().format(made)


@pytest.mark.parametrize(
    "message",
    [
        f"Exception in callback _App._updated(Update({SECRET!r}))\nhandle: <Handle {SECRET}>",
        f"Task exception was never retrieved\nfuture: <Task exception=ValueError({SECRET!r})>",
        f"Executing <Task {SECRET}> took 1 s",
    ],
)
def test_asyncio_shows_no_arguments(message: str) -> None:
    text = told("asyncio", lambda logger: logger.error(message))
    assert text.strip()
    assert SECRET not in text


def test_a_library_shows_no_traceback_of_its_own_making() -> None:
    message = f"got an error.\nTraceback\nValueError: {SECRET}"
    assert told("dbus_fast.x", lambda logger: logger.error(message)) == "got an error.\n"
    error = ValueError(SECRET)
    text = told("dbus_fast.x", lambda logger: logger.error("a handler raised: %s", error))
    assert text == "a handler raised: ValueError\n"


_TRAY = """
import asyncio, os, sys
from tray.cli import logfile
from tray.cli.run import run_desktop
logfile.start(1)
if sys.argv[2:]:
    # What the worst of all parsers would do.
    from tray.claude import survey
    def judge(facts):
        raise ValueError(repr(facts))
    survey.judge = judge
run_desktop([sys.argv[1]], color=False)
"""


@pytest_asyncio.fixture
async def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A notification server that refuses everything, and says what."""
    if session_bus.MISSING is not None:
        pytest.skip(session_bus.MISSING)
    bus = session_bus.SessionBus(tmp_path)
    bus.start()
    made = await Daemon().start(bus.address)
    made.address = bus.address
    yield made
    await made.stop()
    bus.stop()


def hostile(stage: Stage) -> Session:
    """Hold the secret wherever sessions can, whole, torn and out of form; return one of them."""
    asking = stage.session("shop", f"{SECRET}-branch")
    asking.prompt(f"publish {SECRET}", ago=30)
    asking.ask("Bash", {"command": f"echo {SECRET}"}, ago=20)
    torn = stage.session("docs")
    torn.prompt(f"write {SECRET}", ago=10)
    torn.ask("AskUserQuestion", {"questions": [{"question": SECRET}]}, ago=5)
    lines = [
        b'{"type":"assistant","message":{"content":"' + SECRET.encode() + b'\xff\xfe"}}',
        json.dumps({"type": SECRET, "message": {"role": SECRET, "content": {SECRET: 1}}}).encode(),
        json.dumps({"type": "custom-title", "customTitle": [SECRET], "timestamp": SECRET}).encode(),
        json.dumps({"type": "user", "message": {"content": [{"type": SECRET}]}}).encode(),
        b'{"type":"user","message":{"content":"' + SECRET.encode(),
    ]
    for folder, _, names in os.walk(os.path.join(stage.root, "projects")):
        for name in names:
            with open(os.path.join(folder, name), "ab") as transcript:
                transcript.write(b"\n".join(lines))
    for number, content in enumerate((f'{{"status":"{SECRET}', f'{{"pid":"{SECRET}"}}', SECRET)):
        path = os.path.join(stage.root, "sessions", f"{4_000_000 + number}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    return asking


@pytest.mark.asyncio
@pytest.mark.parametrize("worst", [(), ("worst",)], ids=["hostile", "faulty"])
async def test_what_sessions_hold_is_in_no_log(
    tmp_path: Path, daemon: Daemon, worst: tuple[str, ...]
) -> None:
    quoted = asyncio.Event()

    def refuse(member: str) -> None:
        if member == "Notify":
            arguments = daemon.called("Notify")[-1]
            daemon.refuse["Notify"] = ("org.example.Refused", f"cannot show {arguments}")
            if SECRET in repr(arguments):
                quoted.set()

    daemon.before_reply = refuse
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "DBUS_SESSION_BUS_ADDRESS": daemon.address,
    }
    log = tmp_path / "state" / "sessionbell" / "log"
    # The person is nowhere near.
    (settings := tmp_path / "config" / "sessionbell").mkdir(parents=True)
    (settings / "config.toml").write_text("[holds]\npresence = 0\n")

    async def written(text: str, times: int = 1) -> None:
        while not log.exists() or log.read_text().count(text) < times:
            assert running.returncode is None, (await running.communicate())[1].decode()
            await asyncio.sleep(0.02)

    with Stage() as stage:
        asking = hostile(stage)
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _TRAY, stage.root, *worst),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            # The table there is for the person, and shows what is asked.
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(30):
                if worst:
                    await written("could not be read")
                else:
                    await written("a notification failed")
                    asking.answered(SECRET)
                    asking.ask("Bash", {"command": f"echo {SECRET}"})
                    await quoted.wait()
                    await written("a notification failed", 2)
        finally:
            with contextlib.suppress(ProcessLookupError):
                running.terminate()
            _, console = await running.communicate()
    assert worst or b"INFO tray.engine" in console
    assert [line for line in console.decode().splitlines() if SECRET in line] == []
    assert [line for line in log.read_text().splitlines() if SECRET in line] == []

"""`watch --bell`: what a terminal is sent when a session calls, and when it is."""

from __future__ import annotations

import datetime as dt
import os
import pty
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tray.cli.bell import Bell, escape
from tray.config import Alerts, AlertSettings, QuietHours, Settings
from tray.demo.stage import Stage
from tray.machine import Alert, AlertKind, Track, Tracked
from tray.mutes import Mutes
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN = "from tray.cli.main import main; main()"
WALL = dt.datetime.fromisoformat("2026-03-02T12:00").timestamp()
OSC_9 = "\x1b]9;shop needs permission: Bash: ls\x1b\\"
OSC_777 = "\x1b]777;notify;shop needs permission;Bash: ls\x1b\\"


def waiting(key: str = "1", *, first: bool = False) -> Tracked:
    session = Observation(
        key=key, state=State.NEEDS_INPUT, session_id=f"s{key}", project="shop", cwd="/src/shop",
        reason=Reason.PERMISSION, detail="Bash: ls", ask=Ask("a", Reason.PERMISSION),
    )  # fmt: skip
    alert = Alert("a", AlertKind.PERMISSION, ripe=True, at=WALL, first=first)
    return Tracked((Track(session, alert, alert_seen=0.0),))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, f"{OSC_9}{OSC_777}\a"),
        ({"TMUX": "/tmp/t,1,0"}, None),
        ({"STY": "1.pts-0"}, "\a"),
    ],
)
def test_what_a_terminal_is_sent(environ: dict[str, str], expected: str | None) -> None:
    if expected is None:
        inner = (OSC_9 + OSC_777).replace("\x1b", "\x1b\x1b")
        expected = f"\x1bPtmux;{inner}\x1b\\\a"
    assert escape("shop needs permission", "Bash: ls", environ) == expected


def test_no_text_ends_its_sequence_or_adds_a_field() -> None:
    sent = escape("a;b\x1b\\\x07", "x;y\nz\x1b]0;title\x07\x9c", {})
    nine, more, bell = sent.split("\x1b\\")
    assert nine.startswith("\x1b]9;a,b")
    assert more.startswith("\x1b]777;notify;a,b")
    assert more.count(";") == 3
    assert bell == "\a"
    for part in (nine, more):
        assert "\x1b" not in part[1:]
        assert not set(part) & set("\x07\x9c\n")


def test_a_text_that_begins_with_a_figure_is_no_progress_bar() -> None:
    assert escape("4 sessions are waiting for you", "", {}).startswith("\x1b]9; 4 sessions")


@pytest.mark.parametrize(
    ("settings", "mutes", "rings"),
    [
        (Settings(), Mutes(), True),
        (Settings(notifications=False), Mutes(), False),
        (Settings(alerts=Alerts(permission=AlertSettings(enabled=False))), Mutes(), False),
        (Settings(quiet_hours=QuietHours(start="11:00", end="13:00")), Mutes(), False),
        (Settings(quiet_hours=QuietHours(start="13:00", end="11:00")), Mutes(), True),
        (Settings(), Mutes(everything=(None,)), False),
        (Settings(), Mutes(sessions={"s1": WALL + 60}), False),
        (Settings(), Mutes(sessions={"s2": WALL + 60}), True),
    ],
)
def test_who_rings(settings: Settings, mutes: Mutes, *, rings: bool) -> None:
    bell = Bell({})
    assert bell.ring(0.0, WALL, settings, mutes) == b""
    bell.take(waiting())
    assert (b"\a" in bell.ring(1.0, WALL, settings, mutes)) is rings
    assert bell.ring(2.0, WALL, settings, mutes) == b"", "once"


def test_it_rings_when_quiet_hours_end() -> None:
    settings = Settings(quiet_hours=QuietHours(start="11:00", end="13:00"))
    bell = Bell({})
    bell.take(waiting())
    assert bell.ring(1.0, WALL, settings, Mutes()) == b""
    assert bell.wake_at == pytest.approx(3601.0, abs=0.1)
    assert bell.wake_at is not None
    assert b"\a" in bell.ring(bell.wake_at, WALL + 3600.01, settings, Mutes())


def test_it_shows_no_details_where_there_are_to_be_none() -> None:
    bell = Bell({})
    bell.take(waiting())
    sent = bell.ring(1.0, WALL, Settings(show_details=False), Mutes())
    assert sent.startswith(b"\x1b]9;A session needs permission\x1b\\")


def test_what_was_there_before_does_not_ring() -> None:
    bell = Bell({})
    bell.take(waiting(first=True))
    assert bell.ring(1.0, WALL, Settings(), Mutes()) == b""


def test_a_terminal_rings_once_when_a_session_begins_to_wait(
    tmp_path: Path, wait_until: Callable[..., object]
) -> None:
    with Stage() as stage:
        shop = stage.session("shop-api")
        shop.prompt("publish it", ago=30)
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, "watch", "--bell", "--root", stage.root],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={name: value for name, value in os.environ.items() if name not in ("TMUX", "STY")}
            | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
            | {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
            start_new_session=True,
        )
        os.close(slave)
        seen = b""

        def shows(text: bytes) -> bool:
            nonlocal seen
            if select.select([master], [], [], 0.01)[0]:
                seen += os.read(master, 65536)
            return text in seen

        with process:
            try:
                wait_until(lambda: shows("● working".encode()), within=10)
                assert b"\a" not in seen
                shop.ask("Bash", {"command": "npm publish"})
                wait_until(lambda: shows(b"\a"), within=10)
                assert b"\x1b]9;shop-api needs permission: Bash: npm publish" in seen
                assert b"\x1b]777;notify;shop-api needs permission;Bash: npm publish" in seen
                # What comes after it is another session's: the first rang no second time.
                docs = stage.session("docs")
                docs.prompt("write", ago=30)
                docs.ask("AskUserQuestion", {"questions": [{"question": "Which port?"}]})
                wait_until(lambda: shows(b"\x1b]777;notify;docs asks a question"), within=10)
                wait_until(lambda: shows(b"\a") and seen.count(b"\a") == 2)
                process.send_signal(signal.SIGINT)
                wait_until(lambda: shows(b"\x1b[?25h"), within=10)
                assert process.wait(timeout=10) == 0
            finally:
                process.kill()
        os.close(master)
    assert seen.count(b"\a") == 2
    assert b"Traceback" not in seen


def test_without_a_terminal_it_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "watch", "--bell"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"this is none" in done.stderr

"""Text is put on the clipboard by what there is, and what was done is told honestly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

from tests import session_bus
from tray.desktop import clipboard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio

TEXT = "cd '/tmp/a b' && claude --resume 1 # ünï $(no) \"shell\""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """A PATH with nothing on it; make a program, and get the file where it leaves its input."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/no-bus")
    for variable in ("WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(variable, raising=False)

    def make(name: str, then: str = "exit 0") -> Path:
        taken = tmp_path / f"{name}.taken"
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$@" >"{taken}.argv"\n/bin/cat >"{taken}"\n{then}\n')
        program.chmod(0o755)
        return taken

    return make


@pytest.mark.parametrize(
    ("variable", "name", "argv"),
    [
        ("WAYLAND_DISPLAY", "wl-copy", ""),
        ("DISPLAY", "xclip", "-selection clipboard -in"),
        ("DISPLAY", "xsel", "--clipboard --input"),
    ],
)
async def test_hands_the_text_to_the_program_there_is(programs, monkeypatch, variable, name, argv):
    taken = programs(name)
    monkeypatch.setenv(variable, ":7")
    assert await clipboard.copy(TEXT)
    assert taken.read_text() == TEXT
    assert taken.with_name(f"{taken.name}.argv").read_text().strip() == argv


async def test_no_program_is_run_where_it_cannot_work(programs):
    taken = [programs(name) for name in ("wl-copy", "xclip", "xsel")]
    assert not await clipboard.copy(TEXT)
    assert not any(path.exists() for path in taken)


@pytest.mark.parametrize("fault", ["exit 3", "exec /bin/sleep 60"])
async def test_the_next_is_tried_after_one_that_fails_or_hangs(programs, monkeypatch, fault):
    monkeypatch.setattr(clipboard, "_LIMIT", 0.2)
    monkeypatch.setenv("DISPLAY", ":7")
    programs("xclip", fault)
    assert not await clipboard.copy(TEXT)
    taken = programs("xsel")
    assert await clipboard.copy(TEXT)
    assert taken.read_text() == TEXT


async def test_one_that_cannot_be_run_is_no_error(programs, tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":7")
    (tmp_path / "bin" / "xclip").write_text("not a program")
    os.chmod(tmp_path / "bin" / "xclip", 0o755)
    assert not await clipboard.copy(TEXT)


async def test_one_that_stays_to_hold_the_text_is_not_waited_for(programs, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":7")
    programs("xclip", "/bin/sleep 5 & exit 0")
    assert await clipboard.copy(TEXT)


async def test_lone_surrogates_are_no_error(programs, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":7")
    taken = programs("xclip")
    assert await clipboard.copy("a\ud800b")
    assert taken.read_text() == "a?b"


@pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING))
@pytest.mark.parametrize("works", [True, False])
async def test_kdes_clipboard_is_asked_over_the_bus(programs, tmp_path, monkeypatch, works):
    bus = session_bus.SessionBus(tmp_path)
    monkeypatch.setenv("PATH", os.defpath)
    bus.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    assert not await clipboard.copy(TEXT), "nobody is there"
    taken: list[list[str]] = []

    def klipper(message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        assert (message.path, message.member) == ("/klipper", "setClipboardContents")
        taken.append(message.body)
        if works:
            return Message.new_method_return(message)
        return Message.new_error(message, "org.example.No", "no")

    service = await MessageBus(bus.address).connect()
    service.add_message_handler(klipper)
    await service.request_name("org.kde.klipper")
    try:
        assert await clipboard.copy(TEXT) is works
        assert taken == [[TEXT]]
    finally:
        service.disconnect()
        await service.wait_for_disconnect()
        bus.stop()


@pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING))
async def test_kdes_clipboard_is_not_started_for_this(programs, tmp_path, monkeypatch):
    service, started = tmp_path / "org.kde.klipper.service", tmp_path / "started"
    service.write_text(f"[D-BUS Service]\nName=org.kde.klipper\nExec=/usr/bin/touch {started}\n")
    bus = session_bus.SessionBus(tmp_path, [service])
    monkeypatch.setenv("PATH", os.defpath)
    bus.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    try:
        assert not await clipboard.copy(TEXT)
        assert not started.exists()
    finally:
        bus.stop()

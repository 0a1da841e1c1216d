"""Troubles are written down, privately and within bounds, and never cost anything else."""

from __future__ import annotations

import logging
import stat
from typing import TYPE_CHECKING

from tray.cli import logfile

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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

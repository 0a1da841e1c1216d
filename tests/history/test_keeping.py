"""What is kept from being deleted, and when the client deletes."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.claude.lines import prompt
from tray.history import keeping
from tray.history.keeping import KeepError, keep, kept_place, let_go, origin, without_doubles
from tray.history.past import KEPT, LOCAL, Past, Place
from tray.history.retention import Retention, expires_at, expires_soon, retention_days
from tray.history.scan import scan

ID = "11111111-2222-3333-4444-555555555555"
DAY = 86_400.0


@pytest.fixture
def original(tmp_path: Path) -> Past:
    project = tmp_path / "claude" / "projects" / "-src-shop"
    (project / ID / "subagents").mkdir(parents=True)
    (project / ID / "subagents" / "agent-1.jsonl").write_text("{}\n")
    (project / ID / "link").symlink_to("/etc/passwd")
    os.mkfifo(project / ID / "pipe")
    path = project / f"{ID}.jsonl"
    path.write_text(json.dumps(prompt("keep me") | {"cwd": "/src/shop"}) + "\n")
    os.utime(path, (1e9, 1e9))
    (found,) = scan([Place(str(tmp_path / "claude"))])
    return found


def kept_in(folder: Path) -> tuple[Past, ...]:
    return scan([kept_place(str(folder))])


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_a_kept_session_is_listed_when_the_original_is_gone(tmp_path, original):
    before = everything(tmp_path / "claude")
    folder = tmp_path / "kept"
    copy = keep(original, str(folder))
    assert everything(tmp_path / "claude") == before
    os.unlink(original.transcript)
    (found,) = kept_in(folder)
    assert (found.transcript, found.source, found.title) == (copy, KEPT, "keep me")
    assert found.modified == 1e9
    project = folder / "projects" / "-src-shop"
    assert (project / ID / "subagents" / "agent-1.jsonl").read_text() == "{}\n"
    assert {path.name for path in (project / ID).iterdir()} == {"subagents"}
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    came = origin(found)
    assert came is not None
    assert (came.transcript, came.source) == (original.transcript, LOCAL)


def test_it_is_kept_anew_when_it_has_grown(tmp_path, original):
    folder = tmp_path / "kept"
    keep(original, str(folder))
    with open(original.transcript, "a") as file:
        file.write(json.dumps({"type": "custom-title", "customTitle": "grown"}) + "\n")
    keep(original, str(folder))
    (found,) = kept_in(folder)
    assert found.title == "grown"


def test_a_copy_that_holds_more_is_not_lost(tmp_path, original):
    folder = tmp_path / "kept"
    copy = keep(original, str(folder))
    os.truncate(original.transcript, 0)
    with pytest.raises(KeepError, match="shorter"):
        keep(original, str(folder))
    assert "keep me" in Path(copy).read_text()


def test_a_copy_stands_until_the_next_is_complete(tmp_path, original, monkeypatch):
    folder = tmp_path / "kept"
    copy = keep(original, str(folder))
    before = Path(copy).read_text()
    with open(original.transcript, "a") as file:
        file.write("{}\n")

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device", copy)

    monkeypatch.setattr(shutil, "copyfileobj", no_space)
    with pytest.raises(KeepError, match="No space left"):
        keep(original, str(folder))
    assert Path(copy).read_text() == before
    assert not [path for path in folder.rglob("*") if ".unfinished-" in path.name]


def test_what_a_power_failure_left_is_cleared_away(tmp_path, original):
    left = tmp_path / "kept" / "projects" / "-src-shop" / ".unfinished-x"
    left.mkdir(parents=True)
    keep(original, str(tmp_path / "kept"))
    assert not left.exists()


def test_what_cannot_be_kept_is_said(tmp_path, original):
    with pytest.raises(KeepError, match="already"):
        keep(Past("x", ID, source=KEPT), str(tmp_path))
    with pytest.raises(KeepError, match="gone"):
        keep(Past("", ID), str(tmp_path))
    os.unlink(original.transcript)
    with pytest.raises(KeepError, match="No such file"):
        keep(original, str(tmp_path / "kept"))
    assert kept_in(tmp_path / "kept") == ()


def test_a_link_in_place_of_a_transcript_is_not_followed(tmp_path, original):
    os.unlink(original.transcript)
    os.symlink("/etc/passwd", original.transcript)
    with pytest.raises(KeepError):
        keep(original, str(tmp_path / "kept"))


def test_only_a_kept_copy_is_let_go(tmp_path, original):
    folder = tmp_path / "kept"
    keep(original, str(folder))
    (kept,) = kept_in(folder)
    for wrong in (original, Past(original.transcript, ID, source=KEPT)):
        with pytest.raises(KeepError, match="no kept copy"):
            let_go(wrong, str(folder))
    assert os.path.exists(original.transcript)
    let_go(kept, str(folder))
    assert [path.name for path in folder.rglob("*") if path.is_file()] == [".lock"]


def test_an_original_here_hides_its_copy(original):
    kept, other = Past("k", ID, source=KEPT), Past("o", ID, source="build")
    assert without_doubles((original, kept, other)) == (replace(original, kept=True), other)
    assert without_doubles((original, other)) == (original, other)
    assert without_doubles((kept, other)) == (kept, other)
    assert keeping.kept_ids((original, kept)) == {ID}


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (None, 30),
        ("{}", 30),
        ('{"cleanupPeriodDays": 7, "apiKeyHelper": 1}', 7),
        ('{"cleanupPeriodDays": 0}', 0),
        ('{"cleanupPeriodDays": 99999}', 99999),
        ('{"cleanupPeriodDays": -1}', 30),
        ('{"cleanupPeriodDays": "7"}', 30),
        ('{"cleanupPeriodDays": true}', 30),
        ("{", 30),
        ("\udcff", 30),
        ("[" * 100_000, 30),
    ],
)
def test_how_long_a_root_keeps_sessions(tmp_path, settings, days):
    if settings is not None:
        (tmp_path / "settings.json").write_text(settings, errors="surrogateescape")
    assert retention_days(str(tmp_path)) == days


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({}, 1000 + 7 * DAY),
        ({"source": KEPT}, None),
        ({"source": "build"}, None),
        ({"modified": None}, None),
        ({"live": True}, None),
    ],
)
def test_when_a_session_is_deleted(fields, at):
    assert (
        expires_at(Past(**{"transcript": "x", "session_id": ID, "modified": 1000.0} | fields), 7)
        == at
    )


@pytest.mark.parametrize(
    ("at", "soon"), [(None, False), (7 * DAY, True), (7 * DAY + 1, False), (-DAY, True)]
)
def test_what_is_marked(at, soon):
    assert expires_soon(at, 0.0) is soon


def test_each_root_goes_by_its_own_settings(tmp_path):
    (tmp_path / "settings.json").write_text('{"cleanupPeriodDays": 100}')
    retention = Retention()
    usual = Past("x", ID, modified=0.0, config_root="/nowhere")
    longer = Past("x", ID, modified=0.0, config_root=str(tmp_path))
    assert (retention.expires_at(usual), retention.expires_at(longer)) == (30 * DAY, 100 * DAY)
    assert retention.expires_soon(usual, 25 * DAY)
    assert not retention.expires_soon(longer, 25 * DAY)
    assert retention.expires_at(Past("x", ID, modified=0.0)) is None

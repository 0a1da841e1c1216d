"""One tray a login, whatever became of the last one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tray.cli.lock import AlreadyRunningError, only_one, runtime_folder

if TYPE_CHECKING:
    from pathlib import Path

HOLD = """
import sys
from tray.cli.lock import only_one
with only_one(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_told_who_the_first_is_and_a_killed_one_is_none(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with first:
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(AlreadyRunningError) as caught, only_one(str(tmp_path)):
            pass
        assert caught.value.pid == first.pid
        first.send_signal(signal.SIGKILL)
    with only_one(str(tmp_path)):
        assert (tmp_path / "sessionbell.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("left", [b"", b"garbage", b"9" * 300])
def test_whatever_is_in_the_file_does_not_matter(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "sessionbell.lock").write_bytes(left)
    with only_one(str(tmp_path)):
        (tmp_path / "sessionbell.lock").write_bytes(left)
        with pytest.raises(AlreadyRunningError), only_one(str(tmp_path)):
            pass


def test_the_lock_is_not_inherited(tmp_path: Path) -> None:
    with only_one(str(tmp_path)):
        child = subprocess.Popen(
            [sys.executable, "-c", "input(print('up', flush=True))"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=False,
        )
    with child:
        assert child.stdout.readline() == b"up\n"
        with only_one(str(tmp_path)):
            pass
        child.stdin.write(b"\n")


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sessionbell.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), only_one(str(tmp_path)):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_folder_is_the_logins_or_a_private_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) == str(tmp_path)
    own = tmp_path / f"sessionbell-{os.getuid()}"
    for environ in ({}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": str(tmp_path / "none")}):
        assert runtime_folder(environ) == str(own)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


def test_the_folder_of_another_login_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    # Root may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, _mode: bool(os.stat(path).st_mode & 0o300))
    own = tmp_path / f"sessionbell-{os.getuid()}"
    assert runtime_folder({"XDG_RUNTIME_DIR": str(closed)}) == str(own)


@pytest.mark.parametrize("made_by", ["a link", "another user"])
def test_a_private_folder_of_somebody_elses_making_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_by: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    me = os.getuid()
    if made_by == "another user":
        monkeypatch.setattr(os, "getuid", lambda: me + 1)  # whoever made it, it was not I
    else:
        (tmp_path / f"sessionbell-{me}").symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="XDG_RUNTIME_DIR"):
        runtime_folder({})

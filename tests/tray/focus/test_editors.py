"""Sessions inside of editors: whose they are, and what is started for them."""

from __future__ import annotations

import json
import os
import sys

import msgspec
import pytest

from tests.conftest import wait_until
from tests.tray.focus.test_terminal import process
from tray.desktop.focus import editors, route
from tray.desktop.focus.place import FocusError, Seat, WindowHint
from tray.system.processes import read_process

CODE = "/usr/share/code/code"
TTY = "/dev/pts/1"


def chain(*processes):
    """A seat from `(name, tty, exe)`, each the child of the next."""
    made = [
        process(100 - number, 99 - number, name, tty=tty, exe=exe)
        for number, (name, tty, exe) in enumerate(processes)
    ]
    return Seat(made[0], tuple(made[1:]))


CLAUDE = ("claude", TTY, "/usr/bin/node")
BASH = ("bash", TTY, "/usr/bin/bash")
WINDOWS = ("code", None, CODE)


@pytest.mark.parametrize(
    ("processes", "name", "main"),
    [
        # A terminal of VS Code: its pty host is a process of its own.
        ((CLAUDE, BASH, WINDOWS, WINDOWS, ("systemd", None, None)), "Visual Studio Code", 97),
        # Its extension: no terminal at all.
        ((("claude", None, None), WINDOWS, WINDOWS), "Visual Studio Code", 98),
        ((CLAUDE, BASH, ("codium", None, "/usr/share/codium/codium")), "VSCodium", 98),
        (
            (CLAUDE, BASH, ("cursor", None, "/tmp/.mount_CursorXy/usr/share/cursor/cursor")),
            "Cursor",
            98,
        ),
        ((CLAUDE, BASH, ("idea", None, "/opt/idea/bin/idea")), "IntelliJ IDEA", 98),
        (
            (("claude", None, None), ("claude-desktop", None, "/usr/bin/claude-desktop")),
            "Claude Desktop",
            99,
        ),
    ],
)
def test_whose_session_it_is(processes, name, main):
    held = editors.held_by_editor(chain(*processes))
    assert (held.editor.name, held.main.pid) == (name, main)


@pytest.mark.parametrize(
    "processes",
    [
        (CLAUDE, BASH, ("xterm", None, "/usr/bin/xterm")),
        # A terminal that was started from a terminal of VS Code.
        (
            CLAUDE,
            BASH,
            ("xterm", "/dev/pts/5", "/usr/bin/xterm"),
            ("bash", "/dev/pts/5", "/usr/bin/bash"),
            WINDOWS,
        ),
        # A multiplexer in one.
        (CLAUDE, BASH, ("script", "/dev/pts/5", None), WINDOWS),
        (CLAUDE,),
    ],
)
def test_what_is_no_editors_session(processes):
    assert editors.held_by_editor(chain(*processes)) is None


def test_a_parent_that_could_not_be_read_is_not_passed_over():
    seat = chain(CLAUDE, BASH, WINDOWS)
    broken = msgspec.structs.replace(seat.ancestors[0], ppid=1)
    assert editors.held_by_editor(Seat(seat.process, (broken, seat.ancestors[1]))) is None


def test_editors_that_run_as_something_else(tmp_path):
    java = tmp_path / "pycharm" / "jbr" / "bin" / "java"
    (tmp_path / "pycharm" / "bin").mkdir(parents=True)
    (tmp_path / "pycharm" / "bin" / "pycharm.sh").touch(mode=0o755)
    held = editors.held_by_editor(chain(CLAUDE, BASH, ("java", None, str(java))))
    assert held.editor.name == "PyCharm"
    assert editors.launcher(held, {}) == str(tmp_path / "pycharm" / "bin" / "pycharm.sh")
    seat = chain(CLAUDE, BASH, ("electron", None, "/usr/lib/electron34/electron"))
    argv = ("/usr/lib/electron34/electron", "/usr/lib/code-oss/out/main.js")
    held = editors.held_by_editor(
        Seat(
            seat.process, (seat.ancestors[0], msgspec.structs.replace(seat.ancestors[1], argv=argv))
        )
    )
    assert held.editor.name == "Code - OSS"


@pytest.mark.parametrize(
    ("place", "marker", "above", "asked"),
    [
        ("shop/src", ".vscode", "shop", "shop"),
        ("shop/src", ".idea", "shop", "shop"),
        ("shop/src", ".vscode", None, "shop/src"),
    ],
)
def test_the_folder_that_is_asked_for(tmp_path, place, marker, above, asked):
    cwd = tmp_path / place
    cwd.mkdir(parents=True)
    if above:
        (tmp_path / above / marker).mkdir()
    editor = next(one for one in editors._EDITORS if one.marker == marker)
    seat = Seat(msgspec.structs.replace(process(999999999, 1, "claude"), cwd=str(cwd)), ())
    assert editors.folder_of(seat, editor) == str(tmp_path / asked)


@pytest.mark.parametrize(("folders", "asked"), [(["/w/shop"], "/w/shop"), (["/w/a", "/w/b"], None)])
def test_the_window_that_the_client_is_connected_to_is_known(tmp_path, start, folders, asked):
    (tmp_path / ".claude" / "ide").mkdir(parents=True)
    (tmp_path / ".claude" / "ide" / "41234.lock").write_text(
        json.dumps({"workspaceFolders": folders})
    )
    seat = start("code", {"HOME": str(tmp_path), "CLAUDE_CODE_SSE_PORT": "41234"}).seat()
    assert editors.folder_of(seat, editors._EDITORS[0]) == asked


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An editor whose command notes how it was called; this process is its main one."""
    folder = tmp_path / "code folder"
    (folder / "bin").mkdir(parents=True)
    told = tmp_path / "told"
    command = folder / "bin" / "code"

    def make(code=0):
        command.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            f"json.dump([sys.argv[1:], dict(os.environ)], open({str(told) + '.new'!r}, 'w'))\n"
            f"os.rename({str(told) + '.new'!r}, {str(told)!r})\nsys.exit({code})\n"
        )
        command.chmod(0o755)
        main = msgspec.structs.replace(
            read_process(os.getpid()), comm="code", exe=str(folder / "code"), tty=None
        )
        claude = process(7, main.pid, "claude", tty=TTY)
        return Seat(msgspec.structs.replace(claude, cwd=str(tmp_path)), (main,))

    make.told = told
    make.command = command
    return make


def windows(monkeypatch, spot):
    monkeypatch.setattr(route, "first", lambda names, place, desktop: (spot, []))


def test_an_editor_with_several_windows_is_asked_for_the_folder(installed, monkeypatch, tmp_path):
    windows(monkeypatch, None)
    desktop = {"PATH": os.environ["PATH"], "CLAUDECODE": "1", "ELECTRON_RUN_AS_NODE": "1"}
    spot = editors.LAYER.find(installed(), desktop)
    assert spot.says == f"Visual Studio Code on {tmp_path.name}"
    assert spot.outward is None
    assert spot.active() is None
    assert not installed.told.exists(), "looking starts nothing"
    spot.show("token-1")
    wait_until(installed.told.exists, what="the editor's command was called")
    argv, environ = json.loads(installed.told.read_text())
    assert argv == [str(tmp_path)]
    assert environ["XDG_ACTIVATION_TOKEN"] == "token-1"
    assert not {"CLAUDECODE", "ELECTRON_RUN_AS_NODE"} & set(environ)


def test_an_editors_only_window_is_raised_as_any_other(installed, monkeypatch):
    windows(monkeypatch, object())
    spot = editors.LAYER.find(installed(), {"PATH": ""})
    assert spot.outward.pid == os.getpid()
    spot.show()
    assert not installed.told.exists(), "nothing is started for it"


def test_what_fails_is_told(installed, monkeypatch):
    windows(monkeypatch, None)
    spot = editors.LAYER.find(installed(code=2), {"PATH": ""})
    with pytest.raises(FocusError, match="Visual Studio Code cannot be asked: exit code 2"):
        spot.show()
    installed.command.unlink()
    with pytest.raises(FocusError, match="its command code is not here"):
        spot.show()


def test_an_editor_that_has_ended_is_not_started_again(installed, monkeypatch):
    windows(monkeypatch, None)
    seat = installed()
    ended = msgspec.structs.replace(seat.ancestors[0], start_ticks=1)
    spot = editors.LAYER.find(Seat(seat.process, (ended,)), {"PATH": ""})
    with pytest.raises(FocusError, match="has ended"):
        spot.show()
    assert not installed.told.exists()


def test_a_window_is_no_session():
    assert editors.LAYER.find(WindowHint(pid=1), {}) is None

"""Which terminal is opened, and how it is started; the real ones: tests/desktop."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest

from tests.conftest import wait_until
from tray.desktop.starting import fresh
from tray.desktop.terminal import TerminalError, choose, open_terminal

X = {"DISPLAY": ":0"}
WAYLAND = {"WAYLAND_DISPLAY": "wayland-0"}
BOTH = {**X, **WAYLAND}


@pytest.mark.parametrize(
    ("setting", "environ", "installed", "chosen"),
    [
        # The setting, as it is; one that only names a known program gets its option.
        (("foot", "--app-id=x"), X, "kitty", "foot --app-id=x"),
        (("/opt/k/konsole",), X, "", "/opt/k/konsole -e"),
        (("kitty",), X, "", "kitty"),
        (("mine",), X, "", "mine -e"),
        # The desktop's own way, before the variable.
        ((), {**X, "TERMINAL": "kitty"}, "xdg-terminal-exec kitty", "xdg-terminal-exec"),
        ((), {**X, "TERMINAL": "kitty"}, "kitty xterm", "kitty"),
        ((), {**X, "TERMINAL": "wezterm"}, "wezterm xterm", "wezterm start --"),
        ((), {**X, "TERMINAL": "konsole --hold"}, "konsole", "konsole --hold -e"),
        ((), {**X, "TERMINAL": "konsole -e"}, "konsole", "konsole -e"),
        ((), {**X, "TERMINAL": "kitty -1"}, "kitty", "kitty -1"),
        # A variable that names nothing, or cannot be read.
        ((), {**X, "TERMINAL": "gone"}, "xterm", "xterm -e"),
        ((), {**X, "TERMINAL": "'"}, "xterm", "xterm -e"),
        # The desktop's own terminal.
        ((), {**X, "XDG_CURRENT_DESKTOP": "KDE"}, "kitty konsole", "konsole -e"),
        ((), {**BOTH, "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"}, "kitty kgx", "kgx --"),
        ((), {**BOTH, "XDG_CURRENT_DESKTOP": "GNOME"}, "ptyxis kgx", "ptyxis --new-window --"),
        ((), {**X, "XDG_CURRENT_DESKTOP": "GNOME"}, "gnome-terminal xterm", "gnome-terminal --"),
        ((), {**X, "XDG_CURRENT_DESKTOP": "X-Cinnamon"}, "gnome-terminal", "gnome-terminal --"),
        ((), {**X, "XDG_CURRENT_DESKTOP": "XFCE"}, "kitty xfce4-terminal", "xfce4-terminal -x"),
        ((), {**X, "XDG_CURRENT_DESKTOP": "MATE"}, "mate-terminal kitty", "mate-terminal -x"),
        ((), {**X, "XDG_CURRENT_DESKTOP": "LXQt"}, "qterminal kitty", "qterminal -e"),
        ((), {**WAYLAND, "XDG_CURRENT_DESKTOP": "sway"}, "kitty foot", "foot"),
        ((), {**WAYLAND, "XDG_CURRENT_DESKTOP": "Hyprland"}, "foot", "foot"),
        ((), {**WAYLAND, "XDG_CURRENT_DESKTOP": "niri"}, "alacritty foot", "alacritty -e"),
        # Whatever is there and can show itself here.
        ((), BOTH, "x-terminal-emulator ghostty", "ghostty -e"),
        ((), X, "x-terminal-emulator", "x-terminal-emulator -e"),
        ((), X, "foot xterm", "xterm -e"),
        ((), WAYLAND, "xterm foot", "foot"),
        ((), WAYLAND, "xterm", None),
        ((), X, "", None),
    ],
)
def test_which_terminal_is_opened(setting, environ, installed, chosen):
    there = set(installed.split())
    found = choose(setting, environ, lambda name: f"/usr/bin/{name}" if name in there else None)
    assert found == (tuple(chosen.split()) if chosen is not None else None)


def test_what_is_inherited_from_where_the_tray_was_started_is_left_behind():
    inside = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "TMUX": "/tmp/x,1,0",
        "TMUX_PANE": "%1",
        "STY": "1.x",
        "ZELLIJ_SESSION_NAME": "x",
        "ELECTRON_RUN_AS_NODE": "1",
        "VSCODE_IPC_HOOK_CLI": "/x",
        "XDG_ACTIVATION_TOKEN": "used",
    }
    kept = {"PATH": "/bin", "CLAUDE_CONFIG_DIR": "/c", "DISPLAY": ":0"}
    assert fresh({**inside, **kept}) == kept
    assert fresh(kept, "new")["XDG_ACTIVATION_TOKEN"] == "new"


@pytest.fixture
def terminal(tmp_path):
    """A terminal that notes how it was started, and then does what it is told."""
    program = tmp_path / "bin" / "mine"
    program.parent.mkdir()

    def make(then="pass"):
        program.write_text(
            f"#!{sys.executable}\n"
            "import json, os, signal, sys\n"
            "told = [sys.argv[1:], os.getcwd(), dict(os.environ), os.getpid(), os.getsid(0),\n"
            "        sorted(int(fd) for fd in os.listdir('/proc/self/fd'))]\n"
            f"json.dump(told, open({str(tmp_path / 'new')!r}, 'w'))\n"
            f"os.rename({str(tmp_path / 'new')!r}, {str(tmp_path / 'told')!r})\n"
            f"{then}\n"
        )
        program.chmod(0o700)
        return str(program)

    return make


def started(tmp_path):
    wait_until((tmp_path / "told").exists, what="the terminal was started")
    return json.loads((tmp_path / "told").read_text())


def test_it_is_started_in_the_folder_with_the_very_arguments(terminal, tmp_path):
    folder = tmp_path / 'a "folder"; $(x)'
    folder.mkdir()
    argv = ["claude", "--resume", "'; touch /tmp/x #"]
    environ = {"PATH": os.environ["PATH"], "CLAUDECODE": "1", "TMUX": "x", "DISPLAY": ":0"}
    open_terminal(argv, str(folder), environ, (terminal(), "-x"))
    told, cwd, variables, _, _, _ = started(tmp_path)
    assert told == ["-x", *argv]
    assert cwd == str(folder)
    assert not {"CLAUDECODE", "TMUX"} & set(variables)
    assert variables["DISPLAY"] == ":0"


def test_the_configuration_of_the_session_reaches_the_command(terminal, tmp_path):
    environ = {"PATH": os.environ["PATH"], "CLAUDE_CONFIG_DIR": "/home/me/.claude-work"}
    open_terminal(["claude"], str(tmp_path), environ, (terminal(), "-x"))
    assert started(tmp_path)[0] == [
        "-x", "env", "CLAUDE_CONFIG_DIR=/home/me/.claude-work", "claude",
    ]  # fmt: skip


def test_it_runs_on_by_itself_and_leaves_no_zombie(terminal, tmp_path):
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        open_terminal(["x"], str(tmp_path), os.environ, (terminal("signal.pause()"), "-e"))
        _, _, _, pid, session, descriptors = started(tmp_path)
        assert session == pid, "it has a session of its own"
        assert writing not in descriptors
    finally:
        os.close(reading)
        os.close(writing)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="its end was waited for")
    wait_until(
        lambda: "started-program" not in [thread.name for thread in threading.enumerate()],
        what="nothing is left of it",
    )


@pytest.mark.parametrize(
    ("then", "message"),
    [("sys.exit(3)", "ended at once with exit code 3"), ("sys.exit(0)", None)],
)
def test_one_that_ends_at_once(terminal, tmp_path, then, message):
    program = (terminal(then), "-e")
    if message is None:
        open_terminal(["x"], str(tmp_path), os.environ, program)
        return
    with pytest.raises(TerminalError, match=message) as error:
        open_terminal(["x"], str(tmp_path), os.environ, program)
    assert "sessionbell config set terminal" in str(error.value)


@pytest.mark.parametrize(
    ("cwd", "setting", "message"),
    [
        ("/nonexistent\n\x1b[31m", ("true", "-e"), r"the folder /nonexistent \S* ?is gone"),
        ("/", ("/nonexistent", "-e"), r"does not start \(No such file or directory\)"),
        ("/", (), "no terminal was found; install one, or name yours"),
    ],
)
def test_what_cannot_be_opened_is_told_with_a_way_out(cwd, setting, message):
    with pytest.raises(TerminalError, match=message) as error:
        open_terminal(["claude"], cwd, {"PATH": "/nonexistent"}, setting)
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)

"""The real terminals, opened on a command: arguments and folder arrive as they were given."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tray.desktop.terminal import open_terminal

if TYPE_CHECKING:
    from tests.desktop.xfce import Xfce

PROGRAMS = ["xterm", "konsole", "kitty", "gnome-terminal"]
HARD = ["--resume", "two words", 'it\'s "quoted"', "$(touch x); `y` && z", "ü *"]
TELL = "import json, os, sys; open(sys.argv[1], 'w').write(json.dumps([sys.argv[2:], os.getcwd()]))"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_terminal_runs_the_very_command_in_the_folder(desktop: Xfce, tmp_path, program):
    if shutil.which(program) is None:
        pytest.skip(f"not installed: {program}")
    folder = tmp_path / "a folder's name"
    folder.mkdir()
    told = tmp_path / "told"
    if program == "gnome-terminal":
        desktop.run("server", ["/usr/libexec/gnome-terminal-server"])
        wait_until(lambda: desktop.owned("org.gnome.Terminal"), within=20, what="its server runs")
    environ = {**desktop.environment, "LIBGL_ALWAYS_SOFTWARE": "1"}
    argv = [sys.executable, "-c", TELL, str(told), *HARD]
    open_terminal(argv, str(folder), environ, (program,))
    wait_until(lambda: told.exists() and told.read_text(), within=20, what="the command ran")
    assert json.loads(told.read_text()) == [HARD, str(folder)]

"""Starting at login: the entry, what it starts, and whose it is."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.desktop import autostart, exec_line
from tray.desktop.autostart import AutostartError, Launcher, Place, Start

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bell(tmp_path: Path) -> Path:
    return program(tmp_path / "venv/bin/sessionbell")


@pytest.fixture
def where(tmp_path: Path) -> Place:
    return Place(str(tmp_path / "config/autostart" / autostart.FILE_NAME))


def for_everybody(where: Place, tmp_path: Path, start: Launcher) -> Place:
    file = tmp_path / "xdg/autostart" / autostart.FILE_NAME
    file.parent.mkdir(parents=True)
    file.write_text(autostart.entry(start))
    return Place(where.own, (str(file),))


def lines(where: Place) -> list[str]:
    with open(where.own, encoding="utf-8") as file:
        return file.read().split("\n")


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        (("/usr/bin/sessionbell", "run"), "/usr/bin/sessionbell run"),
        (("/a b/x", "run"), '"/a b/x" run'),
        (('/say "x"', "run"), r'"/say \\"x\\"" run'),
        ((r"/back\slash",), r'"/back\\\\slash"'),
        (("/c$h`",), r'"/c\\$h\\`"'),
        (("/100%/x", "50%"), "/usr/bin/env /100%%/x 50%%"),
        (("/é/ü",), "/é/ü"),
        (("x", ""), 'x ""'),
    ],
)
def test_a_command_line_is_quoted_as_the_specification_says(argv, value):
    assert exec_line.compose(argv) == value
    assert exec_line.parse(value) == argv


@given(st.lists(st.text(st.characters(exclude_characters="\0"), min_size=1), min_size=1))
def test_any_command_line_comes_back_and_is_one_line(argv):
    value = exec_line.compose(argv)
    assert "\n" not in value
    assert exec_line.parse(value) == tuple(argv)


@pytest.mark.parametrize(
    ("value", "argv"),
    [
        ("sessionbell %U", ("sessionbell",)),
        ("'/a b/x' --say=it", ("/a b/x", "--say=it")),
        (r"/a\\ b/x", ("/a b/x",)),
        ('"never closed', None),
        ("", None),
        ("  ", None),
    ],
)
def test_other_peoples_command_lines_are_understood(value, argv):
    assert exec_line.parse(value) == argv


def test_a_venv_or_pipx_is_started_by_the_path_it_was_called_by(tmp_path, bell):
    link = tmp_path / "home/.local/bin/sessionbell"
    link.parent.mkdir(parents=True)
    link.symlink_to(bell)
    python = str(bell.parent / "python")
    assert autostart.launcher(str(bell), python, flatpak=False).argv == (str(bell),)
    # The link of pipx and of uv stays where an upgrade makes the venv anew.
    assert autostart.launcher(str(link), python, flatpak=False).argv == (str(link),)


def test_python_m_tray_is_started_by_the_script_beside_its_python(tmp_path, bell):
    python = bell.parent / "python"
    main = tmp_path / "tray/__main__.py"
    assert autostart.launcher(str(main), str(python), flatpak=False).argv == (str(bell),)
    bell.unlink()
    alone = autostart.launcher(str(main), str(python), flatpak=False, package="/src/bell")
    assert alone == Launcher((str(python), "-m", "tray"), "/src/bell")
    assert "Path=/src/bell" in autostart.entry(alone).split("\n")


def test_a_relative_call_becomes_absolute(bell, monkeypatch):
    monkeypatch.chdir(bell.parent.parent)
    assert autostart.launcher("bin/sessionbell", "/usr/bin/python3", flatpak=False).argv == (
        str(bell),
    )


def test_a_flatpak_is_started_by_flatpak_from_the_hosts_folder():
    found = autostart.launcher("/app/bin/sessionbell", "/usr/bin/python3", flatpak=True)
    assert found.argv == ("flatpak", "run", "io.github.sessionbell.SessionBell")
    environ = {"HOME": "/home/me", "XDG_CONFIG_HOME": "/home/me/.var/app/x/config"}
    assert autostart.place(environ, flatpak=True).own.startswith("/home/me/.config/autostart/")
    environ["HOST_XDG_CONFIG_HOME"] = "/home/me/cfg"
    assert autostart.place(environ, flatpak=True).own.startswith("/home/me/cfg/autostart/")


def test_the_place_follows_xdg(tmp_path):
    made = tmp_path / "b/autostart" / autostart.FILE_NAME
    made.parent.mkdir(parents=True)
    made.touch()
    found = autostart.place(
        {
            "HOME": "/home/me",
            "XDG_CONFIG_HOME": "relative",
            "XDG_CONFIG_DIRS": f"{tmp_path}/a:{tmp_path}/b",
        },
        flatpak=False,
    )
    assert found == Place(f"/home/me/.config/autostart/{autostart.FILE_NAME}", (str(made),))


def test_on_off_on(where, bell):
    assert autostart.status(where).state is Start.OFF
    turned_on = autostart.turn_on(where, Launcher((str(bell),)))
    assert turned_on == autostart.Status(
        Start.ON, where.own, (str(bell), "run"), ours=True, reason=None
    )
    assert f"Exec={bell} run" in lines(where)
    assert f"TryExec={bell}" in lines(where)
    assert stat.S_IMODE(os.stat(where.own).st_mode) == 0o600
    assert os.listdir(os.path.dirname(where.own)) == [autostart.FILE_NAME]
    assert autostart.turn_off(where).state is Start.OFF
    assert not os.path.lexists(where.own)
    assert autostart.turn_off(where).state is Start.OFF
    autostart.turn_on(where, Launcher((str(bell),)))
    assert autostart.turn_on(where, Launcher((str(bell),))).state is Start.ON


def test_a_moved_venv_is_broken_until_turned_on_anew(where, bell, tmp_path):
    autostart.turn_on(where, Launcher((str(bell),)))
    moved = tmp_path / "moved"
    bell.parent.parent.rename(moved)
    found = autostart.status(where)
    assert found.state is Start.BROKEN
    assert found.reason == f"{bell} is gone: the program was moved or removed"
    again = autostart.turn_on(where, Launcher((str(moved / "bin/sessionbell"),)))
    assert again.state is Start.ON


@pytest.mark.parametrize("name", ["a b", 'say "hi"', "100%", "back\\slash", "$HOME", "é", "a'b;c"])
def test_the_program_is_found_in_a_folder_of_any_name(where, tmp_path, name):
    start = Launcher((str(program(tmp_path / name / "sessionbell")),))
    found = autostart.turn_on(where, start)
    assert (found.state, found.command) == (Start.ON, (*start.argv, "run"))
    os.unlink(start.argv[0])
    assert autostart.status(where).state is Start.BROKEN


def test_what_everybody_starts_is_turned_off_by_a_file_of_the_persons(where, bell, tmp_path):
    where = for_everybody(where, tmp_path, Launcher((str(bell),)))
    found = autostart.status(where)
    assert (found.state, found.file) == (Start.ON, where.system[0])
    off = autostart.turn_off(where)
    assert (off.state, off.file, off.ours) == (Start.OFF, where.own, True)
    assert "Hidden=true" in lines(where)
    # Back to what the package says, which knows where its program is.
    on = autostart.turn_on(where, Launcher(("/elsewhere/sessionbell",)))
    assert (on.state, on.file) == (Start.ON, where.system[0])
    assert not os.path.lexists(where.own)


def test_a_systems_entry_that_starts_nothing_is_not_relied_upon(where, bell, tmp_path):
    where = for_everybody(where, tmp_path, Launcher(("/gone/sessionbell",)))
    assert autostart.status(where).state is Start.BROKEN
    on = autostart.turn_on(where, Launcher((str(bell),)))
    assert (on.state, on.file) == (Start.ON, where.own)


@pytest.mark.parametrize("turn", ["on", "off"])
def test_a_foreign_file_is_left_alone_unless_forced(where, bell, turn):
    os.makedirs(os.path.dirname(where.own))
    foreign = "[Desktop Entry]\nType=Application\nExec=/bin/sh -c mine\n"
    with open(where.own, "w", encoding="utf-8") as file:
        file.write(foreign)

    def act(**options):
        if turn == "on":
            return autostart.turn_on(where, Launcher((str(bell),)), **options)
        return autostart.turn_off(where, **options)

    found = autostart.status(where)
    assert (found.state, found.ours) == (Start.ON, False)
    with pytest.raises(AutostartError, match=r"/bin/sh -c mine.*--force"):
        act()
    assert lines(where) == foreign.split("\n")
    assert act(force=True).state is (Start.ON if turn == "on" else Start.OFF)


def test_a_link_to_a_file_of_ours_is_written_through_and_removed_alone(where, bell, tmp_path):
    kept = tmp_path / "dotfiles/bell.desktop"
    kept.parent.mkdir()
    kept.write_text(autostart.entry(Launcher(("/old/sessionbell",))))
    os.makedirs(os.path.dirname(where.own))
    os.symlink(kept, where.own)
    assert autostart.turn_on(where, Launcher((str(bell),))).state is Start.ON
    assert os.path.islink(where.own)
    assert str(bell) in kept.read_text()
    autostart.turn_off(where)
    assert kept.exists()
    assert not os.path.lexists(where.own)


def test_a_link_to_another_file_is_foreign_and_never_written_through(where, bell, tmp_path):
    other = tmp_path / "other.desktop"
    other.write_text("[Desktop Entry]\nExec=/bin/true\n")
    os.makedirs(os.path.dirname(where.own))
    os.symlink(other, where.own)
    with pytest.raises(AutostartError):
        autostart.turn_on(where, Launcher((str(bell),)))
    autostart.turn_on(where, Launcher((str(bell),)), force=True)
    assert other.read_text() == "[Desktop Entry]\nExec=/bin/true\n"
    assert not os.path.islink(where.own)


def test_a_link_to_nothing_is_broken(where, bell):
    os.makedirs(os.path.dirname(where.own))
    os.symlink("/nowhere/at/all", where.own)
    found = autostart.status(where)
    assert (found.state, found.reason) == (
        Start.BROKEN,
        "it is a link to /nowhere/at/all, which is gone",
    )
    with pytest.raises(AutostartError):
        autostart.turn_on(where, Launcher((str(bell),)))
    assert autostart.turn_on(where, Launcher((str(bell),)), force=True).state is Start.ON


def test_a_folder_that_takes_no_file_is_said(where, bell):
    # Not by its mode, which root passes: a file stands where the folder should be.
    folder = os.path.dirname(where.own)
    os.makedirs(os.path.dirname(folder))
    with open(folder, "w", encoding="utf-8"):
        pass
    with pytest.raises(AutostartError, match=r"cannot be changed.*ls -ld"):
        autostart.turn_on(where, Launcher((str(bell),)))


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (b"", Start.BROKEN),
        (b"\xff\xfe\x00garbage", Start.BROKEN),
        (b"[Desktop Entry]\nName=x\n", Start.BROKEN),
        (b"[Desktop Entry]\nExec=/bin/sh\nHidden=True\n", Start.OFF),
        (b"[Desktop Entry]\nExec=/bin/sh\nTryExec=/gone\n", Start.BROKEN),
        (b"[Desktop Entry]\nExec=/gone\n[Desktop Action x]\nExec=/bin/sh\n", Start.BROKEN),
        (b"# Exec=/gone\n[Desktop Entry]\nExec = /bin/sh\n", Start.ON),
        (b"[Desktop Entry]\nExec=/bin/sh\nX-GNOME-Autostart-enabled=false\n", Start.ON),
        (b"[Desktop Entry]\nExec=" + b"x" * 100_000, Start.BROKEN),
    ],
)
def test_whatever_the_file_holds(where, text, state):
    os.makedirs(os.path.dirname(where.own))
    with open(where.own, "wb") as file:
        file.write(text)
    assert autostart.status(where).state is state

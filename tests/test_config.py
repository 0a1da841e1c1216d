"""The settings file: what it may say, what is wrong with it, and how it is written back."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.config import EVENTS, Settings
from tray.configedit import change, create
from tray.configfile import ConfigError, SettingsFile, load, parse
from tray.configtext import default_text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessionbell" / "config.toml"


def written(path: Path, text: str | bytes) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


# --- what it may say


def test_the_file_that_explains_everything_says_the_defaults() -> None:
    assert parse(default_text()) == Settings()


def test_every_setting_is_explained() -> None:
    document = default_text()

    def names(kind: type[msgspec.Struct], table: str) -> None:
        section = document.split(f"\n[{table}]\n")[1].split("\n[")[0] if table else document
        for field in msgspec.structs.fields(kind):
            inner = f"{table}.{field.encode_name}" if table else field.encode_name
            if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
                if inner != "alerts":
                    assert f"[{inner}]" in document
                names(field.type, inner if inner != "alerts" else "alerts")
            else:
                assert f"\n{field.encode_name} = " in f"\n{section}", inner

    for field in msgspec.structs.fields(Settings):
        if field.encode_name == "alerts":
            for event in EVENTS:
                names(type(Settings().alerts.permission), f"alerts.{event}")
        elif isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            names(field.type, field.encode_name)
        else:
            assert f"\n{field.encode_name} = " in document


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("idle_after = 5", "idle_after", 5.0),
        ('[alerts.plan]\nsound = "bell"', "alerts.plan.sound", "bell"),
        ("alerts.plan.timeout = -1", "alerts.plan.timeout", -1.0),
        ('alerts.died.command = ["a", "b c"]', "alerts.died.command", ("a", "b c")),
        ('quiet_hours = {from = "22:00", to = "07:30"}', "quiet_hours.start", "22:00"),
        ('[projects]\nmute = ["~/play/*"]', "projects.mute", ("~/play/*",)),
        ('colors.blocked = "#00FF00"', "colors.blocked", "#00FF00"),
        ("sessions.headless = true", "sessions.headless", True),
    ],
)
def test_a_setting_is_taken(text: str, key: str, value: object) -> None:
    found: object = parse(text)
    for part in key.split("."):
        found = getattr(found, part)
    assert found == value


@pytest.mark.parametrize(
    ("text", "line", "key", "what", "allowed"),
    [
        ("a =", 1, "", "this is no TOML: invalid value", ""),
        ("[holds\n", 1, "", "this is no TOML", ""),
        ("\nidle_afer = 3", 2, "idle_afer", "did you mean idle_after?", "idle_after, "),
        ("[holds]\n\n# x\nasks = 1", 4, "holds.asks", "did you mean ask?", "ask, hook"),
        ("[alerts.foo]", 1, "alerts.foo", "no such setting", "permission, question"),
        ("idle_after = 'x'", 1, "idle_after", "expected number, got text", "seconds from 0"),
        ("idle_after = -1", 1, "idle_after", "expected number >= 0.0", "seconds from 0 to 86400"),
        ("idle_after = inf", 1, "idle_after", "expected number <= 86400.0", "seconds from 0"),
        ("[holds]\nask = nan", 2, "holds.ask", "it is no number", "a number"),
        ("remind_after = 2000", 1, "remind_after", "<= 1440.0", "minutes from 0 to 1440"),
        ("show_details = 1", 1, "show_details", "expected bool, got number", "true, false"),
        ("holds = 3", 1, "holds", "expected table, got number", "a table, [holds]"),
        ("terminal = 'x'", 1, "terminal", "expected list, got text", "the program first"),
        ("terminal = ['x', '']", 1, "terminal", "length >= 1", "the program first"),
        ("[projects]\nmute = [2]", 2, "projects.mute", "expected text, got number", "globs"),
        (
            "[alerts.plan]\nenabled = true\nurgency = 'high'",
            3,
            "alerts.plan.urgency",
            "invalid enum value 'high'",
            '"low", "normal", "critical"',
        ),
        (
            "[alerts.plan]\ntimeout = 0\n[alerts.input]\ntimeout = -2",
            4,
            "alerts.input.timeout",
            "expected number >= -1.0",
            "or -1",
        ),
        ("alerts.plan.sound = '../x'", 1, "alerts.plan.sound", "right form", "a sound name"),
        ("quiet_hours.from = '24:00'", 1, "quiet_hours.from", "right form", '"22:00"'),
        ("[colors]\nidle = 'grey'", 2, "colors.idle", "right form", '"#e5322d"'),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    text: str, line: int, key: str, what: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    error = refused.value
    assert (error.line, error.key) == (line, key)
    assert what in error.what
    assert allowed in error.allowed
    assert str(error).startswith(f"line {line}: ")


@given(st.text(max_size=200) | st.text("[]{}=.\"'\n# abcdefghiklnotu0123-", max_size=200))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        assert isinstance(parse(text), Settings)
    except ConfigError as error:
        assert error.what  # noqa: PT017 - either is right


# --- the file


def test_no_file_means_the_defaults(path: Path) -> None:
    assert load(str(path)) == Settings()
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"idle_after = 5\n\xff", "line 2: it is not UTF-8"),
        (b"#" * 1_000_001, "larger than a megabyte"),
    ],
)
def test_a_file_that_is_no_settings(path: Path, content: bytes, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        load(written(path, content))


def test_a_folder_or_a_pipe_in_its_place_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(path))
    fifo = path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(ConfigError, match="no regular file"):
        load(str(fifo))


def test_a_mark_before_utf_8_is_no_fault(path: Path) -> None:
    assert load(written(path, b"\xef\xbb\xbfidle_after = 5")).idle_after == 5


def test_it_is_followed_and_the_last_good_settings_hold(path: Path) -> None:
    file = SettingsFile(written(path, "idle_after = 5"))
    assert file.read()
    assert not file.check()
    written(path, "idle_after = five")
    assert file.check()
    assert file.settings.idle_after == 5
    (problem,) = file.problems
    assert problem.code == "config"
    assert "line 1: this is no TOML" in problem.message
    assert "sessionbell config check" in problem.message
    written(path, "idle_after = 55")
    assert file.check()
    assert (file.settings.idle_after, file.problems) == (55, ())
    path.unlink()
    assert file.check()
    assert file.settings == Settings()


# --- writing it back

MINE = """\
# my own words
idle_after = 90  # long

[alerts.permission]   # the loud one
sound    =  'bell'
urgency = "critical"


[projects]
mute = [
  "a",  # why
  "b",
]
"""


def test_a_change_leaves_everything_else_as_it_was(path: Path) -> None:
    name = written(path, MINE)
    os.chmod(name, 0o640)
    settings = change({"idle_after": 30.0, "alerts.permission.urgency": "low"}, name)
    expected = MINE.replace("90  #", "30  #").replace('"critical"', '"low"')
    assert path.read_text() == expected
    assert (settings.idle_after, settings.alerts.permission.urgency) == (30, "low")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_setting_that_was_not_there_is_added(path: Path) -> None:
    name = written(path, MINE)
    change({"notifications": False, "holds.presence": 0.0, "alerts.plan.sound": "x"}, name)
    after = load(name)
    assert (after.notifications, after.holds.presence, after.alerts.plan.sound) == (False, 0, "x")
    assert after.alerts.permission.urgency == "critical"
    assert "# my own words" in path.read_text()


def test_the_first_change_makes_a_file_that_explains_itself(path: Path) -> None:
    change({"show_details": False}, str(path))
    expected = default_text().replace("show_details = true", "show_details = false")
    assert path.read_text() == expected
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    own = tmp_path / "dotfiles.toml"
    own.write_text("idle_after = 1\n")
    path.parent.mkdir()
    path.symlink_to(own)
    change({"idle_after": 2.0}, str(path))
    assert path.is_symlink()
    assert own.read_text() == "idle_after = 2\n"


@pytest.mark.parametrize("broken", ["idle_after = ", "nonsense = 1"])
def test_a_broken_file_is_not_written_over(path: Path, broken: str) -> None:
    name = written(path, broken)
    with pytest.raises(ConfigError):
        change({"notifications": False}, name)
    assert path.read_text() == broken


@pytest.mark.parametrize(
    "values", [{"idle_after": -1.0}, {"nonsense": True}, {"alerts.plan.urgency": "x"}]
)
def test_what_is_not_allowed_is_not_written(path: Path, values: dict) -> None:
    name = written(path, MINE)
    with pytest.raises(ConfigError):
        change(values, name)
    assert path.read_text() == MINE


def test_where_nothing_can_be_written_that_is_said() -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        change({"notifications": False}, "/proc/sessionbell/config.toml")


def test_the_page_about_settings_is_the_file(request: pytest.FixtureRequest) -> None:
    page = (request.config.rootpath / "docs" / "settings.md").read_text()
    assert f"```toml\n{default_text()}```" in page


def test_one_is_made_once(path: Path) -> None:
    assert create(str(path)) == str(path)
    path.write_text("idle_after = 3")
    with pytest.raises(FileExistsError):
        create(str(path))
    assert path.read_text() == "idle_after = 3"

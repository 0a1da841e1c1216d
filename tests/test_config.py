"""The settings file: what it may say, what is wrong with it, and how it is written back."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tray import atomic, configedit, configfile
from tray.config import EVENTS, Settings
from tray.configedit import change, create
from tray.configfile import SETTLE, ConfigError, SettingsFile, load, parse
from tray.configlines import line_of
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
        ("[holds]\nask = nan", 2, "holds.ask", "expected number", "seconds from 0 to 86400"),
        ("\nidle_after = " + "9" * 400, 2, "idle_after", "out of range", "seconds from 0"),
        ("\nidle_after = " + "9" * 5000, 2, "idle_after", "out of range", "seconds from 0"),
        ("\n" + ".".join(["a"] * 1500) + " = 1", 2, "a", "no such setting", "idle_after, "),
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
        # No line feed slips in at the end, and nothing that no program can be given.
        ('colors.idle = "#ffffff\\n"', 1, "colors.idle", "right form", '"#e5322d"'),
        ('quiet_hours.from = "22:00\\n"', 1, "quiet_hours.from", "right form", '"22:00"'),
        ('alerts.plan.sound = "bell\\n"', 1, "alerts.plan.sound", "right form", "a sound name"),
        ('terminal = ["a\\u0000b"]', 1, "terminal", "right form", "the program first"),
        ('terminal = ["a\\n"]', 1, "terminal", "right form", "the program first"),
        ('alerts.died.command = ["\\u0000"]', 1, "alerts.died.command", "right form", "first"),
        ('alerts.died.command = ["\\u001b"]', 1, "alerts.died.command", "right form", "first"),
        ('projects.mute = ["a", "b\\n"]', 1, "projects.mute", "right form", "globs"),
        ('projects.ignore = ["\\u007f"]', 1, "projects.ignore", "right form", "globs"),
        # Quiet hours have two ends.
        ('[quiet_hours]\nfrom = "22:00"', 2, "quiet_hours.to", "is not set", "both"),
        ('[quiet_hours]\nfrom = ""\nto = "07:00"', 3, "quiet_hours.from", "is not set", "both"),
        # Lines are found whatever stands around them.
        ("[projects]\nmute = [\n 'a',\n 3,\n]", 4, "projects.mute", "expected text", "globs"),
        ("colors.idle = '''\nidle_after = 1'''\nidle_after = 2", 1, "colors.idle", "form", "col"),
        (
            "alerts.died.command = ['''\n[holds]\nask = 1''']\n[holds]\nask = 'x'",
            5,
            "holds.ask",
            "expected number",
            "seconds",
        ),
        ("# a\u2028b\u0085c\nidle_after = -1", 2, "idle_after", "number >= 0.0", "seconds"),
        ('\n"idle\\u005fafter" = -1', 2, "idle_after", "expected number >= 0.0", "seconds"),
        ("\nfoo.bar.baz = 1", 2, "foo", "there is no such setting", "idle_after"),
        ("\n[foo.bar]\nbaz = 1", 2, "foo", "there is no such setting", "idle_after"),
        ("\n[holds.ask]\nbaz = 1", 2, "holds.ask", "expected number, got table", "seconds"),
        ('\n"a.b" = 1', 2, '"a.b"', "there is no such setting", "idle_after"),
        ("idle_after = 1\r\nshow_details = 3\r\n", 2, "show_details", "expected bool", "true"),
        # What has no end is told where it begins.
        ("\nterminal = [\n'a',\n", 2, "", "the list that begins here has no end", ""),
        ("\nterminal = ['''\na\n\n", 2, "", "the text that begins here has no end", ""),
        ("\nidle_after = ", 2, "", "this is no TOML: invalid value", ""),
        ("terminal = [\n'a'\nidle_after = 3\n", 3, "", "that begins on line 1", ""),
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


SCRAPS = st.text(max_size=200) | st.text("[]{}=.\"'\\\n\r# abcdefghiklnotu0123-", max_size=2000)
KEYS = st.sampled_from(["idle_after", "holds", "ask", "alerts", "plan", "from", "terminal", "é.\n"])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def refused_or_taken(path: Path, content: bytes) -> None:
    """See that whatever a file holds is told or taken, by reading and by following."""
    path.write_bytes(b"idle_after = 7\n")
    file = SettingsFile(str(path))
    file.read()
    path.write_bytes(content)
    file.read()
    try:
        expected = load(str(path))
    except ConfigError as refused:
        error = refused
    else:
        assert (file.settings, file.problems) == (expected, ())
        return
    assert error.what in file.problems[0].message
    assert file.settings.idle_after == 7
    assert error.line is None or 1 <= error.line <= content.count(b"\n") + 1


@settings(max_examples=40)
@given(content=SCRAPS.map(lambda text: text.encode(errors="replace")) | st.binary(max_size=500))
def test_no_bytes_do_more_than_be_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    refused_or_taken(tmp_path_factory.getbasetemp() / "scraps.toml", content)


def quoted(text: str) -> str:
    return '"' + "".join(f"\\U{ord(sign):08x}" for sign in text) + '"'


def toml(value: object) -> str:
    """Return `value` as TOML; a date for None."""
    match value:
        case dict():
            return f"{{{', '.join(f'{quoted(key)} = {toml(v)}' for key, v in value.items())}}}"
        case list():
            return f"[\n{', '.join(map(toml, value))}\n]"
        case str():
            return quoted(value)
        case None:
            return "2020-01-01"
    return str(value).lower()


@settings(max_examples=40)
@given(tree=st.dictionaries(KEYS, TREES, max_size=4))
def test_no_tables_do_more_than_be_refused(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object]
) -> None:
    text = "".join(f"{quoted(key)} = {toml(value)}\n" for key, value in tree.items())
    refused_or_taken(tmp_path_factory.getbasetemp() / "trees.toml", text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "terminal = " + "[" * 3000 + "]" * 3000,
        "[" * 100_000,
        "a = " + "{a=" * 3000,
        ".".join(["a"] * 1500) + " = 1",
        "idle_after = " + "9" * 5000,
        "x = [" + "9" * 5000 + "]",
    ],
    ids=range(6),
)
def test_what_breaks_a_parser_is_a_fault_like_any_other(path: Path, text: str) -> None:
    file = SettingsFile(written(path, "idle_after = 7\n"))
    file.read()
    written(path, text)
    assert file.check()
    assert [problem.code for problem in file.problems] == ["config"]
    assert not file.check()
    assert file.problems
    assert file.settings.idle_after == 7


def test_every_line_of_the_whole_file_is_found() -> None:
    text = default_text()
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            table = line.strip("[]") + "."
            assert line_of(text, table[:-1].split(".")) == number
        elif " = " in line and not line.startswith("#"):
            assert line_of(text, f"{table}{line.split(' =')[0]}".split(".")) == number


def test_an_argument_of_a_command_may_have_lines() -> None:
    found = parse('alerts.plan.command = ["sh", "-c", """\n\techo a\n\techo b"""]')
    assert found.alerts.plan.command[2] == "\techo a\n\techo b"


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
    written(path, "idle_after = 55  # again")
    assert file.check()
    assert (file.settings.idle_after, file.problems) == (55, ())


def test_the_first_reading_says_that_the_defaults_hold(path: Path) -> None:
    file = SettingsFile(written(path, "idle_after = five"))
    assert file.read()
    assert file.settings == Settings()
    assert "the defaults hold" in file.problems[0].message


MANY = "# some words\nidle_after = 7\nterminal = ['foot', '-e']\n"


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be later than any file needs to settle."""
    now, wall = time.monotonic() + SETTLE, time.time() + SETTLE
    clocks = SimpleNamespace(monotonic=lambda: now, time=lambda: wall)
    monkeypatch.setattr(configfile, "time", clocks)


@pytest.mark.parametrize("moment", ["", MANY[:30], MANY[:-2], "# some words\n", None])
def test_a_file_that_is_just_being_written_is_looked_at_again(
    path: Path, moment: str | None
) -> None:
    file = SettingsFile(written(path, MANY))
    file.read()
    if moment is None:
        path.unlink()
    else:
        written(path, moment)
    assert not file.check()
    assert file.settling
    assert (file.settings.idle_after, file.problems) == (7, ())
    written(path, MANY.replace("7", "8"))
    assert file.check()
    assert not file.settling
    assert (file.settings.idle_after, file.problems) == (8, ())


@pytest.mark.parametrize(("left", "held"), [("", 60), ("idle_after = 3", 3), (None, 60)])
def test_a_file_that_stays_short_is_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch, left: str | None, held: float
) -> None:
    file = SettingsFile(written(path, MANY))
    file.read()
    if left is None:
        path.unlink()
    else:
        written(path, left)
    assert not file.check()
    later(monkeypatch)
    assert file.check()
    assert not file.settling
    assert (file.settings.idle_after, file.problems) == (held, ())
    assert not file.check()


def test_what_is_only_written_shorter_is_taken_at_once(path: Path) -> None:
    file = SettingsFile(written(path, "notifications = false\n" + MANY))
    file.read()
    change({"notifications": True}, str(path))
    assert file.check()
    assert file.settings.notifications


def test_a_file_written_in_pieces_is_never_taken_for_other_settings(path: Path) -> None:
    whole = "# words\n" * 50 + MANY
    file = SettingsFile(written(path, whole))
    file.read()
    for end in (*range(0, len(whole), 7), len(whole)):
        written(path, whole[:end])
        file.check()
        assert (file.settings.idle_after, file.problems) == (7, ())
    assert (file.settings, file.settling) == (parse(whole), False)


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
    "values",
    [
        {"idle_after": -1.0},
        {"nonsense": True},
        {"alerts.plan.urgency": "x"},
        {"idle_after.x": 1.0},
        {"terminal.x": "q"},
        {"nonsense.x": 1.0},
        {"alerts": "q"},
        {"": 1.0},
        {"..": 1.0},
        {"idle_after": float("nan")},
        {"projects.mute": ["\udcff"]},
        {"quiet_hours.from": "22:00"},
        {"idle_after": 5.0, "holds.ask": -1.0},
    ],
    ids=ascii,
)
def test_what_is_not_allowed_is_not_written(path: Path, values: dict) -> None:
    name = written(path, MINE)
    with pytest.raises(ConfigError):
        change(values, name)
    assert path.read_text() == MINE


def test_two_that_belong_together_are_set_together(path: Path) -> None:
    settings = change({"quiet_hours.from": "22:00", "quiet_hours.to": "07:00"}, str(path))
    assert load(str(path)) == settings
    assert (settings.quiet_hours.start, settings.quiet_hours.end) == ("22:00", "07:00")


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("\ufeffidle_after = 1\n", {"idle_after": 2.0}, "\ufeffidle_after = 2\n"),
        ("idle_after = 1\r\n", {"idle_after": 2.0}, "idle_after = 2\r\n"),
        ("holds = {ask = 1}", {"holds.ask": 2.0}, "holds = {ask = 2}"),
        ("alerts.plan.sound = 'a'\n", {"alerts.plan.sound": "b"}, 'alerts.plan.sound = "b"\n'),
    ],
)
def test_however_it_is_written_it_stays_so(
    path: Path, before: str, values: dict[str, float | str], after: str
) -> None:
    change(values, written(path, before))
    assert path.read_bytes().decode() == after


def test_what_cannot_be_written_without_loss_is_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written(path, MINE)
    with monkeypatch.context() as patch:
        patch.setattr("tomlkit.dumps", lambda _document: "idle_after = 2\n")
        with pytest.raises(ConfigError, match="only an editor"):
            change({"idle_after": 2.0}, name)
        patch.setattr("tomlkit.parse", lambda text: text[0].nothing)
        with pytest.raises(ConfigError, match="only an editor"):
            change({"idle_after": 2.0}, name)
    assert path.read_text() == MINE


def test_changes_at_the_same_time_are_all_kept(path: Path) -> None:
    create(str(path))
    keys = ("idle_after", "turn_over_after", "command_timeout", "holds.hook", "holds.presence")
    start = threading.Barrier(len(keys))

    def write(key: str) -> None:
        start.wait()
        for number in range(1, 4):
            change({key: float(number)}, str(path))

    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(write, keys))
    now = load(str(path))
    assert (now.idle_after, now.turn_over_after, now.command_timeout) == (3, 3, 3)
    assert (now.holds.hook, now.holds.presence) == (3, 3)
    assert os.listdir(path.parent) == [path.name]


def test_one_that_holds_the_lock_for_ever_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configedit, "LOCK_LIMIT", 0.0)
    name = written(path, MINE)
    holder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(ConfigError, match="locked by another program"):
        change({"idle_after": 2.0}, name)
    os.close(holder)
    assert path.read_text() == MINE
    assert change({"idle_after": 2.0}, name).idle_after == 2


def test_where_folders_have_no_locks_it_is_changed_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(atomic.fcntl, "flock", without)
    assert change({"idle_after": 2.0}, written(path, MINE)).idle_after == 2


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

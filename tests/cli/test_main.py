"""The command line as a whole: what it teaches, what it imports, how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from tray import __version__
from tray.cli.lock import only_one
from tray.cli.main import _COMMANDS, cli
from tray.demo.stage import Stage
from tray.session import PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = tuple(_COMMANDS)


def sessionbell(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from tray.cli.main import main; main()", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, **options
    )


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Three sessions: one asks, two share a project."""
    with Stage() as made:
        asking = made.session("shop-api", "release")
        asking.prompt("publish it", ago=30)
        asking.ask("Bash", {"command": "npm publish"}, ago=20)
        for _ in range(2):
            made.session("docs").prompt("write", ago=10)
        yield made


def test_help_says_what_every_command_does() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", result.output, re.MULTILINE)
    assert "Examples:" in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches_by_example(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = cli.get_command(click.Context(cli), command)
    # click keeps the option for help of a command's first use, which may have been by itself.
    monkeypatch.setattr(found, "_help_option", None, raising=False)
    for flag in ("--help", "-h"):
        result = CliRunner().invoke(cli, [command, flag])
        assert result.exit_code == 0, result.output
        assert re.search(rf"Examples:\n +sessionbell( {command})?", result.output)
        assert [line for line in result.output.splitlines() if len(line) > 80] == []


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).output == f"sessionbell {__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["list", "--nonsense"], ["show"]])
def test_wrong_usage_is_two(arguments: list[str]) -> None:
    done = sessionbell(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage: sessionbell" in done.stderr


HEAVY = (
    "rich",
    "dbus_fast",
    "PIL",
    "desktop_notifier",
    "pystray",
    "asyncio",
    "watchdog",
    "tray.engine",
)


@pytest.mark.parametrize(
    ("arguments", "not_imported"),
    [
        (["list", "--json"], HEAVY),
        (["list"], [name for name in HEAVY if name != "rich"]),
        (["show", "shop-api", "--json"], HEAVY),
        (["--help"], (*HEAVY, "tray.claude.survey", "orjson")),
        (["--version"], (*HEAVY, "tray.claude.survey", "orjson")),
    ],
    ids=" ".join,
)
def test_what_is_not_needed_is_not_imported(
    stage: Stage, arguments: list[str], not_imported: tuple[str, ...]
) -> None:
    code = """
import sys
from tray.cli.main import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    root = ["--root", stage.root] if arguments[0] in COMMANDS else []
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, *root], capture_output=True, text=True, check=True
    )
    assert not set(not_imported) & set(done.stderr.split())


def test_list_json_is_the_contract(stage: Stage) -> None:
    done = sessionbell("list", "--json", "--root", stage.root)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [list(row) for row in rows] == [list(PUBLISHED)] * 3
    first = rows[0]
    assert (first["project"], first["branch"]) == ("shop-api", "release")
    assert (first["state"], first["reason"]) == ("needs_input", "permission")
    assert first["detail"] == "Bash: npm publish"
    assert first["config_root"] == stage.root
    assert [row["state"] for row in rows[1:]] == ["working", "working"]
    for field in ("since", "started"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first[field])


def test_list_of_an_empty_root(tmp_path: object) -> None:
    assert sessionbell("list", "--root", str(tmp_path)).stdout == "No live Claude Code sessions.\n"
    assert sessionbell("list", "--json", "--root", str(tmp_path)).stdout == "[]\n"


def test_list_and_show_speak_to_people(stage: Stage) -> None:
    table = sessionbell("list", "--root", stage.root)
    assert re.search(
        r"^! permission +shop-api +release +\d+s Bash: npm publish$", table.stdout, re.MULTILINE
    )
    assert "\x1b" not in table.stdout
    whole = sessionbell("show", "shop-api", "--root", stage.root)
    assert re.search(r"^asks +(Bash: )?npm publish$", whole.stdout, re.MULTILINE)
    assert re.search(r"^state +! permission for \d+s$", whole.stdout, re.MULTILINE)


def test_show_json_tells_the_whole_ask(stage: Stage) -> None:
    row = json.loads(sessionbell("show", "shop-api", "--json", "--root", stage.root).stdout)
    assert list(row) == [*PUBLISHED, "ask"]
    assert row["ask"]["tool"] == "Bash"
    assert "npm publish" in row["ask"]["text"]


def test_show_of_an_ambiguous_name_lists_the_candidates(stage: Stage) -> None:
    done = sessionbell("show", "docs", "--root", stage.root)
    assert (done.returncode, done.stdout) == (2, "")
    rows = json.loads(sessionbell("list", "--json", "--root", stage.root).stdout)
    for row in rows:
        assert (str(row["pid"]) in done.stderr) == (row["project"] == "docs")


def test_show_of_nobody_names_the_nearest(stage: Stage) -> None:
    done = sessionbell("show", "shopapi", "--root", stage.root)
    assert (done.returncode, done.stdout) == (1, "")
    assert "did you mean shop-api?" in done.stderr


def test_a_reader_that_leaves_is_no_failure(stage: Stage) -> None:
    for arguments in (["list"], ["list", "--json"], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-c", "from tray.cli.main import main; main()", *arguments]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_shell_can_complete_command_lines() -> None:
    env = os.environ | {"_SESSIONBELL_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    done = sessionbell(env=env | {"COMP_WORDS": "sessionbell wa"})
    assert (done.returncode, done.stdout) == (0, "plain,watch\n")


def test_a_full_disk_is_a_failure_with_its_cause(stage: Stage) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", "from tray.cli.main import main; main()"]
        done = subprocess.run(
            [*command, "list", "--json", "--root", stage.root],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "sessionbell: No space left on device\n"
    assert sys.stdout is not None


def test_without_a_standard_output_at_all(stage: Stage) -> None:
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            '"$0" -c "from tray.cli.main import main; main()" list >&-',
            sys.executable,
        ],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_utf8(stage: Stage, encoding: str) -> None:
    done = sessionbell(
        "list", "--root", stage.root, env=os.environ | {"PYTHONIOENCODING": encoding}
    )
    assert done.returncode == 0
    assert "shop-api" in done.stdout


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_table_fits_a_real_terminal(stage: Stage, width: int) -> None:
    master, slave = pty.openpty()
    subprocess.run(["stty", "cols", str(width), "rows", "24"], stdin=slave, check=True)
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    command = [sys.executable, "-c", "from tray.cli.main import main; main()"]
    subprocess.run(
        [*command, "list", "--root", stage.root],
        stdout=slave,
        stdin=slave,
        env=env | {"TERM": "xterm"},
        check=True,
    )
    os.close(slave)
    text = os.read(master, 65536).decode()
    os.close(master)
    assert "\x1b[1;31m! permission" in text
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("arguments", [[], ["run"]])
def test_a_second_tray_finds_the_first(tmp_path: object, arguments: list[str]) -> None:
    with only_one(str(tmp_path)):
        done = sessionbell(*arguments, env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert f"already running (process {os.getpid()})" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_traceback(
    number: signal.Signals, tmp_path: object
) -> None:
    code = """
import os, sys
from tray.cli import options
options.look = lambda roots: os.kill(os.getpid(), int(os.environ["NUMBER"]))
from tray.cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "list"],
        env=os.environ | {"NUMBER": str(int(number))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (1, "")


@pytest.mark.parametrize(
    "start", [["-m", "tray"], ["-c", "from tray.__main__ import main; main()"]]
)
def test_it_starts_as_a_program_and_as_a_module(start: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *start, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("sessionbell ")

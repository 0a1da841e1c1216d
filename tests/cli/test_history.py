"""`sessionbell history` as a person and a script meet it: real processes, real files."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tests.claude.lines import assistant, encoded, line, result, text, tool, user
from tray.cli.history import history
from tray.history.past import PUBLISHED

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PARENT = "aaaa0000-0b0a-4908-8706-050403020100"
FORK = "bbbb0000-0b0a-4908-8706-050403020100"
OLD = "cccc0000-0b0a-4908-8706-050403020100"
EVIL = "\x1b[31mred\x1b[0m <script>alert(1)</script> \u202egnp"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("COLUMNS", raising=False)
    root = tmp_path / "claude"
    lines: dict[str, list[dict[str, Any]]] = {
        PARENT: [
            user("fix the flaky test", cwd="/w/shop", gitBranch="main", version="2.1.332"),
            assistant({"type": "thinking", "thinking": "hm\nhm"}, text("I look.\n    indented")),
            assistant(tool("Bash", command="npm test")),
            result("t1", "1 failed\n2 passed", is_error=True),
            line("custom-title", None, customTitle="Flaky"),
            line("tag", None, tag="bug"),
        ],
        FORK: [
            user("fix the flaky test", cwd="/w/shop", forkedFrom={"sessionId": PARENT}),
            user("another way", cwd="/w/shop"),
        ],
        OLD: [user(f"hello {EVIL}", cwd="/w/=blog")],
    }
    for place, (name, found) in enumerate(lines.items()):
        path = root / "projects" / "-w" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(encoded(one) + b"\n" for one in found))
        os.utime(path, (1_780_000_000 - place * 86_400,) * 2)
    return root


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(history, _with_root(root, arguments))


def _with_root(root: Path, arguments: tuple[str, ...]) -> list[str]:
    return [*arguments, "--root", str(root)]


def ids(root: Path, *arguments: str) -> list[str]:
    done = run(root, "--json", *arguments)
    assert done.exit_code == 0, done.output
    return [one["session_id"][:4] for one in json.loads(done.stdout)]


def test_the_table(root: Path) -> None:
    lines = run(root).stdout.splitlines()
    assert lines[0].split() == ["CRE", "MOD", "TURNS", "SOURCE", "PROJECT", "TITLE"]
    assert len(lines) == 4
    assert lines[1].split()[2:] == [
        "1",
        "local",
        "shop",
        "★",
        "⑂",
        "Flaky",
        "#bug",
        "(deleted",
        "soon)",
    ]
    assert "another" not in lines[2]
    assert "\x1b" not in lines[3]
    assert "\u202e" not in lines[3]
    debug = run(root, "--debug").stdout.splitlines()
    assert [row.split()[0] for row in debug] == ["ID", "aaaa0", "bbbb0", "cccc0"]


def test_json_is_the_contract(root: Path) -> None:
    found = json.loads(run(root, "--json").stdout)
    assert [tuple(one) for one in found] == [PUBLISHED] * 3
    parent = found[0]
    expected = {
        "session_id": PARENT,
        "project": "shop",
        "cwd": "/w/shop",
        "branch": "main",
        "title": "Flaky",
        "title_source": "custom-title",
        "name": "Flaky",
        "tag": "bug",
        "first_prompt": "fix the flaky test",
        "turns": 1,
        "messages": 5,
        "malformed_lines": 0,
        "modified": "2026-05-28T20:26:40.000Z",
        "source": "local",
        "live": False,
        "continued_in": None,
        "summary": None,
    }
    assert {name: parent[name] for name in expected} == expected
    assert found[1]["forked_from"] == PARENT


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), ["aaaa", "bbbb", "cccc"]),
        (("--limit", "1"), ["aaaa"]),
        (("--project", "shop"), ["aaaa", "bbbb"]),
        (("--named",), ["aaaa"]),
        (("--tag", "BUG"), ["aaaa"]),
        (("--branch", "main"), ["aaaa"]),
        (("--min-turns", "2"), ["bbbb"]),
        (("--sort", "turns"), ["bbbb", "aaaa", "cccc"]),
        (("--until", "2026-05-28"), ["cccc", "bbbb"][::-1]),
        (("--since", "2026-05-28"), ["aaaa"]),
        (("--forks",), ["aaaa", "bbbb"]),
        (("--search", "WAY"), ["bbbb"]),
        (("--search", "npm"), []),
        (("--search", "npm", "--tools"), ["aaaa"]),
        (("--search", "fl.ky", "--regex"), ["aaaa", "bbbb"]),
    ],
)
def test_options(root: Path, arguments: tuple[str, ...], found: list[str]) -> None:
    assert ids(root, *arguments) == found


def test_forks_are_a_tree(root: Path) -> None:
    lines = run(root, "--forks").stdout.splitlines()
    assert len(lines) == 3
    assert "└─ fix the flaky test" in lines[2]


def test_what_is_found_is_marked_and_counted(root: Path) -> None:
    out = run(root, "--search", "flaky").stdout
    assert "user: fix the »flaky« test" in out
    assert "2 matches in 2 sessions" in out
    found = json.loads(run(root, "--search", "flaky", "--json").stdout)[0]
    assert found["matches"] == 1
    (hit,) = found["hits"]
    assert hit["line"][slice(*hit["spans"][0])] == "flaky"
    assert "Nothing found" in run(root, "--search", "nowhere").stdout


def test_csv_has_the_same_fields_and_runs_no_formula(root: Path) -> None:
    rows = list(csv.reader(io.StringIO(run(root, "--csv").stdout)))
    assert rows[0] == list(PUBLISHED)
    assert len(rows) == 4
    assert rows[3][PUBLISHED.index("project")] == "'=blog"


def test_show(root: Path) -> None:
    out = run(root, "show", "aaaa").stdout
    assert "I look.\n    indented" in out
    assert "⚙ Bash: npm test" in out
    assert "✗ 1 failed (+1 lines)" in out
    assert "thinking, 2 lines" in out
    full = run(root, "show", "flaky", "--full").stdout
    assert "2 passed" in full
    assert "hm\nhm" in full


def test_list_and_show_count_alike(root: Path) -> None:
    listed = json.loads(run(root, "--json").stdout)[0]
    shown = json.loads(run(root, "show", PARENT, "--json").stdout)
    assert [piece["role"] for piece in shown.pop("conversation")] == [
        *("user", "thinking", "assistant", "tool", "result")
    ]
    assert shown == listed


def test_exports_run_and_load_nothing(root: Path, tmp_path: Path) -> None:
    page = run(root, "export", "cccc", "--html").stdout
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    out = tmp_path / "out.md"
    assert run(root, "export", "aaaa", "-o", str(out)).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "## User" in out.read_text()
    assert "2 passed" in out.read_text()
    again = run(root, "export", "aaaa", "-o", str(out))
    assert again.exit_code == 1
    assert "there already" in again.output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "nothing"), 1, "no past session answers to"),
        (("--since", "soon"), 2, "is no time"),
        (("--search", "(", "--regex"), 2, "no regular expression"),
        (("--search", " "), 2, "nothing to search for"),
        (("--tools",), 2, "--search"),
        (("--csv", "--json"), 2, "--csv"),
        (("show", "aaaa", "--json", "--markdown"), 2, "either"),
    ],
)
def test_what_is_wrong_is_said(
    root: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run(root, *arguments)
    assert done.exit_code == code
    assert said in done.output


def test_what_fits_several_is_not_guessed(root: Path) -> None:
    (root / "projects" / "-w" / f"{PARENT[:4]}1111{PARENT[8:]}.jsonl").write_bytes(
        encoded(user("x", cwd="/y")) + b"\n"
    )
    done = run(root, "show", "aaaa")
    assert done.exit_code == 2
    assert "fits 2 sessions" in done.output


def test_the_command_imports_little(root: Path) -> None:
    code = (
        "import sys\n"
        "from tray.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'rich.console', 'textual', 'dbus_fast', 'PIL', 'multiprocessing'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "raise SystemExit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "history", "--root", str(root)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"
    assert "Flaky" in done.stdout

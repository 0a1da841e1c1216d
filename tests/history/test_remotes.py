"""The list of other machines, the commands for them, and when they are synced."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

import pytest

from tray.configfile import ConfigError
from tray.history import syncing
from tray.history.past import Place
from tray.history.remotes import EXAMPLE, Remote, load, named, parse, places
from tray.history.sources import everywhere
from tray.history.syncing import LastSync, automatic, due, last_sync, rsync_command

if TYPE_CHECKING:
    from pathlib import Path

ONE = '[[remote]]\nname = "build"\nhost = "build.example.org"\n'


def test_what_a_table_says():
    assert parse(ONE) == (Remote("build", "build.example.org"),)
    whole = (
        ONE + 'user = "me"\npath = "/srv/claude"\noptions = ["-p", "2222", "-C", "-oUser=x"]\n'
        "auto_sync_minutes = 15\n"
    )
    assert parse(whole + '[[remote]]\nname = "b"\nhost = "::1"\n') == (
        Remote(
            "build",
            "build.example.org",
            "me",
            "/srv/claude",
            ("-p", "2222", "-C", "-oUser=x"),
            15,
        ),
        Remote("b", "::1"),
    )
    assert parse(whole)[0].target == "me@build.example.org"
    assert parse("") == ()


def test_the_example_is_what_it_says_it_is():
    assert parse(EXAMPLE) == ()
    lines = [line.removeprefix("# ") for line in EXAMPLE.splitlines()]
    begun = lines.index("[[remote]]")
    (found,) = parse("\n".join(lines[begun:-1]))
    assert found == Remote("build", "build.example.org", "me", "~/.claude", ("-p", "2222"), 0)


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("[[remote]\n", 1, ""),
        ("[[remotes]]\n", None, "remotes"),
        ("remote = 7\n", None, "remote"),
        ("[[remote]]\nname = 'a'\n", 1, "remote.host"),
        ("[[remote]]\nhost = 'a'\n", 1, "remote.name"),
        (ONE + ONE, 5, "remote.name"),
        (ONE + "\n[[remote]]\nname = 'b'\nhost = '-oProxyCommand=x'\n", 7, "remote.host"),
        (ONE + "hots = 'a'\n", 4, "remote.hots"),
        *(
            (f"[[remote]]\nname = 'a'\nhost = 'b'\n{key} = {value}\n", 4, f"remote.{key}")
            for key, value in [
                ("user", "'-l'"),
                ("user", "'a b'"),
                ("user", "7"),
                ("path", "'-e'"),
                ("path", "':module/x'"),
                ("path", "''"),
                ("path", "'~you/.claude'"),
                ("path", '"a\\nb"'),
                ("options", "'-p 22'"),
                ("options", "['host']"),
                ("options", "['-p', '22', 'host']"),
                ("options", "['-p']"),
                ("options", "['--', 'x']"),
                ("options", "['-W', 'a:1']"),
                ("options", "['-o', \"a\\u0007\"]"),
                ("options", "[7]"),
                ("auto_sync_minutes", "-1"),
                ("auto_sync_minutes", "nan"),
                ("auto_sync_minutes", "true"),
                ("auto_sync_minutes", "'5'"),
            ]
        ),
        *(
            (f"[[remote]]\nhost = 'b'\nname = {value}\n", 3, "remote.name")
            for value in ("'../x'", "'.x'", "'a/b'", "''", "'local'", "'kept'", "7")
        ),
        *(
            (f"[[remote]]\nname = 'b'\nhost = {value}\n", 3, "remote.host")
            for value in (
                "'a b'",
                "'a:b:'  # no address\nuser = 7",
                "'me@host'",
                "'a/b'",
                "''",
                "7",
            )
            if "\n" not in value
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_key(text, line, key):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.key) == (line, key), str(caught.value)
    assert caught.value.allowed or not key


def test_a_slip_of_the_pen_is_understood():
    with pytest.raises(ConfigError, match="did you mean host"):
        parse(ONE + "hots = 'a'\n")


def test_the_file_may_be_missing_and_must_be_one(tmp_path):
    assert load(str(tmp_path / "none")) == ()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="no regular file"):
        load(str(tmp_path / "pipe"))
    (tmp_path / "latin").write_bytes(b"\n# \xe4\n")
    with pytest.raises(ConfigError, match="line 2: it is not UTF-8"):
        load(str(tmp_path / "latin"))


def test_all_places_are_looked_at_and_a_broken_list_is_told(tmp_path, monkeypatch):
    for kind in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "CONFIG" / "sessionbell" / "remotes.toml"
    file.parent.mkdir(parents=True)
    file.write_text(ONE)
    problems = []
    assert everywhere(problems=problems)[-2:] == (
        Place(f"{tmp_path}/DATA/sessionbell/kept", "kept"),
        Place(f"{tmp_path}/CACHE/sessionbell/remotes/build", "build"),
    )
    assert not problems
    assert everywhere([str(tmp_path)]) == (Place(str(tmp_path)),)
    file.write_text("[[remote]]\n")
    assert everywhere(problems=problems)[-1].source == "kept"
    assert "remotes.toml: line 1: remote.name" in problems[0].message


def test_some_are_chosen_by_name():
    a, b = Remote("a", "h"), Remote("b", "h")
    assert named((a, b), ()) == (a, b)
    assert named((a, b), ("b", "b")) == (b,)
    with pytest.raises(KeyError):
        named((a, b), ("c",))


def test_the_command_asks_for_nothing_and_takes_transcripts_alone():
    remote = Remote("build", "h", "me", "~/.cl aude", ("-i", "/my keys/it's", "-o", 'A="b c"'))
    command = rsync_command(remote, "/cache/build/projects")
    assert command[-3:] == ["--", "me@h:.cl aude/projects/", "/cache/build/projects/"]
    (shell,) = (word.removeprefix("--rsh=") for word in command if word.startswith("--rsh="))
    assert shell == ("ssh -o BatchMode=yes -o ConnectTimeout=5 -i '/my keys/it''s' -o 'A=\"b c\"'")
    rules = [word for word in command if word.startswith(("--include", "--exclude"))]
    assert rules == ["--include=/*/", "--include=/*/*.jsonl", "--exclude=*"]
    assert {"--delete", "--secluded-args", "--no-links"} <= set(command)


@pytest.mark.parametrize(
    ("minutes", "last", "expected"),
    [
        (0, None, False),
        (0, 0.0, False),
        (10, None, True),
        (10, 1000.0, True),
        (10, 1001.0, False),
        (10, 1600.0, False),
        (10, 9999.0, True),
    ],
)
def test_when_a_machine_is_synced_by_itself(minutes, last, expected):
    remote = Remote("a", "h", auto_sync_minutes=minutes)
    told = LastSync(last, ok=False, message="") if last is not None else None
    assert due(remote, told, 1600.0) is expected


def fake(folder: Path, script: str) -> None:
    for name in ("rsync", "ssh"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o700)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize(
    ("script", "ok", "message"),
    [
        ("exit 0", True, "0 sessions, 0 of them fetched"),
        ("exit 24", True, "0 sessions"),
        ("exit 127", False, "rsync is not installed there"),
        ("exit 30", False, "it did not answer in time"),
        ("exit 5", False, "rsync ended with 5"),
        ("echo 'Warning: x' >&2; echo 'ssh: \033[31mno\033[0m' >&2; exit 255", False, "ssh: no"),
        ("exec sleep 60", False, "not done within 0.2 s"),
    ],
)
def test_how_it_went_is_said(tmp_path, programs, script, ok, message):
    fake(programs, script)
    remote = Remote("a", "h", auto_sync_minutes=10)
    (outcome,) = syncing.sync([remote], folder=str(tmp_path), limit=0.2 if "sleep" in script else 9)
    assert outcome.ok is ok
    assert message in outcome.message
    last = last_sync(remote, str(tmp_path))
    assert last is not None
    assert (last.ok, last.message) == (ok, outcome.message)
    assert automatic([remote], last.at + 1, str(tmp_path)) == ()
    assert automatic([remote], last.at + 601, str(tmp_path)) == (remote,)


def test_that_it_went_well_once_is_remembered(tmp_path, programs):
    remote = Remote("a", "h")
    fake(programs, "exit 0")
    syncing.sync([remote], folder=str(tmp_path))
    first = last_sync(remote, str(tmp_path))
    fake(programs, "exit 5")
    syncing.sync([remote], folder=str(tmp_path))
    second = last_sync(remote, str(tmp_path))
    assert first.at == first.succeeded_at == second.succeeded_at < second.at
    (tmp_path / "a" / "sync.json").write_text("{")
    assert last_sync(remote, str(tmp_path)) is None


def test_a_sync_does_not_meet_another_of_the_same_machine(tmp_path, programs):
    remote, other = Remote("a", "h"), Remote("b", "h")
    fake(programs, f"echo x >> {shlex.quote(str(tmp_path))}/ran")
    outcome = {}

    def meanwhile(first: syncing.Outcome) -> None:
        outcome[first.name] = first

    (tmp_path / "a").mkdir()
    import fcntl

    with (tmp_path / "a" / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        syncing.sync([remote, other], folder=str(tmp_path), progress=meanwhile)
    assert "another sync of it is under way" in outcome["a"].message
    assert outcome["b"].ok
    assert (tmp_path / "ran").read_text() == "x\n"


def test_what_is_fetched_is_for_its_person_alone(tmp_path, programs):
    fake(programs, "exit 0")
    cache = tmp_path / "cache" / "remotes"
    syncing.sync([Remote("a", "h")], folder=str(cache))
    for path in (cache, *cache.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 in ((0,) if path.is_dir() else (0, 0o044))


def test_the_programs_have_to_be_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (outcome,) = syncing.check([Remote("a", "h")])
    assert (outcome.ok, outcome.message) == (False, "rsync is not installed on this machine")


def test_a_folder_that_cannot_be_made_is_told(tmp_path, programs):
    fake(programs, "exit 0")
    (tmp_path / "file").write_text("")
    (outcome,) = syncing.sync([Remote("a", "h")], folder=str(tmp_path / "file"))
    assert not outcome.ok
    assert "file: " in outcome.message


def test_what_is_under_way_ends_with_the_person_s_patience(tmp_path, programs, wait_until):
    pid = tmp_path / "pid"
    fake(
        programs,
        f"case $* in *quick*) exit 0;; esac; echo $$ > {shlex.quote(str(pid))}; exec sleep 60",
    )

    def interrupt(_: syncing.Outcome) -> None:
        wait_until(lambda: pid.exists() and pid.read_text())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        syncing.sync(
            [Remote("slow", "slow"), Remote("quick", "quick")],
            folder=str(tmp_path),
            progress=interrupt,
        )
    assert not os.path.exists(f"/proc/{pid.read_text().strip()}")


def test_each_has_a_folder_of_its_own(tmp_path):
    assert places([Remote("a", "h")], "/c") == (Place("/c/a", "a"),)

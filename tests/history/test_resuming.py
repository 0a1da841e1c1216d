"""How a past session is resumed: command, directory, environment."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray.claude.recent import Recent
from tray.history import keeping
from tray.history.moved import moved_to
from tray.history.past import KEPT, Past
from tray.history.remotes import Remote
from tray.history.resuming import (
    ResumeError,
    Resumption,
    remote_resumption,
    resume_environment,
    resumption,
    way_back,
)

if TYPE_CHECKING:
    from pathlib import Path

ID = "11111111-2222-3333-4444-555555555555"
HOME = {"HOME": "/home/me"}


def ended(cwd: str | None, root: str = "/home/me/.claude") -> Recent:
    return Recent("0000-id", root, f"{root}/projects/x/0000-id.jsonl", 1.0, cwd)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    repository = tmp_path / "shop"
    repository.mkdir()
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "begin")
    return repository


def test_it_is_resumed_where_it_was(tmp_path):
    found = resumption(ended(str(tmp_path)), {"HOME": "/home/me", "PATH": "/bin"})
    assert found == Resumption(
        ("claude", "--resume", "0000-id"), str(tmp_path), {"HOME": "/home/me", "PATH": "/bin"}
    )


def test_a_fork_leaves_it_as_it_is(tmp_path):
    found = resumption(ended(str(tmp_path)), HOME, fork=True)
    assert found.argv == ("claude", "--resume", "0000-id", "--fork-session")


@pytest.mark.parametrize("session_id", ["--dangerously-skip-permissions", "-p", "", "a b", "a\n"])
def test_an_id_that_could_be_an_option_is_not_resumed(tmp_path, session_id):
    session = replace(ended(str(tmp_path)), session_id=session_id)
    with pytest.raises(ResumeError, match="is no session id"):
        resumption(session, HOME)
    # A kept copy is named by its file, and that by the tray.
    assert resumption(session, HOME, transcript="/k/a.jsonl").argv[2] == "/k/a.jsonl"


def test_a_gone_folder_is_said_and_the_nearest_offered(tmp_path):
    gone = f"{tmp_path}/a b/c"
    found = resumption(ended(gone), HOME)
    assert (found.cwd, found.gone) == (str(tmp_path), gone)
    assert found.warning.startswith(f"{tmp_path}/a b/c is gone")
    assert f"mkdir -p '{tmp_path}/a b/c'" in found.warning


def test_without_a_folder_it_is_the_home(tmp_path):
    found = resumption(ended(None), {"HOME": str(tmp_path)})
    assert (found.cwd, found.warning) == (str(tmp_path), None)


def test_nothing_of_an_outer_client_is_handed_on():
    outer = {
        "HOME": "/home/me",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CONFIG_DIR": "/elsewhere",
        "ANTHROPIC_MODEL": "opus",
    }
    kept = {"HOME": "/home/me", "ANTHROPIC_MODEL": "opus"}
    assert resume_environment("/home/me/.claude", outer) == kept
    assert resume_environment(None, outer) == kept
    assert resume_environment("/work/.claude", outer)["CLAUDE_CONFIG_DIR"] == "/work/.claude"


@pytest.mark.parametrize("inside", ["", "src"])
@pytest.mark.parametrize("made_in", ["shop/.claude/worktrees/fix", "shop-fix"])
def test_a_moved_work_tree_is_followed(tmp_path, repository, made_in, inside):
    was, new = tmp_path / made_in, tmp_path / "later" / "elsewhere"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(was))
    (was / "src").mkdir()
    new.parent.mkdir()
    git(repository, "worktree", "move", str(was), str(new))
    found = resumption(ended(str(was / inside)), HOME)
    assert found.cwd == str(new / inside)
    assert f"was moved to {found.cwd}" in found.warning
    assert found.gone is None


def test_a_folder_that_the_moved_work_tree_lost_gives_its_top(tmp_path, repository):
    was, new = tmp_path / "fix", tmp_path / "elsewhere"
    git(repository, "worktree", "add", "-q", str(was))
    git(repository, "worktree", "move", str(was), str(new))
    assert moved_to(str(was / "lost")) == str(new)


def test_of_two_work_trees_of_that_name_neither_is_guessed(tmp_path, repository):
    (tmp_path / "a").mkdir()
    for number, parent in enumerate((repository / "x", repository / "y")):
        git(repository, "worktree", "add", "-q", "-b", f"b{number}", str(parent / "fix"))
        git(repository, "worktree", "move", str(parent / "fix"), str(tmp_path / f"to{number}"))
    # One is called `fix` in .git, the other `fix1`: the name alone is the likelier one.
    assert moved_to(str(repository / "x" / "fix")) == str(tmp_path / "to0")
    other = tmp_path / "toys"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "begin")
    git(other, "worktree", "add", "-q", "-b", "fix", str(other / "fix"))
    git(other, "worktree", "move", str(other / "fix"), str(tmp_path / "to2"))
    assert moved_to(str(tmp_path / "fix")) is None


@pytest.mark.parametrize("folder", ["relative", "/a\0b", "/"])
def test_what_is_no_folder_was_not_moved(folder):
    assert moved_to(folder) is None


def test_a_work_tree_that_was_removed_is_gone(tmp_path, repository):
    was = tmp_path / "fix"
    git(repository, "worktree", "add", "-q", str(was))
    git(repository, "worktree", "remove", str(was))
    assert moved_to(str(was)) is None


def past(tmp_path: Path, **fields: object) -> Past:
    project = tmp_path / "root" / "projects" / "-x"
    project.mkdir(parents=True)
    transcript = project / f"{ID}.jsonl"
    transcript.write_text("{}\n")
    return Past(str(transcript), ID, cwd=str(tmp_path), config_root=f"{tmp_path}/root", **fields)


def test_a_kept_copy_is_resumed_by_its_path_and_with_its_own_root(tmp_path):
    original = past(tmp_path)
    copy = keeping.keep(original, str(tmp_path / "kept"))
    kept = Past(copy, ID, cwd=str(tmp_path), config_root=f"{tmp_path}/kept", source=KEPT)
    found = way_back(kept, HOME, ())
    assert found.argv == ("claude", "--resume", copy)
    assert found.environ["CLAUDE_CONFIG_DIR"] == f"{tmp_path}/root"
    (tmp_path / "kept/projects/-x" / f"{ID}.json").unlink()
    assert "CLAUDE_CONFIG_DIR" not in way_back(kept, HOME, ()).environ


def test_what_cannot_be_resumed_is_said():
    with pytest.raises(ResumeError, match="only prompts are left"):
        way_back(Past("", ID), HOME, ())
    with pytest.raises(ResumeError, match="build is not among your remotes"):
        way_back(Past("x", ID, source="build"), HOME, ())


NASTY = "/src/a'b; touch pwned $(id) \n`x`"


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("~/.claude", None),
        ("/srv/cl aude", "/srv/cl aude"),
        ("~/.cla'ude", "HOME/.cla'ude"),
        ("claude", "HOME/claude"),
    ],
)
def test_words_for_another_machine_survive_its_shells(tmp_path, path, root):
    """Run as the shells there would: the one that ssh starts, and the one that it is asked for."""
    folder = tmp_path / NASTY.lstrip("/")
    folder.mkdir(parents=True)
    client = tmp_path / "claude"
    client.write_text('#!/bin/sh\nprintf \'%s\\0\' "$PWD" "${CLAUDE_CONFIG_DIR-none}" "$@"\n')
    client.chmod(0o700)
    (tmp_path / ".profile").write_text(f"PATH={shlex.quote(str(tmp_path))}:$PATH\n")
    session = Past("x", ID, cwd=str(folder), source="build")
    how = remote_resumption(session, Remote("build", "h", "me", path, ("-p", "22")), HOME)
    assert how.argv[:-1] == ("ssh", "-t", "-p", "22", "--", "me@h")
    done = subprocess.run(
        ["/bin/sh", "-c", how.argv[-1]],
        env={"HOME": str(tmp_path), "SHELL": "/bin/sh", "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = root.replace("HOME", str(tmp_path)) if root is not None else "none"
    assert done.stdout.split("\0")[:-1] == [str(folder), expected, "--resume", ID], done.stderr
    assert not list(tmp_path.rglob("pwned"))

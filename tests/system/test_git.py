"""Branch and work tree, read from repositories that git itself made."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tray.system.git import checkout

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ,
        **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "a"),
        **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.org"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    git(folder, "commit", "--allow-empty", "-m", "one")
    return folder


def branch(folder: Path) -> str | None:
    found = checkout(str(folder))
    assert found is not None
    return found.branch


def test_a_branch_from_anywhere_below(repository: Path) -> None:
    git(repository, "switch", "-c", "feature/x-1")
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    found = checkout(str(deep))
    assert found is not None
    assert (found.branch, found.root, found.worktree) == ("feature/x-1", str(repository), None)


def test_unborn_packed_and_detached(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-b", "trunk")
    assert branch(tmp_path / "new") == "trunk"
    git(repository, "pack-refs", "--all")
    assert branch(repository) == "main"
    git(repository, "switch", "--detach")
    found = checkout(str(repository))
    assert found is not None
    assert (found.branch, found.detached) == (
        None,
        git(repository, "rev-parse", "--short=7", "HEAD"),
    )


def test_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-b", "fix", str(tmp_path / "fix-tree"))
    found = checkout(str(tmp_path / "fix-tree"))
    assert found is not None
    assert (found.branch, found.worktree, found.repository) == ("fix", "fix-tree", str(repository))


def test_a_submodule(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    git(tmp_path / "lib", "init", "-b", "stable")
    git(tmp_path / "lib", "commit", "--allow-empty", "-m", "one")
    git(repository, "submodule", "add", str(tmp_path / "lib"), "lib")
    found = checkout(str(repository / "lib"))
    assert found is not None
    assert (found.branch, found.worktree, found.root) == ("stable", None, str(repository / "lib"))


def test_a_directory_that_is_gone(repository: Path) -> None:
    assert branch(repository / "gone" / "too") == "main"


def test_no_repository(tmp_path: Path) -> None:
    assert checkout(str(tmp_path)) is None


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/" + "x/" * 3000])
def test_what_is_no_path(path: str) -> None:
    assert checkout(path) is None


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"ref: refs/heads/.invalid\n", None),
        (b"ref: refs/heads/a\n", "a"),
        (b"ref: refs/remotes/x/y", "refs/remotes/x/y"),
        (b"", None),
        (b"\n", None),
        (b"nonsense", None),
        (b"\xff\xfe", None),
        (b"ref: " + b"x" * 100_000, "x" * 4091),
    ],
)
def test_any_head(tmp_path: Path, head: bytes, expected: str | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(head)
    found = checkout(str(tmp_path))
    assert (found.branch if found is not None else None) == expected


def test_nothing_blocks_or_raises(tmp_path: Path) -> None:
    for name, make in (
        ("a", lambda entry: os.mkfifo(entry)),
        ("b", lambda entry: entry.write_text("gitdir: ../nowhere\n")),
        ("c", lambda entry: entry.write_bytes(b"\0" * 10)),
        ("d", lambda entry: (entry.mkdir(), os.mkfifo(entry / "HEAD"))),
        ("e", lambda entry: entry.symlink_to(entry)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        make(folder / ".git")
        assert checkout(str(folder)) is None


def test_a_head_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").symlink_to("refs/heads/old")
    assert branch(tmp_path) == "old"

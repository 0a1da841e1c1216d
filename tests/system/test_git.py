"""Branch and work tree, read from repositories that git itself made, and from broken ones."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from tray.system import git as module
from tray.system.git import Checkout, checkout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IDENTITY = {
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "a"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.org"),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder, env=environment | IDENTITY, check=True, capture_output=True, text=True,
        errors="surrogateescape",
    )  # fmt: skip
    return done.stdout.strip()


def make(folder: Path, *options: str, branch: str = "main") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-b", branch, *options)
    git(folder, "commit", "--allow-empty", "-m", "one")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make(tmp_path / "app")


def found(folder: Path) -> Checkout:
    result = checkout(str(folder))
    assert result is not None
    return result


def test_a_branch_from_anywhere_below(repository: Path) -> None:
    git(repository, "switch", "-c", "feature/x-1")
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    assert found(deep) == Checkout(str(repository), "feature/x-1", None, None)


def test_an_unborn_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "trunk")
    assert found(tmp_path) == Checkout(str(tmp_path), "trunk", None, None)


def test_packed_references(repository: Path) -> None:
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git" / "refs" / "heads" / "main").exists()
    assert found(repository).branch == "main"


@pytest.mark.parametrize("format_", ["sha1", "sha256"])
def test_a_detached_head(tmp_path: Path, format_: str) -> None:
    folder = make(tmp_path / "app", f"--object-format={format_}")
    git(folder, "switch", "--detach")
    commit = git(folder, "rev-parse", "HEAD")[:7]
    assert found(folder) == Checkout(str(folder), None, commit, None)


def test_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    tree = tmp_path / "fix-tree"
    git(repository, "worktree", "add", "-b", "fix", str(tree))
    assert found(tree) == Checkout(str(tree), "fix", None, "fix-tree", str(repository))
    git(tree, "switch", "--detach")
    assert found(tree).detached == git(repository, "rev-parse", "HEAD")[:7]


def test_a_work_tree_inside_its_repository(repository: Path) -> None:
    tree = repository / ".claude" / "worktrees" / "fix"
    git(repository, "worktree", "add", "-b", "fix", str(tree))
    (tree / "src").mkdir()
    assert found(tree / "src") == Checkout(str(tree), "fix", None, "fix", str(repository))


def test_pointers_with_relative_paths(repository: Path, tmp_path: Path) -> None:
    """As `git config worktree.useRelativePaths` has it since git 2.48."""
    tree = tmp_path / "fix"
    git(repository, "worktree", "add", "-b", "fix", str(tree))
    (tree / ".git").write_text("gitdir: ../app/.git/worktrees/fix\n")
    assert found(tree) == Checkout(str(tree), "fix", None, "fix", str(repository))


def test_a_pointer_read_through_a_link(repository: Path, tmp_path: Path) -> None:
    """`..` means what it means to the file system, not to the text of the path."""
    tree = tmp_path / "deep" / "fix"
    git(repository, "worktree", "add", "-b", "fix", str(tree))
    (tree / ".git").write_text("gitdir: ../../app/.git/worktrees/fix\n")
    (tmp_path / "link").symlink_to(tree)
    assert found(tmp_path / "link").branch == "fix"


@pytest.mark.parametrize(
    ("bare", "repository"), [("app/.bare", "app"), ("app.git", "app"), ("store/app", "store/app")]
)
def test_work_trees_of_a_bare_repository(tmp_path: Path, bare: str, repository: str) -> None:
    git(make(tmp_path / "seed"), "clone", "--bare", ".", str(tmp_path / bare))
    tree = tmp_path / "trees" / "fix"
    git(tmp_path / bare, "worktree", "add", "-b", "fix", str(tree))
    assert found(tree) == Checkout(str(tree), "fix", None, "fix", str(tmp_path / repository))


def test_a_bare_repository_is_no_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "--bare", "app.git")
    assert checkout(str(tmp_path / "app.git")) is None


def test_a_submodule(repository: Path, tmp_path: Path) -> None:
    make(tmp_path / "lib", branch="stable")
    git(repository, "submodule", "add", str(tmp_path / "lib"), "lib")
    lib = repository / "lib"
    assert found(lib) == Checkout(str(lib), "stable", None, None)


def test_a_submodule_of_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    make(tmp_path / "lib", branch="stable")
    tree = tmp_path / "fix"
    git(repository, "worktree", "add", "-b", "fix", str(tree))
    git(tree, "submodule", "add", str(tmp_path / "lib"), "lib")
    assert found(tree / "lib") == Checkout(str(tree / "lib"), "stable", None, None)


def test_a_directory_that_is_gone(repository: Path) -> None:
    assert found(repository / "gone" / "too").branch == "main"


def test_a_repository_that_is_gone(repository: Path) -> None:
    shutil.rmtree(repository)
    assert checkout(str(repository)) is None


def test_no_repository(tmp_path: Path) -> None:
    assert checkout(str(tmp_path)) is None


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/" + "x/" * 3000, "/" + "x" * 5000])
def test_what_is_no_path(path: str) -> None:
    assert checkout(path) is None


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    folder = make(tmp_path / os.fsdecode(b"caf\xe9"), branch="main")
    assert found(folder).root == str(folder)


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        (b"ref: refs/heads/a\n", "a"),
        (b"ref: refs/heads/a", "a"),
        (b"ref:\trefs/heads/a\r\n", "a"),
        (b"ref: refs/heads/\xc3\xa9t\xc3\xa9/x\n", "été/x"),
        (b"ref: refs/remotes/x/y\n", "refs/remotes/x/y"),
        (b"ref: refs/heads/.invalid\n", None),
        (b"0123456789abcdef0123456789abcdef01234567\n", None),
    ],
)
def test_a_head(tmp_path: Path, head: bytes, branch: str | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(head)
    assert found(tmp_path).branch == branch


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"nonsense",
        b"0123456\n",
        b"\xff\xfe",
        b"ref: \n",
        b"ref: elsewhere\n",
        b"ref: refs/heads/a\0b\n",
        b"ref: refs/heads/" + b"x" * 100_000,
    ],
)
def test_a_broken_head_is_passed_over_as_git_does(repository: Path, head: bytes) -> None:
    inner = repository / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / ".git" / "HEAD").write_bytes(head)
    assert found(inner).root == git(inner, "rev-parse", "--show-toplevel") == str(repository)


@pytest.mark.parametrize(
    "pointer",
    [
        b"",
        b"gitdir: ../nowhere\n",
        b"gitdir: ../nowhere/" + b"x" * 100_000,
        b"gitdir: ..\0\n",
        b"gitdir:\n",
        b"something else\n",
    ],
)
def test_a_pointer_to_nowhere_is_no_part_of_the_repository_above(
    repository: Path, pointer: bytes
) -> None:
    inner = repository / "inner"
    inner.mkdir()
    (inner / ".git").write_bytes(pointer)
    with pytest.raises(subprocess.CalledProcessError):
        git(inner, "rev-parse", "--show-toplevel")
    assert checkout(str(inner)) is None


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


@pytest.mark.parametrize(
    "place",
    [
        os.mkfifo,
        _socket,
        lambda path: path.symlink_to(path),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.mkdir(),
    ],
)
@pytest.mark.parametrize("where", [".git", ".git/HEAD", "pointed/HEAD"])
def test_nothing_else_in_a_files_place_blocks_or_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, place: Callable[[Path], object]
) -> None:
    monkeypatch.chdir(tmp_path)  # A socket's path must be short.
    if where == "pointed/HEAD":
        (tmp_path / ".git").write_text("gitdir: pointed\n")
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    place(path)
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(
        module.os, "open", lambda name, *rest: (opened.append(name), real(name, *rest))[1]
    )
    assert checkout(str(tmp_path)) is None
    assert str(path) not in opened, "to open it may do something"


def test_a_fifo_put_in_heads_place_at_the_last_moment(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repository / ".git" / "HEAD"
    kind = module._mode(str(head))
    head.unlink()
    os.mkfifo(head)
    real = module._mode
    monkeypatch.setattr(module, "_mode", lambda path: kind if path == str(head) else real(path))
    assert checkout(str(repository)) is None


@pytest.mark.parametrize(
    ("target", "branch"), [("refs/heads/old", "old"), ("../elsewhere", "kept-elsewhere")]
)
def test_a_head_that_is_a_link(tmp_path: Path, target: str, branch: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "elsewhere").write_text("ref: refs/heads/kept-elsewhere\n")
    (tmp_path / ".git" / "HEAD").symlink_to(target)
    assert found(tmp_path).branch == branch

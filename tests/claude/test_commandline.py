"""Telling processes by their command lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.claude.commandline import CommandLine, Role, classify, is_client, maybe

ID = "d0374515-4bdd-4ca0-bf83-be675a15b095"
OTHER = "11111111-1111-4111-8111-111111111111"
NATIVE = "/opt/node_modules/@anthropic-ai/claude-code/bin/claude.exe"
SPARE_SOCKET = "/tmp/cc-daemon-0/9e72e1ae/spare/c289fbed.claim.sock"


def role(*argv: str, comm: str = "claude") -> Role:
    return classify(comm, argv).role


@pytest.mark.parametrize(
    ("comm", "argv", "expected"),
    [
        # As seen on 2.0.76, 2.1.81 and 2.1.332.
        ("claude", ["claude"], Role.SESSION),
        ("claude", ["/opt/node_modules/.bin/claude"], Role.SESSION),
        ("claude", ["/opt/node_modules/.bin/claude", "attach", "540a544a"], Role.ATTACHED),
        ("claude.exe", [NATIVE, "daemon", "run", "--origin", "transient"], Role.DAEMON),
        (
            "claude.exe",
            ["claude bg-pty-host", "--bg-pty-host", "x.sock", "200", "50", "--", NATIVE],
            Role.PTY_HOST,
        ),
        ("claude.exe", ["claude bg-spare", "--bg-spare", SPARE_SOCKET], Role.SPARE),
        # As read of other ways to install it.
        ("2.1.150", ["claude", "--resume"], Role.SESSION),
        ("2.1.150", ["/home/u/.local/share/claude/versions/2.1.150"], Role.SESSION),
        ("2.1.150", ["2.1.150"], Role.SESSION),
        ("node", ["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], Role.SESSION),
        ("node", ["node", "--max-old-space-size=8192", "/usr/bin/claude", "hi"], Role.SESSION),
        ("MainThread", ["node", "/x/claude-code/cli.js", "mcp", "serve"], Role.ONE_SHOT),
        ("claude", ["claude", "--bg-spare", "x"], Role.SPARE),
        ("claude", ["claude", "bg-pty-host"], Role.PTY_HOST),
        # Other programs.
        ("claude", [], Role.OTHER),
        ("claude", [""], Role.OTHER),
        ("claude", ["/bin/bash", "/home/u/bin/claude", "--resume"], Role.OTHER),
        ("node", ["node", "server.js", "claude"], Role.OTHER),
        ("node", ["node", "/srv/claude-codes/cli.js"], Role.OTHER),
        ("node", ["node", "-e", "1"], Role.OTHER),
        ("vim", ["vim", "/usr/bin/claude"], Role.OTHER),
        ("2.1.150", ["/srv/other/versions/2.1.151"], Role.OTHER),
        ("claude-helper", ["claude-helper"], Role.OTHER),
    ],
)
def test_roles(comm: str, argv: list[str], expected: Role) -> None:
    assert classify(comm, tuple(argv)).role is expected
    assert is_client(comm, tuple(argv)) == (expected is not Role.OTHER)
    if expected is not Role.OTHER:
        assert maybe(comm)


@pytest.mark.parametrize("command", ["mcp", "agents", "doctor", "update", "plugin", "setup-token"])
def test_one_shots_are_told_by_their_place(command: str) -> None:
    assert role("claude", command, "--help") is Role.ONE_SHOT
    assert role("claude", "--model", "opus", command) is Role.ONE_SHOT
    for words in (
        ["please", command],
        ["--name", command],
        ["-n", command, "go"],
        ["--add-dir", "a", command],
        ["--debug", command],
        ["--resume", command],
        [f"--name={command}"],
        [f"{command} the docs"],
        ["--allowedTools", "Bash", command, "--verbose"],
    ):
        assert role("claude", *words) is Role.SESSION, words


@pytest.mark.parametrize(
    "words",
    [
        ["--add-dir", "daemon"],
        ["what does --bg-spare do?"],
        ["--append-system-prompt", "--bg-spare"],
        ["-n", "daemon"],
        ["--", "tell me", "daemon"],
    ],
)
def test_words_elsewhere_make_no_other_role(words: list[str]) -> None:
    assert role("claude", *words) is Role.SESSION


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-p", "hi"], True),
        (["--print"], True),
        (["hi", "-p"], True),
        (["-cp", "hi"], True),
        (["--verbose", "--output-format", "stream-json", "--input-format", "stream-json"], True),
        (["--input-format=stream-json"], True),
        (["--allowedTools", "Bash", "Edit", "-p"], True),
        (["hi"], False),
        (["why does -p exist?"], False),
        (["--append-system-prompt", "-p"], False),
        (["--name", "--print"], False),
        (["--permission-mode", "plan"], False),
        (["--output-format", "stream-json"], False),
        (["--", "-p"], False),
    ],
)
def test_headless_is_told_by_position(words: list[str], *, expected: bool) -> None:
    assert classify("claude", ("claude", *words)).headless is expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--session-id", ID], ID),
        ([f"--session-id={ID}"], ID),
        (["--resume", ID], ID),
        (["-r", ID, "go on"], ID),
        (["--resume", f"/kept/{ID}.jsonl"], ID),
        (["--resume", ID, "--fork-session"], None),
        (["--resume", ID, "--fork-session", "--session-id", OTHER], OTHER),
        (["--resume", "some words"], None),
        (["--resume"], None),
        (["--resume", "--verbose"], None),
        (["--session-id", "../../etc/passwd"], None),
        (["--name", "--resume", ID], None),
        ([ID], None),
    ],
)
def test_the_session_it_was_told_to_be(words: list[str], expected: str | None) -> None:
    assert classify("claude", ("claude", *words)).session_id == expected


def test_names_and_targets() -> None:
    assert classify("claude", ("claude", "-n", "my work")).name == "my work"
    assert classify("claude", ("claude", "--name=my work")).name == "my work"
    assert classify("claude", ("claude", "--name", "")).name is None
    assert classify("claude", ("claude", "attach", "540a")).attached_to == "540a"
    assert classify("claude", ("claude", "attach")) == CommandLine(Role.ATTACHED)


@given(st.text(), st.lists(st.text() | st.sampled_from(["-p", "--", "-r", "claude", "--tools"])))
def test_no_command_line_raises(comm: str, argv: list[str]) -> None:
    assert isinstance(classify(comm, tuple(argv)).role, Role)
    assert isinstance(classify("claude", ("claude", *argv)).role, Role)

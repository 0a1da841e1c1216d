"""What Claude's plug-in of an editor tells of its window."""

from __future__ import annotations

import json

import pytest

from tray.claude.ide import workspace_folders

# As the plug-in for VS Code writes it.
LOCK = {
    "pid": 4711,
    "workspaceFolders": ["/home/me/shop"],
    "ideName": "Visual Studio Code",
    "transport": "ws",
    "runningInWindows": False,
    "authToken": "a secret",
}


@pytest.fixture
def write(tmp_path):
    folder = tmp_path / ".claude" / "ide"
    folder.mkdir(parents=True)

    def make(data, name="41234.lock"):
        (folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return {"HOME": str(tmp_path), "CLAUDE_CODE_SSE_PORT": "41234"}

    return make


def test_the_folders_of_the_window(write):
    assert workspace_folders(write(LOCK)) == ("/home/me/shop",)
    several = ["/home/me/shop", "/home/me/docs"]
    assert workspace_folders(write({**LOCK, "workspaceFolders": several})) == tuple(several)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        {**LOCK, "workspaceFolders": None},
        {**LOCK, "workspaceFolders": ["relative", "--goto", "/a\0b"]},
        {"pid": 1},
    ],
)
def test_what_is_no_window(write, data):
    assert workspace_folders(write(data)) == ()


@pytest.mark.parametrize("port", ["", "../../x", "41235", "٣"])
def test_a_port_of_no_window(write, port):
    assert workspace_folders({**write(LOCK), "CLAUDE_CODE_SSE_PORT": port}) == ()


def test_a_client_outside_of_an_editor():
    assert workspace_folders({"HOME": "/home/me"}) == ()

"""What is copied can be pasted, also after the application has ended."""

from __future__ import annotations

import asyncio
import shutil
import subprocess

import pytest

from tests.conftest import wait_until
from tray.desktop import clipboard


@pytest.mark.skipif(shutil.which("xclip") is None, reason="xclip is not installed")
def test_what_is_copied_can_be_pasted(desktop):
    text = "tmux -S '/tmp/a b' switch-client -t %3"
    assert asyncio.run(clipboard.copy(text))

    def pasted() -> str:
        command = ["xclip", "-selection", "clipboard", "-out"]
        return subprocess.run(command, capture_output=True, timeout=5, check=False).stdout.decode()

    # The program that holds the text may be a moment later than its word for it.
    wait_until(lambda: pasted() == text, what="it is on the clipboard")


@pytest.mark.skipif(shutil.which("xclip") is None, reason="xclip is not installed")
def test_a_display_that_is_gone_is_told(desktop, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":4242")
    assert not asyncio.run(clipboard.copy("x"))

"""The way to a session that a click hands out."""

from __future__ import annotations

import pytest

from tray.desktop.alerts import Urgency
from tray.desktop.directions import TmuxPane, directions, signpost, tmux_pane
from tray.session import Kind, Observation, State

LIVE = Observation(
    key="7:1", state=State.WORKING, pid=7, session_id="s-1", cwd="/home/me/my app", tty="/dev/pts/3"
)


@pytest.mark.parametrize(
    ("fields", "pane", "copied"),
    [
        ({}, None, "/home/me/my app"),
        ({"cwd": None}, None, "/dev/pts/3"),
        (
            {},
            TmuxPane("/tmp/tmux-1000/de fault", "%5"),
            (
                "tmux -S '/tmp/tmux-1000/de fault' switch-client -t %5"
                " || tmux -S '/tmp/tmux-1000/de fault' attach -t %5"
            ),
        ),
        ({"state": State.ENDED}, None, "cd '/home/me/my app' && claude --resume s-1"),
        ({"state": State.ENDED, "cwd": None}, None, "claude --resume s-1"),
        (
            {"state": State.ENDED, "session_id": "$(rm -rf ~)", "cwd": "/a;b"},
            None,
            "cd '/a;b' && claude --resume '$(rm -rf ~)'",
        ),
        ({"kind": Kind.BACKGROUND, "tty": None, "job_id": "j 1"}, None, "claude attach 'j 1'"),
        ({"kind": Kind.BACKGROUND, "job_id": "j1"}, None, "/home/me/my app"),
        ({"tty": None}, None, "/home/me/my app"),
        ({"tty": None, "cwd": None}, None, "7"),
        ({"tty": None, "cwd": None, "pid": None}, None, ""),
    ],
)
def test_directions(fields: dict[str, object], pane: TmuxPane | None, copied: str) -> None:
    session = Observation(
        **{**{name: getattr(LIVE, name) for name in LIVE.__slots__}, **fields}  # type: ignore[arg-type]
    )
    way = directions(session, pane)
    assert way.copy == copied
    assert way.copy in way.say or session.pid is None or str(session.pid) in way.say


@pytest.mark.parametrize(
    ("environment", "pane"),
    [
        (
            {"TMUX": "/tmp/tmux-0/default,123,0", "TMUX_PANE": "%12"},
            TmuxPane("/tmp/tmux-0/default", "%12"),
        ),
        (
            {"TMUX": "/tmp/a,b/default,123,0", "TMUX_PANE": "%1"},
            TmuxPane("/tmp/a,b/default", "%1"),
        ),
        ({}, None),
        ({"TMUX": "", "TMUX_PANE": "%1"}, None),
        ({"TMUX": "/tmp/x,1,0", "TMUX_PANE": "%1; rm"}, None),
    ],
)
def test_tmux_pane(environment: dict[str, str], pane: TmuxPane | None) -> None:
    assert tmux_pane(environment) == pane


@pytest.mark.parametrize("copied", [True, False])
def test_the_signpost_is_quiet_and_says_whether_it_was_copied(copied: bool) -> None:
    bubble = signpost(LIVE, directions(LIVE), copied=copied)
    assert (bubble.urgency, bubble.expires, bubble.keys) == (Urgency.LOW, True, ("7:1",))
    assert "/dev/pts/3" in bubble.body
    assert bubble.body.endswith("\ncopied: /home/me/my app") is copied

"""What a person asks for, and what comes of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from tray.configfile import SettingsFile
from tray.desktop.bubbles import MUTE, SNOOZE, Bubble, Look, Urgency
from tray.desktop.controller import MUTE_FOR, SNOOZE_FOR, Controller
from tray.desktop.recent import RecentSessions
from tray.mutefile import MuteFile
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from pathlib import Path

SESSION = Observation(
    "4:2", State.NEEDS_INPUT, session_id="s", reason=Reason.PERMISSION,
    ask=Ask("a", Reason.PERMISSION),
)  # fmt: skip


def told(ask: str, *, key: str = "4:2") -> Bubble:
    return Bubble(
        id=f"{key}/{ask}", title="", body="", look=Look.BLOCKED, category="",
        urgency=Urgency.NORMAL, expires=False, keys=(key,), asks=(f"{key}/{ask}",),
    )  # fmt: skip


@pytest.fixture
def mutes(tmp_path: Path) -> MuteFile:
    return MuteFile(str(tmp_path / "mutes.json"))


@pytest.fixture
def control(mutes: MuteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make one for these sessions, in a home of its own."""
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def made(*sessions: Observation) -> Controller:
        return Controller(
            sessions=lambda: sessions,
            mutes=mutes,
            settings=SettingsFile(str(tmp_path / "config.toml")),
            recent=RecentSessions(lambda: None),
            tell=lambda _: None,
            changed=lambda: None,
            end=lambda: None,
            health=lambda: "",
            folder=None,
            log_path=str(tmp_path / "log"),
        )

    return made


@pytest.mark.parametrize(
    ("bubble", "session", "snoozed"),
    [
        (told("a"), SESSION, ["s/a"]),
        (told("b"), SESSION, []),
        (told("a"), replace(SESSION, ask=None, reason=None, state=State.WORKING), []),
        # It was sent to the background since.
        (told("a"), replace(SESSION, key="job:1", aliases=("4:2",)), ["s/a"]),
        (told("a", key="5:5"), SESSION, []),
    ],
)
def test_snooze_is_for_the_ask_that_the_bubble_told(
    control: Any, mutes: MuteFile, bubble: Bubble, session: Observation, snoozed: list[str]
) -> None:
    now = time.time()
    control(session).pressed(bubble, SNOOZE.key, None)
    assert list(mutes.mutes.snoozed) == snoozed
    assert all(end >= now + SNOOZE_FOR for end in mutes.mutes.snoozed.values())


def test_mute_is_for_the_session_whatever_it_asks_by_now(control: Any, mutes: MuteFile) -> None:
    now = time.time()
    control(SESSION).pressed(told("b"), MUTE.key, None)
    (end,) = mutes.mutes.sessions.values()
    assert end is not None
    assert end >= now + MUTE_FOR

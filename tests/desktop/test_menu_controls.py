"""The whole menu in a real panel: check marks, submenus of submenus, and what a click tells."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.test_demo import keep
from tray.claude.recent import Recent
from tray.desktop import icon, menu
from tray.desktop.menu import Action, Controls, Duration, Entry
from tray.desktop.sni import TrayIcon
from tray.mutes import Scope
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desktop.xfce import Xfce

NOW = time.time()
TEXT = "cd /home/me/work/shop && npm run build && npm publish --access public --tag next"
ASKS = Observation(
    "asks:1",
    State.NEEDS_INPUT,
    reason=Reason.PERMISSION,
    ask=Ask("s1", Reason.PERMISSION, "Bash", TEXT),
    detail="Bash: npm publish",
    pid=4711,
    session_id="00000000-0000-4000-8000-000000000001",
    project="shop",
    cwd="/home/me/work/shop",
    branch="main",
    since=NOW - 300,
)
RECENT = Recent("id", "/r", "/r/x", NOW - 7200, "/home/me/work/docs", "Write the manual")


@pytest.fixture
def told(desktop: Xfce) -> Iterator[list[Entry]]:
    """What clicks in the menu of an icon in the panel mean."""
    clicked: list[Entry] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def show() -> TrayIcon:
        made = TrayIcon(on_action=clicked.append)
        made.show(
            icon.look([ASKS], healthy=True),
            badge=1,
            tooltip="1 blocked",
            entries=menu.build(
                [ASKS], (), NOW, controls=Controls(autostart=False, recent=(RECENT,))
            ),
        )
        await made.start()
        return made

    made = asyncio.run_coroutine_threadsafe(show(), loop).result(timeout=10)
    yield clicked
    asyncio.run_coroutine_threadsafe(made.close(), loop).result(timeout=10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def open_menu(desktop: Xfce) -> None:
    desktop.click(*desktop.icon(within=15).centre)
    wait_until(desktop.menus, within=5, what="the menu is open")


def press(desktop: Xfce, *keys: str) -> None:
    for key in keys:
        desktop.steady_screenshot()
        desktop.press(key)


def test_start_at_login_is_told_with_its_value(desktop: Xfce, told: list[Entry]) -> None:
    open_menu(desktop)
    # From below: Quit, About, Start at login.
    press(desktop, "Up", "Up", "Up", "Return")
    wait_until(lambda: told, within=5, what="a click was told")
    assert [(entry.action, entry.value) for entry in told] == [(Action.AUTOSTART, True)]


def test_an_action_three_levels_down_is_told(desktop: Xfce, told: list[Entry]) -> None:
    open_menu(desktop)
    # The row, Session actions, the session; what it asks cannot be chosen.
    press(desktop, "Down", "Down", "Right", "Right")
    wait_until(lambda: len(desktop.menus()) == 3, within=5, what="the actions are open")
    keep(desktop.steady_screenshot().crop((0, 0, 1280, 480)), "session-actions.png")
    # From below: Mute project.
    press(desktop, "Up", "Right")
    wait_until(lambda: len(desktop.menus()) == 4, within=5, what="the durations are open")
    press(desktop, "Down", "Return")
    wait_until(lambda: told, within=5, what="a click was told")
    assert [(e.action, e.scope, e.what, e.duration) for e in told] == [
        (Action.MUTE, Scope.PROJECT, "/home/me/work/shop", Duration.HOUR)
    ]

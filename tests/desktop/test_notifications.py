"""Bubbles on a real screen: xfce4-notifyd, and dunst."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.conftest import wait_until
from tests.desktop.xfce import NOTIFYD_SERVICE, SERVICES, Window, Xfce
from tray.desktop import notifier as notifier_module
from tray.desktop.alerts import Bubble, Urgency
from tray.desktop.glyphs import Look
from tray.desktop.notifier import Notifier

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from PIL import Image

pytestmark = pytest.mark.asyncio

ASK = Bubble(
    id="1/a",
    title="myproject needs permission",
    body="Bash: npm publish\nmain · release",
    look=Look.BLOCKED,
    category="x-sessionbell.ask",
    urgency=Urgency.NORMAL,
    expires=False,
    keys=("1",),
    asks=("1/a",),
)
OTHER = replace(ASK, id="2/a", title="docs asks a question", keys=("2",), asks=("2/a",))
QUIET = replace(
    ASK,
    id="3/turn",
    title="api has finished",
    body="All tests pass.",
    urgency=Urgency.LOW,
    expires=True,
    asks=("3/t",),
)


class Desk:
    """A notifier on the real desktop, and what it heard of the person."""

    def __init__(self, desktop: Xfce, wm_class: str, pictures: Path) -> None:
        self.desktop = desktop
        self.wm_class = wm_class
        self.pictures = pictures
        self.clicked: list[Bubble] = []
        self.pressed: list[tuple[Bubble, str]] = []
        self.dismissed: list[Bubble] = []
        self.notifier = Notifier(
            on_click=self.clicked.append,
            on_action=lambda bubble, action: self.pressed.append((bubble, action)),
            on_dismiss=self.dismissed.append,
            on_problems=lambda _problems: None,
            icon="dialog-information",
            reply_limit=1.0,
        )

    @property
    def problems(self) -> set[str]:
        return {problem.code for problem in self.notifier.problems}

    def windows(self) -> list[Window]:
        return self.desktop.windows(lambda window: window.wm_class == self.wm_class)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for the screen or a callback while the notifier works on."""
        await asyncio.to_thread(wait_until, condition, within=10, what=what)

    async def bubbles(self, count: int) -> list[Window]:
        await self.until(lambda: len(self.windows()) == count, f"{count} bubbles on the screen")
        return self.windows()

    async def picture(self, name: str) -> Image.Image:
        """The bubbles once nothing moves any more, also kept as a file."""
        screen = await asyncio.to_thread(self.desktop.steady_screenshot)
        boxes = [window.box.corners for window in self.windows()]
        assert boxes, "no bubble is on the screen"
        lefts, tops, rights, bottoms = zip(*boxes, strict=True)
        cut = screen.crop((min(lefts), min(tops), max(rights), max(bottoms)))
        cut.save(self.pictures / f"{self.wm_class}-{name}.png")
        return cut

    async def click(self, x: int, y: int, button: int = 1) -> None:
        await asyncio.to_thread(self.desktop.click, x, y, button)


@pytest.fixture
def notifyd(desktop: Xfce) -> Iterator[Xfce]:
    if not (SERVICES / NOTIFYD_SERVICE).is_file():
        pytest.skip("xfce4-notifyd is not installed")
    desktop.start_notification_daemon()
    yield desktop
    desktop.kill_notification_daemon()


@pytest_asyncio.fixture
async def desk(notifyd: Xfce, tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(notifyd, "Xfce4-notifyd", tmp_path)
    await desk.notifier.start()
    yield desk
    await desk.notifier.close()


async def test_is_shown_replaced_in_place_and_withdrawn(desk: Desk) -> None:
    desk.notifier.show([ASK])
    (first,) = await desk.bubbles(1)
    before = await desk.picture("shown")
    desk.notifier.show([replace(ASK, body="Edit: src/app.py\nmain · release")])
    await desk.until(
        lambda: desk.desktop.screenshot().crop(first.box.corners) != before, "a new text"
    )
    after = await desk.picture("replaced")
    assert after != before
    (second,) = desk.windows()
    assert second.id == first.id
    desk.notifier.show([])
    await desk.bubbles(0)
    assert desk.dismissed == []


async def test_a_button_pressed(desk: Desk) -> None:
    desk.notifier.show([ASK])
    (window,) = await desk.bubbles(1)
    await desk.picture("button")
    box = window.box
    await desk.click(box.x + box.width - 56, box.y + box.height - 32)
    await desk.until(lambda: desk.pressed, "the button was heard")
    assert desk.pressed == [(ASK, "show")]
    await desk.bubbles(0)
    desk.notifier.show([replace(ASK, body="a detail learnt later"), OTHER])
    await desk.bubbles(1)
    desk.notifier.show([replace(ASK, asks=("1/b",)), OTHER])
    await desk.bubbles(2)


async def test_a_click_on_the_bubble_dismisses_it(desk: Desk) -> None:
    desk.notifier.show([ASK])
    (window,) = await desk.bubbles(1)
    await desk.click(window.box.x + 150, window.box.y + 20)
    await desk.until(lambda: desk.dismissed, "the dismissal was heard")
    await desk.bubbles(0)
    assert (desk.dismissed, desk.clicked, desk.pressed) == ([ASK], [], [])


async def test_markup_is_shown_as_the_text_it_is(desk: Desk) -> None:
    plain, marked = (
        replace(ASK, title=title, body=body)
        for title, body in (("p", "Bash: echo x"), ("<i></i>p", "Bash: <b></b>echo &amp;x"))
    )
    desk.notifier.show([plain])
    await desk.bubbles(1)
    without = await desk.picture("plain")
    desk.notifier.show([])
    await desk.bubbles(0)
    desk.notifier.show([marked])
    await desk.bubbles(1)
    with_markup = await desk.picture("markup")
    assert with_markup.width > without.width + 40


async def test_a_quiet_one_leaves_by_itself_and_a_blocking_one_stays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier_module, "EXPIRES_AFTER", 1)
    desk.notifier.show([ASK, QUIET])
    await desk.bubbles(2)
    await desk.picture("quiet-and-blocking")
    await desk.bubbles(1)
    assert desk.dismissed == [QUIET]


async def test_do_not_disturb_is_obeyed(desk: Desk) -> None:
    def disturb(setting: str) -> None:
        command = ["xfconf-query", "-c", "xfce4-notifyd", "-p", "/do-not-disturb", "-n"]
        subprocess.run(
            [*command, "-t", "bool", "-s", setting], env=desk.desktop.environment, check=True
        )

    if shutil.which("xfconf-query") is None:
        pytest.skip("xfconf-query is not installed")
    await asyncio.to_thread(disturb, "true")
    desk.notifier.show([ASK])
    await desk.until(lambda: desk.notifier._slots["1/a"].shown, "the server took it")
    await asyncio.to_thread(desk.desktop.steady_screenshot)
    assert desk.windows() == []
    await asyncio.to_thread(disturb, "false")
    desk.notifier.show([ASK, OTHER])
    await desk.bubbles(1)
    await desk.picture("after-do-not-disturb")
    assert len(desk.windows()) == 1


async def test_a_daemon_that_hangs_and_wakes_up(desk: Desk) -> None:
    desk.notifier.show([ASK])
    await desk.bubbles(1)
    daemon = desk.desktop._processes["xfce4-notifyd"]
    daemon.send_signal(signal.SIGSTOP)
    try:
        desk.notifier.show([ASK, OTHER])
        await desk.until(lambda: desk.problems == {"notification-daemon-hangs"}, "it is told")
        desk.notifier.show([ASK, OTHER, QUIET])
    finally:
        daemon.send_signal(signal.SIGCONT)
    await desk.bubbles(3)
    await desk.until(lambda: not desk.problems, "all is well")
    assert len(desk.windows()) == 3


async def test_a_daemon_that_is_killed_and_comes_back(desk: Desk) -> None:
    desk.notifier.show([ASK, QUIET])
    await desk.bubbles(2)
    desk.desktop.kill_notification_daemon()
    await desk.until(lambda: desk.dismissed == [QUIET], "the quiet one is not shown again")
    await asyncio.to_thread(desk.desktop.start_notification_daemon)
    (window,) = await desk.bubbles(1)
    await desk.until(lambda: not desk.problems, "all is well")
    box = window.box
    await desk.click(box.x + box.width - 56, box.y + box.height - 32)
    await desk.until(lambda: desk.pressed == [(ASK, "show")], "its button works")


async def test_nothing_is_left_at_the_end(desk: Desk) -> None:
    desk.notifier.show([ASK, OTHER, QUIET])
    await desk.bubbles(3)
    await desk.notifier.close()
    await desk.bubbles(0)


async def test_dunst(desktop: Xfce, tmp_path: Path) -> None:
    if shutil.which("dunst") is None:
        pytest.skip("dunst is not installed")
    desktop.run("dunst", ["dunst"])
    desk = Desk(desktop, "Dunst", tmp_path)
    await desk.until(lambda: desktop.owned("org.freedesktop.Notifications"), "dunst runs")
    await desk.notifier.start()
    try:
        desk.notifier.show([replace(ASK, body="Bash: echo '<b>x</b>' &amp;\nmain · release")])
        (shown,) = await desk.bubbles(1)
        before = await desk.picture("shown")
        desk.notifier.show([replace(ASK, body="Edit: src/app.py\nmain · release")])
        await desk.until(
            lambda: desktop.screenshot().crop(shown.box.corners) != before, "a new text"
        )
        await desk.picture("replaced")
        (window,) = desk.windows()
        await desk.click(*window.box.centre, button=2)
        await desk.until(lambda: desk.clicked, "the click was heard")
        await desk.bubbles(0)
        desk.notifier.show([OTHER])
        await desk.bubbles(1)
        desk.notifier.show([])
        await desk.bubbles(0)
    finally:
        await desk.notifier.close()
        desktop.kill("dunst", signal.SIGTERM)

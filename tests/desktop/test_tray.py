"""The tray icon in a real panel, its menu opened and used by a pointer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageChops, ImageColor

from tests.conftest import wait_until
from tests.desktop.xfce import HEIGHT, PANEL_HEIGHT, Box, Window, Xfce
from tray.desktop import icon, menu
from tray.desktop.glyphs import GLYPHS
from tray.desktop.icon import Look
from tray.desktop.sni import TrayIcon
from tray.session import Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = 1_000_000.0


class Application:
    """A tray icon on a loop of its own, so that a test may wait for the screen meanwhile."""

    def __init__(self, pictures: Path) -> None:
        self.pictures = pictures
        self.clicked: list[str] = []
        self.sessions: tuple[Observation, ...] = ()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.icon: TrayIcon = self.do(self._make)

    def do(self, act: Callable[[], object]):
        """Call on the loop, and return what it returns or comes to."""

        async def call() -> object:
            result = act()
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(timeout=10)

    def show(self, *sessions: Observation) -> None:
        """Show these sessions from now on."""
        self.sessions = sessions
        self.do(self._show)

    def show_look(self, look: Look, badge: int = 0, *, muted: bool = False) -> None:
        self.do(lambda: self.icon.show(look, badge=badge, muted=muted, tooltip="x", entries=()))

    def close(self) -> None:
        self.do(self.icon.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _make(self) -> TrayIcon:
        return TrayIcon(
            on_action=lambda entry: self.clicked.append(entry.session or entry.key),
            on_change=self._show,
        )

    def _show(self) -> None:
        self.icon.show(
            icon.look(self.sessions, healthy=True),
            badge=icon.badge(self.sessions),
            tooltip=menu.tooltip(self.sessions, (), NOW),
            entries=menu.build(self.sessions, (), NOW),
        )


@pytest.fixture
def application(desktop: Xfce, tmp_path: Path) -> Iterator[Application]:
    made = Application(tmp_path)
    yield made
    made.close()


@pytest.fixture
def shown(application: Application, desktop: Xfce) -> Application:
    """An application with one row of each colour, whose icon is in the panel."""
    application.show(ASKS, DONE, WORKS, RESTS)
    application.do(application.icon.start)
    desktop.icon()
    return application


def session(key: str, state: State, reason: Reason | None = None, **fields) -> Observation:
    given = {"project": key, "branch": "main", "since": NOW - 300, **fields}
    return Observation(key, state, reason=reason, **given)


ASKS = session("asks", State.NEEDS_INPUT, Reason.PERMISSION, detail="Bash: npm publish")
DONE = session("done", State.IDLE, unseen=True, preview="All 42 tests pass.")
WORKS = session("works", State.WORKING)
RESTS = session("rests", State.IDLE)


def rows(desktop: Xfce, opened: Window, look: Look) -> list[tuple[int, int]]:
    """Where the rows with an icon of that look are in an open menu, from top to bottom."""
    column = Box(opened.box.x + 24, opened.box.y, 26, min(opened.box.height, HEIGHT - opened.box.y))
    mask = near(desktop.screenshot().crop(column.corners), GLYPHS[look].fill)
    found, y = [], 0
    while y < mask.height - icon.SIZES[0]:
        square = mask.crop((0, y, mask.width, y + icon.SIZES[0]))
        if square.crop((0, 0, square.width, 1)).getbbox() and square.histogram()[255] > 20:
            found.append((column.x + 60, column.y + y + 6))
            y += icon.SIZES[0]
        y += 1
    return found


def near(image: Image.Image, colour: str) -> Image.Image:
    plain = Image.new("RGB", image.size, ImageColor.getrgb(colour))
    distance = ImageChops.difference(image.convert("RGB"), plain).convert("L")
    return distance.point(lambda value: value < 16 and 255)


def open_menu(desktop: Xfce, button: int = 1) -> Window:
    desktop.click(*desktop.icon().centre, button=button)
    return one_menu(desktop)


def one_menu(desktop: Xfce) -> Window:
    def tall() -> Window | None:
        # A tooltip may be there as well.
        found = [window for window in desktop.menus() if window.box.y == PANEL_HEIGHT]
        return found[0] if found else None

    found = wait_until(tall, what="a menu is open")
    assert isinstance(found, Window)
    desktop.steady_screenshot()
    return found


@pytest.mark.parametrize("look", Look)
def test_every_look_is_seen_in_the_panel(look, application, desktop):
    application.show_look(look)
    application.do(application.icon.start)
    box = desktop.icon()
    picture = desktop.steady_screenshot().crop(box.corners)
    assert near(picture, GLYPHS[look].fill).histogram()[255] > 10


def test_the_icon_follows_the_sessions(shown, desktop):
    seen = []
    for sessions in ((ASKS, WORKS), (ASKS, ASKS), (WORKS,), (RESTS,), (ASKS, WORKS)):
        shown.show(*sessions)
        look, badge = icon.look(sessions, healthy=True), icon.badge(sessions)
        wait_until(
            lambda look=look: near(panel_icon(desktop), GLYPHS[look].fill).getbbox(),
            what=f"the icon is {look}",
        )
        seen.append((look, badge, desktop.steady_screenshot().crop(shown_at(desktop)).tobytes()))
    assert seen[0] == seen[-1], "it sticks"
    assert len({picture for *_, picture in seen}) == 4, "one and two look alike"


def shown_at(desktop: Xfce) -> tuple[int, int, int, int]:
    return 0, 0, 2 * PANEL_HEIGHT, PANEL_HEIGHT


def panel_icon(desktop: Xfce) -> Image.Image:
    return desktop.screenshot().crop(shown_at(desktop))


@pytest.mark.parametrize("button", [1, 3])
def test_a_click_opens_the_menu_and_a_click_on_a_row_is_told(button, shown, desktop):
    opened = open_menu(desktop, button)
    looks = (Look.BLOCKED, Look.FINISHED, Look.WORKING, Look.IDLE)
    places = [rows(desktop, opened, look) for look in looks]
    assert [len(found) for found in places] == [1, 1, 1, 1]
    heights = [found[0][1] for found in places]
    assert heights == sorted(heights)
    desktop.click(*places[2][0])
    wait_until(lambda: shown.clicked == ["works"], what="the click is told")
    wait_until(lambda: not desktop.menus(), what="the menu is closed")


def test_the_middle_button_goes_to_the_one_that_waits(shown, desktop):
    desktop.click(*desktop.icon().centre, button=2)
    wait_until(lambda: shown.clicked == ["asks"], what="the click is told")
    assert not desktop.menus()


def test_nothing_moves_in_the_open_menu_and_labels_go_on(shown, desktop):
    opened = open_menu(desktop)
    before = desktop.steady_screenshot().crop(opened.box.corners)
    places = {look: rows(desktop, opened, look) for look in (Look.FINISHED, Look.IDLE)}
    # It asks no more, one has ended, and two are new.
    shown.show(
        session("asks", State.WORKING),
        DONE,
        RESTS,
        session("new", State.WORKING),
        session("other", State.NEEDS_INPUT, Reason.PLAN),
    )
    wait_until(lambda: not rows(desktop, opened, Look.BLOCKED), what="the label has changed")
    during = desktop.steady_screenshot().crop(opened.box.corners)
    assert one_menu(desktop) == opened
    assert {look: rows(desktop, opened, look) for look in places} == places
    # The row of the one that has ended is greyed out, in its place.
    (asked,) = rows(desktop, opened, Look.WORKING)
    assert before.getpixel((5, asked[1])) == during.getpixel((5, asked[1]))
    top, bottom = places[Look.FINISHED][0][1] + 13, places[Look.IDLE][0][1] - 13
    between = (0, top - opened.box.y, 300, bottom - opened.box.y)
    greyed = [part.crop(between) for part in (before, during)]
    assert ImageChops.difference(*greyed).getbbox()
    assert shown.clicked == []
    desktop.click(*places[Look.FINISHED][0])
    wait_until(lambda: shown.clicked == ["done"], what="the click is told")
    wait_until(lambda: not desktop.menus(), what="the menu is closed")
    again = open_menu(desktop)
    assert again.box.height > opened.box.height
    assert len(rows(desktop, again, Look.WORKING)) == 2


def test_a_menu_that_was_left_by_escape_is_fresh_when_it_opens_again(shown, desktop):
    """The panel does not tell that it has closed."""
    open_menu(desktop)
    desktop.close_menus()
    shown.show(session("x", State.WORKING), session("y", State.WORKING), RESTS, ASKS)
    opened = open_menu(desktop)
    wait_until(lambda: len(rows(desktop, opened, Look.WORKING)) == 2, what="the rows are new")
    (asked,) = rows(desktop, opened, Look.BLOCKED)
    desktop.click(*asked)
    wait_until(lambda: shown.clicked == ["asks"], what="the click is told")


def test_a_panel_that_is_killed_and_started_again_shows_it_again(shown, desktop):
    desktop.kill_panel()
    wait_until(lambda: not shown.icon.host_present, what="the tray is gone")
    assert [problem.code for problem in shown.icon.problems] == ["no-tray"]
    desktop.start_panel()
    desktop.icon(within=15)
    wait_until(lambda: shown.icon.host_present, what="it is told that there is a tray")
    assert shown.icon.problems == ()
    opened = open_menu(desktop)
    desktop.click(*rows(desktop, opened, Look.BLOCKED)[0])
    wait_until(lambda: shown.clicked == ["asks"], what="the click is told")


def test_a_panel_that_starts_later_shows_it(desktop, tmp_path):
    desktop.kill_panel()
    late = Application(tmp_path)
    try:
        late.show(ASKS)
        late.do(late.icon.start)
        wait_until(lambda: late.icon.problems, what="it is told that there is no tray")
        desktop.start_panel()
        desktop.icon(within=15)
    finally:
        late.close()


def test_the_icon_is_gone_when_the_application_is(shown, desktop):
    shown.do(shown.icon.close)
    wait_until(lambda: not desktop.icons(), what="the icon is gone")


def test_the_icon_is_gone_when_the_application_is_killed(desktop):
    code = """
import asyncio
from tray.desktop.sni import TrayIcon
from tray.desktop.icon import Look
async def main():
    icon = TrayIcon()
    icon.show(Look.BLOCKED, badge=1, tooltip="x", entries=())
    await icon.start()
    await asyncio.sleep(60)
asyncio.run(main())
"""
    process = subprocess.Popen([sys.executable, "-c", code], env={**desktop.environment})
    try:
        desktop.icon(within=10)
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not desktop.icons(), what="the icon is gone")


def test_two_hundred_sessions_fit_on_the_screen(shown, desktop):
    crowd = [session(f"p{n % 9}", State.WORKING, since=NOW + n) for n in range(200)]
    crowd = [Observation(f"{n}", s.state, project=s.project) for n, s in enumerate(crowd)]
    shown.show(*crowd)
    opened = open_menu(desktop)
    assert opened.box.y + opened.box.height < HEIGHT
    places = rows(desktop, opened, Look.WORKING)
    assert len(places) == menu.ROWS
    # The line after the last row has a submenu of the projects, and each of these its rows.
    x, y = places[-1]
    desktop.move(x, y + 25)
    wait_until(lambda: len(desktop.menus()) == 2, what="the submenu is open")
    projects = desktop.menus()[-1]
    desktop.move(projects.box.x + 20, y + 25)
    desktop.move(projects.box.x + 25, projects.box.y + 18)
    wait_until(lambda: len(desktop.menus()) == 3, what="the project's menu is open")
    desktop.steady_screenshot()
    inner = desktop.menus()[-1]
    desktop.move(inner.box.x + 10, projects.box.y + 18)
    desktop.click(inner.box.x + 40, inner.box.y + 18)
    wait_until(lambda: len(shown.clicked) == 1, what="the click is told")
    assert int(shown.clicked[0]) >= menu.ROWS


HOSTILE = (
    "<b>bold</b> <span foreground='red'>&amp;&quot;",
    "under_score __two _",
    "\x1b[31mred\x07\x00 \u202egnp.exe",
    "\ud800 lone surrogate",
    "x" * 100_000,
    "line\nbreak\ttab",
    "مرحبا 你好 👩‍👩‍👧",
)


def test_hostile_text_is_shown_as_it_is_and_breaks_nothing(shown, desktop):
    shown.show(
        *(
            session(
                f"{n}", State.NEEDS_INPUT, Reason.QUESTION, detail=text, project=text, name=text
            )
            for n, text in enumerate(HOSTILE)
        )
    )
    opened = open_menu(desktop)
    assert len(rows(desktop, opened, Look.BLOCKED)) == len(HOSTILE)
    assert opened.box.width <= 1280
    desktop.close_menus()
    desktop.move(*desktop.icon().centre)
    tooltip = wait_until(desktop.menus, what="the tooltip is there")[0]
    lines = tooltip.box.height / 18
    assert lines >= 6, "the panel could not take the markup"
    assert desktop.panel() is not None

"""The demo on a real desktop: the whole main job, seen on the screen.

With `SESSIONBELL_SCREENSHOTS=FOLDER` the pictures stay: those of the README are made so.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import Xlib.display

from tests.conftest import wait_until

if TYPE_CHECKING:
    from PIL import Image

    from tests.desktop.xfce import Xfce

_BACKGROUND = 0x3D5A73


def paint_background(desktop: Xfce) -> None:
    """Give the bare screen a colour that text stands out from."""
    display = Xlib.display.Display(desktop.display)
    root = display.screen().root
    root.change_attributes(background_pixel=_BACKGROUND)
    root.clear_area()
    display.sync()
    display.close()


def keep(picture: Image.Image, name: str) -> None:
    """Save a picture where the environment says, if it does."""
    folder = os.environ.get("SESSIONBELL_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        picture.save(Path(folder) / name)


def test_the_whole_main_job(desktop: Xfce) -> None:
    desktop.start_notification_daemon()
    paint_background(desktop)
    program = Path(sys.executable).with_name("sessionbell")
    demo = desktop.run("demo", [str(program), "demo"])
    icon = desktop.icon(within=20)
    wait_until(lambda: len(desktop.bubbles()) == 3, within=30, what="three sessions ask")
    desktop.click(*icon.centre)
    (menu,) = wait_until(desktop.menus, within=5, what="the menu is open")
    picture = desktop.steady_screenshot()
    keep(picture.crop((0, 0, picture.width, 470)), "tray.png")
    rows = menu.box
    assert rows.height > 7 * 20, "a head line, seven sessions and a way out"
    column = picture.convert("RGB").crop((rows.x + 20, rows.y, rows.x + 60, rows.y + rows.height))
    coloured = [colour for _, colour in column.getcolors(column.width * column.height)]
    assert any(red > 180 and green < 90 for red, green, _ in coloured), "a blocked one is red"
    assert any(green > red + 60 for red, green, _ in coloured), "a working one is green"
    desktop.close_menus()
    before = len(desktop.bubbles())
    wait_until(lambda: len(desktop.bubbles()) != before, within=30, what="one is answered")
    desktop.kill("demo", 15)
    assert demo.returncode == 0, desktop.log("demo")
    wait_until(lambda: not desktop.bubbles(), within=5, what="all bubbles are taken back")
    wait_until(lambda: not desktop.icons(), within=5, what="the icon is gone")

"""The tray icon in waybar under sway."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageChops, ImageColor

from tests.conftest import wait_until
from tests.desktop.sway import Sway, missing
from tests.desktop.test_demo import keep
from tray.demo.stage import Stage
from tray.desktop.glyphs import GLYPHS
from tray.desktop.looks import Look

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR = 30
BACKGROUND = (240, 240, 240)
CONFIG = {
    "layer": "top",
    "height": BAR,
    "modules-left": ["tray"],
    "tray": {"icon-size": 22, "spacing": 8},
}
STYLE = f"* {{ border: none; }} window#waybar {{ background: rgb{BACKGROUND}; }}"


@pytest.fixture
def desktop(tmp_path) -> Iterator[Sway]:
    absent = missing("waybar")
    if absent is not None:
        pytest.skip(absent)
    config, style = tmp_path / "waybar.json", tmp_path / "waybar.css"
    config.write_text(json.dumps(CONFIG))
    style.write_text(STYLE)
    started = Sway(tmp_path).start()
    try:
        started.run("waybar", ["waybar", "--config", str(config), "--style", str(style)])
        yield started
    finally:
        started.stop()


def icon(desktop: Sway) -> tuple[int, int, int, int] | None:
    """Where in the bar something differs from its background."""
    bar = desktop.screenshot().crop((0, 0, 1280, BAR))
    plain = Image.new("RGB", bar.size, bar.getpixel((1279, BAR // 2)))
    return ImageChops.difference(bar, plain).convert("L").point(lambda v: v > 24 and 255).getbbox()


def share(desktop: Sway, look: Look) -> float:
    """Which part of the icon's pixels has the colour of that look."""
    box = icon(desktop)
    if box is None:
        return 0.0
    wanted = ImageColor.getrgb(GLYPHS[look].fill)
    picture = desktop.screenshot().crop(box)
    counted = picture.getcolors(picture.width * picture.height)
    near = sum(
        count
        for count, colour in counted
        if max(abs(one - other) for one, other in zip(colour, wanted, strict=True)) < 40
    )
    return near / (picture.width * picture.height)


def test_a_session_that_asks_turns_the_icon_red(desktop: Sway) -> None:
    program = Path(sys.executable).with_name("sessionbell")
    wait_until(
        lambda: desktop.screenshot().getpixel((1279, 2)) == BACKGROUND, within=10, what="waybar"
    )
    assert icon(desktop) is None, "the tray is empty"
    with Stage() as stage:
        session = stage.session("shop")
        session.prompt("Make the tests pass")
        tray = desktop.run("tray", [str(program), "run", "--root", stage.root])
        wait_until(lambda: share(desktop, Look.WORKING) > 0.2, within=15, what="a green icon")
        left, top, right, bottom = icon(desktop)
        assert 16 <= right - left <= 24
        assert 16 <= bottom - top <= 24
        assert share(desktop, Look.BLOCKED) < 0.02
        session.ask("Bash", {"command": "npm publish"})
        wait_until(lambda: share(desktop, Look.BLOCKED) > 0.2, within=10, what="a red icon")
        assert share(desktop, Look.WORKING) < 0.02
        keep(desktop.screenshot().crop((0, 0, 320, BAR)), "waybar.png")
        session.answered("published")
        wait_until(lambda: share(desktop, Look.WORKING) > 0.2, within=10, what="green again")
        desktop.end(tray)
        wait_until(lambda: icon(desktop) is None, within=10, what="the icon is gone")

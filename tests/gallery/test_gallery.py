"""The table of what each desktop shows keeps up with the desktops that there are pictures of."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from tests.gallery.__main__ import compose
from tests.gallery.desktops import DESKTOPS

DOCS = Path(__file__).parents[2] / "docs"
NAMES = {"kde": "KDE Plasma", "gnome": "GNOME", "lxqt": "LXQt", "mate": "MATE"}


def rows() -> list[list[str]]:
    """The cells of the table, line by line."""
    text = (DOCS / "desktops.md").read_text().split("\n\n")
    table = next(part for part in text if part.startswith("| | "))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


@pytest.mark.parametrize("name", DESKTOPS)
def test_each_desktop_has_a_column_without_gaps_and_a_picture(name):
    head, _, *lines = rows()
    (column,) = (i for i, cell in enumerate(head) if cell.startswith(NAMES[name]))
    assert all(line[column] for line in lines)
    picture = DOCS / "screenshots" / f"{name}.png"
    assert f"(screenshots/{name}.png)" in (DOCS / "desktops.md").read_text()
    assert picture.stat().st_size <= 150_000
    with Image.open(picture) as opened:
        assert opened.width > opened.height


def test_a_composed_picture_has_all_that_appeared_and_no_more():
    before = Image.new("RGB", (400, 300), "navy")
    icon, menu = before.copy(), before.copy()
    ImageDraw.Draw(icon).rectangle((380, 2, 396, 18), "red")
    ImageDraw.Draw(menu).rectangle((250, 20, 399, 150), "white")
    whole = compose(before, [icon, menu])
    assert whole.height < before.height
    colours = {colour for _, colour in whole.getcolors(whole.width * whole.height)}
    assert colours == {(0, 0, 128), (255, 0, 0), (255, 255, 255)}
    half = whole.crop((0, 0, whole.width // 2 - 24, whole.height))
    assert (255, 0, 0) in {colour for _, colour in half.getcolors(half.width * half.height)}

"""The tray icon: which look it has, and its pixmaps."""

from __future__ import annotations

import functools
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from PIL import Image, ImageColor, ImageDraw

from tray.desktop.glyphs import (
    DIGITS,
    EDGE,
    FULL_CIRCLE,
    GLYPHS,
    SIDE,
    SLASH,
    Arc,
    Area,
    Disc,
    Line,
    Look,
)
from tray.desktop.looks import badge, look, look_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tray.desktop.glyphs import Glyph, Point, Shape

__all__ = ["SIZES", "Look", "badge", "draw", "look", "look_of", "png", "recolour"]

SIZES = (16, 22, 24, 32, 48)
"""Pixels along each side that panels ask for."""
SMALLEST_WITH_FIGURES = 20
"""Pixels from which a figure can be read; below, the badge is a dot."""
_OVERSAMPLING = 6
_GAP = 1.2
"""Units left free around what is laid over the shape."""
_BRIGHT = 140
_NOTHING = "#00000000"
_PAPER, _INK, _RIM = "#ffffff", "#101010", "#3a3a3a"


_palette: dict[Look, Glyph] = dict(GLYPHS)


def recolour(fills: Mapping[str, str]) -> None:
    """Draw with these colours from now on: `#rrggbb` by look; empty or absent is the built-in one.

    Rim and ink follow, so that a look stands out on any panel in any colour.
    """
    palette = {look: _in_colour(GLYPHS[look], fills.get(look.value, "")) for look in Look}
    if palette != _palette:
        _palette.update(palette)
        draw.cache_clear()
        png.cache_clear()


def _in_colour(glyph: Glyph, fill: str) -> Glyph:
    if not fill:
        return glyph
    red, green, blue = ImageColor.getrgb(fill)[:3]
    dark = f"#{red * 2 // 5:02x}{green * 2 // 5:02x}{blue * 2 // 5:02x}"
    # Rec. 601 luma: bright enough for dark ink.
    bright = 0.299 * red + 0.587 * green + 0.114 * blue > _BRIGHT
    return replace(
        glyph,
        fill=fill,
        edge=dark if glyph.edge is not None else None,
        ink="#1c1c1c" if bright else "#ffffff",
    )


@functools.lru_cache(maxsize=256)
def draw(look: Look, badge: int, muted: bool, size: int) -> Image.Image:  # noqa: FBT001
    """Return the icon in RGBA, `size` pixels a side; treat it as read-only."""
    canvas = _Canvas(size)
    glyph = _palette[look]
    canvas.paint_body(glyph.body, glyph)
    canvas.paint(glyph.detail, glyph.ink)
    if muted:
        canvas.cut((SLASH,), grow=2 * _GAP)
        canvas.paint_body((SLASH,), glyph)
    if badge > 0:
        _lay_badge(canvas, badge, size)
    return canvas.finished()


@functools.lru_cache(maxsize=32)
def png(look: Look, size: int) -> bytes:
    """Return the icon without a badge as a PNG file."""
    file = io.BytesIO()
    draw(look, 0, False, size).save(file, "PNG")  # noqa: FBT003
    return file.getvalue()


def _lay_badge(canvas: _Canvas, count: int, size: int) -> None:
    """Lay the count over the lower right corner."""
    if size < SMALLEST_WITH_FIGURES:
        text, radius, half = "", 6.2, 0.0
    else:
        text = str(count) if count <= 9 else "9+"
        # Small icons need a badge of 13 pixels for a figure of 8; large ones leave more bell.
        radius = max(7.0, 6.6 * SIDE / size) if size < 32 else 8.0
        half = 0.42 * radius * (len(text) - 1)
    edge = SIDE - 0.4 - radius
    plate = Line(((edge - 2 * half, edge), (edge, edge)), 2 * radius)
    canvas.cut((plate,), grow=_GAP)
    canvas.paint((plate,), _RIM)
    canvas.paint((plate,), _PAPER, grow=-1.3)
    scale = radius * 0.68
    left = edge - half - scale * (0.5 + 0.62 * (len(text) - 1))
    for position, figure in enumerate(text):
        x, y = left + position * 1.34 * scale, edge - 0.8 * scale
        strokes = (
            Line(tuple((x + scale * px, y + scale * py) for px, py in stroke), 0.36 * scale)
            for stroke in DIGITS[figure]
        )
        canvas.paint(tuple(strokes), _INK)


class _Canvas:
    """A picture drawn several times larger than it will be, without blending."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._scale = size * _OVERSAMPLING / SIDE
        self._image = Image.new("RGBA", (size * _OVERSAMPLING,) * 2)
        self._pen = ImageDraw.Draw(self._image)

    def paint(self, shapes: Sequence[Shape], colour: str, grow: float = 0.0) -> None:
        """Lay `shapes`, grown by `grow` units on every side, over what is there."""
        for shape in shapes:
            match shape:
                case Disc(centre, radius):
                    self._dot(centre, radius + grow, colour)
                case Arc(centre, radius, width, start, end):
                    outer = self._square(centre, radius + width / 2 + grow)
                    stroke = round((width + 2 * grow) * self._scale)
                    self._pen.arc(outer, start, end, fill=colour, width=stroke)
                    if end - start < FULL_CIRCLE:
                        for point in shape.points(steps=1):
                            self._dot(point, width / 2 + grow, colour)
                case Line(points, width):
                    self._stroke(points, width + 2 * grow, colour)
                case Area():
                    outline = shape.points(steps=10)
                    self._pen.polygon(self._scaled(outline), fill=colour)
                    if grow > 0:
                        self._stroke((*outline, outline[0]), 2 * grow, colour)

    def paint_body(self, shapes: Sequence[Shape], glyph: Glyph) -> None:
        """Lay `shapes` in the glyph's colour, with its rim."""
        if glyph.edge is not None:
            self.paint(shapes, glyph.edge, grow=EDGE)
        self.paint(shapes, glyph.fill)

    def cut(self, shapes: Sequence[Shape], grow: float) -> None:
        """Take away what lies under the grown `shapes`."""
        self.paint(shapes, _NOTHING, grow)

    def finished(self) -> Image.Image:
        """Return the picture at its own size."""
        # Averaged with premultiplied alpha, or the colour of empty pixels would show as a rim.
        premultiplied = self._image.convert("RGBa")
        return premultiplied.resize((self._size,) * 2, Image.Resampling.BOX).convert("RGBA")

    def _dot(self, centre: Point, radius: float, colour: str) -> None:
        self._pen.ellipse(self._square(centre, radius), fill=colour)

    def _stroke(self, points: Sequence[Point], width: float, colour: str) -> None:
        self._pen.line(self._scaled(points), fill=colour, width=max(round(width * self._scale), 1))
        for point in points:
            self._dot(point, width / 2, colour)

    def _square(self, centre: Point, radius: float) -> list[Point]:
        x, y = centre
        return self._scaled(((x - radius, y - radius), (x + radius, y + radius)))

    def _scaled(self, points: Iterable[Point]) -> list[Point]:
        # Pillow counts the centres of pixels: without the half, all would lean to one side.
        return [(x * self._scale - 0.5, y * self._scale - 0.5) for x, y in points]

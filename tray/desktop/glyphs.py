"""The geometry of the tray icon, said once: a few shapes for each look, on a square of 32 units.

`icon` makes pixmaps of it, `icons/draw.py` the SVG files. Each look differs in outline, not in
colour alone, and only the bell calls: the calmer the state, the smaller and emptier the shape.
"""

from __future__ import annotations

import enum
import functools
import math
import operator
from dataclasses import dataclass

SIDE = 32.0
"""Units along each side of the drawing."""
EDGE = 1.5
"""Width in units of the darker rim that sets a shape off from a background of its own colour."""
FULL_CIRCLE = 360.0

Point = tuple[float, float]


class Look(enum.StrEnum):
    """What the icon says."""

    BLOCKED = "blocked"
    FAILED = "failed"
    """A turn ended with an error."""
    FINISHED = "finished"
    """Finished and not seen yet."""
    WORKING = "working"
    IDLE = "idle"
    NONE = "none"
    """No session runs."""
    UNKNOWN = "unknown"
    """It cannot be told."""


@dataclass(frozen=True, slots=True)
class Disc:
    """A filled circle."""

    centre: Point
    radius: float


@dataclass(frozen=True, slots=True)
class Arc:
    """A part of a ring with round ends; degrees run clockwise from three o'clock."""

    centre: Point
    radius: float
    width: float
    start: float = 0.0
    end: float = FULL_CIRCLE

    def points(self, steps: int) -> tuple[Point, ...]:
        """Return the middle of the stroke as `steps` straight pieces."""
        (x, y), span = self.centre, self.end - self.start
        angles = (math.radians(self.start + span * step / steps) for step in range(steps + 1))
        return tuple((x + self.radius * math.cos(a), y + self.radius * math.sin(a)) for a in angles)


@dataclass(frozen=True, slots=True)
class Line:
    """Straight strokes from point to point, with round ends and corners."""

    points: tuple[Point, ...]
    width: float


@dataclass(frozen=True, slots=True)
class Area:
    """A filled outline of cubic Bezier curves: the start, then two controls and an end each."""

    start: Point
    curves: tuple[tuple[Point, Point, Point], ...]

    def points(self, steps: int) -> tuple[Point, ...]:
        """Return the outline as a polygon, `steps` sides a curve."""
        return _polygon(self.start, self.curves, steps)


@functools.cache
def _polygon(
    start: Point, curves: tuple[tuple[Point, Point, Point], ...], steps: int
) -> tuple[Point, ...]:
    found, begin = [], start
    for first, second, end in curves:
        corners = (begin, first, second, end)
        for step in range(steps):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
            x, y = (sum(map(operator.mul, weights, axis)) for axis in zip(*corners, strict=True))
            found.append((x, y))
        begin = end
    return tuple(found)


Shape = Disc | Arc | Line | Area


@dataclass(frozen=True, slots=True)
class Glyph:
    """How one look is drawn."""

    fill: str
    """Colour of the body (`#rrggbb`); with its rim it stands out on light and on dark."""
    edge: str | None
    """Colour of the rim, if it needs one."""
    body: tuple[Shape, ...]
    ink: str = "#000000"
    detail: tuple[Shape, ...] = ()
    """Drawn upon the body in `ink`; cut out of it where there is one colour only."""


def _straight(*points: Point) -> Area:
    """Return the polygon of these corners."""
    ring = zip(points, (*points[1:], points[0]), strict=True)
    return Area(points[0], tuple((begin, end, end) for begin, end in ring))


BELL: tuple[Shape, ...] = (
    Disc((16.0, 4.0), 2.4),
    Area(
        (16.0, 4.0),
        (
            ((21.8, 4.0), (25.0, 8.4), (25.0, 14.0)),
            ((25.0, 19.0), (26.5, 20.8), (28.2, 22.4)),
            ((29.4, 23.6), (28.8, 25.2), (27.2, 25.2)),
            ((20.0, 25.2), (12.0, 25.2), (4.8, 25.2)),
            ((3.2, 25.2), (2.6, 23.6), (3.8, 22.4)),
            ((5.5, 20.8), (7.0, 19.0), (7.0, 14.0)),
            ((7.0, 8.4), (10.2, 4.0), (16.0, 4.0)),
        ),
    ),
    Area(
        (11.6, 27.0),
        (
            ((14.0, 27.0), (18.0, 27.0), (20.4, 27.0)),
            ((20.0, 29.4), (18.3, 30.6), (16.0, 30.6)),
            ((13.7, 30.6), (12.0, 29.4), (11.6, 27.0)),
        ),
    ),
)
_WARNING: tuple[Shape, ...] = (Line(((16.0, 11.6), (16.0, 19.4)), 3.4), Disc((16.0, 24.4), 2.0))
_QUESTION_MARK: tuple[Shape, ...] = (
    Line(
        (
            *Arc((16.0, 12.2), 4.0, 0.0, 185.0, 395.0).points(12),
            (17.0, 16.6),
            (16.0, 18.0),
            (16.0, 19.4),
        ),
        2.8,
    ),
    Disc((16.0, 23.6), 1.8),
)

GLYPHS: dict[Look, Glyph] = {
    Look.BLOCKED: Glyph("#e5322d", "#7d0f0c", BELL),
    Look.FAILED: Glyph(
        "#f7ba1e",
        "#6e4c00",
        (_straight((16.0, 3.0), (30.0, 29.0), (2.0, 29.0)),),
        "#3d2a00",
        _WARNING,
    ),
    Look.FINISHED: Glyph(
        "#f7ba1e",
        "#6e4c00",
        (Disc((16.0, 16.0), 13.0),),
        "#3d2a00",
        (Line(((9.6, 16.6), (14.2, 21.2), (22.6, 11.6)), 3.6),),
    ),
    Look.WORKING: Glyph(
        "#2fa84f",
        "#0d5222",
        (Arc((16.0, 16.0), 11.2, 4.4, -40.0, 250.0), Disc((16.0, 16.0), 3.4)),
    ),
    Look.IDLE: Glyph("#858585", None, (Disc((16.0, 16.0), 8.0),)),
    Look.NONE: Glyph("#858585", None, (Arc((16.0, 16.0), 10.4, 3.4),)),
    Look.UNKNOWN: Glyph(
        "#7d7d7d",
        "#3c3c3c",
        (_straight((16.0, 1.5), (30.5, 16.0), (16.0, 30.5), (1.5, 16.0)),),
        "#ffffff",
        _QUESTION_MARK,
    ),
}

SLASH = Line(((5.0, 5.0), (27.0, 27.0)), 3.2)
"""Over any look while notifications are muted."""


def _bend(x: float, y: float, rx: float, ry: float, start: float, end: float) -> tuple[Point, ...]:
    """Return points along an ellipse, degrees clockwise from three o'clock."""
    steps = 14
    angles = (math.radians(start + (end - start) * step / steps) for step in range(steps + 1))
    return tuple((x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles)


_SIX = ((*_bend(0.95, 1.02, 0.93, 1.02, 275, 180), *_bend(0.5, 1.1, 0.48, 0.5, 180, -180)),)
DIGITS: dict[str, tuple[tuple[Point, ...], ...]] = {
    "1": (((0.15, 0.4), (0.6, 0.0), (0.6, 1.6)),),
    "2": ((*_bend(0.5, 0.46, 0.46, 0.46, 190, 395), (0.04, 1.6), (1.0, 1.6)),),
    "3": (_bend(0.46, 0.4, 0.44, 0.4, 205, 450), _bend(0.46, 1.18, 0.5, 0.42, 270, 515)),
    "4": (((0.74, 1.6), (0.74, 0.0), (0.0, 1.15), (1.02, 1.15)),),
    "5": (((0.9, 0.0), (0.14, 0.0), (0.08, 0.72), *_bend(0.46, 1.08, 0.5, 0.52, 250, 505)),),
    "6": _SIX,
    "7": (((0.0, 0.0), (1.0, 0.0), (0.36, 1.6)),),
    "8": (_bend(0.5, 0.4, 0.4, 0.4, 90, 450), _bend(0.5, 1.18, 0.48, 0.42, -90, 270)),
    "9": tuple(tuple((1.0 - x, 1.6 - y) for x, y in stroke) for stroke in _SIX),
    "+": (((0.0, 0.8), (0.9, 0.8)), ((0.45, 0.35), (0.45, 1.25))),
}
"""The badge's figures as strokes, in a box 1 wide and 1.6 high: no font is needed, and they keep
their weight at 22 pixels, where a font's regular face turns to grey."""

# ruff: noqa: INP001  (a script)
"""Write the SVG icons from the same geometry as the tray's pixmaps: `python icons/draw.py`.

`sessionbell.svg` is the application's icon. `sessionbell-<look>-symbolic.svg` are the looks of
the tray icon in one colour, for themes that recolour their icons.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from tray.desktop.glyphs import BELL, FULL_CIRCLE, GLYPHS, SIDE, Arc, Area, Disc, Line, Look, Shape  # noqa: E402

_SYMBOLIC = "#2e3436"
"""The colour that themes look for in symbolic icons and replace."""


def files() -> dict[str, str]:
    """Return the text of each icon by its file name."""
    symbolic = {f"sessionbell-{look}-symbolic.svg": _look(look) for look in Look}
    return {"sessionbell.svg": _application(), **symbolic}


def _application() -> str:
    bell = "".join(_element(shape, "#f7ba1e") for shape in BELL)
    return _document(
        128,
        f'<rect x="1" y="1" width="{SIDE - 2:g}" height="{SIDE - 2:g}" rx="7" fill="#263042"/>'
        f'<g transform="translate(4.6 5) scale(.7)">{bell}</g>'
        '<circle cx="23.6" cy="9" r="4.6" fill="#e5322d" stroke="#263042" stroke-width="1.6"/>',
    )


def _look(look: Look) -> str:
    glyph = GLYPHS[look]
    body = "".join(_element(shape, _SYMBOLIC) for shape in glyph.body)
    if not glyph.detail:
        return _document(16, body)
    cut = "".join(_element(shape, "#000") for shape in glyph.detail)
    return _document(
        16,
        f'<mask id="cut" maskUnits="userSpaceOnUse" x="0" y="0" width="{SIDE:g}" height="{SIDE:g}">'
        f'<rect width="{SIDE:g}" height="{SIDE:g}" fill="#fff"/>{cut}</mask>'
        f'<g mask="url(#cut)">{body}</g>',
    )


def _document(pixels: int, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}" height="{pixels}"'
        f' viewBox="0 0 {SIDE:g} {SIDE:g}">\n{content}\n</svg>\n'
    )


def _element(shape: Shape, colour: str) -> str:
    match shape:
        case Disc((x, y), radius):
            return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}"/>'
        case Arc((x, y), radius, width, start, end) if end - start >= FULL_CIRCLE:
            return (
                f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none"'
                f' stroke="{colour}" stroke-width="{width:g}"/>'
            )
        case Arc(_, radius, width, start, end):
            (x, y), (to_x, to_y) = shape.points(steps=1)
            large = int(end - start > FULL_CIRCLE / 2)
            path = f"M{x:.2f} {y:.2f}A{radius:g} {radius:g} 0 {large} 1 {to_x:.2f} {to_y:.2f}"
            return _stroke(path, width, colour)
        case Line(points, width):
            path = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
            return _stroke(path, width, colour)
        case Area((x, y), curves):
            path = f"M{x:g} {y:g}" + "".join(
                "C" + " ".join(f"{x:g} {y:g}" for x, y in curve) for curve in curves
            )
            return f'<path d="{path}Z" fill="{colour}"/>'


def _stroke(path: str, width: float, colour: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"'
        ' stroke-linecap="round" stroke-linejoin="round"/>'
    )


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text)
        print(name)

"""What the icon says, and that it can be seen."""

from __future__ import annotations

import importlib.util
import io
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image, ImageChops, ImageFilter

from tray.config import Sessions
from tray.desktop import icon, looks
from tray.desktop.icon import Look, draw
from tray.session import Kind, Observation, Reason, State

ROOT = Path(__file__).parents[2]


def session(state: State, reason: Reason | None = None, **fields) -> Observation:
    return Observation(key=str(id(fields)), state=state, reason=reason, **fields)


BLOCKED = session(State.NEEDS_INPUT, Reason.PERMISSION)
FAILED = session(State.NEEDS_INPUT, Reason.ERROR, unseen=True)
SEEN_FAILED = session(State.NEEDS_INPUT, Reason.ERROR)
JUST_OVER = session(State.NEEDS_INPUT, Reason.TURN_OVER, unseen=True)
SEEN = session(State.NEEDS_INPUT, Reason.TURN_OVER)
UNSEEN = session(State.IDLE, unseen=True)
WORKING = session(State.WORKING)
IDLE = session(State.IDLE)
UNKNOWN = session(State.UNKNOWN)
ENDED = session(State.ENDED, unseen=True)
HEADLESS = session(State.NEEDS_INPUT, Reason.PERMISSION, kind=Kind.HEADLESS)


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ((), Look.NONE),
        ((BLOCKED, FAILED, WORKING, IDLE, UNKNOWN), Look.BLOCKED),
        ((session(State.NEEDS_INPUT, Reason.QUESTION),), Look.BLOCKED),
        ((session(State.NEEDS_INPUT, Reason.PLAN),), Look.BLOCKED),
        ((session(State.NEEDS_INPUT, Reason.INPUT),), Look.BLOCKED),
        ((FAILED, JUST_OVER, WORKING), Look.FAILED),
        ((JUST_OVER, WORKING), Look.FINISHED),
        ((UNSEEN, WORKING), Look.FINISHED),
        ((SEEN, WORKING), Look.WORKING),
        ((SEEN,), Look.IDLE),
        ((SEEN_FAILED,), Look.IDLE),
        ((WORKING, IDLE, UNKNOWN), Look.WORKING),
        ((IDLE, UNKNOWN), Look.IDLE),
        ((UNKNOWN, UNKNOWN), Look.UNKNOWN),
        ((HEADLESS,), Look.NONE),
        ((HEADLESS, IDLE), Look.IDLE),
        ((ENDED,), Look.NONE),
    ],
)
def test_the_icon_looks_like_the_session_that_calls_loudest(sessions, expected):
    assert icon.look(sessions, healthy=True) is expected
    assert icon.look(reversed(sessions), healthy=True) is expected


def test_the_icon_says_when_nobody_looks_at_the_sessions():
    assert icon.look((BLOCKED,), healthy=False) is Look.UNKNOWN
    assert icon.look((), healthy=False) is Look.UNKNOWN


@pytest.mark.parametrize(
    ("kinds", "look", "count"),
    [
        (Sessions(), Look.FAILED, 0),
        (Sessions(background=False), Look.WORKING, 0),
        (Sessions(headless=True), Look.BLOCKED, 1),
    ],
)
def test_a_setting_says_which_kinds_count(kinds, look, count):
    job = replace(FAILED, kind=Kind.BACKGROUND)
    counted = looks.counted((WORKING, job, replace(BLOCKED, kind=Kind.HEADLESS)), kinds)
    assert looks.look(counted, healthy=True) is look
    assert looks.badge(counted) == count


def test_the_badge_counts_the_blocked_sessions_only():
    assert icon.badge((BLOCKED, FAILED, JUST_OVER, WORKING, BLOCKED, HEADLESS, ENDED)) == 2


@pytest.mark.parametrize("size", icon.SIZES)
def test_every_look_has_a_shape_of_its_own(size):
    for one, other in itertools.combinations(Look, 2):
        opaque = [draw(look, 0, False, size).getchannel("A") for look in (one, other)]
        different = ImageChops.difference(*opaque).point(lambda value: value > 128 and 255)
        pixels = different.histogram()[255]
        assert pixels >= size * size * 0.06, f"{one} and {other} differ in {pixels} pixels"


@pytest.mark.parametrize("size", icon.SIZES)
@pytest.mark.parametrize("look", Look)
def test_drawings_fill_their_square_and_stay_in_it(look, size):
    picture = draw(look, 0, False, size)
    assert picture.size == (size, size)
    left, top, right, bottom = picture.getbbox()
    assert right - left >= size * 0.45
    # The same room on opposite sides: nothing is cut off and nothing leans.
    assert abs(left - (size - right)) <= 1
    assert abs(top - (size - bottom)) <= 2


@pytest.mark.parametrize("background", [(240, 240, 240), (38, 38, 38)])
@pytest.mark.parametrize("size", [16, 22])
def test_every_two_looks_differ_in_grey(size, background):
    """No colour, light and dark panels: 15 % of the pixels differ by an eighth of the scale."""
    pictures = {}
    for look in Look:
        picture = Image.new("RGB", (size, size), background)
        drawn = draw(look, 0, False, size)
        picture.paste(drawn, mask=drawn)
        pictures[look] = picture.convert("L")
    for one, other in itertools.combinations(Look, 2):
        difference = ImageChops.difference(pictures[one], pictures[other]).histogram()
        share = sum(difference[32:]) / size**2
        assert share >= 0.15, f"{one} and {other} differ in {share:.0%}"


@pytest.fixture
def recoloured():
    yield icon.recolour
    icon.recolour({})


def test_a_look_takes_a_persons_colour(recoloured):
    before = draw(Look.WORKING, 0, False, 32)
    recoloured({"blocked": "#00a0ff", "working": ""})
    blocked = draw(Look.BLOCKED, 0, False, 32)
    assert (0, 160, 255) in pixels(blocked)
    assert (0xE5, 0x32, 0x2D) not in pixels(blocked)
    assert draw(Look.WORKING, 0, False, 32).tobytes() == before.tobytes()


@pytest.mark.parametrize(("fill", "ink"), [("#ffff00", (28, 28, 28)), ("#000080", (255,) * 3)])
def test_the_sign_stands_out_in_any_colour(recoloured, fill, ink):
    recoloured({"finished": fill})
    assert ink in pixels(draw(Look.FINISHED, 0, False, 48))


def pixels(picture: Image.Image) -> list[tuple[int, int, int]]:
    data = picture.convert("RGB").tobytes()
    return list(zip(data[::3], data[1::3], data[2::3], strict=True))


def luminance(colour) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (p / 12.92 if p <= 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other) -> float:
    """The contrast ratio of WCAG 2: 1 for equal colours, 21 for black on white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("background", [(255, 255, 255), (240, 240, 240), (38, 38, 38), (0, 0, 0)])
@pytest.mark.parametrize("size", [16, 22])
@pytest.mark.parametrize("look", Look)
def test_every_look_stands_out_on_light_and_dark(look, size, background):
    picture = Image.new("RGB", (size, size), background)
    drawn = draw(look, 0, False, size)
    picture.paste(drawn, mask=drawn)
    clear = [p for p in pixels(picture) if contrast(p, background) >= 3]
    assert len(clear) >= size * size * 0.08


def test_small_icons_have_a_dot_and_larger_ones_a_figure():
    assert draw(Look.BLOCKED, 1, False, 16) != draw(Look.BLOCKED, 0, False, 16)
    assert draw(Look.BLOCKED, 1, False, 16) == draw(Look.BLOCKED, 7, False, 16)
    for size in (22, 24, 32, 48):
        counts = [draw(Look.BLOCKED, count, False, size).tobytes() for count in range(11)]
        assert len(set(counts)) == 11, f"two counts look alike at {size} pixels"
        assert draw(Look.BLOCKED, 10, False, size) == draw(Look.BLOCKED, 200, False, size)


@pytest.mark.parametrize("size", [22, 24, 32, 48])
def test_the_figures_stand_out_in_their_badge(size):
    picture = draw(Look.BLOCKED, 4, False, size)
    corner = picture.crop((size * 6 // 10, size * 6 // 10, size - 2, size - 2))
    found = pixels(corner)
    assert contrast(min(found, key=sum), max(found, key=sum)) >= 7


@pytest.mark.parametrize("size", icon.SIZES)
@pytest.mark.parametrize("look", Look)
def test_muted_is_a_slash_over_any_look(look, size):
    muted, loud = (draw(look, 0, flag, size) for flag in (True, False))
    different = ImageChops.difference(muted.convert("L"), loud.convert("L"))
    assert different.point(lambda value: value > 24 and 255).histogram()[255] >= size
    # It runs from corner to corner, where nothing else is.
    assert muted.getpixel((size // 5, size // 5))[3] > 128
    assert muted.getpixel((size - 1 - size // 5, size - 1 - size // 5))[3] > 128


def test_the_slash_is_set_off_by_a_gap():
    muted = draw(Look.FINISHED, 0, True, 48)
    on_the_slash, beside_it, on_the_disc = ((24, 24), (28, 20), (33, 15))
    alphas = [muted.getpixel(place)[3] for place in (on_the_slash, beside_it, on_the_disc)]
    assert alphas[0] == alphas[2] == 255
    assert alphas[1] < 128


def test_a_menu_icon_is_a_png_file():
    picture = Image.open(io.BytesIO(icon.png(Look.WORKING, 16)))
    assert (picture.format, picture.size) == ("PNG", (16, 16))


def svg_files() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("draw_icons", ROOT / "icons" / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.files()


def test_the_icon_files_are_those_that_the_geometry_gives():
    on_disk = {path.name: path.read_text() for path in (ROOT / "icons").glob("*.svg")}
    assert on_disk == svg_files(), "run: python icons/draw.py"


@pytest.mark.skipif(
    shutil.which("gdk-pixbuf-thumbnailer") is None,
    reason="gdk-pixbuf-thumbnailer (libgdk-pixbuf2.0-bin, librsvg2-common) is not installed",
)
@pytest.mark.parametrize("look", Look)
def test_a_drawn_icon_and_its_svg_file_agree(look, tmp_path):
    source, target = ROOT / "icons" / f"sessionbell-{look}-symbolic.svg", tmp_path / "drawn.png"
    subprocess.run(["gdk-pixbuf-thumbnailer", "-s", "48", source, target], check=True)
    theirs = Image.open(target).convert("RGBA").getchannel("A")
    ours = draw(look, 0, False, 48).getchannel("A")
    filled = [part.point(lambda value: value > 128 and 255) for part in (theirs, ours)]
    near = [part.filter(ImageFilter.MaxFilter(3)) for part in filled]
    assert ImageChops.subtract(filled[0], near[1]).getbbox() is None, "more in the file"
    # Here it has a rim of two pixels and details that are cut out there.
    rimmed = filled[0].filter(ImageFilter.MaxFilter(7))
    assert ImageChops.subtract(filled[1], rimmed).getbbox() is None, "more in the drawing"

"""Take pictures of sessionbell on a desktop: `python -m tests.gallery kde --out FOLDER`.

Needs the desktop's Debian packages (`--packages` prints them), xvfb and dbus; everything runs on
a private X server and bus, and ends with the script. It says what was seen and what was not.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageChops, ImageFilter

from tests.desktop.screen import HEIGHT, WIDTH, Screen
from tests.gallery.desktops import DESKTOPS, Desktop, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ICON_RED = (229, 50, 45)
_GAP = 24
"""Pixels between two pictures that stand side by side."""
_NEAR = 64
"""Pixels between what is shown and an edge of the screen that belongs to the picture."""


class Session(Screen):
    """One running desktop."""

    def __init__(self, desktop: Desktop, home: Path) -> None:
        self._desktop = desktop
        self._home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        self._bus = f"unix:path={home}/bus"

    def start(self) -> None:
        """Start X server, buses and all the desktop's programs, one after the other."""
        for folder in ("run", ".config", ".cache", ".local/share", ".local/state"):
            (self._home / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in self._desktop.files.items():
            path = self._home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._processes.append(self.start_x(self._home / "Xvfb.log"))
        self.environment = environment(self._desktop, self._home, self._bus, self.display)
        if self._desktop.mocks_logind:
            self._start_logind()
        self._start_bus("--session", self._bus)
        for program in self._desktop.programs:
            process = self.run(program.argv)
            if program.owns is not None:
                self.wait(lambda: self.owned(str(program.owns)), program.owns, process)  # noqa: B023

    def stop(self) -> None:
        """End everything, last first."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(3)
            process.kill()
            process.wait()

    def run(self, argv: tuple[str, ...] | list[str]) -> subprocess.Popen[bytes]:
        """Start a program on this desktop."""
        log_path = self._home / f"{Path(argv[0]).name}.log"
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._processes.append(process)
        return process

    def wait(
        self,
        condition: Callable[[], object],
        what: str,
        process: subprocess.Popen[bytes] | None = None,
    ) -> object:
        """Wait until `condition` holds; raise TimeoutError, or RuntimeError if `process` ends."""
        deadline = time.monotonic() + self._desktop.patience
        while not (value := condition()):
            if process is not None and process.poll() is not None:
                raise RuntimeError(f"{process.args!r} ended while {what} was waited for")
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            time.sleep(0.1)
        return value

    def owned(self, name: str) -> bool:
        """Whether somebody owns `name` on the session bus."""
        call = ["dbus-send", f"--bus={self._bus}", "--print-reply=literal"]
        call += ["--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
        call += ["org.freedesktop.DBus.NameHasOwner", f"string:{name}"]
        return "true" in subprocess.run(call, capture_output=True, text=True, check=False).stdout

    def icon(self) -> tuple[int, int] | None:
        """Where a blocked session's red is in a panel."""
        picture = self.screenshot()
        height = self._desktop.panel
        for top in (0, HEIGHT - height):
            strip = picture.crop((0, top, WIDTH, top + height))
            found = [
                (x, y + top)
                for y in range(strip.height)
                for x in range(strip.width)
                if _near(strip.getpixel((x, y)))
            ]
            if len(found) >= 20:
                xs, ys = sorted(x for x, _ in found), sorted(y for _, y in found)
                return xs[len(xs) // 2], ys[len(ys) // 2]
        return None

    def _start_bus(self, kind: str, address: str) -> None:
        argv = ["dbus-daemon", kind, f"--address={address}", "--nofork", "--print-address"]
        process = subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        self._processes.append(process)

    def _start_logind(self) -> None:
        """Start a system bus of our own, on which python-dbusmock plays logind."""
        address = f"unix:path={self._home}/system-bus"
        self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = address
        self._start_bus("--session", address)
        mock = ["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind"]
        self.run(mock)
        probe = ["dbus-send", f"--bus={address}", "--print-reply", "--dest=org.freedesktop.login1"]
        probe += ["/org/freedesktop/login1", "org.freedesktop.DBus.Peer.Ping"]
        self.wait(
            lambda: subprocess.run(probe, capture_output=True, check=False).returncode == 0,
            "logind",
        )


def _near(pixel: object) -> bool:
    return isinstance(pixel, tuple) and all(
        abs(part - wanted) < 24 for part, wanted in zip(pixel, ICON_RED, strict=True)
    )


@contextlib.contextmanager
def running(desktop: Desktop) -> Iterator[Session]:
    """Run that desktop in a home of its own."""
    home = Path(tempfile.mkdtemp(prefix=f"sessionbell-{desktop.name}-"))
    session = Session(desktop, home)
    try:
        session.start()
        yield session
    except BaseException:
        for log in home.glob("*.log"):
            print(f"--- {log.name}: {log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
        raise
    finally:
        session.stop()
        shutil.rmtree(home, ignore_errors=True)


def visit(desktop: Desktop, out: Path) -> None:
    """Show the demo on that desktop, and keep a picture of each thing there is to see."""
    kept: dict[str, Image.Image] = {}

    def keep(name: str) -> None:
        kept[name] = session.screenshot()
        kept[name].save(out / f"{desktop.name}-{name}.png")
        print(f"{desktop.name}: {name}", flush=True)

    with running(desktop) as session:
        time.sleep(desktop.settles / 2)
        for key in desktop.begins_with:
            session.press(key)
        until = time.monotonic() + desktop.settles / 2
        while time.monotonic() < until:
            # GNOME keeps its own bubbles for as long as nobody is there.
            session.move(WIDTH // 2 + int(time.monotonic() * 10) % 40, HEIGHT // 2)
            time.sleep(0.3)
        keep("before")
        program = str(Path(sys.executable).with_name("sessionbell"))
        session.run([program, "demo"])
        try:
            session.wait(session.icon, "the icon")
        except TimeoutError:
            keep("nothing")
            raise
        time.sleep(6)  # the demo's three sessions ask one after the other
        keep("bubble")
        x, y = session.wait(session.icon, "the icon")
        inward = 1 if y < HEIGHT // 2 else -1
        for distance in (60, 40, 20, 8, 4, 2, 0):  # Plasma's tooltip wants a pointer that comes in.
            session.move(x, y + inward * distance)
            time.sleep(0.2)
        time.sleep(1.2)
        keep("tooltip")
        session.move(WIDTH // 2, HEIGHT // 2)  # Plasma brightens what is pointed at.
        time.sleep(1)
        for name, button in (("right-click", 3), ("left-click", 1), ("middle-click", 2)):
            session.click(*session.wait(session.icon, "the icon"), button)  # It may have moved.
            time.sleep(2)
            keep(name)
            session.press("Escape")
            session.move(WIDTH // 2, HEIGHT // 2)
            time.sleep(1)
    composed = compose(kept["before"], [kept[name] for name in ("tooltip", "right-click")])
    # The few pixels of an icon keep their colours in this way, whatever else there is.
    few = composed.quantize(200, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(out / f"{desktop.name}.png", optimize=True)


def compose(before: Image.Image, shown: list[Image.Image]) -> Image.Image:
    """Return the part of the screens where something was not `before`, side by side."""
    boxes = [_changed(before, picture) for picture in shown]
    left, top, right, bottom = (
        min(b[0] for b in boxes),
        min(b[1] for b in boxes),
        max(b[2] for b in boxes),
        max(b[3] for b in boxes),
    )
    width, height = right - left, bottom - top
    whole = Image.new("RGB", ((width + _GAP) * len(shown) - _GAP, height), "white")
    for place, picture in enumerate(shown):
        whole.paste(picture.crop((left, top, right, bottom)), (place * (width + _GAP), 0))
    return whole


def _changed(before: Image.Image, after: Image.Image) -> tuple[int, int, int, int]:
    """Return where something has appeared, with a margin, up to an edge that is near."""
    difference = ImageChops.difference(before, after).convert("L").point(lambda v: v > 40 and 255)
    left, top, right, bottom = difference.filter(ImageFilter.MinFilter(3)).getbbox() or (
        0,
        0,
        *before.size,
    )
    return (
        max(left - _GAP, 0),
        top - _GAP if top > _NEAR else 0,
        right + _GAP if right < before.width - _NEAR else before.width,
        bottom + _GAP if bottom < before.height - _NEAR else before.height,
    )


def main() -> None:
    """Read the command line and visit the desktops named there."""
    parser = argparse.ArgumentParser(prog="python -m tests.gallery", description=__doc__)
    parser.add_argument(
        "desktops", nargs="*", choices=[*DESKTOPS, []], help="all, if none is named"
    )
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder for the pictures")
    parser.add_argument("--packages", action="store_true", help="print the Debian packages and end")
    arguments = parser.parse_args()
    chosen = [DESKTOPS[name] for name in arguments.desktops or DESKTOPS]
    if arguments.packages:
        names = {package for desktop in chosen for package in desktop.packages}
        print(" ".join(sorted({"dbus", "xvfb", *names})))
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for desktop in chosen:
        visit(desktop, arguments.out)


if __name__ == "__main__":
    main()

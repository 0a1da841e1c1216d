"""A private X server: its picture, and a hand at its pointer and keys."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from typing import TYPE_CHECKING

import Xlib.display
import Xlib.ext.xtest
import Xlib.X
import Xlib.XK
from PIL import Image, ImageChops, ImageGrab

from tests.conftest import wait_until

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, HEIGHT = 1280, 800


class Screen:
    """An X server without a screen of its own (Xvfb)."""

    display = ""
    """Its name (`:5`), once it is started."""

    def start_x(self, log_path: Path) -> subprocess.Popen[bytes]:
        """Start the server on the first free display; return its process."""
        reading, writing = os.pipe()
        argv = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{WIDTH}x{HEIGHT}x24"]
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [*argv, "-nolisten", "tcp"], pass_fds=[writing], stdout=log, stderr=log
            )
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            ready, _, _ = select.select([pipe], [], [], 15)
            number = pipe.readline().strip() if ready else b""
        assert number, f"Xvfb did not start: {log_path.read_text(errors='replace')}"
        self.display = f":{number.decode()}"
        return process

    def screenshot(self) -> Image.Image:
        """The whole screen."""
        return ImageGrab.grab(xdisplay=self.display).convert("RGB")

    def steady_screenshot(self, within: float = 5.0) -> Image.Image:
        """The screen once two pictures in a row are equal."""
        last = [self.screenshot()]

        def unchanged() -> bool:
            last.append(self.screenshot())
            del last[:-2]
            return ImageChops.difference(*last).getbbox() is None

        time.sleep(0.05)  # Let a change that is on its way begin.
        wait_until(unchanged, within=within, what="the screen is still")
        return last[-1]

    def move(self, x: int, y: int) -> None:
        """Move the pointer."""
        with self._x() as display:
            Xlib.ext.xtest.fake_input(display, Xlib.X.MotionNotify, x=x, y=y)
            display.sync()

    def click(self, x: int, y: int, button: int = 1) -> None:
        """Move the pointer there and click: 1 left, 2 middle, 3 right."""
        self.move(x, y)
        with self._x() as display:
            Xlib.ext.xtest.fake_input(display, Xlib.X.ButtonPress, button)
            display.sync()
            time.sleep(0.02)  # A press and release at one instant is no click to some toolkits.
            Xlib.ext.xtest.fake_input(display, Xlib.X.ButtonRelease, button)
            display.sync()

    def press(self, key: str) -> None:
        """Press and release a key by its keysym's name (`Escape`, `Down`, `Return`)."""
        with self._x() as display:
            code = display.keysym_to_keycode(Xlib.XK.string_to_keysym(key))
            for kind in (Xlib.X.KeyPress, Xlib.X.KeyRelease):
                Xlib.ext.xtest.fake_input(display, kind, code)
                display.sync()

    @contextlib.contextmanager
    def _x(self):
        display = Xlib.display.Display(self.display)
        try:
            yield display
        finally:
            display.close()

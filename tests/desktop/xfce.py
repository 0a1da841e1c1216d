"""A private XFCE desktop: X server, session bus, window manager, panel with a tray, notifications.

It shares nothing with the desktop of whoever runs the tests: its own display, bus, HOME and XDG
folders. Everything it starts ends with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import Xlib.display
import Xlib.error
import Xlib.ext.xtest
import Xlib.X
import Xlib.XK
from PIL import Image, ImageChops

from tests.conftest import wait_until
from tests.desktop.screen import HEIGHT, WIDTH, Screen
from tests.session_bus import SessionBus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = ("Xvfb", "dbus-daemon", "xfwm4", "xfce4-panel")
SERVICES = Path("/usr/share/dbus-1/services")
XFCONF_SERVICE = "org.xfce.Xfconf.service"
NOTIFYD_SERVICE = "org.xfce.xfce4-notifyd.Notifications.service"
NOTIFYD_CLASS = "Xfce4-notifyd"
PANEL_HEIGHT = 30
NARROWEST_ICON = 5
BACKDROPS = {"light": (240, 240, 240), "dark": (38, 38, 38)}

_PANEL_CONFIG = """\
<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="dark-mode" type="bool" value="{dark}"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="length" type="uint" value="100"/>
      <property name="size" type="uint" value="{size}"/>
      <property name="background-style" type="uint" value="1"/>
      <property name="background-rgba" type="array">
        <value type="double" value="{red}"/><value type="double" value="{green}"/>
        <value type="double" value="{blue}"/><value type="double" value="1.0"/>
      </property>
      <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="systray">
      <property name="square-icons" type="bool" value="true"/>
      <property name="icon-size" type="int" value="{icon_size}"/>
    </property>
  </property>
</channel>
"""


def missing() -> str | None:
    """Say what keeps the desktop from being started here, if anything does."""
    absent = [command for command in COMMANDS if shutil.which(command) is None]
    if not (SERVICES / XFCONF_SERVICE).is_file():
        absent.append("xfconf")
    return f"not installed: {', '.join(absent)}" if absent else None


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the screen, in pixels."""

    x: int
    y: int
    width: int
    height: int

    @property
    def centre(self) -> tuple[int, int]:
        return self.x + self.width // 2, self.y + self.height // 2

    @property
    def corners(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom, as Pillow takes them."""
        return self.x, self.y, self.x + self.width, self.y + self.height


@dataclass(frozen=True, slots=True)
class Window:
    """A window that is on the screen."""

    id: int
    wm_class: str
    """Its program's class, empty for one that has none."""
    name: str
    box: Box
    popup: bool
    """Put there past the window manager: a menu, a tooltip."""


class Xfce(Screen):
    """A running XFCE desktop, started piece by piece."""

    def __init__(self, folder: Path, backdrop: str = "light", icon_size: int = 22) -> None:
        self._folder = folder
        self._background = BACKDROPS[backdrop]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._bus = SessionBus(folder, [SERVICES / XFCONF_SERVICE])
        self.bus_address = self._bus.address
        self.environment = self._private_environment(backdrop)
        self._write_settings(backdrop, icon_size)

    def start(self, *, panel: bool = True) -> Xfce:
        """Start X server, bus and window manager, and the panel unless told otherwise."""
        try:
            self._processes["Xvfb"] = self.start_x(self._folder / "Xvfb.log")
            self.environment["DISPLAY"] = self.display
            self._bus.start(self.environment)
            self.run("xfwm4", ["xfwm4", "--compositor=off"])
            if panel:
                self.start_panel()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything that was started, last first."""
        for name in reversed(self._processes):
            if name != "Xvfb":
                self.kill(name, signal.SIGTERM)
        self._bus.stop()
        self.kill("Xvfb", signal.SIGTERM)
        self._processes.clear()

    def run(self, name: str, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program on this desktop, to be ended with it."""
        log = (self._folder / f"{name}.log").open("ab")
        with log:
            process = subprocess.Popen(
                argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._processes[name] = process
        return process

    def log(self, name: str) -> str:
        """What a program has printed so far."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """End a program that `run` started, and wait for its end."""
        process = self._processes.get(name)
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def start_panel(self) -> None:
        """Start the panel, whose only plugin is the tray, and wait until it is on the screen."""
        self.run("xfce4-panel", ["xfce4-panel", "--disable-wm-check"])
        wait_until(self.panel, within=15, what="the panel is on the screen")

    def kill_panel(self) -> None:
        """Kill the panel as a crash would."""
        self.kill("xfce4-panel")

    def start_notification_daemon(self) -> None:
        """Start xfce4-notifyd and wait until it has its name on the bus."""
        self.run("xfce4-notifyd", [notifyd()])
        wait_until(
            lambda: self.owned("org.freedesktop.Notifications"),
            within=10,
            what="a notification daemon is on the bus",
        )

    def kill_notification_daemon(self) -> None:
        """Kill xfce4-notifyd as a crash would."""
        self.kill("xfce4-notifyd")

    def owned(self, name: str) -> bool:
        """Whether somebody owns `name` on the bus."""
        call = ["--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
        reply = subprocess.run(
            [
                "dbus-send",
                f"--bus={self.bus_address}",
                "--print-reply=literal",
                *call,
                "org.freedesktop.DBus.NameHasOwner",
                f"string:{name}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        return "true" in reply.stdout

    def panel(self) -> Window | None:
        """The panel, once it is on the screen."""
        for window in self.windows():
            if window.wm_class == "Xfce4-panel" and not window.popup and window.box.width == WIDTH:
                return window
        return None

    def menus(self) -> list[Window]:
        """The menus (and tooltips) that are open, outermost first."""
        return self.windows(lambda window: window.popup and window.wm_class != NOTIFYD_CLASS)

    def bubbles(self) -> list[Window]:
        """The notifications of xfce4-notifyd that are on the screen."""
        return self.windows(lambda window: window.wm_class == NOTIFYD_CLASS)

    def icons(self) -> list[Box]:
        """Where the icons in the panel are, left to right, by what differs from its background."""
        panel = self.panel()
        if panel is None:
            return []
        strip = self.screenshot().crop(panel.box.corners)
        plain = Image.new("RGB", strip.size, self._background)
        different = ImageChops.difference(strip, plain).convert("L").point(lambda v: v > 24 and 255)
        # The panel's border on its open side is no icon.
        inner = different.crop((0, 2, strip.width, strip.height - 2))
        columns = [inner.crop((x, 0, x + 1, inner.height)).getbbox() for x in range(inner.width)]
        boxes, left = [], None
        for x, column in enumerate([*columns, None]):
            if column is not None and left is None:
                left = x
            # A gap within an icon (a ring and its dot) is narrower than between two icons.
            elif left is not None and not any(columns[x : x + 4]):
                top, bottom = inner.crop((left, 0, x, inner.height)).getbbox()[1::2]
                found = Box(panel.box.x + left, panel.box.y + 2 + top, x - left, bottom - top)
                if found.width >= NARROWEST_ICON:  # Else it is the edge of an empty tray.
                    boxes.append(found)
                left = None
        return boxes

    def icon(self, within: float = 5.0) -> Box:
        """Where the only icon in the panel is; waits for it."""

        def only() -> Box | None:
            found = self.icons()
            return found[0] if len(found) == 1 else None

        found = wait_until(only, within=within, what="one icon is in the panel")
        assert isinstance(found, Box)
        return found

    def close_menus(self) -> None:
        """Close whatever menu is open, and take the pointer away from everything."""
        self.move(WIDTH // 2, HEIGHT - 10)
        for _ in range(100):
            if not self.menus():
                return
            # One level a press; a tooltip goes by itself.
            self.press("Escape")
            time.sleep(0.02)
        assert not self.menus(), "a menu does not close"

    def windows(self, wanted: Callable[[Window], bool] = lambda _: True) -> list[Window]:
        """The windows on the screen, lowest first."""
        found = []
        with self._x() as display:
            for child in display.screen().root.query_tree().children:
                with contextlib.suppress(Xlib.error.XError):
                    window = _window(child)
                    if window is not None and wanted(window):
                        found.append(window)
        return found

    def _private_environment(self, backdrop: str) -> dict[str, str]:
        folders = {
            "HOME": "home",
            "XDG_CONFIG_HOME": "home/.config",
            "XDG_CACHE_HOME": "home/.cache",
            "XDG_DATA_HOME": "home/.local/share",
            "XDG_STATE_HOME": "home/.local/state",
            "XDG_RUNTIME_DIR": "run",
        }
        for folder in folders.values():
            (self._folder / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        return {
            **{name: str(self._folder / folder) for name, folder in folders.items()},
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "DBUS_SESSION_BUS_ADDRESS": self.bus_address,
            "GSETTINGS_BACKEND": "memory",
            "GTK_THEME": "Adwaita:dark" if backdrop == "dark" else "Adwaita",
            "NO_AT_BRIDGE": "1",
            "XDG_CURRENT_DESKTOP": "XFCE",
            "XDG_SESSION_TYPE": "x11",
        }

    def _write_settings(self, backdrop: str, icon_size: int) -> None:
        channels = Path(self.environment["XDG_CONFIG_HOME"]) / "xfce4/xfconf/xfce-perchannel-xml"
        channels.mkdir(parents=True, exist_ok=True)
        red, green, blue = (part / 255 for part in self._background)
        (channels / "xfce4-panel.xml").write_text(
            _PANEL_CONFIG.format(
                dark=str(backdrop == "dark").lower(),
                size=PANEL_HEIGHT,
                icon_size=icon_size,
                red=red,
                green=green,
                blue=blue,
            )
        )


def notifyd() -> str:
    """The path of xfce4-notifyd, which is in no PATH, from its D-Bus service file."""
    text = (SERVICES / NOTIFYD_SERVICE).read_text()
    found = re.search(r"^Exec=(\S+)", text, re.MULTILINE)
    assert found is not None
    return found[1]


def _window(child) -> Window | None:
    attributes = child.get_attributes()
    if attributes.map_state != Xlib.X.IsViewable:
        return None
    geometry = child.get_geometry()
    box = Box(geometry.x, geometry.y, geometry.width, geometry.height)
    if box.x >= WIDTH or box.y >= HEIGHT or box.x + box.width <= 0 or box.y + box.height <= 0:
        return None  # The window manager's own, out of sight.
    inner = _client(child) or child
    wm_class = inner.get_wm_class()
    name = inner.get_wm_name()
    return Window(
        id=inner.id,
        wm_class=wm_class[1] if wm_class else "",
        name=name.decode(errors="replace") if isinstance(name, bytes) else name or "",
        box=box,
        popup=bool(attributes.override_redirect) and inner.id == child.id,
    )


def _client(window):
    """The window with a class in this one: the window manager wraps each in frames of its own."""
    if window.get_wm_class() is not None:
        return window
    inner = (_client(child) for child in window.query_tree().children)
    return next((found for found in inner if found is not None), None)

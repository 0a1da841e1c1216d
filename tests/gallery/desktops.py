"""How each desktop is started on a bare X server, and where its icon is to be looked for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, HEIGHT = 1280, 800


@dataclass(frozen=True, slots=True)
class Program:
    """One program of a desktop, and what shows that it is up: a name on the bus."""

    argv: tuple[str, ...]
    owns: str | None = None


@dataclass(frozen=True, slots=True)
class Desktop:
    """A desktop of Debian's, on X11."""

    name: str
    packages: tuple[str, ...]
    programs: tuple[Program, ...]
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Settings to write before the start, relative to the home directory."""
    mocks_logind: bool = False
    """Needs a system bus with a logind, which python-dbusmock plays."""
    patience: float = 30.0
    """Seconds for everything to be on the screen."""
    settles: float = 4.0
    """Seconds that it draws itself and shows bubbles of its own; nothing says when it is done."""
    panel: int = 32
    """Pixels at the upper or lower edge within which the icon is."""
    begins_with: tuple[str, ...] = ()
    """Keys to press before anything is shown."""


_LXQT_PANEL = """\
[General]
__userfile__=true
iconTheme=Adwaita

[panel1]
alignment=-1
desktop=0
iconSize=22
lineCount=1
lockPanel=true
panelSize=32
plugins=mainmenu, taskbar, statusnotifier
position=Bottom
width=100
width-percent=true

[mainmenu]
alignment=Left
type=mainmenu

[taskbar]
alignment=Left
type=taskbar

[statusnotifier]
alignment=Right
type=statusnotifier
"""

_GNOME_KEYFILE = """\
[org/gnome/shell]
enabled-extensions=['ubuntu-appindicators@ubuntu.com']
welcome-dialog-last-shown-version='999'
disable-user-extensions=false

[org/gnome/desktop/interface]
enable-animations=false
toolkit-accessibility=false

[org/gnome/desktop/screensaver]
lock-enabled=false
"""

_WATCHER = "org.kde.StatusNotifierWatcher"
_NOTIFICATIONS = "org.freedesktop.Notifications"

LXQT = Desktop(
    "lxqt",
    ("lxqt-panel", "lxqt-notificationd", "lxqt-qtplugin", "openbox", "adwaita-icon-theme"),
    (
        Program(("openbox",)),
        Program(("lxqt-notificationd",), owns=_NOTIFICATIONS),
        Program(("lxqt-panel",), owns=_WATCHER),
    ),
    environment={"XDG_CURRENT_DESKTOP": "LXQt", "QT_QPA_PLATFORMTHEME": "lxqt"},
    files={
        ".config/lxqt/panel.conf": _LXQT_PANEL,
        # No second icon, for the bubbles that nobody clicked on: it would push ours aside.
        ".config/lxqt/notifications.conf": "[General]\nunattendedMaxNum=0\n",
        ".config/lxqt/lxqt.conf": '[Qt]\nfont="Sans,10,-1,5,50,0,0,0,0,0"\n',
    },
)
MATE = Desktop(
    "mate",
    ("mate-panel", "mate-indicator-applet", "mate-notification-daemon", "marco"),
    (
        Program(("marco", "--no-composite")),
        Program(("/usr/lib/mate-notification-daemon/mate-notification-daemon",)),
        Program(("mate-panel",), owns=_WATCHER),
    ),
    environment={"XDG_CURRENT_DESKTOP": "MATE", "GSETTINGS_BACKEND": "keyfile"},
    files={
        ".config/glib-2.0/settings/keyfile": "[org/mate/panel]\nenable-sni-support=true\n",
        # mate-settings-daemon says so in a whole session. Without it the icon is a button without
        # a picture, one pixel wide.
        ".config/gtk-3.0/settings.ini": (
            "[Settings]\ngtk-button-images=true\ngtk-menu-images=true\n"
        ),
    },
)
KDE = Desktop(
    "kde",
    ("plasma-workspace", "plasma-desktop", "kwin-x11", "kded5", "breeze"),
    (
        Program(("kded5",), owns="org.kde.kded5"),
        Program(("kwin_x11",), owns="org.kde.KWin"),
        Program(("plasmashell", "--no-respawn"), owns="org.kde.plasmashell"),
    ),
    environment={
        "XDG_CURRENT_DESKTOP": "KDE",
        "KDE_FULL_SESSION": "true",
        "KDE_SESSION_VERSION": "5",
        "QT_QUICK_BACKEND": "software",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "KWIN_COMPOSE": "N",
    },
    patience=90.0,
    panel=48,
)
GNOME = Desktop(
    "gnome",
    ("gnome-shell", "gnome-shell-extension-appindicator", "gjs", "python3-dbusmock"),
    (Program(("gnome-shell", "--x11", "--sm-disable"), owns="org.gnome.Shell"),),
    environment={
        "XDG_CURRENT_DESKTOP": "GNOME",
        "GSETTINGS_BACKEND": "keyfile",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "XDG_SESSION_TYPE": "x11",
        "GNOME_SHELL_SESSION_MODE": "user",
    },
    files={".config/glib-2.0/settings/keyfile": _GNOME_KEYFILE},
    mocks_logind=True,
    patience=90.0,
    settles=14.0,
    begins_with=("Escape",),  # It starts with the overview.
)
DESKTOPS = {desktop.name: desktop for desktop in (LXQT, MATE, KDE, GNOME)}


def environment(desktop: Desktop, home: Path, bus: str, display: str) -> dict[str, str]:
    """Return the whole environment of a session of that desktop in `home`."""
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "XDG_SESSION_TYPE": "x11",
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "NO_AT_BRIDGE": "1",
        "DBUS_SESSION_BUS_ADDRESS": bus,
        "DISPLAY": display,
        **desktop.environment,
    }

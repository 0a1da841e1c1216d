"""How each desktop gets a tray: which part shows StatusNotifierItems, and how to turn it on.

Seen on the desktops that `tests/gallery` starts; of the others by their own manuals.
"""

from __future__ import annotations

import msgspec

from tray.desktop.doctor.finding import Message, Status

CONSEQUENCE = "there is no icon; notifications and the lists work"


def _missing(desktop: str, cause: str, *, run: str = "", do: str = "") -> Message:
    return Message(
        f"tray-missing-{desktop}",
        Status.BROKEN,
        "{desktop} shows no tray",
        cause,
        CONSEQUENCE,
        run=run,
        do=do,
    )


class Desktop(msgspec.Struct, frozen=True):
    """One desktop, by its name in `$XDG_CURRENT_DESKTOP`."""

    name: str
    missing: Message
    """What to say where its tray is missing."""
    package: dict[str, str] = {}
    """What to install, by distribution, for `{install}` in the message."""


GNOME_EXTENSIONS = (
    "appindicatorsupport@rgcjonas.gmail.com",
    "ubuntu-appindicators@ubuntu.com",
)
"""Those that show trays in GNOME: upstream's, and Ubuntu's copy."""

GNOME_DISABLED = Message(
    "tray-missing-gnome-disabled",
    Status.BROKEN,
    "GNOME shows no tray",
    "the extension {extension} is installed and not running",
    CONSEQUENCE,
    run="gnome-extensions enable {extension}",
)
_GNOME = Desktop(
    "GNOME",
    _missing(
        "gnome",
        "GNOME itself has no tray; its AppIndicator extension is not installed",
        do="run `{install}`, log out and in, and turn it on in the program Extensions",
    ),
    {"": "gnome-shell-extension-appindicator"},
)
_WAYBAR = "no bar with a tray runs: {desktop} itself has none"
_WAYBAR_PACKAGE = {"": "waybar", "gentoo": "gui-apps/waybar"}
_TRAY_MODULE = 'run `{install}`, and add "tray" to "modules-right" in ~/.config/waybar/config'

DESKTOPS: dict[str, Desktop] = {
    "gnome": _GNOME,
    "kde": Desktop(
        "KDE Plasma",
        _missing(
            "kde",
            "no panel has the widget System Tray, or plasmashell or kded does not run",
            do="right-click a panel, Add Widgets, and add System Tray",
        ),
    ),
    "xfce": Desktop(
        "XFCE",
        _missing(
            "xfce",
            "the panel has no Status Tray plugin, or no panel runs",
            run="xfce4-panel --add=systray",
        ),
    ),
    "lxqt": Desktop(
        "LXQt",
        _missing(
            "lxqt",
            "the panel has no Status Notifier widget, or no panel runs",
            do="right-click the panel, Manage Widgets, and add Status Notifier",
        ),
    ),
    "mate": Desktop(
        "MATE",
        _missing(
            "mate",
            "the panel's Notification Area does not take such icons",
            do="run `gsettings set org.mate.panel enable-sni-support true`, log out and in",
        ),
    ),
    "x-cinnamon": Desktop(
        "Cinnamon",
        _missing(
            "cinnamon",
            "no panel has the XApp Status Applet",
            do="right-click the panel, Applets, and add XApp Status Applet",
        ),
    ),
    "budgie": Desktop(
        "Budgie",
        _missing(
            "budgie",
            "no panel has the System Tray applet",
            do="open Budgie Desktop Settings, choose the panel, and add System Tray",
        ),
    ),
    "cosmic": Desktop(
        "COSMIC",
        _missing(
            "cosmic",
            "no panel has the applet Notifications Tray",
            do="open Settings, Desktop, Panel, Configure panel applets; add Notifications Tray",
        ),
    ),
    "unity": Desktop(
        "Unity",
        _missing(
            "unity",
            "its indicator-application does not run",
            run="{install}",
        ),
        {"": "indicator-application"},
    ),
    "sway": Desktop(
        "sway",
        _missing(
            "sway",
            "no bar with a tray runs: neither waybar with its tray module nor swaybar",
            do=_TRAY_MODULE,
        ),
        _WAYBAR_PACKAGE,
    ),
    "hyprland": Desktop(
        "Hyprland", _missing("hyprland", _WAYBAR, do=_TRAY_MODULE), _WAYBAR_PACKAGE
    ),
    "niri": Desktop("niri", _missing("niri", _WAYBAR, do=_TRAY_MODULE), _WAYBAR_PACKAGE),
    "wlroots": Desktop(
        "this compositor", _missing("wlroots", _WAYBAR, do=_TRAY_MODULE), _WAYBAR_PACKAGE
    ),
    "i3": Desktop(
        "i3",
        _missing(
            "i3",
            "i3bar and polybar show X11 tray icons only",
            do="install snixembed (git.sr.ht/~steef/snixembed), and start it: snixembed --fork",
        ),
    ),
}
"""By the lower-case word of `$XDG_CURRENT_DESKTOP`."""

_SAME = {
    "ubuntu": "gnome",
    "gnome-classic": "gnome",
    "gnome-flashback": "gnome",
    "pop": "gnome",
    "zorin": "gnome",
    "plasma": "kde",
    "cinnamon": "x-cinnamon",
    "unity7": "unity",
    "river": "wlroots",
    "labwc": "wlroots",
    "wayfire": "wlroots",
}

OTHER = Desktop(
    "this desktop",
    Message(
        "tray-missing",
        Status.BROKEN,
        "{desktop} shows no tray",
        "no program owns org.kde.StatusNotifierWatcher: no panel with a tray runs",
        CONSEQUENCE,
        do="start a panel with a tray; where it shows X11 icons only: snixembed --fork",
    ),
)


def desktop_of(current: str) -> Desktop:
    """Return the desktop that `$XDG_CURRENT_DESKTOP` names: several words, the best one first.

    `Budgie:GNOME` is Budgie and `ubuntu:GNOME` is GNOME.
    """
    for word in current.lower().split(":"):
        found = DESKTOPS.get(_SAME.get(word, word))
        if found is not None:
            return found
    return OTHER

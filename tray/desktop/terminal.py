"""Opening the person's terminal on a command, in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FAILS_WITHIN = 0.4
"""Seconds within which a terminal that cannot start has ended again."""
_BEFORE_COMMAND: dict[str, tuple[str, ...]] = {
    "gnome-terminal": ("--",),
    "kgx": ("--",),
    "ptyxis": ("--",),
    "wezterm": ("start", "--"),
    "xfce4-terminal": ("-x",),
    "mate-terminal": ("-x",),
    "terminator": ("-x",),
    "kitty": (),
    "foot": (),
    "xdg-terminal-exec": (),
}
"""What each terminal wants before a command and its arguments; all others take `-e`."""
_BY_DESKTOP: dict[str, tuple[str, ...]] = {
    "KDE": ("konsole",),
    "GNOME": ("ptyxis", "kgx", "gnome-terminal"),
    "XFCE": ("xfce4-terminal",),
    "MATE": ("mate-terminal",),
    "LXQT": ("qterminal",),
    "SWAY": ("foot", "alacritty"),
    "HYPRLAND": ("kitty", "foot"),
    "NIRI": ("alacritty", "foot"),
}
_OTHERS = (
    "kitty", "ghostty", "alacritty", "wezterm", "foot", "konsole", "gnome-terminal", "kgx",
    "xfce4-terminal", "mate-terminal", "qterminal", "tilix", "terminator", "lxterminal", "st",
    "urxvt", "xterm", "x-terminal-emulator",
)  # fmt: skip
_NEEDS_WAYLAND = frozenset({"foot"})
_NEEDS_X = frozenset({"xterm", "urxvt", "st"})


class TerminalError(Exception):
    """No terminal could be opened; the message says why and what to do, in one line."""


def choose(
    setting: Sequence[str],
    environ: Mapping[str, str],
    which: Callable[[str], str | None],
) -> tuple[str, ...] | None:
    """Return the terminal and its arguments before the command; `None` if there is none. Pure.

    The person's setting, the desktop's `xdg-terminal-exec`, `$TERMINAL`, the desktop's own
    terminal, then whatever `which` finds installed.
    """
    if setting:
        return tuple(setting)
    desktops = environ.get("XDG_CURRENT_DESKTOP", "").upper().split(":")
    own = [name for desktop in desktops for name in _BY_DESKTOP.get(desktop, ())]
    for name in ("xdg-terminal-exec", environ.get("TERMINAL", ""), *own, *_OTHERS):
        if name and which(name) and _can_show(os.path.basename(name), environ):
            return (name, *_BEFORE_COMMAND.get(os.path.basename(name), ("-e",)))
    return None


def open_terminal(
    argv: Sequence[str], cwd: str, environ: Mapping[str, str], setting: Sequence[str] = ()
) -> None:
    """Open a terminal that runs `argv` in the folder `cwd`, and leave it; raises `TerminalError`.

    What a Claude Code hands to its children is taken out of its environment.
    """
    found = choose(setting, environ, lambda name: shutil.which(name, path=environ.get("PATH")))
    if found is None:
        raise TerminalError(
            "no terminal was found; install one, or name yours:"
            ' sessionbell config set terminal \'["foot", "-e"]\''
        )
    if not os.path.isdir(cwd):
        raise TerminalError(f"the folder {cwd} is gone")
    kept = {
        name: value
        for name, value in environ.items()
        if name != "CLAUDECODE" and not name.startswith("CLAUDE_CODE_")
    }
    try:
        process = subprocess.Popen(
            [*found, *argv],
            cwd=cwd,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise TerminalError(
            f"{found[0]} does not start ({error.strerror}); name another terminal:"
            ' sessionbell config set terminal \'["xterm", "-e"]\''
        ) from None
    try:
        code = process.wait(_FAILS_WITHIN)
    except subprocess.TimeoutExpired:
        return
    # Many hand the command to a server of theirs and end well.
    if code != 0:
        raise TerminalError(f"{found[0]} ended at once with exit code {code}")


def _can_show(name: str, environ: Mapping[str, str]) -> bool:
    if name in _NEEDS_WAYLAND:
        return bool(environ.get("WAYLAND_DISPLAY"))
    return name not in _NEEDS_X or bool(environ.get("DISPLAY"))

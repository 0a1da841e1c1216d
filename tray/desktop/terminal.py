"""Opening the person's terminal on a command, in a folder."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from tray.desktop.starting import fresh, start
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_BEFORE_COMMAND: dict[str, tuple[str, ...]] = {
    "alacritty": ("-e",),
    "cosmic-term": ("--",),
    "deepin-terminal": ("-e",),
    "foot": (),
    "footclient": (),
    "ghostty": ("-e",),
    "gnome-terminal": ("--",),
    "io.elementary.terminal": ("-x",),
    "kgx": ("--",),
    "kitty": (),
    "konsole": ("-e",),
    "lxterminal": ("-e",),
    "mate-terminal": ("-x",),
    "ptyxis": ("--new-window", "--"),
    "qterminal": ("-e",),
    "rxvt": ("-e",),
    "st": ("-e",),
    "terminator": ("-x",),
    "tilix": ("-e",),
    "urxvt": ("-e",),
    "wezterm": ("start", "--"),
    "x-terminal-emulator": ("-e",),
    "xdg-terminal-exec": (),
    "xfce4-terminal": ("-x",),
    "xterm": ("-e",),
}
"""What each terminal wants before a command and its arguments."""
_UNKNOWN = ("-e",)
"""What most terminals want, xterm having been the first."""
_BY_DESKTOP: dict[str, tuple[str, ...]] = {
    "KDE": ("konsole",),
    "GNOME": ("ptyxis", "kgx", "gnome-terminal"),
    "X-CINNAMON": ("gnome-terminal",),
    "XFCE": ("xfce4-terminal",),
    "MATE": ("mate-terminal",),
    "LXQT": ("qterminal",),
    "LXDE": ("lxterminal",),
    "COSMIC": ("cosmic-term",),
    "PANTHEON": ("io.elementary.terminal",),
    "DDE": ("deepin-terminal",),
    "SWAY": ("foot", "alacritty"),
    "HYPRLAND": ("kitty", "foot"),
    "NIRI": ("alacritty", "foot"),
}
"""Each desktop's own terminals, by a name in `$XDG_CURRENT_DESKTOP`."""
_OTHERS = (
    "kitty", "ghostty", "alacritty", "wezterm", "foot", "konsole", "ptyxis", "gnome-terminal",
    "kgx", "xfce4-terminal", "mate-terminal", "qterminal", "tilix", "terminator", "lxterminal",
    "cosmic-term", "st", "urxvt", "xterm", "x-terminal-emulator",
)  # fmt: skip
_NEEDS_WAYLAND = frozenset({"foot", "footclient", "cosmic-term"})
_NEEDS_X = frozenset({"xterm", "urxvt", "rxvt", "st"})
_CARRIED = ("CLAUDE_CONFIG_DIR",)
"""Variables for the command itself: a terminal with a server may start it with the server's."""
_NAME_ANOTHER = "name yours: sessionbell config set terminal '[\"foot\"]'"


class TerminalError(Exception):
    """No terminal could be opened; the message says why and what to do, in one line."""


def choose(
    setting: Sequence[str],
    environ: Mapping[str, str],
    which: Callable[[str], str | None],
) -> tuple[str, ...] | None:
    """Return the terminal and its arguments before the command; `None` if there is none. Pure.

    The person's setting, the desktop's `xdg-terminal-exec`, `$TERMINAL`, the desktop's own
    terminal, then whatever `which` finds installed. A setting or `$TERMINAL` that only names a
    known program gets the option that it wants.
    """
    if setting:
        return _whole(setting)
    for words in (("xdg-terminal-exec",), _words(environ.get("TERMINAL", ""))):
        if words and which(words[0]):
            return _whole(words)
    desktops = environ.get("XDG_CURRENT_DESKTOP", "").upper().split(":")
    own = [name for desktop in desktops for name in _BY_DESKTOP.get(desktop, ())]
    for name in (*own, *_OTHERS):
        if which(name) and _can_show(name, environ):
            return _whole((name,))
    return None


def open_terminal(
    argv: Sequence[str], cwd: str, environ: Mapping[str, str], setting: Sequence[str] = ()
) -> None:
    """Open a terminal that runs `argv` in the folder `cwd`, and leave it; raises `TerminalError`.

    `environ` is that of the person's desktop, `setting` what they chose. What a Claude Code hands
    to its children is taken out. Waits a moment to see whether the terminal ends at once.
    """
    found = choose(setting, environ, lambda name: shutil.which(name, path=environ.get("PATH")))
    if found is None:
        raise TerminalError(f"no terminal was found; install one, or {_NAME_ANOTHER}")
    if not os.path.isdir(cwd):
        raise TerminalError(f"the folder {one_line(cwd)} is gone; make it again, or go elsewhere")
    carried = [f"{name}={environ[name]}" for name in _CARRIED if name in environ]
    command = ["env", *carried, *argv] if carried else list(argv)
    kept = {**fresh(environ), "PWD": cwd}
    program = one_line(found[0], 60)
    try:
        code = start([*found, *command], kept, cwd)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise TerminalError(f"{program} does not start ({why}); {_NAME_ANOTHER}") from None
    # Many hand the command to a server of theirs and end well.
    if code:
        raise TerminalError(f"{program} ended at once with exit code {code}; {_NAME_ANOTHER}")


def see_that_it_runs(argv: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raise `TerminalError` if there is no such program: its terminal would come and go at once."""
    if shutil.which(argv[0], path=environ.get("PATH")) is None:
        raise TerminalError(
            f"{one_line(argv[0], 60)} is not in the PATH that sessionbell was started with;"
            " start sessionbell from a terminal where it is, or link it into /usr/local/bin"
        )


def _whole(words: Sequence[str]) -> tuple[str, ...]:
    """Complete a terminal that is only named by the option it wants before a command."""
    if len(words) > 1:
        return tuple(words)
    name = os.path.basename(words[0])
    return (words[0], *_BEFORE_COMMAND.get(name, _UNKNOWN))


def _words(text: str) -> tuple[str, ...]:
    """Split `$TERMINAL`; options of a known terminal are followed by the one it wants."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        return ()
    if len(words) < 2:
        return words
    wanted = _BEFORE_COMMAND.get(os.path.basename(words[0]), _UNKNOWN)
    return words if words[-len(wanted) :] == wanted or not wanted else (*words, *wanted)


def _can_show(name: str, environ: Mapping[str, str]) -> bool:
    if name in _NEEDS_WAYLAND:
        return bool(environ.get("WAYLAND_DISPLAY"))
    return name not in _NEEDS_X or bool(environ.get("DISPLAY"))

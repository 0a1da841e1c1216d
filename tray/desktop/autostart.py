"""Starting at login: our entry in the desktop's autostart folder.

Desktop Application Autostart Specification. A file of the person's goes before one of the same
name in `$XDG_CONFIG_DIRS`; `Hidden=true` in it turns both off.
"""

from __future__ import annotations

import enum
import os
import shutil
import sys
from typing import TYPE_CHECKING

import msgspec

from tray.atomic import replace_file
from tray.claude.files import read_small
from tray.desktop import exec_line

if TYPE_CHECKING:
    from collections.abc import Mapping

APP_ID = "io.github.sessionbell.SessionBell"
FILE_NAME = f"{APP_ID}.desktop"
_OURS = "X-SessionBell-Autostart"
"""The key that only files written here have."""
_LARGEST = 64 * 1024
_FLATPAK_INFO = "/.flatpak-info"


class Start(enum.StrEnum):
    """Whether sessionbell starts at login. The values are part of the scripts' contract."""

    ON = "on"
    OFF = "off"
    BROKEN = "broken"
    """There is an entry, and what it starts is gone."""


class Status(msgspec.Struct, frozen=True):
    """How things stand with the start at login."""

    state: Start
    file: str | None = None
    """The entry that decides it; `None`: there is none."""
    command: tuple[str, ...] | None = None
    """What that starts."""
    ours: bool = False
    """Whether the file was written here."""
    reason: str | None = None
    """Why it is off or broken, if that is not plain."""


class Launcher(msgspec.Struct, frozen=True):
    """How this installation is started from anywhere."""

    argv: tuple[str, ...]
    folder: str | None = None
    """The directory it must be started in; `None`: any."""


class AutostartError(Exception):
    """It could not be done; says why, what follows, and what to run."""


class Place(msgspec.Struct, frozen=True):
    """Where entries lie."""

    own: str
    """The person's file, existing or not."""
    system: tuple[str, ...] = ()
    """Files that are there for everybody, the first one counts."""


def launcher(
    argv0: str,
    executable: str,
    *,
    flatpak: bool | None = None,
    package: str = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
) -> Launcher:
    """Return the command that starts this very installation again.

    `argv0` is how this process was called, `executable` its Python, `package` the directory that
    `tray` was imported from. Links are not followed: those of pipx and uv outlive an upgrade,
    what they point to does not, and a venv's Python is a link that must not be resolved.
    """
    if flatpak if flatpak is not None else os.path.exists(_FLATPAK_INFO):
        return Launcher(("flatpak", "run", APP_ID))
    beside = os.path.join(os.path.dirname(os.path.abspath(executable)), "sessionbell")
    called = os.path.abspath(argv0) if os.path.basename(argv0) == "sessionbell" else beside
    for script in (called, beside):
        if os.access(script, os.X_OK) and os.path.isfile(script):
            return Launcher((script,))
    return Launcher((os.path.abspath(executable), "-m", "tray"), package)


def place(environ: Mapping[str, str], *, flatpak: bool | None = None) -> Place:
    """Return where the entries lie, by the XDG Base Directory Specification.

    A Flatpak's own `XDG_CONFIG_HOME` is one that no desktop reads: it gives the host's by another
    name, and lets the folder through where the permission is there.
    """
    inside = flatpak if flatpak is not None else os.path.exists(_FLATPAK_INFO)
    home = environ.get("HOME") or os.path.expanduser("~")
    config = environ.get("HOST_XDG_CONFIG_HOME" if inside else "XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(home, ".config")
    others = environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    system = (os.path.join(one, "autostart", FILE_NAME) for one in others.split(":") if one)
    return Place(
        os.path.join(config, "autostart", FILE_NAME),
        tuple(path for path in system if os.path.isabs(path) and os.path.isfile(path)),
    )


def entry(start: Launcher) -> str:
    """Return the file that starts it at login."""
    program = start.argv[0]
    lines = [
        "[Desktop Entry]",
        "Type=Application",
        "Name=sessionbell",
        "Comment=Tells which Claude Code session is waiting for you",
        f"Exec={exec_line.compose((*start.argv, 'run'))}",
        f"TryExec={exec_line.escape(program)}",
        *([f"Path={exec_line.escape(start.folder)}"] if start.folder else []),
        f"Icon={APP_ID}",
        "Terminal=false",
        "StartupNotify=false",
        "NoDisplay=true",
        "X-GNOME-Autostart-enabled=true",
        f"{_OURS}=true",
    ]
    return "\n".join(lines) + "\n"


_HIDDEN = f"""[Desktop Entry]
Type=Application
Name=sessionbell
Exec=sessionbell run
Hidden=true
{_OURS}=true
"""


def status(where: Place, *, path: str | None = None) -> Status:
    """Say whether it starts at login, and by which file. `path` is the program path, `$PATH`."""
    own = os.path.lexists(where.own)
    file = where.own if own else next(iter(where.system), None)
    if file is None:
        return Status(Start.OFF)
    if own and not os.path.exists(file):
        target = os.path.realpath(file)
        return Status(Start.BROKEN, file, reason=f"it is a link to {target}, which is gone")
    keys = _keys(file)
    if keys is None:
        return Status(Start.BROKEN, file, reason="it cannot be read as a desktop file")
    ours = _OURS in keys
    command = exec_line.parse(keys.get("Exec", ""))
    if keys.get("Hidden", "").lower() == "true":
        return Status(Start.OFF, file, command, ours, reason="the file says so (Hidden=true)")
    if command is None:
        return Status(Start.BROKEN, file, ours=ours, reason="it says nothing to start (Exec)")
    for program in (command[0], exec_line.unescape(keys.get("TryExec", ""))):
        if program and not _runs(program, path):
            gone = f"{program} is gone: the program was moved or removed"
            return Status(Start.BROKEN, file, command, ours, reason=gone)
    # All other desktops start it all the same (dex and xfce4-session do).
    not_gnome = keys.get("X-GNOME-Autostart-enabled", "").lower() == "false"
    reason = "but in GNOME, by X-GNOME-Autostart-enabled=false" if not_gnome else None
    return Status(Start.ON, file, command, ours, reason)


def turn_on(where: Place, start: Launcher, *, force: bool = False) -> Status:
    """Have it started at login from now on; return how it stands then.

    A file that was not written here is left alone without `force`. Raises `AutostartError`.
    """
    _guard(where, force=force)
    by_system = status(Place(f"{where.own}.none", where.system))
    if by_system.state is Start.ON:
        # The package's own entry does it, and follows when the package is moved.
        _remove(where.own)
    else:
        _write(where.own, entry(start))
    return status(where)


def turn_off(where: Place, *, force: bool = False) -> Status:
    """Have it started at login no longer; return how it stands then.

    Where there is an entry for everybody, one of the person's own says that it does not count.
    Raises `AutostartError`.
    """
    _guard(where, force=force)
    if where.system:
        _write(where.own, _HIDDEN)
    else:
        _remove(where.own)
    return status(where)


def current(environ: Mapping[str, str] | None = None) -> Status:
    """Return how the start at login stands for this person."""
    environ = os.environ if environ is None else environ
    return status(place(environ), path=environ.get("PATH"))


def switch(*, on: bool, force: bool = False) -> Status:
    """Turn the start of this installation at login on or off. Raises `AutostartError`."""
    where = place(os.environ)
    if on:
        return turn_on(where, launcher(sys.argv[0], sys.executable), force=force)
    return turn_off(where, force=force)


def _guard(where: Place, *, force: bool) -> None:
    """See that no file of somebody else's is lost."""
    if force or not os.path.lexists(where.own):
        return
    keys = _keys(where.own)
    if keys is None or _OURS not in keys:
        told = status(where)
        starts = " ".join(told.command) if told.command else told.reason or "nothing"
        raise AutostartError(
            f"{where.own} was not written by sessionbell (it starts: {starts}), so it is left as"
            " it is; to replace it, run the command again with --force"
        )


def _runs(program: str, path: str | None) -> bool:
    if program == "flatpak" and os.path.exists(_FLATPAK_INFO):
        return True  # the host's, which cannot be seen from inside
    return shutil.which(program, path=path) is not None


def _keys(file: str) -> dict[str, str] | None:
    """Return the keys of a desktop file's main group; `None` if it is none."""
    data = read_small(file, _LARGEST)
    if data is None:
        return None
    keys: dict[str, str] = {}
    group = None
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        line = line.strip()
        if line.startswith("["):
            group = line
        elif group == "[Desktop Entry]" and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            keys[key.strip()] = value.strip()
    return keys or None


def _write(file: str, text: str) -> None:
    """Put a file in its place, whole or not at all; of a link of ours, in the place it leads to."""
    if os.path.islink(file) and _OURS in (_keys(file) or {}):
        file = os.path.realpath(file)
    folder = os.path.dirname(file)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        replace_file(file, text.encode("utf-8", "surrogateescape"), durable=False)
    except OSError as error:
        raise _cannot(file, error) from error


def _remove(file: str) -> None:
    try:
        os.unlink(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _cannot(file, error) from error


def _cannot(file: str, error: OSError) -> AutostartError:
    folder = os.path.dirname(file)
    return AutostartError(
        f"{file} cannot be changed ({error.strerror}), so the start at login stays as it is;"
        f" see who may write there: ls -ld {folder}"
    )

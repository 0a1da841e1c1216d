"""Other machines whose sessions are listed too: `$XDG_CONFIG_HOME/sessionbell/remotes.toml`.

Nothing here touches the network; see `tray.history.syncing`.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from tray import configfile
from tray.configfile import ConfigError
from tray.history.past import KEPT, LOCAL, Place
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_LIMIT = 1_000_000
"""Bytes above which a file cannot be anybody's list of machines."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*|\[?[0-9A-Fa-f:]+(?:%[A-Za-z0-9]+)?\]?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]*")
_PATH = re.compile(r"(?:/|~(?:/|$)|[^-~:/\s])[^\x00-\x1f\x7f]*")
_WITH_VALUE = re.compile(r"-[BbcFIiJlmopSw]")
_SINGLE = re.compile(r"-[46AaCkXxYq]|-v{1,3}")
"""Options of ssh(1) that say how to connect; none that asks for something else than a command."""
_DAY = 1440.0

EXAMPLE = """\
# Other machines whose past sessions are listed beside those of this one. Each is reached by ssh
# with a key, never with a password: `ssh HOST` must work without a question. Only transcripts are
# copied, into the cache folder of this machine. `sessionbell remotes check` tells whether all is
# well, `sessionbell remotes sync` fetches what is new.
#
# [[remote]]
# name = "build"               # how lists call it
# host = "build.example.org"   # a host, or one of ~/.ssh/config
# user = "me"                  # if it is another than here
# path = "~/.claude"           # the folder of Claude Code there
# options = ["-p", "2222"]     # further options of ssh
# auto_sync_minutes = 0        # sync by itself when `history` is called this long after the last
#                              # time; 0: only when asked to
"""


class Remote(msgspec.Struct, frozen=True):
    """One other machine."""

    name: str
    host: str
    user: str = ""
    path: str = "~/.claude"
    """The config root there: absolute, or relative to the home."""
    options: tuple[str, ...] = ()
    """Of ssh."""
    auto_sync_minutes: float = 0.0
    """0: never by itself."""

    @property
    def target(self) -> str:
        """What ssh is given to connect to."""
        return f"{self.user}@{self.host}" if self.user else self.host


def default_path() -> str:
    """Return where the file is, whether it exists or not."""
    return os.path.join(os.path.dirname(configfile.default_path()), "remotes.toml")


def cache_folder() -> str:
    """Return the folder with one folder a remote."""
    import platformdirs

    return os.path.join(platformdirs.user_cache_dir("sessionbell"), "remotes")


def places(remotes: Iterable[Remote], folder: str | None = None) -> tuple[Place, ...]:
    """Return where the sessions of the remotes are kept on this machine."""
    folder = folder or cache_folder()
    return tuple(Place(os.path.join(folder, remote.name), remote.name) for remote in remotes)


def load(path: str | None = None) -> tuple[Remote, ...]:
    """Return the remotes in the file, none if it is missing; raises `ConfigError`."""
    path = path or default_path()
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise ConfigError("it is no regular file")
        with open(path, "rb") as file:
            data = file.read(_LIMIT + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror})") from None
    if len(data) > _LIMIT:
        raise ConfigError("it is larger than a megabyte")
    try:
        return parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError("it is not UTF-8", line=data.count(b"\n", 0, error.start) + 1) from None


def parse(text: str) -> tuple[Remote, ...]:
    """Return the remotes that `text` says; raises `ConfigError`, and nothing else."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(
            f"this is no TOML: {error}", line=int(line[1]) if line is not None else None
        ) from None
    except RecursionError:
        raise ConfigError("it is nested too deeply") from None
    for key in tree:
        if key != "remote":
            raise ConfigError(
                "there is no such setting", key=one_line(key, 80), allowed="[[remote]] tables"
            )
    tables = tree.get("remote", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError("write each machine as a table", key="remote", allowed="[[remote]]")
    found: dict[str, Remote] = {}
    for number, table in enumerate(tables):
        remote = _remote(table, number, text)
        if remote.name in found:
            raise _fault(text, number, "name", f"{remote.name} is there twice", "each name once")
        found[remote.name] = remote
    return tuple(found.values())


def named(remotes: Sequence[Remote], names: Iterable[str]) -> tuple[Remote, ...]:
    """Return the remotes of those names, all if there is no name; raises `KeyError` with one."""
    by_name = {remote.name: remote for remote in remotes}
    return tuple(by_name[name] for name in dict.fromkeys(names)) or tuple(remotes)


def _remote(table: dict[str, Any], number: int, text: str) -> Remote:
    for key in table:
        if key not in _RULES:
            close = difflib.get_close_matches(key, _RULES, 1)
            what = "there is no such setting" + (f"; did you mean {close[0]}?" if close else "")
            raise _fault(text, number, key, what, ", ".join(_RULES))
    for key, (holds, allowed) in _RULES.items():
        if key not in table:
            if key in ("name", "host"):
                raise _fault(text, number, key, "it is missing", allowed)
        elif not holds(table[key]):
            raise _fault(text, number, key, "this cannot be used", allowed)
    return msgspec.convert(table, Remote)


def _fault(text: str, number: int, key: str, what: str, allowed: str) -> ConfigError:
    key = one_line(key, 80)
    return ConfigError(what, key=f"remote.{key}", allowed=allowed, line=_line(text, number, key))


def _line(text: str, number: int, key: str) -> int | None:
    """Return the line of a key in the table with that number, or of the table's head."""
    head = None
    seen = -1
    for at, line in enumerate(text.splitlines(), start=1):
        if re.match(r"\s*\[\[\s*remote\s*\]\]", line):
            seen += 1
            if seen == number:
                head = at
        elif seen == number and re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
            return at
    return head


def _text(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_name(value: object) -> bool:
    return _text(_NAME)(value) and value not in (LOCAL, KEPT)


def _are_options(value: object) -> bool:
    """Whether these are options and their values alone: another word would be the host."""
    if not isinstance(value, list):
        return False
    words = iter(value)
    for word in words:
        if not isinstance(word, str) or not word.isprintable():
            return False
        if _SINGLE.fullmatch(word):
            continue
        if _WITH_VALUE.match(word) is None:
            return False
        if len(word) == 2:  # the value is the next word
            following = next(words, None)
            if not isinstance(following, str) or not following.isprintable() or not following:
                return False
    return True


def _is_minutes(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value <= 7 * _DAY  # type: ignore[arg-type,operator]


_RULES: dict[str, tuple[Callable[[object], bool], str]] = {
    "name": (
        _is_name,
        f'letters, digits, "-", "_" and ".", at most 64; not "{LOCAL}" or "{KEPT}"',
    ),
    "host": (_text(_HOST), 'the name of a host, or an address, as "build.example.org"'),
    "user": (lambda value: value == "" or _text(_USER)(value), 'the name of a user there, or ""'),
    "path": (_text(_PATH), 'a folder there, as "~/.claude" or "/srv/claude"'),
    "options": (_are_options, 'options of ssh that say how to connect, as ["-p", "2222"]'),
    "auto_sync_minutes": (_is_minutes, "minutes from 0 (never by itself) to 10080"),
}

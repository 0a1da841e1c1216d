"""The settings file: `$XDG_CONFIG_HOME/sessionbell/config.toml`, read, checked and kept fresh.

Nothing here writes; see `tray.configedit`. Read with the standard library alone, for `list` reads
it too.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import stat
import tomllib
from typing import TYPE_CHECKING

import msgspec

from tray.config import Settings
from tray.session import Problem
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 1_000_000
"""Bytes above which a file cannot be anybody's settings."""
_AT = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_SYNTAX = re.compile(r"^(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_EXPECTED = re.compile(r"^Expected `(\w+)`")
_LISTS = {
    "command": 'a list of texts, the program first: ["notify", "--now"]',
    "terminal": 'a list of texts, the program first: ["foot", "-e"]',
    "ignore": 'a list of globs: ["~/play/*"]',
    "mute": 'a list of globs: ["~/play/*"]',
}
_PATTERNS = {
    "from": 'a time as "22:00", or ""',
    "to": 'a time as "07:00", or ""',
    "sound": 'a sound name as "message-new-instant", or ""',
    "colors": 'a colour as "#e5322d", or "" for the built-in one',
}


class ConfigError(Exception):
    """The settings cannot be used: what is wrong, and where."""

    def __init__(
        self, what: str, *, key: str = "", allowed: str = "", line: int | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.key = key
        """The setting, dotted; empty where the file as a whole is wrong."""
        self.allowed = allowed
        self.line = line
        """Counted from 1, where it is known."""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        named = f"{self.key}: " if self.key else ""
        return f"{where}{named}{self.what}" + (f"; allowed: {self.allowed}" if self.allowed else "")


def default_path() -> str:
    """Return where the settings file is, whether it exists or not."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.config")
    return os.path.join(base, "sessionbell", "config.toml")


def parse(text: str) -> Settings:
    """Return the settings that `text` says; raises `ConfigError`, and nothing else."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(error, text) from None
    except RecursionError:
        raise ConfigError("it is nested too deeply") from None
    found = next(_not_numbers(tree, ()), None)
    if found is not None:
        raise ConfigError(
            "it is no number", key=".".join(found), allowed="a number", line=line_of(text, found)
        )
    try:
        return msgspec.convert(tree, Settings)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), text) from None


def load(path: str | None = None) -> Settings:
    """Return the settings in the file; a missing one means the defaults.

    Raises `ConfigError`, also where the file cannot be read.
    """
    try:
        data = _read(path or default_path())
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror})") from None
    try:
        # An editor may put a mark for UTF-8 before everything.
        return parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("it is not UTF-8", line=line) from None


def problem(error: ConfigError, path: str) -> Problem:
    """Return what there is to tell of a file that cannot be used."""
    return Problem(
        "config",
        f"{path}: {error}: the last good settings hold; mend it and see `sessionbell config check`",
    )


class SettingsFile:
    """The last good settings, followed on disk."""

    def __init__(self, path: str | None = None) -> None:
        """Read nothing yet."""
        self.path = path or default_path()
        self.settings = Settings()
        self._stamp: tuple[int, ...] | None = None
        self._problem: Problem | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the file as it is now."""
        return () if self._problem is None else (self._problem,)

    def read(self) -> bool:
        """Read the file; whether settings or problems are others now."""
        before = (self.settings, self._problem)
        self._stamp = _stamp(self.path)
        try:
            self.settings = load(self.path)
            self._problem = None
        except ConfigError as error:
            self._problem = problem(error, self.path)
        return (self.settings, self._problem) != before

    def check(self) -> bool:
        """Read the file if it has changed, which costs one stat; whether anything is other now."""
        return _stamp(self.path) != self._stamp and self.read()


def line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """Return the line on which the setting is, or the nearest table around it; counted from 1.

    A scan of the lines, not a parser: right for all that a person writes as one line a setting.
    """
    table: tuple[str, ...] = ()
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(#.*)?$", line):
            table = _dotted(header[1])
            here = table
        elif assignment := re.match(r"\s*((?:[A-Za-z0-9_.\s-]|\"[^\"]*\"|'[^']*')+?)\s*=", line):
            here = (*table, *_dotted(assignment[1]))
        else:
            continue
        if here == keys[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return best[1] if best is not None else None


def _dotted(text: str) -> tuple[str, ...]:
    parts = re.findall(r"\"[^\"]*\"|'[^']*'|[^.\s]+", text)
    return tuple(part.strip("\"'") for part in parts)


def _syntax(error: tomllib.TOMLDecodeError, text: str) -> ConfigError:
    match = _SYNTAX.match(str(error))
    if match is None:
        return ConfigError(str(error))
    line = int(match["line"]) if match["line"] else max(len(text.splitlines()), 1)
    return ConfigError(
        f"this is no TOML: {match['what'][:1].lower()}{match['what'][1:]}", line=line
    )


def _invalid(message: str, text: str) -> ConfigError:
    keys: tuple[str, ...] = ()
    if at := _AT.search(message):
        message = message[: at.start()]
        # A place in an array is on the array's line.
        keys = tuple(part for part in re.sub(r"\[[^\]]*\]", "", at["path"]).split(".") if part)
    if unknown := _UNKNOWN.match(message):
        name = one_line(unknown["name"], 80)
        known = _fields(keys)
        close = difflib.get_close_matches(name, known, 1)
        what = "there is no such setting" + (f"; did you mean {close[0]}?" if close else "")
        keys = (*keys, name)
        return ConfigError(
            what, key=".".join(keys), allowed=", ".join(known), line=line_of(text, keys)
        )
    return ConfigError(
        _plain(message),
        key=".".join(keys),
        allowed=_allowed(keys, message),
        line=line_of(text, keys),
    )


def _plain(message: str) -> str:
    """Return msgspec's words without its quotes and its names of types."""
    if message.startswith("Expected `str` matching"):
        return "this is not of the right form"
    words = {"array": "list", "object": "table", "str": "text", "int": "number", "float": "number"}
    message = re.sub(r"`(\w+)`", lambda word: words.get(word[1], word[1]), message)
    message = one_line(message.replace("`", ""), 200)
    return message[:1].lower() + message[1:]


def _allowed(keys: tuple[str, ...], message: str) -> str:
    if not keys or ((expected := _EXPECTED.match(message)) is None and keys[-1] != "urgency"):
        return ""
    last, table = keys[-1], keys[0]
    if last == "urgency":
        return '"low", "normal", "critical"'
    if (last in _LISTS and table != "alerts") or last == "command":
        return _LISTS[last]
    match expected[1] if expected is not None else "":
        case "bool":
            return "true, false"
        case "str":
            return _PATTERNS.get(last) or _PATTERNS.get(table, "a text")
        case "float" if last == "timeout":
            return "seconds from 0 to 86400, or -1"
        case "float" if last == "remind_after":
            return "minutes from 0 to 1440"
        case "float":
            return "seconds from 0 to 86400"
    return f"a table, [{'.'.join(keys)}]"


def _fields(keys: tuple[str, ...]) -> tuple[str, ...]:
    kind: type[msgspec.Struct] = Settings
    for key in keys:
        kind = next(f.type for f in msgspec.structs.fields(kind) if f.encode_name == key)
    return kind.__struct_encode_fields__


def _not_numbers(tree: object, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Go through the settings that are `nan`, which is neither too small nor too large."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _not_numbers(value, (*keys, key))
    elif isinstance(tree, float) and math.isnan(tree):
        yield keys


def _read(path: str) -> bytes:
    # A FIFO in its place must not be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        data = file.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise OSError(0, "it is larger than a megabyte")
    return data


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size

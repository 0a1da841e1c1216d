"""What is wrong with a settings file, in words: the line, the key, what it is, what is allowed.

Imported only where there is a fault, for it takes longer than reading a file.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import msgspec

from tray.config import Settings
from tray.configfile import ConfigError
from tray.configlines import endless_number, line_of, never_closed
from tray.untrusted import one_line

if TYPE_CHECKING:
    import tomllib
    from collections.abc import Sequence

_AT = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_SYNTAX = re.compile(r"^(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_EXPECTED = re.compile(r"^Expected `(\w+)`")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KINDS = {"[": "list", "{": "table"}
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


def syntax(error: tomllib.TOMLDecodeError, text: str) -> ConfigError:
    """Return what is wrong with a text that is no TOML."""
    match = _SYNTAX.match(str(error))
    if match is None:
        return ConfigError(f"this is no TOML: {one_line(str(error), 200)}")
    said = one_line(match["what"], 200)
    what = f"this is no TOML: {said[:1].lower()}{said[1:]}"
    opened = never_closed(text)
    if match["line"] is None:
        if opened is not None:
            kind = _KINDS.get(opened.sign, "text")
            return ConfigError(
                f"this is no TOML: the {kind} that begins here has no end", line=opened.line
            )
        return ConfigError(what, line=text.rstrip("\n").count("\n") + 1)
    line = int(match["line"])
    if opened is not None and opened.line != line:
        what += f" (of the one that begins on line {opened.line})"
    return ConfigError(what, line=line)


def too_long(text: str) -> ConfigError:
    """Return what is wrong with a text whose number cannot be read."""
    found = endless_number(text)
    if found is None:
        return ConfigError("it has a value that cannot be read")
    keys, line = found
    names = _names(keys)
    return ConfigError(
        "number out of range", key=_dotted(names), allowed=_allowed_number(names), line=line
    )


def one_end(missing: str, text: str | None) -> ConfigError:
    """Return what is wrong with quiet hours that only begin, or only end."""
    given = "to" if missing == "from" else "from"
    return ConfigError(
        f"it is not set, but quiet_hours.{given} is",
        key=f"quiet_hours.{missing}",
        allowed='both, as from = "22:00" and to = "07:30", or neither',
        line=_line(text, ("quiet_hours", given)),
    )


def invalid(error: msgspec.ValidationError, text: str | None) -> ConfigError:
    """Return what is wrong with settings that msgspec refuses; `text` is where they stand."""
    message = str(error)
    keys: tuple[str | int, ...] = ()
    if at := _AT.search(message):
        message = message[: at.start()]
        keys = tuple(name or int(index) for name, index in _STEP.findall(at["path"]))
    names = _names(keys)
    if unknown := _UNKNOWN.match(message):
        return no_such((*names, unknown["name"]), text)
    return ConfigError(
        _plain(message),
        key=_dotted(names),
        allowed=_allowed(names, message),
        line=_line(text, keys),
    )


def no_such(keys: tuple[str, ...], text: str | None = None) -> ConfigError:
    """Return what is wrong with a setting that there is not; all but the last name are right."""
    known = _fields(keys[:-1])
    close = difflib.get_close_matches(keys[-1][:80], known, 1)
    what = "there is no such setting" + (f"; did you mean {close[0]}?" if close else "")
    return ConfigError(what, key=_dotted(keys), allowed=", ".join(known), line=_line(text, keys))


def _line(text: str | None, keys: Sequence[str | int]) -> int | None:
    return None if text is None else line_of(text, keys)


def _names(keys: Sequence[str | int]) -> tuple[str, ...]:
    return tuple(key for key in keys if isinstance(key, str))


def _dotted(keys: Sequence[str]) -> str:
    """Return the name of a setting as it is written in the file."""
    return ".".join(
        key if _BARE_KEY.fullmatch(key) and len(key) <= 80 else f'"{one_line(key, 80)}"'
        for key in keys
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
    expected = _EXPECTED.match(message)
    kind = expected[1] if expected is not None else ""
    if message.startswith("Number out of range"):
        kind = "float"
    if not keys or not (kind or keys[-1] == "urgency"):
        return ""
    last, table = keys[-1], keys[0]
    if last == "urgency":
        return '"low", "normal", "critical"'
    if (last in _LISTS and table != "alerts") or last == "command":
        return _LISTS[last]
    if kind == "bool":
        return "true, false"
    if kind == "str":
        return _PATTERNS.get(last) or _PATTERNS.get(table, "a text")
    if kind == "float":
        return _allowed_number(keys)
    return f"a table, [{'.'.join(keys)}]"


def _allowed_number(keys: Sequence[str]) -> str:
    match keys[-1] if keys else "":
        case "timeout":
            return "seconds from 0 to 86400, or -1"
        case "remind_after":
            return "minutes from 0 to 1440"
    return "seconds from 0 to 86400"


def _fields(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the settings in a table; none if it is no table."""
    kind: object = Settings
    for key in keys:
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            return ()
        fields = msgspec.structs.fields(kind)
        kind = next((field.type for field in fields if field.encode_name == key), None)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind.__struct_encode_fields__
    return ()

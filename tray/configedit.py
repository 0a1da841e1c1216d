"""Writing settings back: only what changes, with the person's comments, order and spacing kept."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

from tray.configfile import ConfigError, default_path, load, parse
from tray.configtext import default_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tomlkit.container import Container

    from tray.config import Settings

Value = bool | float | str | list[str]


def change(values: Mapping[str, Value], path: str | None = None) -> Settings:
    """Set each dotted key to its value in the file, and return what holds then.

    Without a file one is made with all settings and what they mean. Raises `ConfigError` and
    leaves the file as it is where it cannot be used as it is now (it would be lost), where a
    value is not allowed, or where nothing can be written.
    """
    import tomlkit

    # A link, as those who keep their settings elsewhere have, is to stay one.
    target = os.path.realpath(path or default_path())
    load(target)
    try:
        with open(target, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = default_text()
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror})") from None
    document = tomlkit.parse(text)
    for key, value in values.items():
        *tables, last = key.split(".")
        table: Container = document
        for name in tables:
            if name not in table:
                table[name] = tomlkit.table()
            table = table[name]  # `load` above has seen that it is one
        table[last] = int(value) if isinstance(value, float) and value.is_integer() else value
    changed = tomlkit.dumps(document)
    settings = parse(changed)
    _write(target, changed)
    return settings


def create(path: str | None = None) -> str:
    """Write the file with all settings and what they mean, and return its path.

    Raises `FileExistsError` if there is one, `ConfigError` if it cannot be written.
    """
    target = os.path.realpath(path or default_path())
    if os.path.lexists(target):
        raise FileExistsError(target)
    _write(target, default_text())
    return target


def _write(target: str, text: str) -> None:
    """Replace the file as a whole, keeping its mode; raises `ConfigError`."""
    temporary = None
    try:
        folder = os.path.dirname(target)
        os.makedirs(folder, 0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".config.toml.", dir=folder)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(descriptor, os.stat(target).st_mode & 0o777)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ConfigError(f"{target} cannot be written ({error.strerror})") from None

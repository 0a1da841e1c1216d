"""Writing settings back: only what changes, with the person's comments, order and spacing kept."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Any

from tray.atomic import lock, replace_file
from tray.configfile import ConfigError, checked, contents, default_path, parse, without_mark
from tray.configtext import default_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tray.config import Settings

Value = bool | float | str | list[str]
LOCK_LIMIT = 5.0
"""Seconds to wait for others that write the settings; each takes a few hundredths of one."""
_WITHOUT_LOCKS = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
"""What flock(2) says where a file system, as NFS, has no locks for folders."""


def change(values: Mapping[str, Value], path: str | None = None) -> Settings:
    """Set each dotted key to its value in the file, and return what holds then.

    Without a file one is made with all settings and what they mean. Raises `ConfigError` and
    leaves the file as it is where it cannot be used as it is now (it would be lost), where a
    value is not allowed, or where nothing can be written. Changes made at the same time, by
    whatever process, come one after the other; an editor knows nothing of that. Blocks for
    `LOCK_LIMIT` seconds at most.
    """
    # A link, as those who keep their settings elsewhere have, is to stay one.
    target = os.path.realpath(path or default_path())
    with _locked(target):
        try:
            text = contents(target)
        except FileNotFoundError:
            text = default_text()
        bare = without_mark(text)
        wanted = _with_values(parse(bare), values)
        changed = _edited(bare, values)
        if parse(changed) != wanted:
            raise ConfigError("it is written in a way that only an editor can change")
        _write(target, text[: len(text) - len(bare)] + changed)
    return wanted


def create(path: str | None = None) -> str:
    """Write the file with all settings and what they mean, and return its path.

    Raises `FileExistsError` if there is one, `ConfigError` if it cannot be written.
    """
    target = os.path.realpath(path or default_path())
    if os.path.lexists(target):
        raise FileExistsError(target)
    with _locked(target):
        if os.path.lexists(target):
            raise FileExistsError(target)
        _write(target, default_text())
    return target


def _with_values(settings: Settings, values: Mapping[str, Value]) -> Settings:
    """Return `settings` with these values; raises `ConfigError` if they cannot be."""
    import msgspec

    tree: dict[str, Any] = msgspec.to_builtins(settings)
    for key, value in values.items():
        keys = tuple(key.split("."))
        table = tree
        for depth, name in enumerate(keys[:-1], start=1):
            table = table.get(name)  # type: ignore[assignment]
            if not isinstance(table, dict):
                from tray.configfaults import no_such

                raise no_such(keys[: depth + (table is not None)])
        table[keys[-1]] = value
    return checked(tree)


def _edited(text: str, values: Mapping[str, Value]) -> str:
    """Return `text`, which holds valid settings, with these values, which are allowed."""
    import tomlkit

    try:
        document = tomlkit.parse(text)
        for key, value in values.items():
            *tables, last = key.split(".")
            table: Any = document
            for name in tables:
                if name not in table:
                    table[name] = tomlkit.table()
                table = table[name]
            table[last] = int(value) if isinstance(value, float) and value.is_integer() else value
        return tomlkit.dumps(document)
    # It reads and writes a little less than TOML has, and says so with exceptions of any kind.
    except Exception as error:
        raise ConfigError(
            f"it is written in a way that only an editor can change ({error!r:.200})"
        ) from error


@contextlib.contextmanager
def _locked(target: str) -> Iterator[None]:
    """Be the only one that changes the file, as long as it takes; raises `ConfigError`.

    The lock is on its folder: the file itself is replaced, and one beside it would be litter.
    """
    folder = os.path.dirname(target)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(target, error) from None
    try:
        try:
            lock(descriptor, LOCK_LIMIT)
        except TimeoutError:
            raise ConfigError(
                f"{folder} has been locked by another program for {LOCK_LIMIT:g} s; try again"
            ) from None
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                raise _unwritable(target, error) from None
        yield
    finally:
        os.close(descriptor)


def _write(target: str, text: str) -> None:
    """Replace the file as a whole, keeping its mode; raises `ConfigError`."""
    try:
        replace_file(target, text.encode(), keep_mode=True)
    except OSError as error:
        raise _unwritable(target, error) from None


def _unwritable(target: str, error: OSError) -> ConfigError:
    return ConfigError(f"{target} cannot be written ({error.strerror})")

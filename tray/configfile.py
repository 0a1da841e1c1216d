"""The settings file: `$XDG_CONFIG_HOME/sessionbell/config.toml`, read, checked and kept fresh.

Nothing here writes; see `tray.configedit`. What is wrong with a file is put into words by
`tray.configfaults`. `list` reads the file too: what only some files need is imported for those.
"""

from __future__ import annotations

import os
import stat
import time

from tray.config import Settings
from tray.session import Problem

LIMIT = 1_000_000
"""Bytes above which a file cannot be anybody's settings."""
SETTLE = 1.0
"""Seconds after which a file that has lost its end is taken as it is: its editor is done."""
_MARK = "\ufeff"
"""What some editors put before everything, to say that it is UTF-8."""


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
        return f"{where}{self._said()}"

    def located(self, path: str) -> str:
        """Return it as compilers do, `FILE:LINE: ...`, on which editors and terminals jump."""
        where = f"{path}:{self.line}" if self.line is not None else path
        return f"{where}: {self._said()}"

    def _said(self) -> str:
        named = f"{self.key}: " if self.key else ""
        return f"{named}{self.what}" + (f"; allowed: {self.allowed}" if self.allowed else "")


def default_path() -> str:
    """Return where the settings file is, whether it exists or not."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.config")
    return os.path.join(base, "sessionbell", "config.toml")


def parse(text: str) -> Settings:
    """Return the settings that `text` says; raises `ConfigError`, and nothing else."""
    import tomllib

    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        from tray import configfaults

        raise configfaults.syntax(error, text) from None
    except RecursionError:
        raise ConfigError("it is nested too deeply") from None
    except ValueError:  # Python's own limit for the digits of an integer
        from tray import configfaults

        raise configfaults.too_long(text) from None
    return checked(tree, text)


def checked(tree: dict[str, object], text: str | None = None) -> Settings:
    """Return what the tables and values of `tree` set; `text` is where they come from.

    Raises `ConfigError`, with a line if there is a text.
    """
    import msgspec

    try:
        settings = msgspec.convert(tree, Settings)
    except msgspec.ValidationError as error:
        from tray import configfaults

        raise configfaults.invalid(error, text) from None
    except RecursionError:
        raise ConfigError("it is nested too deeply") from None
    hours = settings.quiet_hours
    if bool(hours.start) is not bool(hours.end):
        from tray import configfaults

        raise configfaults.one_end("to" if hours.start else "from", text)
    return settings


def contents(path: str) -> str:
    """Return the file's text, a mark for UTF-8 included.

    Raises `FileNotFoundError`, and `ConfigError` for everything else.
    """
    try:
        data = _read(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror})") from None
    return _decoded(data)


def load(path: str | None = None) -> Settings:
    """Return the settings in the file; a missing one means the defaults.

    Raises `ConfigError`, also where the file cannot be read.
    """
    try:
        return parse(without_mark(contents(path or default_path())))
    except FileNotFoundError:
        return Settings()


def without_mark(text: str) -> str:
    """Return `text` without a mark for UTF-8."""
    return text.removeprefix(_MARK)


class SettingsFile:
    """The last good settings, followed on disk; never raises for what the file holds."""

    def __init__(self, path: str | None = None) -> None:
        """Read nothing yet."""
        self.path = path or default_path()
        self.settings = Settings()
        self.settling = False
        """Whether the last `check` met a file that its editor may not have written to the end:
        ask again after `SETTLE` seconds."""
        self._stamp: tuple[int, ...] | None = None
        self._size = self._lines = 0
        self._missed_at: float | None = None
        self._good = False
        self._problem: Problem | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the file as it is now."""
        return () if self._problem is None else (self._problem,)

    def read(self) -> bool:
        """Read the file as it is now; whether settings or problems are others now."""
        stamp = stamp_of(self.path)
        try:
            data: bytes | None = _read(self.path)
        except OSError as error:
            return self._take(stamp, None, error)
        return self._take(stamp, data)

    def check(self) -> bool:
        """Read the file if it has changed, which costs one stat; whether anything is other now.

        A file that has just lost its end, or all of it, may be one that is being written: it
        counts only when it stays so, and meanwhile there is `settling`.
        """
        stamp = stamp_of(self.path)
        if stamp == self._stamp:
            self.settling = False
            self._missed_at = None
            return False
        error: OSError | None = None
        data: bytes | None = None
        try:
            data = _read(self.path)
        except OSError as failure:
            error = failure
        self.settling = self._in_the_middle(stamp, data, error)
        return False if self.settling else self._take(stamp, data, error)

    def _in_the_middle(
        self, stamp: tuple[int, ...] | None, data: bytes | None, error: OSError | None
    ) -> bool:
        """Whether somebody may be about to write the rest."""
        if isinstance(error, FileNotFoundError):
            # Moved away, to be written anew: nothing but our own clock tells since when.
            now = time.monotonic()
            self._missed_at = now if self._missed_at is None else self._missed_at
            return now - self._missed_at < SETTLE
        self._missed_at = None
        if data is None or stamp is None or len(data) >= self._size:
            return False
        # A setting that is written shorter, `false` to `true`, is no such loss.
        lost = not data or data.count(b"\n") < self._lines
        return lost and 0 <= time.time() - stamp[2] / 1e9 < SETTLE

    def _take(
        self, stamp: tuple[int, ...] | None, data: bytes | None, error: OSError | None = None
    ) -> bool:
        """Believe what was read; whether settings or problems are others now."""
        before = (self.settings, self._problem)
        self._stamp = stamp
        self._size, self._lines = len(data or b""), (data or b"").count(b"\n")
        self.settling, self._missed_at = False, None
        try:
            self.settings = self._settings(data, error)
        except ConfigError as wrong:
            self._problem = self._told(wrong)
        except Exception as failure:  # noqa: BLE001 - whatever it is, the person must hear of it
            self._problem = self._told(ConfigError(f"it cannot be read ({failure!r:.200})"))
        else:
            self._problem, self._good = None, True
        return (self.settings, self._problem) != before

    @staticmethod
    def _settings(data: bytes | None, error: OSError | None) -> Settings:
        if data is not None:
            return parse(without_mark(_decoded(data)))
        if error is None or isinstance(error, FileNotFoundError):
            return Settings()
        raise ConfigError(f"it cannot be read ({error.strerror})")

    def _told(self, error: ConfigError) -> Problem:
        held = "last good settings" if self._good else "defaults"
        return Problem(
            "config",
            f"{self.path}: {error}: the {held} hold; mend it and see `sessionbell config check`",
        )


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("it is not UTF-8", line=line) from None


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


def watched_folders(path: str) -> frozenset[str]:
    """Return the folder whose file events tell that the settings were saved, if it may be watched.

    Of a link, that of the file that is written. Not the home directory: whatever any program
    writes there would ask for a look.
    """
    folder = os.path.dirname(os.path.realpath(path))
    home = os.path.realpath(os.path.expanduser("~"))
    return frozenset() if folder == home else frozenset({folder})


def stamp_of(path: str) -> tuple[int, ...] | None:
    """Return what tells one content of the file from another; `None`: there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, found.st_ctime_ns

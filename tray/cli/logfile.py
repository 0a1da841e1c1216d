"""Where the program's own troubles are written down: a small file in the state folder.

Nothing goes to the terminal unless it is asked for, for that belongs to the table; and nothing
is imported, made or opened before there is something to write.

What sessions hold (prompts, questions, commands, titles) is nobody's business but their
person's, and a log is what people send around. So no message above debug level holds any of it,
and of an exception only its kind and place are written: the texts of exceptions quote what
could not be read.
"""

from __future__ import annotations

import contextlib
import logging
import os
import traceback
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    _Caught = (
        tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    )

LIMIT = 1_000_000
"""Bytes after which the file starts anew; the one before is kept beside it as `log.old`."""
_DEPTH = 8
"""Exceptions behind an exception that are named."""
OURS = "tray"
"""The logger above all of this program's; those of libraries are heard from `warning` on."""


class PrivateFormatter(logging.Formatter):
    """Writes a record without what may be the contents of a session."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        plain = logging.makeLogRecord(record.__dict__)
        plain.exc_text = None  # Another handler's, with the exception's own text.
        if isinstance(plain.args, tuple):
            plain.args = tuple(
                _named(value) if isinstance(value, BaseException) else value for value in plain.args
            )
        if not record.name.startswith(OURS):
            said = plain.getMessage().partition("\n")[0]
            if record.name == "asyncio":
                # In brackets it shows the arguments of what failed.
                said = said.partition("(")[0].partition("<")[0].rstrip()
            plain.msg, plain.args = said, ()
        return super().format(plain)

    def formatException(self, ei: _Caught) -> str:  # noqa: N802  (the base class's name)
        """Return where an exception was raised and of which kind, and those behind it."""
        return "\n".join(_described(ei[1])) if ei[1] is not None else ""


class LogFile(logging.Handler):
    """Writes to `path`, else to the state folder's `log`; where that cannot be, nowhere."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(logging.WARNING)
        self._path = path
        self.setFormatter(
            PrivateFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record; a full disk or a foreign file costs the record only."""
        with contextlib.suppress(OSError, UnicodeError, ValueError, TypeError):
            self._append(self.format(record).encode("utf-8", "backslashreplace") + b"\n")

    def _append(self, data: bytes) -> None:
        if self._path is None:
            self._path = default_path()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, data)
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        # Another process may have begun a new one meanwhile.
        if found.st_size > LIMIT and self._path.stat().st_ino == found.st_ino:
            self._path.replace(self._path.with_suffix(".old"))


class Console(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to stderr, as it is at that moment."""

    def __init__(self, verbosity: int) -> None:
        """Heed records from `info` on with a `verbosity` of 1, from `debug` on with more."""
        super().__init__()
        self.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
        form = "%(relativeCreated)7.0f ms %(levelname)s %(name)s: %(message)s"
        # Who asks for everything is to see it.
        private = self.level >= logging.INFO
        self.setFormatter(PrivateFormatter(form) if private else logging.Formatter(form))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Lose the record: stderr may be closed, or a terminal that is gone."""


def default_path() -> Path:
    """Return `$XDG_STATE_HOME/sessionbell/log`."""
    import platformdirs

    return platformdirs.user_state_path("sessionbell") / "log"


def start(verbosity: int = 0) -> None:
    """Have every warning of this process written down.

    With a `verbosity` of 1 stderr has every step of the program too, with 2 all there is to know.
    May be called again: whatever asks for more is heeded.
    """
    root = logging.getLogger()
    if not any(isinstance(handler, LogFile) for handler in root.handlers):
        root.addHandler(LogFile())
        root.setLevel(logging.WARNING)
    if verbosity <= 0:
        return
    console = Console(verbosity)
    before = [handler for handler in root.handlers if isinstance(handler, Console)]
    if any(handler.level <= console.level for handler in before):
        return
    for handler in before:
        root.removeHandler(handler)
    root.addHandler(console)
    logging.getLogger(OURS).setLevel(console.level)


verbose_option = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    is_eager=True,
    callback=lambda _context, _option, value: start(value),
    help="Say each step on stderr; -vv says all there is to know, contents of sessions too.",
)
"""For a command or the group; nothing has to be passed on."""


def _described(error: BaseException) -> Iterator[str]:
    """Describe an exception and those behind it, without their texts."""
    for number in range(_DEPTH):
        yield "Traceback (most recent call last):" if number == 0 else "from:"
        yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
        yield _named(error)
        behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if behind is None:
            return
        error = behind


def _named(error: BaseException) -> str:
    """Return an exception's kind, and of its text what cannot quote anything."""
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if isinstance(error, OSError) and error.errno is not None:
        where = f": {error.filename!r}" if error.filename is not None else ""
        return f"{name}: [Errno {error.errno}] {os.strerror(error.errno)}{where}"
    told = getattr(error, "type", None)  # the name of a D-Bus error
    return f"{name}: {told}" if isinstance(told, str) else name

"""A program at a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Terminal:
    """Runs a program and takes what it writes; nothing is drawn."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> None:
        self.output = b""
        """What was written since this was last emptied."""
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            os.execve(argv[0], argv, dict(environment))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._file)

    def until(self, text: bytes, within: float = 60.0) -> float:
        """Read until a text was written; return the seconds that it took."""
        begun = time.monotonic()
        while text not in self.output:
            assert time.monotonic() - begun < within, self.output[-2000:]
            self.read(0.01)
        return time.monotonic() - begun

    def read(self, patience: float) -> bool:
        """Take what is written within so many seconds; return whether anything was."""
        if not select.select([self._file], [], [], patience)[0]:
            return False
        try:
            self.output += os.read(self._file, 65536)
        except OSError:  # nobody is there any more
            return False
        return True

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._file, keys)

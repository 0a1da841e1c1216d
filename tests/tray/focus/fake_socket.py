"""A window system's socket that answers what was recorded, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import socket
import threading


class FakeSocket:
    """Serves `answer(connection)` for each connection; `asked` is for it to fill."""

    def __init__(self, path, answer) -> None:
        self.path = str(path)
        self.asked: list = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self._answer(self, connection)

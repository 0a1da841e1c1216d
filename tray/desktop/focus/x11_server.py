"""Connections to X servers, with a limit for all that is waited for.

python-xlib waits for ever, to connect and for each reply. A server that has once not answered is
not waited for again until it does.
"""

from __future__ import annotations

import select
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import Xlib.error
from Xlib import display

from tray.desktop.focus.place import CALL_LIMIT, FocusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
_Display = Any
"""python-xlib's `Display`; it has no types."""
_ERRORS = (Xlib.error.XError, Xlib.error.ConnectionClosedError, OSError)
_SILENT = "the X server does not answer"


class _Connecting:
    """An attempt to connect, on a thread of its own: it is left there if the server hangs."""

    def __init__(self, name: str) -> None:
        """Begin."""
        self._name = name
        self._made: _Display = None
        self._error: Exception | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._connect, name="x11-connecting", daemon=True).start()

    @property
    def failed(self) -> bool:
        """Whether it has ended without a connection."""
        return self._error is not None

    def ended(self, within: float = 0.0) -> bool:
        """Whether the server has answered, waiting so many seconds for it."""
        return self._ended.wait(within)

    @property
    def result(self) -> _Display:
        """The connection, once it has ended; raises `FocusError`."""
        if self._error is not None:
            raise FocusError(f"the X server {self._name} cannot be reached ({self._error})")
        return self._made

    def _connect(self) -> None:
        try:
            self._made = _limited(display.Display(self._name))
        except Exception as error:  # noqa: BLE001  (python-xlib raises anything over a dead server)
            self._error = error
        self._ended.set()


def _limited(made: _Display) -> _Display:
    """Let all that is waited for on a connection raise `TimeoutError` after `CALL_LIMIT`.

    For one thread at a time. All of python-xlib's waiting is in `send_and_recv`, which need not
    reach what it is called for: its callers look, and call again.
    """
    # Else it prints what it hears of windows that have just gone.
    made.set_error_handler(lambda *_: None)
    inner = made.display
    send_and_recv = inner.send_and_recv

    def limited(**wanted: Any) -> None:  # noqa: ANN401
        if wanted.keys() & {"flush", "recv"}:
            send_and_recv(**wanted)
            return
        sending = bool(inner.request_queue or inner.data_send)
        # To be held when it is called, and not when an error is raised.
        inner.send_recv_lock.release()
        ready = select.select(
            [] if sending else [inner.socket], [inner.socket] if sending else [], [], CALL_LIMIT
        )
        if not any(ready):
            raise TimeoutError
        inner.send_recv_lock.acquire()
        # To flush reads what is there as well: that may be all.
        send_and_recv(flush=sending, recv=not sending)

    inner.send_and_recv = limited
    return made


_idle: dict[str, _Display] = {}
"""Connections kept for the next request, by server: to make one takes 20 ms."""
_silent: dict[str, _Connecting] = {}
"""Servers that did not answer, and the attempt to connect that tells when they do."""
_lock = threading.Lock()


@contextmanager
def connected(name: str, ask: Callable[[_Display], T]) -> Iterator[T]:
    """Have what `ask` makes of a connection to the server `name`, for a few requests.

    What fails there is a `FocusError`.
    """
    made = _take(name)
    kept = False
    try:
        yield ask(made)
        kept = True
    except TimeoutError:
        _fell_silent(name)
        raise FocusError(_SILENT) from None
    except _ERRORS as error:
        raise FocusError(
            f"the window is gone, or the X server is ({type(error).__name__})"
        ) from None
    except FocusError:
        kept = True
        raise
    finally:
        with _lock:
            spare = not kept or _idle.setdefault(name, made) is not made
        if spare:
            _close(made)


def _take(name: str) -> _Display:
    """Return a connection that nobody else uses and that the server answers on."""
    with _lock:
        attempt = _silent.get(name)
        if attempt is not None:
            if not attempt.ended():
                raise FocusError(_SILENT)
            del _silent[name]
            if attempt.failed:  # That server has gone; there may be a new one.
                attempt = None
        made = _idle.pop(name, None)
    if made is not None:
        try:
            made.sync()
        except TimeoutError:
            _close(made)
            _fell_silent(name)
            raise FocusError(_SILENT) from None
        except _ERRORS:
            _close(made)
        else:
            return made
    attempt = attempt or _Connecting(name)
    if not attempt.ended(CALL_LIMIT):
        _fell_silent(name, attempt)
        raise FocusError(_SILENT)
    return attempt.result


def _fell_silent(name: str, attempt: _Connecting | None = None) -> None:
    """Wait for the server no more until `attempt`, or a new one, has come back."""
    with _lock:
        if name not in _silent:
            _silent[name] = attempt or _Connecting(name)


def _close(made: _Display) -> None:
    with suppress(*_ERRORS):
        made.close()

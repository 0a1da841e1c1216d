"""Talking to the running tray over the session bus, fast: 5 ms a call, imports included.

Only what our own interface needs of D-Bus, over a blocking socket. dbus-fast, which speaks the
whole of it, takes 60 ms more with the asyncio it needs: too much of the 150 ms that a keyboard
shortcut may take from the key to the focused window. The format is the D-Bus specification's
("Message Format", "Authentication Protocol").
"""

from __future__ import annotations

import os
import re
import socket
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "io.github.sessionbell.SessionBell"
PATH = "/io/github/sessionbell/SessionBell"
INTERFACE = "io.github.sessionbell.SessionBell1"
LIMIT = 2.0
"""Seconds for a call, all in all."""
_LONGEST = 64_000_000
"""Bytes of a message at most."""
_CALL, _RETURN, _ERROR = 1, 2, 3
_NO_AUTO_START = 2
"""The flag without which the bus would start a service."""
_FIXED = {"b": "I", "u": "I", "i": "i", "x": "q", "t": "Q"}


class NotRunningError(Exception):
    """There is no bus, or nobody on it who has our name."""


class RefusedError(Exception):
    """The tray, or whoever has its name, answered with an error; its text is for a person."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message or name)
        self.name = name
        """The D-Bus name of the error."""


def call(
    member: str, signature: str = "", *arguments: str | int, limit: float = LIMIT
) -> list[str | int | bool]:
    """Call a method of the running tray and return its results.

    `signature` and results may hold `s`, `x`, `u`, `i`, `t` and `b`. Raises `NotRunningError`
    if no tray is there, `RefusedError` for an error reply, `TimeoutError` if there is no answer
    within `limit` seconds, and `ValueError` for one that is no D-Bus.
    """
    deadline = time.monotonic() + limit
    try:
        stream = _connect(deadline)
    except TimeoutError:
        raise
    except OSError as error:
        raise NotRunningError(str(error)) from error
    with stream:
        connection = _Connection(stream, deadline)
        connection.authenticate()
        bus = "org.freedesktop.DBus"
        connection.call(bus, "/org/freedesktop/DBus", bus, "Hello", "", ())
        try:
            return connection.call(NAME, PATH, INTERFACE, member, signature, arguments)
        except RefusedError as error:
            if error.name.endswith((".ServiceUnknown", ".NameHasNoOwner")):
                raise NotRunningError("no tray is running") from error
            raise


class _Connection:
    def __init__(self, stream: socket.socket, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline
        self._serial = 0
        self._rest = b""

    def authenticate(self) -> None:
        """Say who we are; the kernel tells the bus that it is true."""
        user = str(os.getuid()).encode().hex().encode()
        self._send(b"\0AUTH EXTERNAL " + user + b"\r\n")
        while b"\r\n" not in self._rest:
            self._receive()
        line, _, self._rest = self._rest.partition(b"\r\n")
        if not line.startswith(b"OK "):
            raise NotRunningError("the session bus does not let us in")
        self._send(b"BEGIN\r\n")

    def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str,
        arguments: tuple[str | int, ...],
    ) -> list[str | int | bool]:
        """Make one call and wait for its reply; raises as the function of that name does."""
        self._serial += 1
        fields = [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)]
        if signature:
            fields.append((8, "g", signature))
        body = _packed(signature, arguments)
        self._send(_message(_CALL, self._serial, fields, body))
        while True:
            kind, values, data, order = self._next()
            if values.get(5) != self._serial or kind not in (_RETURN, _ERROR):
                continue  # a signal: NameAcquired, for one
            results = list(_unpacked(str(values.get(8, "")), data, order))
            if kind == _RETURN:
                return results
            said = results[0] if results and isinstance(results[0], str) else ""
            raise RefusedError(str(values.get(4, "")), said)

    def _next(self) -> tuple[int, dict[int, str | int], bytes, str]:
        """Return the next message's type, header fields, body and byte order."""
        start = self._read(16)
        order = {b"l": "<", b"B": ">"}.get(start[:1], "")
        if not order:
            raise ValueError("what answers is no bus")
        length, _serial, of_fields = struct.unpack(f"{order}III", start[4:])
        padded = -(-of_fields // 8) * 8
        if length + padded > _LONGEST:
            raise ValueError("the answer is too long")
        rest = self._read(padded + length)
        return start[1], _fields(rest[:of_fields], order), rest[padded:], order

    def _read(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._receive()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _receive(self) -> None:
        self._stream.settimeout(_left(self._deadline))
        data = self._stream.recv(1 << 20)
        if not data:
            raise NotRunningError("the session bus hung up")
        self._rest += data

    def _send(self, data: bytes) -> None:
        self._stream.settimeout(_left(self._deadline))
        self._stream.sendall(data)


def _connect(deadline: float) -> socket.socket:
    """Connect to the session bus; raises `OSError`."""
    refused: OSError | None = None
    for place in _sockets():
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.settimeout(_left(deadline))
            stream.connect(place)
        except OSError as error:
            stream.close()
            refused = error
        else:
            return stream
    raise refused or ConnectionError("there is no session bus")


def _sockets() -> Iterator[bytes]:
    """Name the sockets that the session bus may listen on, as `tray.desktop.bus` does."""
    address = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    if not address:
        folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        yield os.fsencode(os.path.join(folder, "bus"))
        return
    for one in address.split(";"):
        transport, _, rest = one.partition(":")
        pairs = dict(pair.partition("=")[::2] for pair in rest.split(","))
        if transport == "unix" and "path" in pairs:
            yield _unescaped(pairs["path"])
        elif transport == "unix" and "abstract" in pairs:
            yield b"\0" + _unescaped(pairs["abstract"])


def _unescaped(value: str) -> bytes:
    """Undo the escapes of a D-Bus address; urllib's own takes longer to import than a call."""
    return re.sub(
        rb"%([0-9A-Fa-f]{2})", lambda found: bytes((int(found[1], 16),)), os.fsencode(value)
    )


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the tray does not answer")
    return left


def _message(kind: int, serial: int, fields: list[tuple[int, str, str]], body: bytes) -> bytes:
    packed = b""
    for code, letter, value in fields:
        packed += b"\0" * (-len(packed) % 8) + bytes((code, 1)) + letter.encode() + b"\0"
        text = value.encode()
        if letter == "g":
            packed += bytes((len(text),)) + text + b"\0"
        else:
            packed += struct.pack("<I", len(text)) + text + b"\0"
    head = struct.pack("<cBBBIII", b"l", kind, _NO_AUTO_START, 1, len(body), serial, len(packed))
    return head + packed + b"\0" * (-len(packed) % 8) + body


def _packed(signature: str, arguments: tuple[str | int, ...]) -> bytes:
    body = b""
    for letter, value in zip(signature, arguments, strict=True):
        if isinstance(value, str):
            # Neither a lone surrogate nor a zero byte may be in a D-Bus string.
            text = value.replace("\0", "").encode(errors="replace")
            body += b"\0" * (-len(body) % 4) + struct.pack("<I", len(text)) + text + b"\0"
        else:
            packed = struct.pack(f"<{_FIXED[letter]}", value)
            body += b"\0" * (-len(body) % len(packed)) + packed
    return body


def _unpacked(signature: str, data: bytes, order: str) -> Iterator[str | int | bool]:
    at = 0
    for letter in signature:
        value, at = _value(letter, data, at, order)
        yield bool(value) if letter == "b" else value


def _fields(data: bytes, order: str) -> dict[int, str | int]:
    """Read a header's fields: each a code and a variant."""
    found: dict[int, str | int] = {}
    at = 0
    while at + 4 <= len(data):
        code, length = data[at], data[at + 1]
        letter = data[at + 2 : at + 2 + length].decode("ascii", "replace")
        value, at = _value(letter, data, at + 3 + length, order)
        found[code] = value
        at = -(-at // 8) * 8
    return found


def _value(letter: str, data: bytes, at: int, order: str) -> tuple[str | int, int]:
    """Return the value at `at` and where the next begins; raises `ValueError`."""
    try:
        if letter == "g":
            end = at + 1 + data[at]
            return data[at + 1 : end].decode(), end + 1
        form = f"{order}{_FIXED['u' if letter in ('s', 'o') else letter]}"
        at = -(-at // struct.calcsize(form)) * struct.calcsize(form)
        number: int = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        if letter in ("s", "o"):
            return data[at : at + number].decode(), at + number + 1
    except (struct.error, KeyError, IndexError) as error:
        raise ValueError("the answer cannot be read") from error
    return number, at

"""Having KWin run a script, and its answer (develop.kde.org, "KWin scripting").

KWin takes scripts from files only, and a script can say something by a call over D-Bus only. Both
are undone at once: the file is deleted and the script unloaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
from dbus_fast import Message, MessageFlag, MessageType
from dbus_fast.errors import DBusError, DBusFastError

from tray.desktop.bus import call, connect
from tray.desktop.focus.place import CALL_LIMIT, FocusError
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbus_fast.aio import MessageBus

_KWIN = "org.kde.KWin"
_MEMBER = "ScriptAnswer"
_PATH = "/io/github/sessionbell/SessionBell/KWin"
_INTERFACE = "io.github.sessionbell.KWin"
_STARTED_WITHIN = 0.5
"""Seconds for a script that was run to answer."""
_WRAPPER = """\
(function (asked) {{
"use strict";
var told;
try {{
    told = (function () {{
{body}
    }})();
}} catch (error) {{
    told = {{error: String(error)}};
}}
var text = JSON.stringify(told === undefined ? null : told);
callDBus({to}, {path}, {interface}, {member}, {key}, text);
}})({asked});
"""


def run(address: str, folder: str | None, body: str, asked: object) -> Any:  # noqa: ANN401  (what the script returns)
    """Have KWin run the JavaScript `body`, and return what that returns; raises `FocusError`.

    In the script, `asked` is the given value: data gets into it as JSON, never as code. `folder`
    is the login's runtime folder, for the file; `None` takes the temporary one.
    """
    # The caller's thread may run an event loop itself.
    with ThreadPoolExecutor(1, "kwin-script") as thread:
        return thread.submit(asyncio.run, _run(address, folder, body, asked)).result()


async def _run(address: str, folder: str | None, body: str, asked: object) -> Any:  # noqa: ANN401
    try:
        async with asyncio.timeout(CALL_LIMIT):
            bus = await connect(address)
            try:
                return await _Conversation(bus).ask(folder, body, asked)
            finally:
                bus.disconnect()
                await asyncio.sleep(0)
    except TimeoutError:
        raise FocusError("KWin does not answer") from None
    except DBusError as error:
        raise FocusError(f"KWin: {one_line(error.text or error.type)}") from None
    except (OSError, EOFError, DBusFastError) as error:
        raise FocusError(f"KWin cannot be asked: {error}") from None


class _Conversation:
    """One script: loaded, run, heard, unloaded."""

    def __init__(self, bus: MessageBus) -> None:
        self._bus = bus
        self._key = secrets.token_hex(16)
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def ask(self, folder: str | None, body: str, asked: object) -> Any:  # noqa: ANN401
        name = f"sessionbell-{self._key}"
        self._bus.add_message_handler(self._hear)
        with _file(folder, self._script(body, asked)) as path:
            (number,) = await self._scripting("loadScript", "ss", path, name)
            try:
                await self._start(number)
                text = await self._answer
            finally:
                with contextlib.suppress(DBusError):
                    await self._scripting("unloadScript", "s", name)
        told = msgspec.json.decode(text)
        if isinstance(told, dict) and "error" in told:
            raise FocusError(f"KWin: {one_line(str(told['error']))}")
        return told

    async def _start(self, number: int) -> None:
        # The first is where it is from 5.27 on.
        for path in (f"/Scripting/Script{number}", f"/{number}"):
            with contextlib.suppress(DBusError):
                await self._call(path, "org.kde.kwin.Script", "run")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(self._answer), _STARTED_WITHIN)
                    return
        # Numbers are given twice where scripts were unloaded: the path may be another script's.
        # This runs each that does not run yet.
        await self._scripting("start")

    def _script(self, body: str, asked: object) -> str:
        def literal(value: object) -> str:
            return msgspec.json.encode(value).decode()

        return _WRAPPER.format(
            body=body,
            asked=literal(asked),
            to=literal(self._bus.unique_name),
            path=literal(_PATH),
            interface=literal(_INTERFACE),
            member=literal(_MEMBER),
            key=literal(self._key),
        )

    def _hear(self, message: Message) -> Message | None:
        """Take the answer; the key shows that it is the script's."""
        if message.message_type is not MessageType.METHOD_CALL or message.member != _MEMBER:
            return None
        if message.signature != "ss" or message.body[0] != self._key:
            return Message.new_error(message, f"{_INTERFACE}.Unexpected", "not asked for")
        if not self._answer.done():
            self._answer.set_result(message.body[1])
        return Message.new_method_return(message)

    async def _scripting(self, member: str, signature: str = "", *body: object) -> list[Any]:
        return await self._call("/Scripting", "org.kde.kwin.Scripting", member, signature, *body)

    async def _call(
        self, path: str, interface: str, member: str, signature: str = "", *body: object
    ) -> list[Any]:
        message = Message(
            destination=_KWIN,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
            flags=MessageFlag.NO_AUTOSTART,
        )
        return await call(self._bus, message)


@contextlib.contextmanager
def _file(folder: str | None, text: str) -> Iterator[str]:
    """Keep a file that nobody else may read, for as long as the block runs."""
    descriptor, path = tempfile.mkstemp(".js", "sessionbell-kwin-", folder)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

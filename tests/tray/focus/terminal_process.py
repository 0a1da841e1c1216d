"""The process of a `FakeTerminal`: started under the name of a terminal's program.

It has a child at a tty of its own, which stands for the session, and serves the recorded answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys


def _filled(value, shell):
    if isinstance(value, list):
        return [_filled(item, shell) for item in value]
    return shell if value == "SHELL" else value


def _plain(value):
    from dbus_fast import Variant

    if isinstance(value, Variant):
        return _plain(value.value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _answer(message, recorded, shell):
    from dbus_fast import Message, Variant

    if recorded is None:
        return Message.new_error(message, "org.example.Unknown", "not recorded")
    signature, body = recorded
    if signature == "v":
        body = [Variant(*body)]
    if signature == "aa{sv}":
        body = [[{key: Variant("s", text) for key, text in row.items()} for row in body[0]]]
    return Message.new_method_return(message, signature, _filled(body, shell))


async def _serve(given, shell):
    from dbus_fast import MessageType
    from dbus_fast.aio import MessageBus

    bus = await MessageBus(given["bus"]).connect()

    def handle(message):
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        with open(given["log"], "a") as log:
            log.write(json.dumps([message.path, message.member, _plain(message.body)]) + "\n")
        recorded = given["answers"].get(f"{message.path} {message.member}")
        return True if recorded == "HANG" else _answer(message, recorded, shell)

    bus.add_message_handler(handle)
    for name in given["names"]:
        await bus.request_name(name)
    print(shell, flush=True)
    await bus.wait_for_disconnect()


def _main() -> None:
    given = json.loads(sys.argv[1])
    shell, _terminal = pty.fork()
    if shell == 0:
        os.execvpe("sleep", ["sleep", "600"], {**os.environ, **given["variables"]})
    if given["bus"] is None:
        print(shell, flush=True)
        sys.stdin.read()
    else:
        asyncio.run(_serve(given, shell))


if __name__ == "__main__":
    _main()

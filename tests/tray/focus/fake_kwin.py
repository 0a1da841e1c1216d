"""KWin's scripting service on a real bus: its scripts are run by Node.js, on recorded windows.

The windows have the names of Plasma 5 (`clientList`, `activeClient`) or Plasma 6 (`windowList`,
`activeWindow`), as KWin's workspace_wrapper.h of either has them.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

_RUNNER = """\
const fs = require("fs");
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
    const given = JSON.parse(line);
    const every = given.windows.map((one) => ({
        ...one, internalId: {toString: () => one.id}, normalWindow: one.normal ?? true
    }));
    let active = every.find((one) => one.id === given.active);
    const set = (one) => { if (given.obeys) active = one; };
    const workspace = given.plasma === 5
        ? {clientList: () => every, get activeClient() { return active; },
           set activeClient(one) { set(one); }}
        : {windowList: () => every, get activeWindow() { return active; },
           set activeWindow(one) { set(one); }};
    const calls = [];
    const callDBus = (...told) => calls.push(told);
    new Function("workspace", "callDBus", fs.readFileSync(given.path, "utf8"))(
        workspace, callDBus);
    console.log(JSON.stringify({calls, active: active?.id ?? null}));
});
"""


class Node:
    """Node.js, running one script after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", "-e", _RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, given):
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class FakeKWin:
    """Runs until `stop`; what may change meanwhile is in its attributes."""

    def __init__(self, address, node, windows, *, plasma=6) -> None:
        self._node = node
        self.windows = windows
        self.active: str | None = None
        self.plasma = plasma
        self.obeys = True
        self.silent = False
        """Whether scripts are taken and never run."""
        self.taken_paths = False
        """Whether the path of a script is another's, so that only `start` runs it."""
        self.forge = False
        """Whether somebody else answers, too, and first."""
        self.modes: list[int] = []
        """The permissions of the files that were read."""
        self.loaded: dict[str, str] = {}
        self.members: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._bus = self._loop.run_until_complete(self._serve(address))
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def stop(self) -> None:
        async def end():
            self._bus.disconnect()
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, address):
        bus = await MessageBus(address).connect()
        bus.add_message_handler(self._handle)
        await bus.request_name("org.kde.KWin")
        return bus

    def _handle(self, message):
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.interface not in ("org.kde.kwin.Scripting", "org.kde.kwin.Script"):
            return None
        self.members.append(message.member)
        path = f"/Scripting/Script{len(self.loaded) - 1}" if self.plasma == 6 else "/0"
        if message.member == "loadScript":
            self.loaded[message.body[1]] = message.body[0]
            return Message.new_method_return(message, "i", [0])
        if message.member == "unloadScript":
            return Message.new_method_return(message, "b", [bool(self.loaded.pop(message.body[0]))])
        if message.member == "run" and message.path != path:
            return Message.new_error(message, "org.freedesktop.DBus.Error.UnknownObject", "none")
        if not self.silent and not (message.member == "run" and self.taken_paths):
            self._run()
        return Message.new_method_return(message)

    def _run(self):
        (path,) = self.loaded.values()
        self.modes.append(os.stat(path).st_mode & 0o777)
        given = {
            "path": path,
            "windows": self.windows,
            "active": self.active,
            "plasma": self.plasma,
            "obeys": self.obeys,
        }
        told = self._node.run(given)
        self.active = told["active"]
        (call,) = told["calls"]
        if self.forge:
            self._send([*call[:4], "guessed", '"active"'])
        self._send(call)

    def _send(self, call):
        destination, path, interface, member, *body = call
        message = Message(destination, path, interface, member, signature="ss", body=body)
        self._tasks = [self._loop.create_task(self._bus.call(message))]

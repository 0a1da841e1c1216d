"""The synchronous call of a service on the bus, on a real bus."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_method

from tests.session_bus import MISSING, SessionBus
from tray.desktop.focus import dbus_call, dbus_connection
from tray.desktop.focus.place import FocusError

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

NAME = "example.Terminal"
AT = (NAME, "/example", "example.Terminal")


class _Terminal(ServiceInterface):
    def __init__(self):
        super().__init__("example.Terminal")

    @dbus_method()
    def Add(self, left: "i", right: "i") -> "i":  # noqa: F821, N802, UP037
        return left + right

    @dbus_method()
    async def Hang(self):  # noqa: N802
        await asyncio.Event().wait()


@pytest.fixture
def address(tmp_path):
    bus = SessionBus(tmp_path)
    bus.start()
    loop = asyncio.new_event_loop()

    async def serve():
        connection = await MessageBus(bus.address).connect()
        connection.export("/example", _Terminal())
        await connection.request_name(NAME)
        return connection

    connection = loop.run_until_complete(serve())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield bus.address

    async def end():
        connection.disconnect()
        mine = asyncio.current_task()
        hanging = [task for task in asyncio.all_tasks() if task is not mine]
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)

    asyncio.run_coroutine_threadsafe(end(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    bus.stop()


def test_a_call_returns_what_the_service_answers(address):
    assert dbus_call.call(address, *AT, "Add", "ii", [2, 3]) == [5]


def test_it_also_works_where_an_event_loop_runs(address):
    async def within():
        return dbus_call.call(address, *AT, "Add", "ii", [2, 3])

    assert asyncio.run(within()) == [5]


def test_a_service_that_hangs_is_given_up(address, monkeypatch):
    monkeypatch.setattr(dbus_connection, "CALL_LIMIT", 0.05)
    with pytest.raises(FocusError, match=r"example.Terminal Hang does not answer within 0.05 s"):
        dbus_call.call(address, *AT, "Hang")


def test_an_error_and_an_unknown_name_say_so(address):
    with dbus_call.connected(address) as ask:
        with pytest.raises(FocusError, match=r"example\.Terminal Away"):
            ask(*AT, "Away")
        with pytest.raises(FocusError, match=r"example\.Nobody Add"):
            ask("example.Nobody", "/example", "example.Terminal", "Add", "ii", [2, 3])
        assert ask(*AT, "Add", "ii", [1, 1]) == [2]  # The connection is still good.


def test_no_bus_says_so(tmp_path):
    with pytest.raises(FocusError, match="session bus is not reachable"):
        dbus_call.call(f"unix:path={tmp_path}/none", *AT, "Add", "ii", [2, 3])
    with pytest.raises(FocusError, match="no session bus"):
        dbus_call.session_address({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_systemds_bus_is_the_default(tmp_path):
    (tmp_path / "bus").touch()
    desktop = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert dbus_call.session_address(desktop) == f"unix:path={tmp_path}/bus"
    desktop["DBUS_SESSION_BUS_ADDRESS"] = "unix:abstract=x"
    assert dbus_call.session_address(desktop) == "unix:abstract=x"


def test_the_owner_of_a_name(address):
    with dbus_call.connected(address) as ask:
        assert dbus_call.owner_pid(ask, NAME) == os.getpid()
        assert dbus_call.owner_pid(ask, "example.Nobody") is None

"""Our name on a real bus: what it tells, takes and refuses, and that its manual is true."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from dbus_fast import Message, MessageType, introspection
from dbus_fast.aio import MessageBus

from tests import session_bus
from tray import __version__
from tray.cli import contract, remote
from tray.desktop import bus_object, service
from tray.desktop.bus_object import ERROR, INTERFACE, PATH, Told
from tray.desktop.service import NAME, Service
from tray.mutes import Mutes, Scope
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(session_bus.MISSING is not None, reason=str(session_bus.MISSING)),
]

MANUAL = Path(__file__).parents[2] / "docs" / "dbus.md"
ASKING = Observation(
    key="7:1",
    state=State.NEEDS_INPUT,
    reason=Reason.PERMISSION,
    pid=7,
    session_id="aaa",
    project="shop",
    ask=Ask("s1", Reason.PERMISSION),
)
WORKING = Observation(key="8:1", state=State.WORKING, pid=8, session_id="bbb", project="dócs")
LATER = 4_000_000_000


def told(*sessions: Observation, **more: object) -> Told:
    given = {"headline": "1 blocked", "blocked": 1, "unseen": 0, "working": 1, "muted": False}
    return Told(sessions or (ASKING, WORKING), **{"mutes": Mutes(), **given, **more})


async def until(condition: Callable[[], object], *, within: float = 5.0) -> None:
    try:
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110  (any condition)
                await asyncio.sleep(0.002)
    except TimeoutError:
        pytest.fail(f"not within {within} s: {inspect.getsource(condition).strip()}")


class Recorder:
    """Actions that only note what was wished."""

    def __init__(self) -> None:
        self.wishes: list[tuple[object, ...]] = []
        self.error: Exception | None = None

    def mute(self, scope: Scope, what: str, until: float | None) -> None:
        self.wishes.append(("mute", scope, what, until))

    def unmute(self, scope: Scope, what: str) -> None:
        self.wishes.append(("unmute", scope, what))

    def snooze(self, session: Observation, until: float) -> None:
        self.wishes.append(("snooze", session.key, until))

    async def focus(self, session: Observation, token: str) -> tuple[bool, str]:
        self.wishes.append(("focus", session.key, token))
        if self.error is not None:
            raise self.error
        return True, "shöp is in front"

    async def focus_next(self, token: str) -> tuple[bool, str]:
        self.wishes.append(("next", token))
        return False, "nothing waits"

    async def focus_back(self) -> tuple[bool, str]:
        self.wishes.append(("back",))
        return True, ""

    def health(self) -> str:
        return '{"sessions": 2}'

    def mark_seen(self, sessions: Sequence[Observation]) -> None:
        self.wishes.append(("seen", *(session.key for session in sessions)))

    def quit(self) -> None:
        self.wishes.append(("quit",))


def document(sessions: Sequence[Observation]) -> bytes:
    return contract.document(contract.sessions(sessions))


@pytest.fixture
def no_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[session_bus.SessionBus]:
    bus = session_bus.SessionBus(tmp_path)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    yield bus
    bus.stop()


@pytest.fixture
def bus(no_bus: session_bus.SessionBus) -> session_bus.SessionBus:
    no_bus.start()
    return no_bus


@pytest.fixture
def actions() -> Recorder:
    return Recorder()


def make(actions: Recorder) -> Service:
    return Service(actions, document=document, on_problems=lambda: None)


@pytest_asyncio.fixture
async def served(bus: session_bus.SessionBus, actions: Recorder) -> AsyncIterator[Service]:
    one = make(actions)
    await one.start()
    yield one
    await one.close()


async def ask(member: str, signature: str = "", *arguments: str | int) -> list:
    """Call as the command line does: from a thread, for it blocks."""
    return await asyncio.to_thread(remote.call, member, signature, *arguments, limit=10.0)


async def refusal(member: str, signature: str = "", *arguments: str | int) -> remote.RefusedError:
    with pytest.raises(remote.RefusedError) as caught:
        await ask(member, signature, *arguments)
    return caught.value


async def test_sessions_and_mutes_are_what_the_command_line_prints(served: Service) -> None:
    served.show(told(mutes=Mutes(sessions={"aaa": None})))
    (answer,) = await ask("Sessions")
    assert answer.encode() == document([ASKING, WORKING])
    (answer,) = await ask("Mutes")
    assert json.loads(answer) == [{"scope": "session", "what": "aaa", "until": None}]


async def test_before_the_first_look_it_says_so(served: Service) -> None:
    assert (await refusal("Sessions")).name == f"{ERROR}.NotReady"


@pytest.mark.parametrize(
    ("call", "wish"),
    [
        (("Mute", "ssx", "all", "", 0), ("mute", Scope.EVERYTHING, "", None)),
        (("Mute", "ssx", "project", "/src", LATER), ("mute", Scope.PROJECT, "/src", LATER)),
        (("Mute", "ssx", "session", "aaa", LATER), ("mute", Scope.SESSION, "aaa", LATER)),
        (("Mute", "ssx", "session", "7", 0), ("mute", Scope.SESSION, "aaa", None)),
        (("Unmute", "ss", "all", ""), ("unmute", Scope.EVERYTHING, "")),
        (("Unmute", "ss", "session", "8"), ("unmute", Scope.SESSION, "bbb")),
        (("Unmute", "ss", "session", "gone"), ("unmute", Scope.SESSION, "gone")),
        (("Unmute", "ss", "ask", "aaa/s1"), ("unmute", Scope.ASK, "aaa/s1")),
        (("Snooze", "sx", "aaa", LATER), ("snooze", "7:1", LATER)),
        (("MarkSeen", "s", "bbb"), ("seen", "8:1")),
        (("MarkSeen", "s", ""), ("seen", "7:1", "8:1")),
        (("Quit",), ("quit",)),
    ],
    ids=str,
)
async def test_a_wish_reaches_the_application(
    served: Service, actions: Recorder, call: tuple, wish: tuple
) -> None:
    served.show(told(mutes=Mutes(sessions={"gone": None}, snoozed={"aaa/s1": 1e10})))
    assert await ask(*call) == []
    await until(lambda: actions.wishes)
    assert actions.wishes == [wish]


async def test_focus_tells_what_came_of_it(served: Service, actions: Recorder) -> None:
    served.show(told())
    assert await ask("Focus", "ss", "aaa", "token") == [True, "shöp is in front"]
    assert await ask("FocusNext", "s", "") == [False, "nothing waits"]
    assert await ask("FocusBack") == [True, ""]
    assert actions.wishes == [("focus", "7:1", "token"), ("next", ""), ("back",)]


async def test_a_fault_inside_is_an_error_for_the_caller(
    served: Service, actions: Recorder
) -> None:
    served.show(told())
    actions.error = RuntimeError("secret")
    error = await refusal("Focus", "ss", "aaa", "")
    assert (error.name, str(error)) == (
        "org.freedesktop.DBus.Error.Failed",
        "that failed: RuntimeError",
    )


INVALID = "org.freedesktop.DBus.Error.InvalidArgs"
UNKNOWN = f"{ERROR}.UnknownSession"


@pytest.mark.parametrize(
    ("call", "name", "says"),
    [
        (("Mute", "ssx", "world", "", 0), INVALID, "scope"),
        (("Mute", "ssx", "ask", "aaa/s1", LATER), INVALID, "scope"),
        (("Mute", "ssx", "all", "shop", 0), INVALID, "nothing is named"),
        (("Mute", "ssx", "all", "", 1), INVALID, "to come"),
        (("Mute", "ssx", "all", "", -5), INVALID, "to come"),
        (("Mute", "ssx", "all", "", 2**63 - 1), INVALID, "to come"),
        (("Mute", "ssx", "project", " ", 0), INVALID, "directory"),
        (("Mute", "ssx", "project", "x" * 5000, 0), INVALID, "4096"),
        (("Mute", "ssx", "session", "", 0), UNKNOWN, "no live session"),
        (("Mute", "ssx", "session", "shop", 0), UNKNOWN, "'shop'"),
        (("Snooze", "sx", "aaa", 0), INVALID, "to come"),
        (("Snooze", "sx", "bbb", LATER), f"{ERROR}.NothingAsked", "asks nothing"),
        (("Focus", "ss", "zzz", ""), UNKNOWN, "'zzz'"),
        (("Focus", "ss", "aaa", "x" * 5000), INVALID, "4096"),
        (("MarkSeen", "s", "None"), UNKNOWN, "'None'"),
        (("Nonsense",), "org.freedesktop.DBus.Error.UnknownMethod", ""),
    ],
    ids=lambda value: str(value)[:50],
)
async def test_what_makes_no_sense_is_refused_in_words(
    served: Service, actions: Recorder, call: tuple, name: str, says: str
) -> None:
    served.show(told(ASKING, WORKING, Observation(key="9:1", state=State.IDLE)))
    error = await refusal(*call)
    assert (error.name, says in str(error)) == (name, True)
    assert actions.wishes == []


class Listener:
    """Hears the signals of the service."""

    def __init__(self) -> None:
        self.changed = 0
        self.properties: list[dict[str, object]] = []

    async def start(self) -> Listener:
        self.bus = await MessageBus(os.environ["DBUS_SESSION_BUS_ADDRESS"]).connect()
        self.bus.add_message_handler(self._hear)
        dbus = "org.freedesktop.DBus"
        rule = f"type='signal',path='{PATH}'"
        await self.bus.call(
            Message(
                destination=dbus,
                path="/org/freedesktop/DBus",
                interface=dbus,
                member="AddMatch",
                signature="s",
                body=[rule],
            )
        )
        return self

    async def get_all(self) -> dict[str, object]:
        reply = await self.bus.call(
            Message(
                destination=NAME,
                path=PATH,
                interface="org.freedesktop.DBus.Properties",
                member="GetAll",
                signature="s",
                body=[INTERFACE],
            )
        )
        return {name: value.value for name, value in reply.body[0].items()}

    def _hear(self, message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.path == PATH:
            if message.member == "Changed":
                self.changed += 1
            elif message.member == "PropertiesChanged":
                self.properties.append({k: v.value for k, v in message.body[1].items()})


@pytest_asyncio.fixture
async def listener(served: Service) -> AsyncIterator[Listener]:
    one = await Listener().start()
    yield one
    one.bus.disconnect()
    await one.bus.wait_for_disconnect()


async def test_a_change_is_signalled_with_what_changed(served: Service, listener: Listener) -> None:
    served.show(told())
    await until(lambda: listener.changed == 1)
    assert listener.properties == [{"Headline": "1 blocked", "Blocked": 1, "Working": 1}]
    served.show(told(blocked=2, muted=True))
    await until(lambda: listener.changed == 2)
    assert listener.properties[1:] == [{"Blocked": 2, "Muted": True}]
    assert await listener.get_all() == {
        "Version": __version__,
        "Headline": "1 blocked",
        "Blocked": 2,
        "Unseen": 0,
        "Working": 1,
        "Muted": True,
    }
    served.show(told(WORKING, blocked=2, muted=True))
    await until(lambda: listener.changed == 3)
    assert len(listener.properties) == 2


async def test_many_changes_are_few_signals(served: Service, listener: Listener) -> None:
    served.show(told())
    await until(lambda: listener.changed == 1)
    for number in range(2, 50):
        served.show(told(blocked=number))
    await until(lambda: listener.changed == 2)
    assert listener.properties[-1] == {"Blocked": 49}
    await listener.get_all()
    assert listener.changed == 2


async def test_the_same_again_is_no_change(
    served: Service, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_object, "SIGNAL_EACH", 0.0)
    served.show(told())
    await until(lambda: listener.changed == 1)
    served.show(told())
    await listener.get_all()  # comes after whatever was signalled before
    assert listener.changed == 1


async def test_the_name_is_given_back(served: Service) -> None:
    served.show(told())
    assert await ask("Mutes") == ["[]"]
    await served.close()
    with pytest.raises(remote.NotRunningError):
        await ask("Mutes")


async def test_a_name_that_is_taken_comes_once_the_other_ends(
    served: Service, actions: Recorder
) -> None:
    second = make(actions)
    await second.start()
    (problem,) = second.problems
    assert problem.code == "bus-name"
    assert str(os.getpid()) in problem.message
    second.show(told(headline="second"))
    await served.close()
    await until(lambda: not second.problems)
    assert json.loads((await ask("Sessions"))[0])
    await second.close()


async def test_it_comes_back_with_the_bus(
    no_bus: session_bus.SessionBus, actions: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_RECONNECT_FIRST", 0.02)
    one = make(actions)
    await one.start()
    assert [problem.code for problem in one.problems] == ["no-bus"]
    one.show(told())
    no_bus.start()
    await until(lambda: not one.problems)
    assert await ask("Mutes") == ["[]"]
    no_bus.stop()
    await until(lambda: one.problems)
    no_bus.start()
    await until(lambda: not one.problems)
    assert await ask("Mutes") == ["[]"]
    await one.close()


async def test_the_manual_is_true(served: Service) -> None:
    bus = await MessageBus(os.environ["DBUS_SESSION_BUS_ADDRESS"]).connect()
    node = await bus.introspect(NAME, PATH)
    bus.disconnect()
    await bus.wait_for_disconnect()
    live = next(one for one in node.interfaces if one.name == INTERFACE)
    text = MANUAL.read_text()
    assert all(f"| `{name}` |" in text for name in (NAME, PATH, INTERFACE))

    def signature(args: list[introspection.Arg]) -> str:
        return "".join(arg.signature for arg in args)

    def table(title: str) -> list[list[str]]:
        section = re.search(rf"^## {title}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
        rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
        return [[cell.strip().strip("`") for cell in row[:-1]] for row in rows]

    assert table("Methods") == unordered(
        [[m.name, signature(m.in_args), signature(m.out_args)] for m in live.methods]
    )
    assert table("Properties") == unordered([[p.name, p.signature] for p in live.properties])
    assert table("Signal") == unordered([[s.name, signature(s.args)] for s in live.signals])
    assert {p.access.value for p in live.properties} == {"read"}


class unordered(list):  # noqa: N801  (reads like a function)
    def __eq__(self, other: object) -> bool:
        return sorted(self) == sorted(other)

    __hash__ = None


# --- the client


async def test_without_a_bus_or_a_tray_nobody_is_there(
    bus: session_bus.SessionBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(remote.NotRunningError):
        await ask("Mutes")
    for address in ("unix:path=/nowhere", "tcp:host=localhost", "nonsense"):
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        with pytest.raises(remote.NotRunningError):
            await ask("Mutes")


async def test_the_client_finds_the_bus_where_the_tray_does(
    served: Service, bus: session_bus.SessionBus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served.show(told())
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path=/nowhere;{bus.address},guid=00")
    assert await ask("Mutes") == ["[]"]
    escaped = bus.address.replace("bus", "%62%75s")
    assert escaped != bus.address
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", escaped)
    assert await ask("Mutes") == ["[]"]
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert await ask("Mutes") == ["[]"]


async def test_a_long_answer_arrives_whole(served: Service) -> None:
    long = Observation(key="7:1", state=State.IDLE, preview="ü" * 3_000_000)
    served.show(told(long))
    assert json.loads((await ask("Sessions"))[0])[0]["preview"] == long.preview


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", TimeoutError),
        (b"REJECTED EXTERNAL\r\n", remote.NotRunningError),
        (b"OK 00\r\n" + b"X" * 40, ValueError),
        (b"OK 00\r\nl\2\0\1\xff\xff\xff\xff\1\0\0\0\xff\xff\xff\xff", ValueError),
        (b"OK 00\r\nl\2\0\1\0\0\0\0\1\0\0\0\x08\0\0\0\5\1u\0\xff\0\0", TimeoutError),
    ],
)
async def test_what_is_no_bus_cannot_hold_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, error: type[Exception]
) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "bus"))
        server.listen()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/bus")

        def serve() -> socket.socket:
            stream, _ = server.accept()
            stream.sendall(answer)
            return stream

        serving = asyncio.create_task(asyncio.to_thread(serve))
        with pytest.raises(error):
            await asyncio.to_thread(remote.call, "Mutes", limit=0.3)
        (await serving).close()

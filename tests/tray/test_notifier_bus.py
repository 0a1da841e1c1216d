"""The notifier against a real bus and a scripted notification server that misbehaves."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from dbus_fast import Message
from dbus_fast.aio import MessageBus
from desktop_notifier.backends.dbus import DBusDesktopNotifier

from tests.tray.notification_daemon import NAME, PATH, Daemon
from tray.desktop import icon
from tray.desktop import notifier as notifier_module
from tray.desktop.alerts import Bubble, Urgency
from tray.desktop.bubbles import Action
from tray.desktop.bus import session_bus_address
from tray.desktop.glyphs import Look
from tray.desktop.notifier import Notifier

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="dbus-daemon is not installed"),
]

CONFIG = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <servicedir>{services}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_type="method_return"/><allow receive_type="error"/>
    <allow receive_type="signal"/><allow receive_type="method_call"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""

ASK = Bubble(
    id="1/a",
    title="p1 needs permission",
    body="Bash: echo '<b>&'",
    look=Look.BLOCKED,
    category="x-sessionbell.ask",
    urgency=Urgency.NORMAL,
    expires=False,
    keys=("1",),
    asks=("1/a",),
)
OTHER = replace(ASK, id="2/a", title="p2 asks a question", keys=("2",), asks=("2/a",))
QUIET = replace(
    ASK, id="3/turn", title="p3 has finished", urgency=Urgency.LOW, expires=True, asks=("3/t",)
)


async def until(condition: Callable[[], object], *, within: float = 5.0) -> None:
    """Let the loop run until `condition` holds; fail after `within` seconds."""
    try:
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110  (any condition)
                await asyncio.sleep(0.002)
    except TimeoutError:
        pytest.fail(f"not within {within} s: {inspect.getsource(condition).strip()}")


class Bus:
    """A private message bus that can be started, killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "bus"
        self.services = folder / "services"
        self.services.mkdir()
        self.config = folder / "bus.conf"
        self.config.write_text(CONFIG.format(socket=self.socket, services=self.services))
        self.address = f"unix:path={self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def offer(self, command: str) -> None:
        """Let the bus, once started, start `command` as the notification server."""
        service = f"[D-BUS Service]\nName={NAME}\nExec={command}\n"
        (self.services / f"{NAME}.service").write_text(service)

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self.config}", "--nofork", "--print-address"],
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "dbus-daemon did not start"

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None
            self.socket.unlink(missing_ok=True)


@pytest.fixture
def no_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    """A bus that does not run yet."""
    bus = Bus(tmp_path)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    yield bus
    bus.stop()


@pytest.fixture
def bus(no_bus: Bus) -> Bus:
    no_bus.start()
    return no_bus


@pytest_asyncio.fixture
async def daemon(bus: Bus) -> AsyncIterator[Daemon]:
    daemon = await Daemon().start()
    yield daemon
    if daemon.bus is not None and daemon.bus.connected:
        await daemon.stop()


class Desk:
    """A notifier and what it told of the person."""

    def __init__(self) -> None:
        self.clicked: list[Bubble] = []
        self.pressed: list[tuple[Bubble, str]] = []
        self.dismissed: list[Bubble] = []
        self.reported: list[tuple[str, ...]] = []
        self.notifier = Notifier(
            on_click=self.clicked.append,
            on_action=lambda bubble, action: self.pressed.append((bubble, action)),
            on_dismiss=self.dismissed.append,
            on_problems=lambda problems: self.reported.append(tuple(p.code for p in problems)),
            reply_limit=0.25,
        )
        self.show = self.notifier.show

    async def start(self) -> None:
        """Start where a server runs, and get to know it."""
        await self.notifier.start()
        await self.notifier._server.get_capabilities()

    @property
    def problems(self) -> set[str]:
        return {problem.code for problem in self.notifier.problems}


@pytest_asyncio.fixture
async def desk(no_bus: Bus) -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    await desk.notifier.close()


@pytest_asyncio.fixture
async def connected(desk: Desk, daemon: Daemon) -> Desk:
    await desk.start()
    return desk


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier_module, "_RETRY_FIRST", 0.05)
    monkeypatch.setattr(notifier_module, "_RECONNECT_FIRST", 0.05)
    monkeypatch.setattr(notifier_module, "LOST_AFTER", 0.05)


async def shown(daemon: Daemon, *bubbles: Bubble) -> None:
    await until(lambda: sorted(daemon.titles) == sorted(bubble.title for bubble in bubbles))


async def taken(desk: Desk, *bubbles: Bubble) -> None:
    """Wait until the notifier knows as well that they are shown."""
    slots = desk.notifier._slots
    await until(lambda: all(slots[bubble.id].shown == bubble for bubble in bubbles))


class TestWhatIsSent:
    async def test_a_blocking_bubble(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        (call,) = daemon.called("Notify")
        hints = {name: variant.value for name, variant in call[6].items()}
        assert call[:5] == [
            "sessionbell",
            0,
            "io.github.sessionbell.SessionBell",
            "p1 needs permission",
            "Bash: echo '&lt;b&gt;&amp;'",
        ]
        assert call[5] == ["default", "Show", "show", "Go to session"]
        width, height, stride, alpha, bits, channels, pixels = hints.pop("image-data")
        assert (width, height, stride, alpha, bits, channels) == (48, 48, 192, True, 8, 4)
        assert pixels == icon.draw(Look.BLOCKED, 0, False, 48).tobytes()
        assert hints == {
            "urgency": 1,
            "desktop-entry": "io.github.sessionbell.SessionBell",
            "category": "x-sessionbell.ask",
        }
        assert call[7] == 0

    async def test_a_quiet_bubble(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([QUIET])
        await shown(daemon, QUIET)
        (call,) = daemon.called("Notify")
        assert call[6]["urgency"].value == 0
        assert call[7] == 10_000

    async def test_no_escapes_where_the_server_knows_no_markup(self, desk: Desk, bus: Bus) -> None:
        daemon = await Daemon(features=("body", "actions")).start()
        await desk.notifier.start()
        desk.show([ASK])
        await shown(daemon, ASK)
        assert daemon.called("Notify")[0][4] == "Bash: echo '<b>&'"
        await daemon.stop()

    async def test_an_icon_file(self, daemon: Daemon) -> None:
        nothing = lambda *_: None  # noqa: E731
        notifier = Notifier(
            icon="/tmp/a b.png",
            on_click=nothing,
            on_action=nothing,
            on_dismiss=nothing,
            on_problems=nothing,
        )
        await notifier.start()
        notifier.show([ASK])
        await shown(daemon, ASK)
        assert daemon.called("Notify")[0][2] == "file:///tmp/a%20b.png"
        await notifier.close()

    async def test_hostile_text_is_sent(self, connected: Desk, daemon: Daemon) -> None:
        hostile = replace(ASK, title="%s\\n<a>&amp;", body="<img src=x>\n</b>" + "ä" * 3000)
        connected.show([hostile])
        await shown(daemon, hostile)


class TestOneBubbleAnAsk:
    async def test_several_come_in_their_order(self, connected: Desk, daemon: Daemon) -> None:
        bubbles = [replace(ASK, id=str(n), title=str(n), asks=(str(n),)) for n in range(20)]
        connected.show(bubbles)
        await shown(daemon, *bubbles)
        assert daemon.titles == [bubble.title for bubble in bubbles]

    async def test_a_new_text_replaces_it_in_place(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK, OTHER])
        await shown(daemon, ASK, OTHER)
        platform_id = next(i for i, call in daemon.screen.items() if call[3] == ASK.title)
        changed = replace(ASK, body="Bash: npm publish")
        connected.show([changed, OTHER])
        await until(lambda: len(daemon.called("Notify")) == 3)
        assert daemon.called("Notify")[2][1] == platform_id
        assert daemon.screen[platform_id][4] == "Bash: npm publish"
        assert len(daemon.screen) == 2

    async def test_the_same_set_again_sends_nothing(self, connected: Desk, daemon: Daemon) -> None:
        for _ in range(3):
            connected.show([ASK, OTHER])
            await shown(daemon, ASK, OTHER)
        assert len(daemon.called("Notify")) == 2

    async def test_is_withdrawn(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK, OTHER])
        await shown(daemon, ASK, OTHER)
        connected.show([OTHER])
        await shown(daemon, OTHER)
        assert connected.dismissed == []

    async def test_an_answer_while_it_is_being_sent(self, connected: Desk, daemon: Daemon) -> None:
        daemon.before_reply = lambda member: connected.show([]) if member == "Notify" else None
        connected.show([ASK])
        await until(lambda: daemon.called("CloseNotification"))
        await shown(daemon)
        assert connected.dismissed == []

    async def test_only_the_newest_text_follows_a_slow_call(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        daemon.hangs = True
        connected.show([ASK])
        await until(lambda: daemon.called("Notify"))
        for number in range(5):
            connected.show([replace(ASK, body=f"version {number}")])
        assert len(daemon.called("Notify")) == 1
        daemon.resume()
        await until(lambda: len(daemon.called("Notify")) == 2)
        assert [call[4] for call in daemon.screen.values()] == ["version 4"]

    async def test_wanted_again_while_it_is_being_withdrawn(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)

        def want_again(member: str) -> None:
            if member == "CloseNotification":
                connected.show([ASK])

        daemon.before_reply = want_again
        connected.show([])
        await until(lambda: len(daemon.called("Notify")) == 2)
        await shown(daemon, ASK)
        assert connected.dismissed == []

    async def test_is_closed_where_the_server_no_longer_knows_it(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        # An error without any text, as the specification has it.
        daemon.refuse["CloseNotification"] = ("org.freedesktop.Notifications.Error.Gone", "")
        connected.show([ASK])
        await shown(daemon, ASK)
        connected.show([])
        await until(lambda: daemon.called("CloseNotification"))
        connected.show([OTHER])
        await until(lambda: OTHER.title in daemon.titles)
        assert connected.reported == []


class TestLxqt:
    async def test_a_click_is_no_button_of_its_own(self, bus: Bus, desk: Desk) -> None:
        server = Daemon()
        server.name = "lxqt-notificationd"
        await server.start()
        try:
            await desk.start()
            desk.show([ASK])
            await shown(server, ASK)
            assert server.called("Notify")[0][5] == ["show", "Go to session"]
            assert desk.notifier.server[0] == "lxqt-notificationd"
            three = tuple(Action(f"b{n}", f"Button {n}") for n in range(3))
            desk.show([replace(ASK, actions=three)])
            await until(lambda: len(server.called("Notify")) == 2)
            assert server.called("Notify")[1][5][1::2] == ["Button 0", "Button 1"]
        finally:
            await server.stop()


class TestThePerson:
    async def test_click_and_button(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.press(1, "default")
        await until(lambda: connected.clicked == [ASK])
        daemon.press(1, "show")
        await until(lambda: connected.pressed == [(ASK, "show")])

    async def test_the_token_that_comes_with_a_click_is_kept_for_it(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.signal("ActivationToken", "us", 7, "another's")
        daemon.signal("ActivationToken", "us", 1, "token-1")
        daemon.press(1, "default")
        await until(lambda: connected.clicked == [ASK])
        assert connected.notifier.take_token(ASK) == "token-1"
        assert connected.notifier.take_token(ASK) is None

    async def test_a_bubble_that_stays_after_its_button_is_still_withdrawn(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.press(1, "show")
        await until(lambda: connected.pressed)
        connected.show([])
        await shown(daemon)

    @pytest.mark.parametrize("reason", [1, 2, 3, 4])
    async def test_once_off_the_screen_it_does_not_come_back(
        self, connected: Desk, daemon: Daemon, reason: int
    ) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.close(1, reason)
        await until(lambda: connected.dismissed == [ASK])
        connected.show([replace(ASK, body="a detail learnt later")])
        new_ask = replace(ASK, asks=("1/b",))
        connected.show([OTHER])
        await shown(daemon, OTHER)
        assert len(daemon.called("Notify")) == 2
        connected.show([new_ask, OTHER])
        await shown(daemon, new_ask, OTHER)

    @pytest.mark.parametrize("action", ["default", "show"])
    async def test_a_summary_that_is_followed_comes_back_with_the_others(
        self, connected: Desk, daemon: Daemon, action: str
    ) -> None:
        summary = replace(ASK, keys=("1", "2"), asks=("1/a", "2/a"), one_by_one=True)
        connected.show([summary])
        await shown(daemon, summary)
        daemon.press(1, action)
        daemon.close(1, 2)
        first = replace(summary, keys=("1",), asks=("1/a",))
        await until(lambda: connected.dismissed == [first])
        rest = replace(summary, title="p2 asks", keys=("2",), asks=("2/a",))
        connected.show([rest])
        await shown(daemon, rest)
        daemon.close(2, 2)
        await until(lambda: connected.dismissed == [first, rest])

    async def test_dismissed_while_its_new_text_is_on_the_way(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)

        def dismiss_first(member: str) -> None:
            if member == "Notify":
                daemon.before_reply = None
                daemon.close(1, 2)

        daemon.before_reply = dismiss_first
        connected.show([replace(ASK, body="a detail learnt later")])
        await until(lambda: daemon.called("CloseNotification"))
        await shown(daemon)
        assert connected.dismissed == [ASK]

    async def test_a_close_that_comes_right_behind_the_reply(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        reply = daemon._reply

        def reply_and_close(message: Message, signature: str, body: list) -> None:
            reply(message, signature, body)
            if message.member == "Notify":
                daemon.close(body[0], 2)

        daemon._reply = reply_and_close  # type: ignore[method-assign]
        connected.show([ASK])
        await until(lambda: connected.dismissed == [ASK])

    async def test_other_programs_bubbles_are_not_ours(
        self, connected: Desk, daemon: Daemon
    ) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.press(99, "show")
        daemon.close(98, 2)
        stranger = await MessageBus().connect()
        for member, signature, body in (
            ("ActionInvoked", "us", [1, "show"]),
            ("NotificationClosed", "uu", [1, 2]),
        ):
            await stranger.send(Message.new_signal(PATH, NAME, member, signature, body))
        owner_changed = Message.new_signal(
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus",
            "NameOwnerChanged",
            "sss",
            [NAME, daemon.bus.unique_name, ""],
        )
        owner_changed.destination = connected.notifier._server.bus.unique_name
        await stranger.send(owner_changed)
        stranger.disconnect()
        await stranger.wait_for_disconnect()
        daemon.press(1, "default")
        await until(lambda: connected.clicked)
        assert (connected.pressed, connected.dismissed) == ([], [])
        assert len(daemon.called("Notify")) == 1

    async def test_a_callback_that_fails_stops_nothing(
        self, connected: Desk, daemon: Daemon, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(bubble: Bubble) -> None:
            raise RuntimeError("no such terminal")

        connected.notifier._on_click = fail
        connected.notifier._on_dismiss = fail
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.press(1, "default")
        daemon.close(1, 2)
        connected.show([ASK, OTHER])
        await shown(daemon, OTHER)
        assert caplog.text.count("RuntimeError: no such terminal") == 2


class TestTheServer:
    async def test_comes_late(self, desk: Desk, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(notifier_module, "_RETRY_FIRST", 60.0)
        await desk.notifier.start()
        assert desk.problems == {"no-notification-daemon"}
        desk.show([ASK])
        await until(lambda: desk.notifier._slots["1/a"].retry)
        daemon = await Daemon().start()
        await shown(daemon, ASK)
        await until(lambda: not desk.problems)
        assert len(daemon.called("Notify")) == 1
        await daemon.stop()

    async def test_restarted(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK, OTHER, QUIET])
        await shown(daemon, ASK, OTHER, QUIET)
        other_id = next(i for i, call in daemon.screen.items() if call[3] == OTHER.title)
        daemon.close(other_id, 2)
        await until(lambda: connected.dismissed == [OTHER])
        await daemon.stop()
        await until(lambda: connected.dismissed == [OTHER, QUIET])
        second = await Daemon().start()
        await shown(second, ASK)
        assert second.called("Notify")[0][1] == 0
        # The new server counts from 1 again: what had that id is another's now.
        second.press(2, "show")
        second.press(1, "show")
        await until(lambda: connected.pressed == [(ASK, "show")])
        connected.show([])
        await shown(second)
        await second.stop()

    async def test_replaced_by_another_at_once(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.features = ("body",)
        second = Daemon(features=("body",))
        second.bus = await MessageBus().connect()
        second.bus.add_message_handler(second._handle)
        request = asyncio.create_task(second.bus.request_name(NAME))  # Waits in the queue.
        await daemon.stop()
        await request
        await shown(second, ASK)
        assert second.called("Notify")[0][4] == "Bash: echo '<b>&'"
        assert connected.notifier.capabilities == {"body"}
        await second.stop()

    async def test_dies_over_a_bubble(self, connected: Desk, daemon: Daemon) -> None:
        daemon.hangs = True
        connected.show([ASK])
        await until(lambda: daemon.called("Notify"))
        await daemon.stop()
        second = await Daemon().start()
        await shown(second, ASK)
        await second.stop()

    async def test_hangs_and_wakes_up(self, connected: Desk, daemon: Daemon) -> None:
        daemon.hangs = True
        connected.show([ASK])
        await until(lambda: connected.problems == {"notification-daemon-hangs"})
        connected.show([ASK, OTHER])
        pings = len(daemon.called("GetServerInformation"))
        await until(lambda: len(daemon.called("GetServerInformation")) >= pings + 2)
        assert len(daemon.called("Notify")) == 1
        daemon.resume()
        await shown(daemon, ASK, OTHER)
        await until(lambda: not connected.problems)
        assert len(daemon.called("Notify")) == 2

    async def test_an_answer_while_it_hangs(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([OTHER])
        await taken(connected, OTHER)
        daemon.hangs = True
        connected.show([OTHER, ASK])
        await until(lambda: connected.problems)
        connected.show([])
        daemon.resume()
        await shown(daemon)
        assert connected.dismissed == []

    async def test_hangs_from_the_start(self, desk: Desk, daemon: Daemon) -> None:
        daemon.hangs = True
        await desk.notifier.start()
        desk.show([ASK])
        await until(lambda: desk.problems == {"notification-daemon-hangs"})
        daemon.resume()
        await shown(daemon, ASK)
        await until(lambda: not desk.problems)

    async def test_is_restarted_while_it_hangs(self, connected: Desk, daemon: Daemon) -> None:
        daemon.hangs = True
        connected.show([ASK])
        await until(lambda: connected.problems)
        await daemon.stop()
        second = await Daemon().start()
        await shown(second, ASK)
        await until(lambda: not connected.problems)
        await second.stop()

    async def test_loses_a_call(self, connected: Desk, daemon: Daemon) -> None:
        daemon.swallow.add("Notify")
        connected.show([ASK])
        await until(lambda: daemon.called("Notify"))
        daemon.swallow.clear()
        await until(lambda: len(daemon.called("Notify")) == 2)
        daemon.answer_late()
        await shown(daemon, ASK)
        assert list(daemon.screen) == [2]
        await until(lambda: not connected.problems)

    async def test_loses_a_call_that_replaces(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK])
        await shown(daemon, ASK)
        daemon.swallow.add("Notify")
        connected.show([replace(ASK, body="changed")])
        await until(lambda: len(daemon.called("Notify")) == 2)
        daemon.swallow.clear()
        await until(lambda: len(daemon.called("Notify")) == 3)
        daemon.answer_late()
        connected.show([replace(ASK, body="changed again")])
        await until(lambda: len(daemon.called("Notify")) == 4)
        assert list(daemon.screen) == [1]
        assert connected.dismissed == []

    async def test_goes_and_none_can_be_started(self, connected: Desk, daemon: Daemon) -> None:
        await daemon.stop()
        await until(lambda: connected.problems == {"no-notification-daemon"})

    async def test_refuses_one(self, connected: Desk, daemon: Daemon) -> None:
        daemon.refuse["Notify"] = ("org.freedesktop.DBus.Error.LimitsExceeded", "too many")
        connected.show([ASK])
        await until(lambda: connected.problems == {"notification-refused"})
        assert "too many" in connected.notifier.problems[0].message
        daemon.refuse.clear()
        await shown(daemon, ASK)
        await until(lambda: not connected.problems)

    async def test_is_started_by_the_first_bubble_only(
        self, desk: Desk, no_bus: Bus, tmp_path: Path
    ) -> None:
        log = tmp_path / "log"
        program = Path(__file__).with_name("notification_daemon.py")
        no_bus.offer(f"{sys.executable} {program} {log}")
        no_bus.start()
        await desk.notifier.start()
        assert desk.problems == set()
        assert desk.notifier._server.owner is None
        desk.notifier._reply_limit = 10.0
        desk.show([ASK])
        await until(lambda: log.exists() and "Notify" in log.read_text(), within=10.0)
        await taken(desk, ASK)
        assert log.read_text().split().count("Notify") == 1

    async def test_cannot_be_started(self, desk: Desk, no_bus: Bus) -> None:
        no_bus.offer("/bin/false")
        no_bus.start()
        await desk.notifier.start()
        desk.show([ASK])
        await until(lambda: desk.problems == {"no-notification-daemon"})
        daemon = await Daemon().start()
        await shown(daemon, ASK)
        await until(lambda: not desk.problems)
        await daemon.stop()


class TestTheBus:
    async def test_comes_late(self, desk: Desk, no_bus: Bus) -> None:
        await desk.notifier.start()
        assert desk.problems == {"no-bus"}
        desk.show([ASK])
        no_bus.start()
        daemon = await Daemon().start()
        await shown(daemon, ASK)
        await until(lambda: not desk.problems)
        await daemon.stop()

    async def test_goes_and_comes_back(self, desk: Desk, bus: Bus) -> None:
        await Daemon().start()
        await desk.start()
        desk.show([ASK, QUIET])
        await taken(desk, ASK, QUIET)
        bus.stop()
        await until(lambda: desk.problems == {"no-bus"})
        assert desk.dismissed == [QUIET]
        bus.start()
        second = await Daemon().start()
        await shown(second, ASK)
        assert second.called("Notify")[0][1] == 0
        await until(lambda: not desk.problems)
        await second.stop()

    async def test_comes_back_with_the_server_that_was_missing(self, desk: Desk, bus: Bus) -> None:
        await desk.notifier.start()
        assert desk.problems == {"no-notification-daemon"}
        bus.stop()
        await until(lambda: desk.problems == {"no-bus"})
        bus.start()
        second = await Daemon().start()
        await until(lambda: not desk.problems)
        await second.stop()

    async def test_goes_while_a_bubble_is_being_sent(self, desk: Desk, bus: Bus) -> None:
        daemon = await Daemon().start()
        await desk.start()
        daemon.hangs = True
        desk.show([ASK])
        await until(lambda: daemon.called("Notify"))
        bus.stop()
        bus.start()
        second = await Daemon().start()
        await shown(second, ASK)
        await second.stop()

    async def test_only_our_connection_breaks(self, connected: Desk, daemon: Daemon) -> None:
        connected.show([ASK])
        await taken(connected, ASK)
        connected.notifier._server.bus.disconnect()
        await until(lambda: len(daemon.called("Notify")) == 2)
        await shown(daemon, ASK)
        assert daemon.called("CloseNotification") == [[1]]
        assert list(daemon.screen) == [2]

    async def test_a_socket_nobody_serves(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tray.desktop.bus.CONNECT_LIMIT", 0.1)
        path = tmp_path / "mute"
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={path}")
        with socket.socket(socket.AF_UNIX) as mute:
            mute.bind(str(path))
            mute.listen()
            await desk.notifier.start()
            assert desk.problems == {"no-bus"}

    @pytest.mark.parametrize(
        "address",
        [
            "nonsense",
            "autolaunch:",
            "unix:path=/none/there",
            "unix:",
            "unix:tmpdir=/tmp",
            "unix:path=/none;x:y=z",
            "tcp:host=localhost",
            "tcp:host=localhost,port=nine",
            ";",
            "x:",
        ],
    )
    async def test_a_useless_address(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        await desk.notifier.start()
        (problem,) = desk.notifier.problems
        assert problem.code == "no-bus"

    async def test_is_found_in_the_runtime_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bus: Bus, desk: Desk
    ) -> None:
        monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run ~1"))
        await desk.notifier.start()
        assert desk.problems == {"no-bus"}
        (tmp_path / "run ~1").mkdir()
        (tmp_path / "run ~1" / "bus").symlink_to(bus.socket)
        assert session_bus_address().endswith("/run%20%7E1/bus")
        await until(lambda: desk.problems == {"no-notification-daemon"})


class TestTheEnd:
    async def test_withdraws_everything(self, desk: Desk, daemon: Daemon) -> None:
        await desk.start()
        desk.show([ASK, OTHER, QUIET])
        await shown(daemon, ASK, OTHER, QUIET)
        await desk.notifier.close()
        assert daemon.titles == []

    async def test_withdraws_what_is_just_being_sent(self, desk: Desk, daemon: Daemon) -> None:
        await desk.start()
        daemon.hangs = True
        desk.show([ASK])
        await until(lambda: daemon.called("Notify"))
        closing = asyncio.create_task(desk.notifier.close())
        await asyncio.sleep(0)
        daemon.resume()
        await closing
        assert daemon.titles == []

    async def test_does_not_wait_for_a_server_that_hangs(self, desk: Desk, daemon: Daemon) -> None:
        await desk.start()
        desk.show([ASK, OTHER])
        await taken(desk, ASK, OTHER)
        daemon.hangs = True
        desk.show([ASK, OTHER, QUIET])
        await until(lambda: desk.problems)
        async with asyncio.timeout(3.0):
            await desk.notifier.close()
        daemon.resume()
        await until(lambda: daemon.titles == [QUIET.title])

    async def test_without_a_bus(self, desk: Desk, no_bus: Bus) -> None:
        await desk.notifier.start()
        desk.show([ASK])
        async with asyncio.timeout(3.0):
            await desk.notifier.close()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("_init_dbus", ["self"]),
        ("_send", ["self", "notification"]),
        ("_clear", ["self", "identifier"]),
        ("_get_capabilities", ["self"]),
        ("_on_action", ["self", "nid", "action_key"]),
        ("_on_closed", ["self", "nid", "reason"]),
        ("_clear_notification_from_cache", ["self", "identifier"]),
        ("handle_clicked", ["self", "identifier", "notification"]),
        ("handle_button", ["self", "identifier", "button_identifier", "notification"]),
    ],
)
async def test_desktop_notifier_still_has_what_is_overridden(name, parameters) -> None:
    method = getattr(DBusDesktopNotifier, name)
    assert list(inspect.signature(method).parameters) == parameters


async def test_desktop_notifier_still_keeps_what_is_used() -> None:
    backend = DBusDesktopNotifier("test")
    assert backend._platform_to_interface_notification_identifier == {}
    assert hasattr(backend._platform_to_interface_notification_identifier, "forceput")
    assert backend._notification_cache == {}
    assert backend._capabilities is None
    assert backend.interface is None
    assert len(DBusDesktopNotifier.to_native_urgency) == 3

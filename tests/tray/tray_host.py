"""A scripted tray: the watcher that items register with, and a host that reads them."""

from __future__ import annotations

from typing import Any

from dbus_fast import Message, MessageFlag, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
PROPERTIES = "org.freedesktop.DBus.Properties"


class Host:
    """Owns the watcher's name, takes registrations, and asks the item as panels do."""

    def __init__(self) -> None:
        self.registered: list[tuple[str, str]] = []
        """Sender and path of each item that registered."""
        self.has_host = True
        self.hangs = False
        self.refuses = False
        self.signals: list[tuple[str, list]] = []
        """Name and arguments of each signal of the item and its menu."""
        self.bus: MessageBus | None = None

    async def start(self, address: str) -> Host:
        self.bus = await MessageBus(address).connect()
        self.bus.add_message_handler(self._handle)
        for interface in (ITEM, MENU):
            await self._bus_call("AddMatch", "s", f"type='signal',interface='{interface}'")
        await self.bus.request_name(WATCHER)
        return self

    async def stop(self) -> None:
        self.bus.disconnect()
        await self.bus.wait_for_disconnect()

    def tell(self, member: str) -> None:
        """Send a signal of the watcher's."""
        self.bus.send(Message.new_signal("/StatusNotifierWatcher", WATCHER, member))

    def names(self) -> list[str]:
        """The names of the signals so far."""
        return [name for name, _ in self.signals]

    async def get(self, name: str, interface: str = ITEM) -> Any:
        value = await self._ask(self._path(interface), PROPERTIES, "Get", "ss", interface, name)
        return plain(value[0].value)

    async def get_all(self, interface: str) -> dict[str, Variant]:
        path = self._path(interface)
        return (await self._ask(path, PROPERTIES, "GetAll", "s", interface))[0]

    async def introspect(self, interface: str) -> str:
        path = self._path(interface)
        return (await self._ask(path, "org.freedesktop.DBus.Introspectable", "Introspect"))[0]

    async def call_item(self, member: str, signature: str = "", *body: object) -> list:
        return await self._ask(self._path(ITEM), ITEM, member, signature, *body)

    async def call_menu(self, member: str, signature: str = "", *body: object) -> list:
        return await self._ask(self._path(MENU), MENU, member, signature, *body)

    async def event(self, item_id: int, kind: str) -> None:
        await self.call_menu("Event", "isvu", item_id, kind, Variant("s", ""), 0)

    async def layout(self, parent: int = 0, depth: int = -1, names: tuple[str, ...] = ()) -> Line:
        (_, line) = await self.call_menu("GetLayout", "iias", parent, depth, list(names))
        return Line(line)

    async def revision(self) -> int:
        return (await self.call_menu("GetLayout", "iias", 0, 0, []))[0]

    async def settle(self) -> None:
        """Wait until all that the item has sent so far is here."""
        await self._ask(self._path(ITEM), "org.freedesktop.DBus.Peer", "Ping")

    def _path(self, interface: str) -> str:
        return "/MenuBar" if interface == MENU else self.registered[-1][1]

    async def _ask(
        self, path: str, interface: str, member: str, signature: str = "", *body: object
    ) -> list:
        reply = await self.bus.call(
            Message(
                destination=self.registered[-1][0],
                path=path,
                interface=interface,
                member=member,
                signature=signature,
                body=list(body),
            )
        )
        if reply.message_type is MessageType.ERROR:
            raise DBusError(reply.error_name, reply.body[0] if reply.body else "")
        return reply.body

    async def _bus_call(self, member: str, signature: str, *body: object) -> None:
        await self.bus.call(
            Message(
                destination="org.freedesktop.DBus",
                path="/org/freedesktop/DBus",
                interface="org.freedesktop.DBus",
                member=member,
                signature=signature,
                body=list(body),
            )
        )

    def _handle(self, message: Message) -> Message | bool | None:
        if message.message_type is MessageType.SIGNAL and message.interface in (ITEM, MENU):
            self.signals.append((message.member, plain(message.body)))
            return None
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.interface == WATCHER and message.member == "RegisterStatusNotifierItem":
            self.registered.append((message.sender, message.body[0]))
            if self.hangs:
                return True
            if self.refuses:
                return Message.new_error(message, "org.example.Refused", "not you")
            return Message.new_method_return(message)
        if message.interface == PROPERTIES and message.member == "Get":
            return Message.new_method_return(message, "v", [Variant("b", self.has_host)])
        if message.flags & MessageFlag.NO_REPLY_EXPECTED:
            return True
        return None


def plain(value: Any) -> Any:
    """Structs come as tuples or as lists, as it happens."""
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


class Line:
    """One line of a menu as the bus gave it."""

    def __init__(self, raw: list) -> None:
        self.id, properties, children = raw
        self.properties = {name: value.value for name, value in properties.items()}
        self.children = [Line(child.value) for child in children]

    @property
    def label(self) -> str:
        return self.properties.get("label", "")

    @property
    def enabled(self) -> bool:
        return self.properties.get("enabled", True)

    @property
    def labels(self) -> list[str]:
        """The labels of the lines in it."""
        return [child.label for child in self.children]

    def find(self, label: str) -> Line:
        """The line in it with that label, wherever it is."""
        return next(line for line in self.all() if line.label == label)

    def all(self) -> list[Line]:
        return [self, *(line for child in self.children for line in child.all())]


class GnomeLines:
    """The lines of one level, as GNOME's AppIndicator extension 46 lays them out.

    Its handlers for a moved line get their arguments in a wrong order and do nothing, and lines
    that are gone leave last (dbusMenu.js, `_doLayoutUpdate`).
    """

    def __init__(self) -> None:
        self._known: list[int] = []
        self.shown: list[int] = []
        """Ids from top to bottom."""

    def lay_out(self, children: list[int]) -> None:
        old = list(self._known)
        for position, child in enumerate(children):
            if child in old:
                old.remove(child)
                self._known.remove(child)
            else:
                self.shown.insert(position, child)
            self._known.insert(position, child)
        for child in old:
            self._known.remove(child)
            self.shown.remove(child)


class Gnome:
    """GNOME's extension before the menu: what a person sees in it while the shell is busy.

    It asks for the kind of each line only. It asks for all else when it is idle, which it is
    never here: a shell that draws can be busy for seconds.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lines = GnomeLines()
        self._properties: dict[int, dict[str, Any]] = {}
        self._taken = 0

    @property
    def labels(self) -> list[str]:
        """What is read from top to bottom."""
        return [self._properties[line].get("label", "") for line in self._lines.shown]

    async def attach(self) -> None:
        """See the item for the first time; it asks as if the menu opened."""
        await self._fetch()
        await self._host.call_menu("AboutToShow", "i", 0)

    async def follow(self) -> None:
        """Take in all that was told since."""
        await self._host.settle()
        told, self._taken = self._host.signals[self._taken :], len(self._host.signals)
        for name, arguments in told:
            if name == "ItemsPropertiesUpdated":
                for line, values in arguments[0]:
                    self._properties.get(line, {}).update(
                        (key, value.value) for key, value in values.items()
                    )
            elif name == "LayoutUpdated":
                await self._fetch()

    async def open(self) -> None:
        """Open the menu: it says so first, and asks then."""
        await self._host.event(0, "opened")
        (fetch,) = await self._host.call_menu("AboutToShow", "i", 0)
        await self.follow()
        if fetch:
            await self._fetch()

    async def close(self) -> None:
        """Close it again."""
        await self._host.event(0, "closed")
        await self.follow()

    async def click(self, label: str) -> None:
        """Click on the line that is seen with that label."""
        line = next(i for i in self._lines.shown if self._properties[i].get("label") == label)
        await self._host.event(line, "clicked")

    async def _fetch(self) -> None:
        layout = await self._host.layout(names=("type", "children-display"))
        for line in layout.children:
            self._properties.setdefault(line.id, {}).update(line.properties)
        self._lines.lay_out([line.id for line in layout.children])

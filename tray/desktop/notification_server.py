"""The desktop's notification server, through desktop-notifier's D-Bus back end, mended.

desktop-notifier 6.2 never replaces a bubble in place, drops the hints that tie a bubble to its
application, sends markup unescaped, swallows every failure, waits for ever on a server that
hangs or is not there, and takes other programs' button presses for its own once the server was
restarted. This subclass mends that; which bubble should be on the screen is not decided here.
"""

from __future__ import annotations

import asyncio
import html
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dbus_fast import ErrorType, Message, MessageFlag, MessageType, Variant, introspection
from dbus_fast.errors import DBusError
from desktop_notifier.backends.dbus import DEFAULT_ACTION_KEY, DBusDesktopNotifier
from desktop_notifier.common import Capability

from tray.desktop.bus import ask_bus, call, connect, ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbus_fast.aio import MessageBus
    from dbus_fast.aio.proxy_object import ProxyInterface
    from desktop_notifier.common import Icon, Notification
    from PIL.Image import Image

log = logging.getLogger(__name__)

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
_INTROSPECTION = introspection.Node.parse(
    f"""
    <node>
      <interface name="{NAME}">
        <method name="GetCapabilities"><arg type="as" direction="out"/></method>
        <method name="GetServerInformation">
          <arg type="s" direction="out"/><arg type="s" direction="out"/>
          <arg type="s" direction="out"/><arg type="s" direction="out"/>
        </method>
        <method name="Notify">
          <arg type="s" direction="in"/><arg type="u" direction="in"/>
          <arg type="s" direction="in"/><arg type="s" direction="in"/>
          <arg type="s" direction="in"/><arg type="as" direction="in"/>
          <arg type="a{{sv}}" direction="in"/><arg type="i" direction="in"/>
          <arg type="u" direction="out"/>
        </method>
        <signal name="NotificationClosed"><arg type="u"/><arg type="u"/></signal>
        <signal name="ActionInvoked"><arg type="u"/><arg type="s"/></signal>
        <signal name="ActivationToken"><arg type="u"/><arg type="s"/></signal>
      </interface>
    </node>
    """
)
"""Known from the specification: to ask a server that hangs would only cost time."""

_LONGEST_TOKEN = 1000
"""Characters of an activation token at most."""
_ABSENT = frozenset(
    {
        ErrorType.SERVICE_UNKNOWN.value,
        ErrorType.NAME_HAS_NO_OWNER.value,
        ErrorType.TIMED_OUT.value,
        ErrorType.DISCONNECTED.value,
    }
)
_SHOWS_DEFAULT = frozenset({"lxqt-notificationd"})
"""Servers that show the action of a click on the bubble as a button of its own (LXQt 1.2)."""
_ROOM = {"lxqt-notificationd": 2}
"""How many buttons a server has room for; LXQt 1.2 cuts the labels of more ("Mut...")."""
_SPAWN_FAILED = "org.freedesktop.DBus.Error.Spawn."


def means_absent(error: Exception) -> bool:
    """Whether a call failed because no server runs and none could be started."""
    return isinstance(error, DBusError) and (
        error.type in _ABSENT or error.type.startswith(_SPAWN_FAILED)
    )


def means_died(error: Exception) -> bool:
    """Whether a call failed because the server went away over it."""
    return isinstance(error, DBusError) and error.type == ErrorType.NO_REPLY.value


class NotificationServer(DBusDesktopNotifier):
    """One connection to the session bus and whatever owns `org.freedesktop.Notifications` there.

    The caller keeps to one call in flight a notification identifier. Nothing here has a time
    limit; every coroutine may be cancelled. `on_clicked` and `on_button_pressed` are called for
    our own bubbles only.
    """

    def __init__(self, app_name: str, app_id: str, app_icon: Icon) -> None:
        super().__init__(app_name, app_icon)
        self._app_id = app_id
        self._picture: Image | None = None
        self._given_up: set[int] = set()
        """Serials of Notify calls that may still be answered: their bubbles are not wanted."""
        self._bus_id: str | None = None
        self._left_behind: tuple[str | None, str | None, tuple[int, ...]] = (None, None, ())
        self.owner: str | None = None
        """The unique bus name of the server that runs now."""
        self.features: frozenset[str] = frozenset()
        """The capabilities that the server names (`body-markup`, `actions`, ...)."""
        self.information: tuple[str, ...] = ()
        """The server's name, vendor, version, and the version of the specification it keeps to."""
        self._tokens: dict[str, str] = {}
        self.on_owner: Callable[[str | None], object] | None = None
        """Called with the former owner whenever `owner` changes."""
        self.on_closed: Callable[[str], object] | None = None
        """Called with the identifier of a bubble that left the screen, whoever closed it."""

    async def connect(self) -> None:
        """Connect to the session bus, without starting a server; raises `ConnectionError`."""
        self.interface = await self._init_dbus()
        try:
            self._bus_id = await ask_bus(self.bus, "GetId")
            with suppress(DBusError):
                self.owner = await ask_bus(self.bus, "GetNameOwner", NAME)
        except (OSError, EOFError, DBusError) as error:
            raise ConnectionError(str(error)) from error
        bus_id, owner, platform_ids = self._left_behind
        if (bus_id, owner) == (self._bus_id, self.owner):
            # Only our connection broke: the same server still shows what it was sent over it.
            for platform_id in platform_ids:
                self._close_unheard(platform_id)

    async def disconnected(self) -> None:
        """Wait for the end of the connection."""
        await ended(self.bus)

    async def disconnect(self) -> None:
        """End the connection, and forget all that was known of the server."""
        self.bus.disconnect()
        await self.disconnected()
        self.forget()

    def forget(self) -> None:
        """Forget the server and its ids: after its end, or the bus's, they mean nothing."""
        ids = tuple(self._platform_to_interface_notification_identifier)
        self._left_behind = (self._bus_id, self.owner, ids)
        self.owner = None
        self.features = frozenset()
        self.information = ()
        self._tokens.clear()
        self._capabilities = None
        self._given_up.clear()
        self._platform_to_interface_notification_identifier.clear()
        self._notification_cache.clear()

    async def startable(self) -> bool:
        """Whether the bus can start a server when the first notification is sent."""
        return NAME in await ask_bus(self.bus, "ListActivatableNames")

    async def ping(self) -> None:
        """Wait until the server answers anything at all; raises `DBusError`."""
        await call(self.bus, self._message("GetServerInformation"))

    async def send(self, notification: Notification, picture: Image | None = None) -> None:
        """Show `notification`, or replace in place what stands under its identifier.

        Raises `DBusError` where the base class only logs. The `thread` becomes the category.
        `picture` (RGBA) goes along as pixels: unlike the name of an icon or a file's path they
        need nothing installed and cross the border of a sandbox.
        """
        self._picture = picture
        await self._send(notification)
        self._notification_cache[notification.identifier] = notification

    def take_token(self, identifier: str) -> str | None:
        """Return the activation token that came with the click on that bubble, once."""
        return self._tokens.pop(identifier, None)

    def withdraw_unheard(self) -> None:
        """Ask the server to close all our bubbles, without waiting for an answer."""
        for platform_id in self._platform_to_interface_notification_identifier:
            self._close_unheard(platform_id)

    async def _init_dbus(self) -> ProxyInterface:
        self.bus: MessageBus = await connect()
        self.bus.add_message_handler(self._overhear)
        interface: Any = self.bus.get_proxy_object(NAME, PATH, _INTROSPECTION).get_interface(NAME)
        interface.on_notification_closed(self._closed_signal)
        interface.on_action_invoked(self._action_signal)
        interface.on_activation_token(self._token_signal)
        return interface  # type: ignore[no-any-return]

    async def _send(self, notification: Notification) -> None:
        picture, self._picture = self._picture, None  # Before anything can come in between.
        capabilities = await self.get_capabilities()
        actions: list[str] = []
        server = self.information[0] if self.information else ""
        if Capability.ON_CLICKED in capabilities and server not in _SHOWS_DEFAULT:
            actions += [DEFAULT_ACTION_KEY, "Show"]
        for button in notification.buttons[: _ROOM.get(server)]:
            actions += [button.identifier, button.title]
        hints = {
            "urgency": self.to_native_urgency[notification.urgency],
            "desktop-entry": Variant("s", self._app_id),
        }
        if notification.thread:
            hints["category"] = Variant("s", notification.thread)
        if notification.sound is not None and notification.sound.name:
            hints["sound-name"] = Variant("s", notification.sound.name)
        if picture is not None:
            hints["image-data"] = Variant("(iiibiiay)", _pixels(picture))
        body = notification.message
        if "body-markup" in self.features:
            body = html.escape(body, quote=False)
        seconds = notification.timeout
        ids = self._platform_to_interface_notification_identifier
        message = self._message(
            "Notify",
            "susssasa{sv}i",
            self.app_name,
            ids.inverse.get(notification.identifier, 0),
            self._icon_name(),
            notification.title,
            body,
            actions,
            hints,
            seconds * 1000 if seconds > 0 else seconds,
        )
        try:
            (platform_id,) = await call(self.bus, message)
        except asyncio.CancelledError:
            self._given_up.add(message.serial)
            raise
        ids.forceput(platform_id, notification.identifier)

    async def _clear(self, identifier: str) -> None:
        ids = self._platform_to_interface_notification_identifier
        platform_id = ids.inverse.get(identifier)
        if platform_id is None:
            return
        with suppress(DBusError):  # It was closed already.
            await call(self.bus, self._message("CloseNotification", "u", platform_id))
        ids.inverse.pop(identifier, None)

    async def _get_capabilities(self) -> frozenset[Capability]:
        (features,) = await call(self.bus, self._message("GetCapabilities"))
        self.features = frozenset(features)
        with suppress(DBusError):
            self.information = tuple(await call(self.bus, self._message("GetServerInformation")))
        return await super()._get_capabilities()

    def _close_unheard(self, platform_id: int) -> None:
        message = self._message("CloseNotification", "u", platform_id)
        message.flags = MessageFlag.NO_REPLY_EXPECTED | MessageFlag.NO_AUTOSTART
        if self.bus.connected:
            self.bus.send(message)

    def _icon_name(self) -> str:
        icon = self.app_icon
        if icon is None:
            return ""
        return icon.as_name() if icon.is_named() else icon.as_uri()

    @staticmethod
    def _message(member: str, signature: str = "", *body: object) -> Message:
        return Message(
            destination=NAME,
            path=PATH,
            interface=NAME,
            member=member,
            signature=signature,
            body=list(body),
        )

    def _overhear(self, message: Message) -> None:
        """Take in what concerns the server but is no signal of its own."""
        if message.reply_serial in self._given_up:
            self._given_up.remove(message.reply_serial)
            ids = self._platform_to_interface_notification_identifier
            if message.message_type is MessageType.METHOD_RETURN and message.body[0] not in ids:
                self._close_unheard(message.body[0])
        elif message.member == "NameOwnerChanged" and message.sender == "org.freedesktop.DBus":
            name, _, owner = message.body
            if name == NAME:
                asyncio.get_running_loop().call_soon(self._owner_changed, owner or None)

    # A signal is taken in one turn of the loop later, behind the task that waits for the reply
    # just before it: that one must have noted its bubble's id by then.

    def _closed_signal(self, platform_id: int, reason: int) -> None:
        asyncio.get_running_loop().call_soon(self._on_closed, platform_id, reason)

    def _token_signal(self, platform_id: int, token: str) -> None:
        asyncio.get_running_loop().call_soon(self._keep_token, platform_id, token)

    def _keep_token(self, platform_id: int, token: str) -> None:
        # It comes just before the click it belongs to (specification 1.2).
        identifier = self._platform_to_interface_notification_identifier.get(platform_id)
        if identifier is not None and len(token) <= _LONGEST_TOKEN:
            self._tokens[identifier] = token

    def _action_signal(self, platform_id: int, action_key: str) -> None:
        asyncio.get_running_loop().call_soon(self._on_action, platform_id, action_key)

    def _owner_changed(self, owner: str | None) -> None:
        former = self.owner
        if former is not None:
            self.forget()
        self.owner = owner
        if self.on_owner is not None:
            self.on_owner(former)

    def _on_action(self, nid: int, action_key: str) -> None:
        # Unlike in the base class the id stays: some servers leave the bubble on the screen.
        identifier = self._platform_to_interface_notification_identifier.get(nid)
        if identifier is None:
            return
        if action_key == DEFAULT_ACTION_KEY:
            self.handle_clicked(identifier)
        else:
            self.handle_button(identifier, action_key)

    def _on_closed(self, nid: int, reason: int) -> None:
        identifier = self._platform_to_interface_notification_identifier.pop(nid, None)
        if identifier is None:
            return
        log.debug("%s left the screen, reason %d", identifier, reason)
        self._tokens.pop(identifier, None)
        self._clear_notification_from_cache(identifier)
        if self.on_closed is not None:
            self.on_closed(identifier)


def _pixels(image: Image) -> list[object]:
    """Return an RGBA image as the specification's `image-data` hint has it."""
    return [image.width, image.height, image.width * 4, True, 8, 4, image.tobytes()]

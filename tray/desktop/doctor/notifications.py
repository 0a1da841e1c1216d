"""Whether a notification server is there, and what it can do."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from dbus_fast import Message as Call
from dbus_fast.errors import DBusError

from tray.desktop.bus import ask_bus, call
from tray.desktop.doctor.ask import over_bus
from tray.desktop.doctor.check import CALL_LIMIT, Check
from tray.desktop.doctor.distribution import families, install
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.session_bus import graphical
from tray.desktop.notification_server import NAME, PATH
from tray.desktop.person.inhibited import NotificationState
from tray.desktop.person.link import Owner

if TYPE_CHECKING:
    from dbus_fast.aio import MessageBus

    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

SERVER = Message("notifications", Status.OK, "{name} {version} shows notifications ({features})")
STARTABLE = Message(
    "notifications-startable",
    Status.OK,
    "a notification server will be started with the first notification",
)
ABSENT = Message(
    "notifications-absent",
    Status.BROKEN,
    "no notification server runs, and none can be started",
    "this desktop brings none, and none is installed",
    "nothing is told; the icon alone shows what waits",
    run="{install}",
)
NONE_HERE = Message(
    "notifications-none-here",
    Status.NOTE,
    "no notification server: this is no desktop session",
    "neither $DISPLAY nor $WAYLAND_DISPLAY is set",
    "nothing is told by notifications",
    run="sessionbell watch --bell",
)
HANGS = Message(
    "notifications-hang",
    Status.BROKEN,
    "the notification server does not answer",
    "it hangs",
    "notifications wait until it answers again",
    do="restart it, or log out and in",
)
NO_ACTIONS = Message(
    "notifications-without-actions",
    Status.WARNING,
    "{name} has no actions",
    "the server does not offer `actions`",
    "a click on a notification does not lead to its session",
    do="use `sessionbell focus --next` on a keyboard shortcut",
)
NO_BODY = Message(
    "notifications-without-body",
    Status.WARNING,
    "{name} shows titles only",
    "the server does not offer `body`",
    "a notification does not say what is asked",
    run="sessionbell list",
)
NO_PERSISTENCE = Message(
    "notifications-without-persistence",
    Status.NOTE,
    "{name} keeps no list of past notifications",
    "the server does not offer `persistence`",
    "what has left the screen is to be seen in the menu and the lists only",
    run="sessionbell list",
)
INHIBITED = Message(
    "notifications-inhibited",
    Status.NOTE,
    "{name} holds notifications back: do not disturb is on",
    "you or an application turned it on, or it came on by itself",
    "notifications are shown once that ends, or in its list only",
    do="turn do not disturb off in the desktop's notification settings",
)

_SERVERS = {"": "dunst", "gentoo": "x11-misc/dunst"}


class Facts(msgspec.Struct, frozen=True):
    """What was found of the server."""

    reached: bool
    graphical: bool
    startable: bool = False
    owned: bool = False
    hangs: bool = False
    name: str = ""
    version: str = ""
    features: frozenset[str] = frozenset()
    inhibited: bool = False
    families: tuple[str, ...] = ()


def gather(given: Given) -> Facts:
    """Ask the server, without starting one."""
    facts = over_bus(_ask) or Facts(reached=False, graphical=False)
    return msgspec.structs.replace(
        facts, graphical=graphical(given.environ), families=families(given.system)
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say what it can do, and what it lacks."""
    if not facts.reached:
        return ()
    if facts.hangs:
        return (HANGS.found(),)
    if not facts.owned:
        if facts.startable:
            return (STARTABLE.found(),)
        if not facts.graphical:
            return (NONE_HERE.found(),)
        return (ABSENT.found(install=install(facts.families, _SERVERS)),)
    values = {
        "name": facts.name or "the server",
        "version": facts.version,
        "features": ", ".join(sorted(facts.features)) or "no capabilities",
    }
    lacks = {"actions": NO_ACTIONS, "body": NO_BODY, "persistence": NO_PERSISTENCE}
    found = [SERVER]
    found += [message for feature, message in lacks.items() if feature not in facts.features]
    if facts.inhibited:
        found.append(INHIBITED)
    return tuple(message.found(**values) for message in found)


async def _ask(bus: MessageBus) -> Facts:
    unknown = Facts(reached=True, graphical=False)
    try:
        async with asyncio.timeout(CALL_LIMIT):
            if not await ask_bus(bus, "NameHasOwner", NAME):
                startable = NAME in await ask_bus(bus, "ListActivatableNames")
                return msgspec.structs.replace(unknown, startable=startable)
            owner = await ask_bus(bus, "GetNameOwner", NAME)
            name, _vendor, version, _spec = await call(bus, _call("GetServerInformation"))
            (features,) = await call(bus, _call("GetCapabilities"))
    except (TimeoutError, DBusError, ValueError):
        return msgspec.structs.replace(unknown, owned=True, hangs=True)
    except (OSError, EOFError):
        return msgspec.structs.replace(unknown, reached=False)
    return msgspec.structs.replace(
        unknown,
        owned=True,
        name=str(name),
        version=str(version),
        features=frozenset(map(str, features)),
        inhibited=await _inhibited(bus, owner),
    )


async def _inhibited(bus: MessageBus, unique_name: str) -> bool:
    """Whether do-not-disturb is on, where that is to be known."""
    state = NotificationState(lambda _name: None)
    with suppress(TimeoutError, DBusError, OSError, EOFError, ValueError):
        async with asyncio.timeout(CALL_LIMIT):
            await state.look(Owner(bus, unique_name))
    return state.inhibited is True


def _call(member: str) -> Call:
    return Call(destination=NAME, path=PATH, interface=NAME, member=member)


CHECK = Check("notifications", "Notifications", gather, findings)

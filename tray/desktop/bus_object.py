"""The object behind our name on the session bus: what it tells and takes. See `docs/dbus.md`.

It decides nothing and reads nothing: it shows what it was last given and hands each wish, once
checked, to its `Actions`.
"""

# No `from __future__ import annotations`: dbus-fast reads the signatures from the annotations.

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

import msgspec
from dbus_fast import ErrorType, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import DBusBool, DBusInt64, DBusSignature, DBusStr, DBusUInt32
from dbus_fast.errors import DBusError
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal

from tray import __version__
from tray.mutes import Mutes, Scope, entries, id_of, published
from tray.session import Observation

log = logging.getLogger(__name__)

PATH = "/io/github/sessionbell/SessionBell"
INTERFACE = "io.github.sessionbell.SessionBell1"
ERROR = "io.github.sessionbell.Error"
"""What the names of our own errors begin with."""
SIGNAL_EACH = 0.25
"""Seconds between two `Changed` signals at least."""
_LONGEST = 4096
"""Characters of an argument at most."""
_LATEST = 253_402_300_799
"""The last second of the year 9999: what a time may be at most."""

Done = Annotated[tuple[bool, str], DBusSignature("bs")]


class Actions(Protocol):
    """What the service asks of the application. Called on its loop; arguments are checked."""

    def mute(self, scope: Scope, what: str, until: float | None) -> None:
        """Mute everything, a project (a directory) or a session (`mutes.id_of`)."""

    def unmute(self, scope: Scope, what: str) -> None:
        """Undo that; `what` may be unknown."""

    def snooze(self, session: Observation, until: float) -> None:
        """Let the open ask of `session` come back then."""

    async def focus(self, session: Observation, token: str) -> tuple[bool, str]:
        """Go to `session`; return whether that was done, and one line for the person.

        `token` is an activation token of the desktop, or empty.
        """

    async def focus_next(self, token: str) -> tuple[bool, str]:
        """Go to the session that waits longest or, called again, to the next one."""

    async def focus_back(self) -> tuple[bool, str]:
        """Go to the window of before."""

    def mark_seen(self, sessions: Sequence[Observation]) -> None:
        """Take it that the person has seen these."""

    def health(self) -> str:
        """Return how the application is, as JSON (`doctor.health`)."""

    def quit(self) -> None:
        """End the application."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the service tells."""

    sessions: tuple[Observation, ...]
    mutes: Mutes
    headline: str
    """The menu's head line."""
    blocked: int
    unseen: int
    working: int
    muted: bool
    """Whether everything is muted."""


class BusObject(ServiceInterface):
    """The object on one connection to the bus."""

    def __init__(
        self,
        bus: MessageBus,
        actions: Actions,
        told: Callable[[], Told | None],
        document: Callable[[Sequence[Observation]], bytes],
    ) -> None:
        """Show what `told` returns; `document` makes JSON of sessions."""
        super().__init__(INTERFACE)
        self._bus = bus
        self._actions = actions
        self._told = told
        self._document = document
        self._properties = self._values()
        self._last_signal = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Signal that there is something new, at once or soon."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._last_signal + SIGNAL_EACH - loop.time()
            if wait <= 0:
                self._signal()
            else:
                self._timer = loop.call_later(wait, self._signal)

    def stop(self) -> None:
        """Signal nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _signal(self) -> None:
        self._timer = None
        self._last_signal = asyncio.get_running_loop().time()
        if not self._bus.connected:
            return
        before, self._properties = self._properties, self._values()
        new = {name: value for name, value in self._properties.items() if before[name] != value}
        if new:
            self.emit_properties_changed(new)
        self._changed()

    def _values(self) -> dict[str, object]:
        told = self._told()
        return {
            "Headline": told.headline if told is not None else "",
            "Blocked": told.blocked if told is not None else 0,
            "Unseen": told.unseen if told is not None else 0,
            "Working": told.working if told is not None else 0,
            "Muted": told is not None and told.muted,
        }

    @dbus_method(name="Sessions")
    def _sessions(self) -> DBusStr:
        return self._document(self._known().sessions).decode()

    @dbus_method(name="Mutes")
    def _mutes(self) -> DBusStr:
        return msgspec.json.encode(published(self._known().mutes)).decode()

    @dbus_method(name="Mute")
    def _mute(self, scope: DBusStr, what: DBusStr, until: DBusInt64) -> None:
        wanted = _scope(scope)
        self._actions.mute(wanted, self._meant(wanted, what), _end(until, endless=True))

    @dbus_method(name="Unmute")
    def _unmute(self, scope: DBusStr, what: DBusStr) -> None:
        for entry in entries(self._known().mutes):
            # What is muted may have no live session any more.
            if entry.scope == scope and entry.what == what:
                self._actions.unmute(entry.scope, what)
                return
        wanted = _scope(scope)
        self._actions.unmute(wanted, self._meant(wanted, what))

    @dbus_method(name="Snooze")
    def _snooze(self, session: DBusStr, until: DBusInt64) -> None:
        found = self._session(session)
        if found.ask is None:
            raise DBusError(f"{ERROR}.NothingAsked", "this session asks nothing")
        end = _end(until, endless=False)
        assert end is not None  # noqa: S101  (for the type)
        self._actions.snooze(found, end)

    @dbus_method(name="Focus")
    async def _focus(self, session: DBusStr, token: DBusStr) -> Done:
        return await _done(self._actions.focus(self._session(session), _capped(token)))

    @dbus_method(name="FocusNext")
    async def _focus_next(self, token: DBusStr) -> Done:
        return await _done(self._actions.focus_next(_capped(token)))

    @dbus_method(name="FocusBack")
    async def _focus_back(self) -> Done:
        return await _done(self._actions.focus_back())

    @dbus_method(name="MarkSeen")
    def _mark_seen(self, session: DBusStr) -> None:
        every = self._known().sessions
        self._actions.mark_seen((self._session(session),) if session else every)

    @dbus_method(name="Health")
    def _health(self) -> DBusStr:
        return self._actions.health()

    @dbus_method(name="Quit")
    def _quit(self) -> None:
        # Not before the answer is on its way.
        asyncio.get_running_loop().call_soon(self._actions.quit)

    @dbus_signal(name="Changed")
    def _changed(self) -> None:
        pass

    @dbus_property(PropertyAccess.READ, name="Version")
    def _version(self) -> DBusStr:
        return __version__

    @dbus_property(PropertyAccess.READ, name="Headline")
    def _headline(self) -> DBusStr:
        return str(self._values()["Headline"])

    @dbus_property(PropertyAccess.READ, name="Blocked")
    def _blocked(self) -> DBusUInt32:
        told = self._told()
        return told.blocked if told is not None else 0

    @dbus_property(PropertyAccess.READ, name="Unseen")
    def _unseen(self) -> DBusUInt32:
        told = self._told()
        return told.unseen if told is not None else 0

    @dbus_property(PropertyAccess.READ, name="Working")
    def _working(self) -> DBusUInt32:
        told = self._told()
        return told.working if told is not None else 0

    @dbus_property(PropertyAccess.READ, name="Muted")
    def _muted(self) -> DBusBool:
        told = self._told()
        return told is not None and told.muted

    def _known(self) -> Told:
        told = self._told()
        if told is None:
            raise DBusError(f"{ERROR}.NotReady", "sessionbell has just started; ask again")
        return told

    def _meant(self, scope: Scope, what: str) -> str:
        """Return what is to be muted, as mutes name it."""
        if scope is Scope.SESSION:
            return id_of(self._session(what))
        if scope is Scope.EVERYTHING and what:
            raise DBusError(ErrorType.INVALID_ARGS, 'with the scope "all" nothing is named')
        if scope is Scope.PROJECT and not _capped(what).strip():
            raise DBusError(ErrorType.INVALID_ARGS, "a project is named by its directory")
        return what

    def _session(self, wanted: str) -> Observation:
        """Return the session of that id, key or process id."""
        _capped(wanted)
        for one in self._known().sessions:
            pid = str(one.pid) if one.pid is not None else None
            if wanted and wanted in (one.session_id, one.key, *one.aliases, pid):
                return one
        raise DBusError(
            f"{ERROR}.UnknownSession",
            f"no live session has the id, key or process id {wanted[:80]!r}",
        )


async def _done(action: Coroutine[object, object, tuple[bool, str]]) -> tuple[bool, str]:
    try:
        return await action
    except DBusError:
        raise
    except Exception as error:
        log.exception("a wish from the bus failed")
        raise DBusError(ErrorType.FAILED, f"that failed: {type(error).__name__}") from error


def _capped(argument: str) -> str:
    if len(argument) > _LONGEST:
        raise DBusError(ErrorType.INVALID_ARGS, f"longer than {_LONGEST} characters")
    return argument


def _scope(name: str) -> Scope:
    if name not in (Scope.EVERYTHING, Scope.PROJECT, Scope.SESSION):
        raise DBusError(ErrorType.INVALID_ARGS, 'the scope is "all", "project" or "session"')
    return Scope(name)


def _end(until: int, *, endless: bool) -> float | None:
    if until == 0 and endless:
        return None
    if not time.time() < until <= _LATEST:
        zero = ", or 0 for no end" if endless else ""
        raise DBusError(ErrorType.INVALID_ARGS, f"`until` is a time to come, in Unix seconds{zero}")
    return float(until)

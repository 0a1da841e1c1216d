"""What logind knows of this login: locked, idle, about to sleep (org.freedesktop.login1(5))."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dbus_fast.errors import DBusError

from tray.desktop.person.link import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbus_fast import Message

    from tray.desktop.person.link import Owner

NAME = "org.freedesktop.login1"
_PATH = "/org/freedesktop/login1"
_MANAGER = f"{NAME}.Manager"
_SESSION = f"{NAME}.Session"
_USER = f"{NAME}.User"
_GRAPHICAL = frozenset({"x11", "wayland", "mir"})


class Login:
    """This login's session in logind."""

    name = NAME
    signals = (
        f"sender='{NAME}',path='{_PATH}',interface='{_MANAGER}'",
        f"sender='{NAME}',path_namespace='{_PATH}/session',interface='{PROPERTIES}'",
    )

    def __init__(
        self,
        *,
        pid: int,
        uid: int,
        session_id: str | None,
        on_sleep: Callable[[bool], object],
        look_again: Callable[[str], object],
    ) -> None:
        """Know nothing yet.

        `session_id` is `$XDG_SESSION_ID`; `on_sleep` is told of each `PrepareForSleep`;
        `look_again` is `Link.look_again`.
        """
        self._pid, self._uid, self._session_id = pid, uid, session_id
        self._on_sleep = on_sleep
        self._look_again = look_again
        self._owner: str | None = None
        self._session: str | None = None
        self._known = False
        self.locked: bool | None = None
        """`LockedHint`; `None` where it is not known."""
        self.idle_since: float | None = None
        """When the desktop called itself idle, monotonic seconds; `None` if it does not.

        The last input was before that.
        """

    @property
    def tells_sleep(self) -> bool:
        """Whether logind is there and will tell of suspend and resume."""
        return self._known

    async def look(self, owner: Owner) -> None:
        """Find the session and read it."""
        self._owner = owner.unique_name
        asleep: object = False
        with suppress(DBusError):
            asleep = await owner.read(_PATH, _MANAGER, "PreparingForSleep")
        self._known = True
        self._on_sleep(asleep is True)
        self._session = None
        self._session, told = await self._find(owner)
        self.locked = told.get("LockedHint") is True
        since = told.get("IdleSinceHintMonotonic")
        idle = told.get("IdleHint") is True and isinstance(since, int) and since > 0
        self.idle_since = since / 1e6 if idle and isinstance(since, int) else None

    async def _find(self, owner: Owner) -> tuple[str, dict[str, object]]:
        """Return path and properties of the session that has the screen; raises `DBusError`.

        A tray started over ssh or from an old tmux server belongs to a session without a
        screen, which nobody ever locks; one that systemd starts for the user, to none.
        """
        best: tuple[str, dict[str, object]] | None = None
        for found in (self._by_id, self._by_pid, self._by_user):
            try:
                path = await found(owner)
                told = await owner.read_all(path, _SESSION)
            except DBusError:
                continue
            if told.get("Type") in _GRAPHICAL:
                return path, told
            best = best or (path, told)
        if best is None:
            self.locked = self.idle_since = None
            raise DBusError(f"{NAME}.NoSuchSession", "this login has no session")
        return best

    async def _by_id(self, owner: Owner) -> str:
        if self._session_id is None:
            raise DBusError(f"{NAME}.NoSuchSession", "$XDG_SESSION_ID is not set")
        (path,) = await owner.call(_PATH, _MANAGER, "GetSession", "s", self._session_id)
        return str(path)

    async def _by_pid(self, owner: Owner) -> str:
        (path,) = await owner.call(_PATH, _MANAGER, "GetSessionByPID", "u", self._pid)
        return str(path)

    async def _by_user(self, owner: Owner) -> str:
        (user,) = await owner.call(_PATH, _MANAGER, "GetUser", "u", self._uid)
        display = await owner.read(str(user), _USER, "Display")
        if not isinstance(display, (list, tuple)) or len(display) != 2 or display[1] == "/":
            raise DBusError(f"{NAME}.NoSuchSession", "this user has no screen")
        return str(display[1])

    def heard(self, message: Message) -> None:
        """Take in a signal of logind."""
        if message.sender != self._owner:
            return
        if message.member == "PrepareForSleep" and message.signature == "b":
            self._on_sleep(message.body[0])
        elif message.member in ("SessionNew", "SessionRemoved") or (
            # While it is not known which session is ours, any may be.
            message.member == "PropertiesChanged" and self._session in (None, message.path)
        ):
            self._look_again(NAME)

    def lost(self) -> None:
        """Forget all."""
        self._owner = self._session = None
        self._known = False
        self.locked = self.idle_since = None
        self._on_sleep(False)  # noqa: FBT003  (nobody would tell of the end)

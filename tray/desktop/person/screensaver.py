"""Whether a screen saver or locker covers the screen, as it says on the session bus."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbus_fast import Message

    from tray.desktop.person.link import Owner

NAMES = (
    "org.freedesktop.ScreenSaver",
    "org.gnome.ScreenSaver",
    "org.cinnamon.ScreenSaver",
    "org.mate.ScreenSaver",
    "org.xfce.ScreenSaver",
)
"""Bus names, which are their interfaces' names too. KDE and light-locker have the first."""


class ScreenSaver:
    """One of the screen savers of `NAMES`.

    `active` is also true while the screen is only blanked: nobody reads it then either.
    """

    def __init__(self, name: str, on_change: Callable[[], object]) -> None:
        self.name = name
        self.signals = (f"sender='{name}',interface='{name}',member='ActiveChanged'",)
        self._path = "/" + name.replace(".", "/")
        self._on_change = on_change
        self._heard = 0
        self.active: bool | None = None
        """Whether it covers the screen; `None` where there is none, or it does not say."""

    async def look(self, owner: Owner) -> None:
        """Ask it."""
        heard = self._heard
        (active,) = await owner.call(self._path, self.name, "GetActive")
        # A signal that follows the answer is taken in before it.
        if self._heard == heard:
            self.active = active if isinstance(active, bool) else None

    def heard(self, message: Message) -> None:
        """Take in that it began or ended."""
        if (message.interface, message.member, message.signature) == (
            self.name,
            "ActiveChanged",
            "b",
        ):
            self.active = message.body[0]
            self._heard += 1
            self._on_change()

    def lost(self) -> None:
        """Forget what it said."""
        self.active = None

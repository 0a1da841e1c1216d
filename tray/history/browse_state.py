"""What browsing is made of: its state, what happens, what is to be done. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tray.history.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tray.history.past import Past
    from tray.history.search import Found

LONGEST = 200
"""Characters that can be typed into one line."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a search of the conversations found; it stands in place of the list."""

    text: str
    token: int
    """Which search it is: what an older one still finds is of no use."""
    found: Mapping[str, Found] | None = None
    """By transcript, in the order of the sessions; `None` as long as it is searched."""
    filter_before: str = ""
    """What the list was filtered by, which holds again once the search ends."""


@dataclass(frozen=True, slots=True)
class Level:
    """One list: all sessions, or the fork family of one."""

    of: str | None = None
    """Transcript whose parent and forks are listed; `None`: all sessions."""
    filter: str = ""
    typing: bool = False
    """The filter's line is open."""
    search: Search | None = None
    current: str | None = None
    """Transcript under the cursor."""


@dataclass(frozen=True, slots=True)
class GoThere:
    """Asked whether to go to it instead of resuming it, for it is live."""

    session: Past


@dataclass(frozen=True, slots=True)
class ForkIt:
    """Asked whether to go on in a new session."""

    session: Past


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Asked whether to resume it in the nearest directory that is left, for its own is gone."""

    session: Past
    gone: str
    nearest: str
    fork: bool


Question = GoThere | ForkIt | Elsewhere


@dataclass(frozen=True, slots=True)
class State:
    """All there is to draw."""

    catalog: Catalog = field(default_factory=Catalog)
    levels: tuple[Level, ...] = (Level(),)
    """The list that is shown is the last."""
    rows: tuple[int, ...] = ()
    """Places in the catalog of what is listed."""
    cursor: int = 0
    page: int = 10
    """Rows that are seen at once."""
    wanted: str | None = None
    """What is typed into the search's line; `None` if that is not open."""
    question: Question | None = None
    helps: bool = False
    notice: str = ""
    loaded: bool = False
    """The files were looked at; before that the rows are what the index remembers."""
    searches: int = 0

    @property
    def level(self) -> Level:
        """The list that is shown."""
        return self.levels[-1]

    @property
    def current(self) -> Past | None:
        """The session under the cursor."""
        if not self.rows:
            return None
        return self.catalog.sessions[self.rows[self.cursor]]

    @property
    def family(self) -> Past | None:
        """The session whose forks are listed."""
        return self.catalog.get(self.level.of)

    @property
    def found(self) -> Found | None:
        """What the search found in the session under the cursor."""
        search, current = self.level.search, self.current
        if search is None or search.found is None or current is None:
            return None
        return search.found.get(current.transcript)


# What happens.


@dataclass(frozen=True, slots=True)
class Key:
    """A key, by Textual's name, and the character it types, if it types one."""

    name: str
    character: str | None = None


@dataclass(frozen=True, slots=True)
class Pointed:
    """A row was clicked; a second time: `opened`."""

    row: int
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Resized:
    """So many rows are seen at once now."""

    page: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """There are sessions; `whole`: the files were looked at, not only the index."""

    catalog: Catalog
    whole: bool


@dataclass(frozen=True, slots=True)
class Searched:
    """A search is over."""

    token: int
    found: Sequence[Found]


@dataclass(frozen=True, slots=True)
class Planned:
    """How a session would be resumed, looked up just now."""

    session: Past
    """With whether it is live at this moment."""
    fork: bool
    gone: str | None
    nearest: str


@dataclass(frozen=True, slots=True)
class Told:
    """Something for the person to read."""

    text: str


Event = Key | Pointed | Resized | Loaded | Searched | Planned | Told


# What is to be done.


@dataclass(frozen=True, slots=True)
class Quit:
    """End."""


@dataclass(frozen=True, slots=True)
class StartSearch:
    """Search the conversations of these; answered by `Searched`."""

    token: int
    text: str
    sessions: tuple[Past, ...]


@dataclass(frozen=True, slots=True)
class StopSearch:
    """Nobody waits for the search any more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Look up how it would be resumed; answered by `Planned`, or `Told` why it cannot be."""

    session: Past
    fork: bool


@dataclass(frozen=True, slots=True)
class Resume:
    """End, and resume it in this terminal."""

    session: Past
    fork: bool


@dataclass(frozen=True, slots=True)
class Go:
    """Go to the terminal that it is live in."""

    session: Past


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """Open its directory with what the desktop has for that."""

    session: Past


@dataclass(frozen=True, slots=True)
class Copy:
    """Put its id into the clipboard."""

    text: str


@dataclass(frozen=True, slots=True)
class Reload:
    """Look at all files anew; answered by `Loaded`."""


Effect = Quit | StartSearch | StopSearch | Plan | Resume | Go | OpenFolder | Copy | Reload
Next = tuple[State, Effect | None]

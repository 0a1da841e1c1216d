"""What `sessionbell browse` shows and does: a state, what happens, the next state. Pure.

`step` is the whole of it. What it cannot do itself (read files, start programs) it returns as an
effect for the screens, which come back with an event.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tray.history.browse_state import (
    LONGEST,
    Copy,
    Effect,
    Elsewhere,
    Event,
    ForkIt,
    Go,
    GoThere,
    Key,
    Level,
    Loaded,
    Next,
    OpenFolder,
    Plan,
    Planned,
    Pointed,
    Question,
    Quit,
    Reload,
    Resized,
    Resume,
    Search,
    Searched,
    StartSearch,
    State,
    StopSearch,
    Told,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tray.history.catalog import Catalog

__all__ = [
    "LONGEST",
    "Copy",
    "Effect",
    "Elsewhere",
    "Event",
    "ForkIt",
    "Go",
    "GoThere",
    "Key",
    "Level",
    "Loaded",
    "Next",
    "OpenFolder",
    "Plan",
    "Planned",
    "Pointed",
    "Question",
    "Quit",
    "Reload",
    "Resized",
    "Resume",
    "Search",
    "Searched",
    "StartSearch",
    "State",
    "StopSearch",
    "Told",
    "step",
]


def step(state: State, event: Event) -> Next:
    """Return what is shown after an event, and what is to be done."""
    match event:
        case Key():
            return _key(state, event)
        case Pointed():
            return _pointed(state, event)
        case Resized():
            return dataclasses.replace(state, page=max(event.page, 1)), None
        case Loaded():
            loaded = state.loaded or event.whole
            # Once all is known, what the index remembers is no news.
            if state.loaded and not event.whole:
                return state, None
            return _listed(state, catalog=event.catalog, loaded=loaded), None
        case Searched():
            return _searched(state, event), None
        case Planned():
            return _planned(state, event)
        case Told():
            return dataclasses.replace(state, notice=event.text), None


def _key(state: State, key: Key) -> Next:
    state = dataclasses.replace(state, notice="")
    if key.name in ("ctrl+c", "ctrl+q"):
        return state, Quit()
    if state.helps:
        return dataclasses.replace(state, helps=False), None
    if state.question is not None:
        return _answer(state, state.question, key)
    if state.wanted is not None:
        return _search_line(state, state.wanted, key)
    if key.name in _MOVES:
        return _at(state, _MOVES[key.name](state)), None
    if key.name in _COMMANDS:
        return _COMMANDS[key.name](state)
    return _filter_line(state, key), None


def _answer(state: State, question: Question, key: Key) -> Next:
    """Enter and `y` mean yes, Escape and `n` no; anything else is no answer."""
    if key.name in ("escape", "n", "N"):
        return dataclasses.replace(state, question=None), None
    forks = key.name == "ctrl+f" and isinstance(question, GoThere)
    if key.name not in ("enter", "y", "Y") and not forks:
        return state, None
    state = dataclasses.replace(state, question=None)
    match question:
        case GoThere():
            session = question.session
            return state, Plan(session, fork=True) if forks else Go(session)
        case ForkIt():
            return state, Plan(question.session, fork=True)
        case Elsewhere():
            return state, Resume(question.session, question.fork)


def _search_line(state: State, wanted: str, key: Key) -> Next:
    if key.name == "escape":
        return dataclasses.replace(state, wanted=None), None
    if key.name in ("enter", "ctrl+s"):
        return _start_search(state, wanted)
    if key.name in _MOVES and key.name not in ("home", "end"):
        return _at(state, _MOVES[key.name](state)), None
    return dataclasses.replace(state, wanted=_typed(wanted, key)), None


def _filter_line(state: State, key: Key) -> State:
    level = state.level
    if not level.typing and not level.filter:
        if key.character == "/":
            return _on_level(state, typing=True)
        if key.character == " ":
            return state
    if key.name == "backspace" and not level.filter:
        return _on_level(state, typing=False)
    text = _typed(level.filter, key)
    if text == level.filter:
        return state
    # The best match is what is meant: the cursor goes to the first.
    return _listed(state, at_first=True, level=dataclasses.replace(level, filter=text, typing=True))


def _typed(text: str, key: Key) -> str:
    """Return the text of a line after a key."""
    if key.name == "backspace":
        return text[:-1]
    if key.name == "ctrl+u":
        return ""
    if key.name in ("ctrl+w", "ctrl+backspace"):
        return text.rstrip().rpartition(" ")[0]
    if key.character is not None and key.character.isprintable():
        return (text + key.character)[:LONGEST]
    return text


def _escape(state: State) -> Next:
    """End the search, else the filter, else the fork view."""
    level = state.level
    if level.search is not None:
        searching = level.search.found is None
        back = dataclasses.replace(
            level, search=None, filter=level.search.filter_before, typing=False
        )
        return _listed(state, level=back), StopSearch() if searching else None
    if level.filter or level.typing:
        return _listed(state, level=dataclasses.replace(level, filter="", typing=False)), None
    if len(state.levels) > 1:
        return _listed(state, levels=state.levels[:1]), None
    return state, None


def _search(state: State) -> Next:
    """Search for what the list is filtered by; ask for words if it is not."""
    if state.level.filter.strip():
        return _start_search(state, state.level.filter)
    search = state.level.search
    return dataclasses.replace(state, wanted=search.text if search is not None else ""), None


def _start_search(state: State, text: str) -> Next:
    state = dataclasses.replace(state, wanted=None)
    if not text.strip():
        return state, None
    level, token = state.level, state.searches + 1
    before = level.search.filter_before if level.search is not None else level.filter
    search = Search(text.strip(), token, filter_before=before)
    fresh = dataclasses.replace(level, filter="", typing=False, search=search)
    sessions = tuple(state.catalog.sessions[place] for place in state.catalog.family(level.of))
    state = dataclasses.replace(_listed(state, level=fresh), searches=token)
    return state, StartSearch(token, search.text, sessions)


def _searched(state: State, event: Searched) -> State:
    levels = list(state.levels)
    for place, level in enumerate(levels):
        search = level.search
        if search is not None and search.token == event.token:
            found = {one.session.transcript: one for one in event.found}
            search = dataclasses.replace(search, found=found)
            levels[place] = dataclasses.replace(level, search=search)
    return _listed(state, at_first=True, levels=tuple(levels))


def _drill(state: State) -> Next:
    """Go to the parent and the direct forks of the session under the cursor."""
    level, current = state.level, state.current
    if level.filter or current is None:
        return state, None
    if not state.catalog.family(current.transcript):
        notice = "it has no forks here"
        notice += ", and what it was forked off is gone" if current.fork else ", and is none"
        return dataclasses.replace(state, notice=notice), None
    return _listed(state, levels=(*state.levels, Level(current.transcript)), at_first=True), None


def _back(state: State) -> Next:
    if state.level.filter or len(state.levels) == 1:
        return state, None
    return _listed(state, levels=state.levels[:-1]), None


def _enter(state: State) -> Next:
    current = state.current
    if current is None:
        return state, None
    if current.live:
        return dataclasses.replace(state, question=GoThere(current)), None
    return state, Plan(current, fork=False)


def _planned(state: State, plan: Planned) -> Next:
    if plan.session.live and not plan.fork:
        return dataclasses.replace(state, question=GoThere(plan.session)), None
    if plan.gone is not None:
        question = Elsewhere(plan.session, plan.gone, plan.nearest, plan.fork)
        return dataclasses.replace(state, question=question), None
    return state, Resume(plan.session, plan.fork)


def _fork(state: State) -> Next:
    current = state.current
    question = ForkIt(current) if current is not None else None
    return dataclasses.replace(state, question=question), None


def _folder(state: State) -> Next:
    return state, OpenFolder(state.current) if state.current is not None else None


def _copy(state: State) -> Next:
    return state, Copy(state.current.session_id) if state.current is not None else None


def _help(state: State) -> Next:
    return dataclasses.replace(state, helps=True), None


def _reload(state: State) -> Next:
    return dataclasses.replace(state, notice="looking at all files again"), Reload()


def _pointed(state: State, event: Pointed) -> Next:
    if state.question is not None or state.helps or not 0 <= event.row < len(state.rows):
        return state, None
    state = _at(dataclasses.replace(state, notice="", wanted=None), event.row)
    return _enter(state) if event.opened else (state, None)


_MOVES: dict[str, Callable[[State], int]] = {
    "up": lambda state: state.cursor - 1,
    "down": lambda state: state.cursor + 1,
    "pageup": lambda state: state.cursor - state.page,
    "pagedown": lambda state: state.cursor + state.page,
    "home": lambda _: 0,
    "end": lambda state: len(state.rows),
}
_COMMANDS: dict[str, Callable[[State], Next]] = {
    "escape": _escape,
    "enter": _enter,
    "right": _drill,
    "left": _back,
    "ctrl+s": _search,
    "ctrl+o": _folder,
    "ctrl+y": _copy,
    "ctrl+f": _fork,
    "f1": _help,
    "f5": _reload,
}


def _at(state: State, row: int) -> State:
    """Return the state with the cursor in that row, or the nearest there is."""
    row = max(min(row, len(state.rows) - 1), 0)
    current = state.catalog.sessions[state.rows[row]].transcript if state.rows else None
    level = dataclasses.replace(state.level, current=current)
    return dataclasses.replace(state, cursor=row, levels=(*state.levels[:-1], level))


def _on_level(state: State, *, typing: bool) -> State:
    level = dataclasses.replace(state.level, typing=typing)
    return dataclasses.replace(state, levels=(*state.levels[:-1], level))


def _listed(
    state: State,
    *,
    catalog: Catalog | None = None,
    levels: tuple[Level, ...] | None = None,
    level: Level | None = None,
    loaded: bool | None = None,
    at_first: bool = False,
) -> State:
    """Return the state with its rows found anew; the cursor stays at its session if it can."""
    catalog = catalog if catalog is not None else state.catalog
    levels = levels if levels is not None else state.levels
    if level is not None:
        levels = (*levels[:-1], level)
    shown = levels[-1]
    rows = catalog.family(shown.of)
    if shown.search is not None:
        found = shown.search.found or {}
        rows = [place for place in rows if catalog.sessions[place].transcript in found]
    if shown.filter.strip():
        rows = catalog.ranked(shown.filter, rows)
    row = 0
    if not at_first:
        place = catalog.place(shown.current)
        row = rows.index(place) if place is not None and place in rows else state.cursor
    fresh = dataclasses.replace(
        state,
        catalog=catalog,
        levels=levels,
        rows=tuple(rows),
        loaded=state.loaded if loaded is None else loaded,
    )
    return _at(fresh, row)

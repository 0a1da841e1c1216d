"""The two panes: the list of sessions and the preview. Both draw only the lines that are seen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tray.cli.browser.rows import fitted, row

if TYPE_CHECKING:
    from textual import events

    from tray.history.browsing import State

_KEPT = 500
"""Lines of the list that are kept as they were drawn."""


class Listing(ScrollView, can_focus=False):
    """The sessions, one a line. It knows the state and draws from it."""

    COMPONENT_CLASSES = {"listing--current"}  # noqa: RUF012 - as Textual declares it

    class Clicked(Message):
        """A line was clicked, for the second time in a row: `opened`."""

        def __init__(self, row: int, *, opened: bool) -> None:
            super().__init__()
            self.row = row
            self.opened = opened

    class Sized(Message):
        """So many lines are seen now."""

        def __init__(self, rows: int) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, state: State) -> None:
        super().__init__(id="listing")
        self._state = state
        self._drawn: dict[tuple[object, ...], Strip] = {}

    def show(self, state: State) -> None:
        """Draw another state, with the cursor in view."""
        before, self._state = self._state, state
        if state.catalog is not before.catalog:
            self._drawn.clear()
        size = Size(self.scrollable_content_region.width, max(len(state.rows), 1))
        if size != self.virtual_size:
            self.virtual_size = size
        self.keep_in_view()
        self.refresh()

    def keep_in_view(self) -> None:
        """Scroll no further than the cursor needs."""
        height = self.scrollable_content_region.height
        top, cursor = self.scroll_offset.y, self._state.cursor
        if cursor < top or height < 1:
            top = cursor
        elif cursor >= top + height:
            top = cursor - height + 1
        top = max(min(top, len(self._state.rows) - height), 0)
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def render_line(self, y: int) -> Strip:
        """Return a line of what is seen."""
        state, width = self._state, self.scrollable_content_region.width
        place = y + self.scroll_offset.y
        if place >= len(state.rows):
            said = _nothing(state) if not state.rows and y == 0 else ""
            line = fitted(Text(said, style="dim"), width)
            return Strip(line.render(self.app.console), width).apply_style(self.rich_style)
        current = place == state.cursor
        return self._line(state, state.rows[place], width, current=current)

    def _line(self, state: State, place: int, width: int, *, current: bool) -> Strip:
        past = state.catalog.sessions[place]
        level, family = state.level, state.family
        found = level.search.found.get(past.transcript) if _found(state) else None  # type: ignore[union-attr]
        matches = found.count if found is not None else None
        minute = int(time.time() // 30)
        key = (place, width, current, level.filter, level.of, matches, minute)
        strip = self._drawn.get(key)
        if strip is None:
            relation = ""
            if family is not None:
                relation = "↑ " if state.catalog.is_parent(past, family) else "└ "
            line = row(
                past,
                width,
                time.time(),
                related=state.catalog.has_family(past),
                relation=relation,
                query=level.filter,
                matches=matches,
            )
            style = self.rich_style
            if current:
                style += self.get_component_rich_style("listing--current")
                line.stylize(Style(dim=False), 0)
            strip = Strip(line.render(self.app.console), width).apply_style(style)
            if len(self._drawn) >= _KEPT:
                self._drawn.clear()
            self._drawn[key] = strip
        return strip

    def on_resize(self) -> None:
        """Tell how many lines are seen, and keep the cursor among them."""
        self._drawn.clear()
        self.show(self._state)
        self.post_message(self.Sized(self.scrollable_content_region.height))

    def notify_style_update(self) -> None:
        """Draw anew in other colours."""
        super().notify_style_update()
        self._drawn.clear()

    def on_click(self, event: events.Click) -> None:
        """Point at a row, or open it."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None:
            place = offset.y + self.scroll_offset.y
            self.post_message(self.Clicked(place, opened=event.chain > 1))


class Preview(ScrollView, can_focus=False):
    """Lines that are wrapped already."""

    def __init__(self) -> None:
        super().__init__(id="preview")
        self._lines: list[Strip] = []

    def show(self, lines: list[Strip], *, at_end: bool) -> None:
        """Show lines from their beginning or their end."""
        self._lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, max(len(lines), 1))
        top = max(len(lines) - self.scrollable_content_region.height, 0) if at_end else 0
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return a line of what is seen."""
        width, place = self.scrollable_content_region.width, y + self.scroll_offset.y
        strip = self._lines[place] if place < len(self._lines) else Strip.blank(width)
        return strip.adjust_cell_length(width).apply_style(self.rich_style)


def _found(state: State) -> bool:
    return state.level.search is not None and state.level.search.found is not None


def _nothing(state: State) -> str:
    level = state.level
    if level.search is not None and level.search.found is None:
        return "  searching…"
    if level.filter.strip():
        return "  no title fits; Ctrl+S searches the conversations for it"
    if level.search is not None:
        return "  nothing found"
    return "  no past sessions" if state.loaded else "  reading…"

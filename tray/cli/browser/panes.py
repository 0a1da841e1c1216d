"""The two panes: the list of sessions and the preview.

They draw only the lines that are seen, and scroll by themselves: Textual's scroll views lay the
whole screen out anew whenever the number of lines changes, which with each typed letter takes
longer than all else.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tray.cli.browser.rows import fitted, row

if TYPE_CHECKING:
    from textual import events

    from tray.history.browsing import State

_KEPT = 500
"""Lines of the list that are kept as they were drawn."""
_WHEEL = 3
"""Lines that the mouse wheel moves by."""
_BAR = ("▐", " ")
_EDGE = 2
"""Cells beside a line: a blank before it, the scroll bar behind it."""


class Lines(Widget, can_focus=False):
    """Many lines, of which some are seen."""

    ALLOW_SELECT = False

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.top = 0
        """The first line that is seen."""
        self._styles_known: dict[str, Style] = {}

    @property
    def count(self) -> int:
        """How many lines there are."""
        return 0

    @property
    def line_width(self) -> int:
        """Cells of a line."""
        return max(self.size.width - _EDGE, 1)

    def line(self, place: int) -> Strip:
        """Return a line, as wide as `line_width`."""
        raise NotImplementedError

    def scroll_by(self, lines: int) -> None:
        """Move what is seen, as far as there is something to see."""
        self._move_to(self.top + lines)
        self.refresh()

    def _move_to(self, top: int) -> None:
        self.top = max(min(top, self.count - self.size.height), 0)

    def style(self, component: str = "") -> Style:
        """Return the widget's style, or that of a part of it; each is worked out once."""
        style = self._styles_known.get(component)
        if style is None:
            style = self.get_component_rich_style(component) if component else self.rich_style
            self._styles_known[component] = style
        return style

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen with its part of the scroll bar."""
        style, height = self.style(), self.size.height
        edge = Segment(" ", style)
        bar = edge
        if self.count > height:
            thumb = max(height * height // self.count, 1)
            begin = (height - thumb) * self.top // max(self.count - height, 1)
            bar = Segment(_BAR[not begin <= y < begin + thumb], style + Style(dim=True))
        return Strip([edge, *self.line(self.top + y), bar], self.line_width + _EDGE)

    def notify_style_update(self) -> None:
        """Draw anew in other colours."""
        super().notify_style_update()
        self._styles_known = {}

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll on."""
        event.stop()
        self.scroll_by(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll back."""
        event.stop()
        self.scroll_by(-_WHEEL)


class Listing(Lines):
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
        super().__init__("listing")
        self._state = state
        self._drawn: dict[tuple[object, ...], Strip] = {}

    @property
    def count(self) -> int:
        """How many sessions are listed."""
        return len(self._state.rows)

    def show(self, state: State) -> None:
        """Draw another state, with the cursor in view."""
        before, self._state = self._state, state
        if state.catalog is not before.catalog:
            self._drawn.clear()
        height, cursor = self.size.height, state.cursor
        # No further than the cursor needs.
        self._move_to(max(min(self.top, cursor), cursor - max(height, 1) + 1))
        self.refresh()

    def line(self, place: int) -> Strip:
        """Return a session's line."""
        state = self._state
        if place < len(state.rows):
            return self._session(state, state.rows[place], current=place == state.cursor)
        said = _nothing(state) if place == 0 else ""
        text = fitted(Text(said, style="dim"), self.line_width)
        return Strip(text.render(self.app.console), self.line_width).apply_style(self.style())

    def _session(self, state: State, place: int, *, current: bool) -> Strip:
        past = state.catalog.sessions[place]
        level, family, width = state.level, state.family, self.line_width
        found = level.search.found if level.search is not None else None
        hit = found.get(past.transcript) if found is not None else None
        matches = hit.count if hit is not None else None
        # Its age is part of the line.
        key = (place, width, current, level.filter, level.of, matches, int(time.time() // 30))
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
            style = self.style()
            if current:
                style += self.style("listing--current")
            strip = Strip(line.render(self.app.console), width).apply_style(style)
            if len(self._drawn) >= _KEPT:
                self._drawn.clear()
            self._drawn[key] = strip
        return strip

    def on_resize(self) -> None:
        """Tell how many lines are seen, and keep the cursor among them."""
        self._drawn.clear()
        self.show(self._state)
        self.post_message(self.Sized(self.size.height))

    def notify_style_update(self) -> None:
        """Draw anew in other colours."""
        super().notify_style_update()
        self._drawn.clear()

    def on_click(self, event: events.Click) -> None:
        """Point at a row, or open it."""
        event.stop()
        self.post_message(self.Clicked(self.top + event.y, opened=event.chain > 1))


class Preview(Lines):
    """Lines that are wrapped already."""

    def __init__(self) -> None:
        super().__init__("preview")
        self._lines: list[Strip] = []

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def show(self, lines: list[Strip], *, at_end: bool) -> None:
        """Show lines from their beginning or their end."""
        self._lines = lines
        self._move_to(len(lines) if at_end else 0)
        self.refresh()

    def line(self, place: int) -> Strip:
        """Return one of them."""
        strip = self._lines[place] if place < len(self._lines) else Strip.blank(0)
        return strip.adjust_cell_length(self.line_width).apply_style(self.style())

    def on_resize(self) -> None:
        """See that there is no gap below the last line."""
        self.scroll_by(0)


def _nothing(state: State) -> str:
    level = state.level
    if level.search is not None and level.search.found is None:
        return "  searching…"
    if level.filter.strip():
        return "  no title fits; Ctrl+S searches the conversations for it"
    if level.search is not None:
        return "  nothing found"
    return "  no past sessions" if state.loaded else "  reading…"

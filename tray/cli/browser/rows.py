"""How a session looks as one line of the list, and at the head of the preview. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from tray.cli.browser.words import number
from tray.cli.table import age
from tray.history.export import local
from tray.history.fuzzy import marks
from tray.history.past import LOCAL
from tray.session import State
from tray.untrusted import one_line

if TYPE_CHECKING:
    from tray.history.past import Past

# In true colours: Textual would look each of the terminal's own up anew with each line.
YELLOW, GREEN, CYAN, MAGENTA, BLUE = "#e5c07b", "#98c379", "#56b6c2", "#c678dd", "#61afef"
_PROJECT_SHARE = 5
"""The project's column has a part so small of the line."""
_PROJECT_CELLS = (8, 24)
_LIVE = {
    str(State.NEEDS_INPUT): f"bold {YELLOW}",
    str(State.WORKING): GREEN,
}
"""How a live session's mark is drawn; all others in the calm colour."""
_CALM = CYAN
_MARKED = "bold underline"


def project_cells(width: int) -> int:
    """Return how wide the project's column is in a list of that width."""
    least, most = _PROJECT_CELLS
    return min(max(width // _PROJECT_SHARE, least), most)


def head(width: int) -> Text:
    """Return the line with the columns' names."""
    project = project_cells(width)
    return fitted(Text(f"    MOD TURNS {'PROJECT':{project}} TITLE", style="dim"), width)


def row(
    past: Past,
    width: int,
    now: float,
    *,
    related: bool = False,
    relation: str = "",
    query: str = "",
    matches: int | None = None,
) -> Text:
    """Return a session's line, exactly so many cells wide.

    `related` marks a fork or what was forked; `relation` says what it is to the session whose
    forks are listed; `query` is what the list is filtered by, `matches` how often a search's
    words are in it.
    """
    changed = age(now - past.modified if past.modified is not None else None)
    project = project_cells(width)
    line = Text(no_wrap=True)
    live = _live_style(past)
    line.append("● " if past.live else "  ", live)
    line.append(f"{changed:>5} {past.turns:>5} ")
    line.append_text(_matching(past.project or "", project, query, CYAN))
    line.append(" ")
    line.append(relation, MAGENTA)
    if past.name is not None:
        line.append("★ ", YELLOW)
    if related:
        line.append("⑂ ", MAGENTA)
    if matches is not None:
        line.append(f"{matches}× ", YELLOW)
    if past.live:
        # Before the title, which may be longer than the line.
        line.append(f"{_doing(past)}: ", live)
    if past.title and past.title.strip():
        line.append_text(_matching(past.title, None, query, ""))
    else:
        line.append(past.session_id, "dim")
    if past.tag:
        line.append(f" #{one_line(past.tag, 40)}", MAGENTA)
    if past.source != LOCAL:
        line.append(f" @{one_line(past.source, 20)}", BLUE)
    return fitted(line, width)


def about(past: Past) -> tuple[Text, Text]:
    """Return the two lines that stand over a session's preview."""
    title = Text(no_wrap=True, overflow="ellipsis")
    if past.name is not None:
        title.append("★ ", YELLOW)
    title.append(one_line(past.title or "") or past.session_id, "bold")
    if past.live:
        title.append(f"  ● {_doing(past)}", _live_style(past))
    facts = [
        past.session_id[:8],
        local(past.modified),
        f"{number(past.turns, 'turn')}, {number(past.messages, 'message')}",
        f"on {one_line(past.branch, 40)}" if past.branch else None,
        one_line(past.cwd) if past.cwd else None,
    ]
    line = " · ".join(fact for fact in facts if fact)
    return title, Text(line, style="dim", no_wrap=True, overflow="ellipsis")


def fitted(line: Text, width: int) -> Text:
    """Return a line with exactly so many cells, cut with an ellipsis or filled up."""
    cells = cell_len(line.plain)
    if cells > width:
        line.truncate(width, overflow="ellipsis")
        cells = cell_len(line.plain)
    line.append(" " * (width - cells))
    return line


def _matching(text: str, cells: int | None, query: str, style: str) -> Text:
    """Return untrusted text with the letters marked that a filter stands for."""
    shown = one_line(text)
    made = Text(shown, style)
    for at in marks(query, shown) if query else ():
        made.stylize(_MARKED, at, at + 1)
    if cells is None:
        return made
    if cell_len(shown) > cells:
        made.truncate(cells, overflow="ellipsis")
    return made.append(" " * (cells - cell_len(made.plain)))


def _live_style(past: Past) -> str:
    return _LIVE.get(past.state or "", _CALM) if past.live else ""


def _doing(past: Past) -> str:
    """Return what a live session does, or what it waits for."""
    return one_line(past.reason or past.state or "live", 40).replace("_", " ")

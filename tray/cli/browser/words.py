"""The words around the list: its bar, the line below, questions and help. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from tray.history.browsing import Elsewhere, ForkIt, GoThere
from tray.untrusted import one_line

if TYPE_CHECKING:
    from tray.history.browsing import Question, State
    from tray.history.past import Past

_CURSOR = "▏"
_HELP = (
    ("↑ ↓ PgUp PgDn Home End", "choose a session"),
    ("Enter, double click", "resume it here, in its directory"),
    ("a letter, /", "filter by title, project, #tag, branch or id"),
    ("", "(letters may be left out: shpapi finds shop-api)"),
    ("Ctrl+S", "search the conversations of what is listed"),
    ("→ ←", "its parent and its forks, and back"),
    ("Esc", "end the search, then the filter, then the forks"),
    ("Ctrl+F", "fork it: go on in a new session"),
    ("Ctrl+O, Ctrl+Y", "open its folder, copy its id"),
    ("Shift+↑ ↓, wheel", "scroll the preview"),
    ("F5", "look at all files again"),
    ("Ctrl+Q, Ctrl+C", "quit"),
)
_SIGNS = (
    ("●", "live right now, with what it is doing"),
    ("★", "a name that you gave"),
    ("⑂", "a fork, or forked"),
    ("↑ └", "in the fork view: the parent, a fork"),
    ("3×", "how often the search's words are in it"),
    ("@name", "on that machine; @kept: a copy that you keep"),
)


def bar(state: State) -> Text:
    """Return the line at the top: what is listed."""
    line = Text("sessionbell", "bold")
    level, family = state.level, state.family
    shown, whole = len(state.rows), len(state.catalog.sessions)
    if level.search is None and not level.filter.strip() and family is None:
        line.append(f"  {number(whole, 'past session')}")
    elif level.search is None or level.filter.strip():
        line.append(f"  {shown:,} of {whole:,}")
    if family is not None:
        line.append("  forks of ", "dim").append(f"“{called(family)}”", "magenta")
    if state.wanted is not None:
        line.append("  search for: ", "bold yellow").append(_line(state.wanted))
        return line
    if level.search is not None:
        line.append("  said: ", "bold yellow").append(one_line(level.search.text))
        line.append(f"  {_hits(state)}", "dim")
    if level.typing or level.filter:
        line.append("  filter: ", "bold cyan").append(_line(level.filter))
    return line


def status(state: State, progress: str) -> Text:
    """Return the line above the keys: how far it is, or what there is to say."""
    line = Text()
    if progress:
        line.append(progress, "bold")
    if state.notice:
        line.append("  " if progress else "").append(one_line(state.notice, 300), "yellow")
    if not line:
        place = f"{state.cursor + 1:,}/{len(state.rows):,}" if state.rows else ""
        line.append(place if state.loaded else "reading…", "dim")
    return line


def question(asked: Question) -> Text:
    """Return what is asked, with its answers to click on."""
    answers: tuple[tuple[str, str, str], ...]
    match asked:
        case GoThere():
            past = asked.session
            doing = one_line(past.state or "live", 40).replace("_", " ")
            said = f"“{called(past)}” is live in process {past.pid} ({doing})."
            text = Text(f"{said} Two processes on one transcript would corrupt it. Go there?\n")
            answers = (("enter", "Enter", "go there"), ("ctrl+f", "Ctrl+F", "fork it"))
        case ForkIt():
            text = Text(f"Fork “{called(asked.session)}”?")
            text.append(" It goes on in a new session; this one stays as it is.\n")
            answers = (("enter", "Enter", "fork"),)
        case Elsewhere():
            text = Text(f"{one_line(asked.gone)} is gone. ")
            text.append(f"Resume “{called(asked.session)}” in {one_line(asked.nearest)}?")
            text.append(" Older clients do not find it there.\n")
            answers = (("enter", "Enter", "resume there"),)
    for key, name, does in (*answers, ("escape", "Esc", "leave it")):
        click = Style(bold=True, meta={"@click": f"app.press('{key}')"})
        text.append(f"[{name}] {does}", click).append("   ")
    return text


def help_text() -> Text:
    """Return all keys and signs."""
    text = Text("Keys\n", "bold")
    for key, does in _HELP:
        text.append(f"  {key:24}", "cyan").append(f"{does}\n")
    text.append("Signs\n", "bold")
    for sign, means in _SIGNS:
        text.append(f"  {sign:24}", "yellow").append(f"{means}\n")
    return text.append("Any key goes back.", "dim")


def called(past: Past) -> str:
    """Return what a session is called in a sentence."""
    return one_line(past.name or past.title or past.session_id, 60) or past.session_id


def _hits(state: State) -> str:
    search = state.level.search
    if search is None or search.found is None:
        return "searching…"
    matches = sum(found.count for found in search.found.values())
    return f"{number(matches, 'match', 'es')} in {number(len(search.found), 'session')}"


def number(amount: int, noun: str, plural: str = "s") -> str:
    """Return so many of something in words."""
    return f"{amount:,} {noun}{plural if amount != 1 else ''}"


def _line(text: str) -> str:
    # What is typed is the person's own, but what is pasted need not be.
    return (one_line(f"{text}.")[:-1] if text.strip() else text) + _CURSOR

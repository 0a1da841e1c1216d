"""The application: it draws the state of `tray.history.browsing` and does its effects."""

from __future__ import annotations

import gc
import logging
import threading
import time
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widgets import Footer, Static

from tray.cli.browser import preview, words
from tray.cli.browser.panes import Listing, Preview
from tray.cli.browser.rows import about, head
from tray.cli.browser.work import Archive, Newest, StoppedError, go, open_folder
from tray.history import browsing
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip
    from textual.timer import Timer

    from tray.history.past import Past
    from tray.session import Problem

log = logging.getLogger(__name__)

LOOK_AGAIN = 2.0
"""Seconds after which it is looked which sessions are live."""
_STILL = 0.1
"""Seconds that the cursor rests before the conversation under it is read."""
_AT_REST = 1.0
"""Seconds without a key after which there is time for such a look."""
_PROGRESS_SPACING = 0.1
_SCROLL = 3
"""Lines that a key moves the preview by."""
_CHARACTERS = {"slash": "/"}
_Subject = tuple["Past | None", str | None, int]
"""What a preview is of: a session, what was searched for in it, and how wide it is."""


def _press(key: str, says: str = "", shown: str | None = None) -> Binding:
    return Binding(key, f"press('{key}')", says, show=bool(says), key_display=shown, priority=True)


class Happened(Message):
    """Something that another thread has for the state."""

    def __init__(self, event: browsing.Event) -> None:
        super().__init__()
        self.event = event


class Progressed(Message):
    """How far reading or searching is; empty: it is over."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Read(Message):
    """The preview of a session."""

    def __init__(self, subject: _Subject, lines: list[Strip], *, at_end: bool) -> None:
        super().__init__()
        self.subject = subject
        self.lines = lines
        self.at_end = at_end


class Browser(App[browsing.Resume]):
    """Past sessions to choose from. Its result is the one to resume, if one was chosen."""

    TITLE = "sessionbell"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-tall"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #bar, #status, #head, #title, #facts { height: 1; padding: 0 1; text-wrap: nowrap;
        text-overflow: ellipsis; }
    #bar { background: $panel; }
    #main { height: 1fr; layout: vertical; }
    #list { height: 1fr; min-height: 4; }
    #detail { height: 1fr; border-top: solid $panel; }
    .-wide #main { layout: horizontal; }
    .-wide #list { width: 3fr; height: 100%; }
    .-wide #detail { width: 2fr; height: 100%; border-top: none; border-left: solid $panel; }
    #listing, #preview { height: 1fr; }
    #listing > .listing--current { background: $primary 45%; text-style: bold; }
    #question, #help { padding: 0 1; display: none; }
    #question { height: auto; max-height: 8; background: $warning-muted; color: $text; }
    #help { height: 1fr; overflow-y: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        _press("enter", "Resume", "⏎"),
        _press("slash", "Filter", "/"),
        _press("ctrl+s", "Search", "^S"),
        _press("right", "Forks", "→"),
        _press("ctrl+f", "Fork", "^F"),
        _press("ctrl+o", "Folder", "^O"),
        _press("ctrl+y", "Id", "^Y"),
        _press("f1", "Help", "F1"),
        _press("ctrl+q", "Quit", "^Q"),
        *map(_press, ("up", "down", "pageup", "pagedown", "home", "end", "left", "escape", "f5")),
        *map(_press, ("backspace", "ctrl+w", "ctrl+u", "ctrl+c", "tab", "shift+tab")),
        Binding("shift+up", "scroll(-1)", show=False, priority=True),
        Binding("shift+down", "scroll(1)", show=False, priority=True),
    ]

    def __init__(self, archive: Archive) -> None:
        super().__init__()
        self.state = browsing.State()
        self.problems: list[Problem] = []
        """What could not be read, for whoever started it."""
        self._archive = archive
        self._reader = Newest()
        self._subject: _Subject | None = None
        self._waiting: Timer | None = None
        self._busy = threading.Lock()
        """Held while the files are read or looked at again."""
        self._cancel = threading.Event()
        self._progress = ""
        self._told_at = 0.0
        self._pressed_at = float("-inf")

    def compose(self) -> ComposeResult:
        """Return the parts of the screen, from above."""
        yield Static(id="bar", markup=False)
        with Container(id="main"):
            with Vertical(id="list"):
                yield Static(id="head", markup=False)
                yield Listing(self.state)
            with Vertical(id="detail"):
                yield Static(id="title", markup=False)
                yield Static(id="facts", markup=False)
                yield Preview()
        yield Static(words.help_text(), id="help", markup=False)
        yield Static(id="question", markup=False)
        yield Static(id="status", markup=False)
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Begin to read."""
        self._bar = self.query_one("#bar", Static)
        self._status = self.query_one("#status", Static)
        self._listing = self.query_one(Listing)
        self._preview = self.query_one(Preview)
        self._draw()
        self._start(self._load)
        self.set_interval(LOOK_AGAIN, self._look_again)

    def on_unmount(self) -> None:
        """Let nothing go on for nobody."""
        self._archive.stop()
        self._cancel.set()

    # What happens.

    def happen(self, event: browsing.Event) -> None:
        """Take an event, draw what follows, and do what is asked for."""
        if isinstance(event, browsing.Key):
            self._pressed_at = time.monotonic()
        before = self.state
        self.state, effect = browsing.step(self.state, event)
        if self.state is not before:
            self._draw()
        if effect is not None:
            self._do(effect)

    def on_happened(self, message: Happened) -> None:
        """Take what another thread has."""
        self.happen(message.event)

    def action_press(self, key: str) -> None:
        """Take a key that does something, pressed or clicked on."""
        self.happen(browsing.Key(key, _CHARACTERS.get(key)))

    def on_key(self, event: events.Key) -> None:
        """Take any other key."""
        event.stop()
        event.prevent_default()
        self.happen(browsing.Key(event.key, event.character))

    def on_paste(self, event: events.Paste) -> None:
        """Take what is pasted for typed."""
        event.stop()
        text = one_line(event.text, browsing.LONGEST)
        if text:
            self.happen(browsing.Key("paste", text))

    def on_listing_clicked(self, message: Listing.Clicked) -> None:
        """Point at what was clicked on."""
        self.happen(browsing.Pointed(message.row, message.opened))

    def on_listing_sized(self, message: Listing.Sized) -> None:
        """Know how far a page is."""
        self.happen(browsing.Resized(message.rows))
        self._listing_head()
        self._subject = None
        self._look_into()

    def action_scroll(self, direction: int) -> None:
        """Move the preview."""
        self._preview.scroll_by(direction * _SCROLL)

    # What is drawn.

    def _draw(self) -> None:
        state = self.state
        self._bar.update(words.bar(state), layout=False)
        self._listing.show(state)
        self._draw_status()
        question = self.query_one("#question", Static)
        if question.display != (state.question is not None):
            question.display = state.question is not None
        if state.question is not None:
            question.update(words.question(state.question))
        if self.query_one("#help").display != state.helps:
            self.query_one("#help").display = state.helps
            self.query_one("#main").display = not state.helps
        self._look_into()

    def _draw_status(self) -> None:
        self._status.update(words.status(self.state, self._progress), layout=False)

    def _listing_head(self) -> None:
        width = self._listing.line_width
        self.query_one("#head", Static).update(head(width), layout=False)

    def on_progressed(self, message: Progressed) -> None:
        """Show how far it is."""
        self._progress = message.text
        self._draw_status()

    # The preview.

    def _look_into(self) -> None:
        """Have the conversation under the cursor read once it rests there."""
        past = self.state.current
        search = self.state.level.search
        words = search.text if search is not None and self.state.found is not None else None
        subject = (past, words, self._preview.line_width)
        if subject == self._subject:
            return
        same = self._subject is not None and past == self._subject[0]
        self._subject = subject
        if not same:
            title, facts = about(past) if past is not None else ("", "")
            self.query_one("#title", Static).update(title, layout=False)
            self.query_one("#facts", Static).update(facts, layout=False)
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(_STILL, self._read)

    def _read(self) -> None:
        subject = self._subject
        if subject is None or subject[0] is None:
            self._preview.show([], at_end=False)
        else:
            self._reader.ask(lambda: self._read_now(subject))

    def _read_now(self, subject: _Subject) -> None:
        past, words, width = subject
        try:
            lines = preview.lines(past, words, width) if past is not None else []
        except Exception:
            log.exception("no preview")
            lines = []
        self.post_message(Read(subject, lines, at_end=words is None))

    def on_read(self, message: Read) -> None:
        """Show a preview if the cursor is still there."""
        if message.subject == self._subject:
            self._preview.show(message.lines, at_end=message.at_end)

    # What is to be done.

    def _do(self, effect: browsing.Effect) -> None:
        match effect:
            case browsing.Quit():
                self.exit()
            case browsing.Resume():
                self.exit(effect)
            case browsing.Copy():
                self.copy_to_clipboard(effect.text)
                self.happen(browsing.Told(f"copied {effect.text}"))
            case browsing.StopSearch():
                self._cancel.set()
                self.post_message(Progressed(""))
            case browsing.StartSearch():
                self._cancel.set()
                self._cancel = threading.Event()
                self._start(self._search, effect, self._cancel)
            case browsing.Plan():
                self._start(self._plan, effect)
            case browsing.Go():
                self._start(lambda: self._tell(go(effect.session)))
            case browsing.OpenFolder():
                self._start(lambda: self._tell(open_folder(effect.session)))
            case browsing.Reload():
                self._start(self._load)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        """Do work on a thread that nobody waits for at the end."""

        def run() -> None:
            try:
                work(*arguments)
            except StoppedError:
                pass
            except Exception as error:
                log.exception("browsing failed")
                self._tell(one_line(f"failed: {error}", 300))

        threading.Thread(target=run, daemon=True).start()

    def _load(self) -> None:
        with self._busy:
            if not self.state.loaded:
                self._happened(browsing.Loaded(self._archive.remembered(), whole=False))
            problems: list[Problem] = []
            catalog = self._archive.scan(self._progress_of("reading"), problems)
            self.problems = problems
        # What is kept to the end need not be looked through for garbage between two keys.
        gc.collect()
        gc.freeze()
        self.post_message(Progressed(""))
        self._happened(browsing.Loaded(catalog, whole=True))
        self._tell(one_line(problems[0].message, 300) if problems else "")

    def _look_again(self) -> None:
        at_rest = time.monotonic() - self._pressed_at > _AT_REST
        if self.state.loaded and at_rest and not self._busy.locked():
            self._start(self._look_at_live)

    def _look_at_live(self) -> None:
        with self._busy:
            catalog = self._archive.marked()
        if catalog is not None:
            self._happened(browsing.Loaded(catalog, whole=True))

    def _search(self, effect: browsing.StartSearch, cancel: threading.Event) -> None:
        found = self._archive.found(
            effect.sessions, effect.text, self._progress_of("searching"), cancel.is_set
        )
        if not cancel.is_set():
            self.post_message(Progressed(""))
            self._happened(browsing.Searched(effect.token, found))

    def _plan(self, effect: browsing.Plan) -> None:
        now, how = self._archive.plan(effect.session, fork=effect.fork)
        if isinstance(how, str):
            self._tell(one_line(how, 300))
        else:
            self._happened(browsing.Planned(now, effect.fork, how.gone, how.cwd))

    def _tell(self, text: str) -> None:
        self._happened(browsing.Told(text))

    def _happened(self, event: browsing.Event) -> None:
        self.post_message(Happened(event))

    def _progress_of(self, doing: str) -> Callable[[int, int], None]:
        def progress(done: int, whole: int) -> None:
            now = time.monotonic()
            if now - self._told_at >= _PROGRESS_SPACING:
                self._told_at = now
                percent = 100 * done // max(whole, 1)
                size = f"{whole / 1e6:,.0f} MB"
                self.post_message(Progressed(f"{doing} {size}: {percent} %"))

        return progress


def browse(roots: tuple[str, ...] = ()) -> tuple[browsing.Resume | None, list[Problem]]:
    """Run the application; return what was chosen, if anything, and what could not be read."""
    # Counting and searching on all cores needs its helper process. It could not be started later:
    # it would be given Textual's stderr, which is no file.
    resource_tracker.ensure_running()
    browser = Browser(Archive(roots))
    return browser.run(), browser.problems

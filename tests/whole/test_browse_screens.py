"""The screens of browsing, driven by keys and mouse without a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from rich.text import Text

from tests.claude.lines import assistant, prompt, text
from tray.cli.browser import app as application
from tray.cli.browser import work
from tray.cli.browser.app import Browser
from tray.cli.browser.panes import Listing, Preview
from tray.cli.browser.rows import about, row
from tray.cli.browser.words import called, question, status
from tray.cli.browser.work import Archive
from tray.cli.main import cli
from tray.history import browsing
from tray.history.browsing import GoThere, State
from tray.history.past import Past
from tray.session import Observation, Snapshot
from tray.session import State as Doing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from textual.pilot import Pilot
    from textual.widget import Widget

SMALL = (80, 24)
EVIL = "[red]not red[/] \x1b[31m\x1b]0;owned\x07 \u202eabc"


class Home:
    """A home with past sessions, the first written the newest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._at = time.time() - 3600

    def talk(self, title: str, *lines: dict[str, Any], fork_of: str = "", **more: Any) -> str:
        count = sum(1 for _ in self.folder.glob(".claude/projects/*/*.jsonl"))
        session_id = f"{count:08x}-0b0a-4908-8706-050403020100"
        cwd = more.get("cwd", str(self.folder))
        first = prompt(f"please {title}") | {"cwd": cwd}
        if fork_of:
            first["forkedFrom"] = {"sessionId": fork_of, "messageUuid": "0" * 8}
        told = [first, *lines, {"type": "ai-title", "aiTitle": title}]
        if more.get("name"):
            told.append({"type": "custom-title", "customTitle": more["name"]})
        folder = self.folder / ".claude" / "projects" / "-x"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session_id}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in told))
        at = self._at - 60 * count
        os.utime(path, (at, at))
        return session_id


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Home(tmp_path)


class Crew:
    """Stands for the processes that run: none, or what a test says."""

    observed: tuple[Observation, ...] = ()

    def __init__(self, roots: object = None) -> None:
        pass

    def survey(self) -> Snapshot:
        return Snapshot(sessions=self.observed, problems=(), at=time.time())


@pytest.fixture(autouse=True)
def crew(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Crew]]:
    monkeypatch.setattr(work, "Surveyor", Crew)
    yield Crew
    Crew.observed = ()


async def until(pilot: Pilot[Any], condition: Callable[[], object], within: float = 10) -> None:
    """Let the application go on until something holds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, screen(pilot)
        await pilot.pause(0.01)


def screen(pilot: Pilot[Any]) -> str:
    """What is on the screen."""
    lines = pilot.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in lines)


def drive(
    steps: Callable[[Browser, Pilot[Any]], Any], size: tuple[int, int] = SMALL
) -> browsing.Resume | None:
    """Run the application and what a person does in it; return its result."""

    async def run() -> browsing.Resume | None:
        app = Browser(Archive())
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.state.loaded)
            await pilot.pause()
            await steps(app, pilot)
        return app.return_value

    return asyncio.run(run())


def titles(app: Browser) -> list[str | None]:
    return [app.state.catalog.sessions[place].title for place in app.state.rows]


def test_lists_newest_first_with_a_preview_of_what_was_said(home: Home) -> None:
    home.talk("fix the checkout", assistant(text("It was the rounding.")))
    home.talk("write the notes", name="my notes")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "It was the rounding." in screen(pilot))
        shown = screen(pilot)
        assert "2 past sessions" in shown
        assert shown.index("fix the checkout") < shown.index("★ my notes")
        await pilot.press("down")
        await until(pilot, lambda: "please write the notes" in screen(pilot))
        assert "It was the rounding." not in screen(pilot)

    drive(steps)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12), (200, 60)])
def test_fits_the_terminal(home: Home, size: tuple[int, int]) -> None:
    for number in range(60):
        home.talk(f"title {number} " + "漢字" * 60, name="名前" * 30 if number % 3 == 0 else "")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "漢字" in screen(pilot).split("00000000")[1])
        lines = pilot.app.screen._compositor.render_strips()
        assert len(lines) == size[1]
        assert {strip.cell_length for strip in lines} == {size[0]}
        listing, preview = app.query_one(Listing), app.query_one(Preview)
        assert listing.size.height >= 3
        assert preview.size.height >= 1
        side_by_side = preview.region.x > 0 and preview.region.x > listing.region.x + 20
        assert side_by_side == (size[0] >= 110)
        assert "Resume" in screen(pilot)

    drive(steps, size)


def test_follows_a_terminal_that_changes_its_size(home: Home) -> None:
    for number in range(40):
        home.talk(f"title {number}")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        for size in ((120, 40), (60, 14), (80, 24)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: app.state.page == app.query_one(Listing).size.height)
            await until(pilot, lambda: "title 39" in screen(pilot).split("please")[0])

    drive(steps)


def test_typing_filters_and_escape_ends_it(home: Home) -> None:
    for title in ("fix the checkout", "write the notes", "plan the api"):
        home.talk(title)

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press(*"chkt")
        assert titles(app) == ["fix the checkout"]
        await until(pilot, lambda: "filter: chkt" in screen(pilot))
        assert "write the notes" not in screen(pilot)
        await pilot.press("escape", "slash", "slash")
        assert app.state.level.filter == "/"
        await pilot.press("backspace", *"qqq")
        await until(pilot, lambda: "no title fits" in screen(pilot))
        await pilot.press("escape")
        assert len(titles(app)) == 3

    drive(steps)


def test_searches_what_was_said_and_shows_each_hit(home: Home) -> None:
    home.talk("one", assistant(text("the Größe is wrong\n" * 3)))
    home.talk("two", assistant(text("nothing here")))
    home.talk("three", assistant(text("line before\n" + "far " * 60 + "GRÖSSE at the end")))

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+s", *"grösse", "enter")
        await until(pilot, lambda: titles(app) == ["one", "three"])
        await until(pilot, lambda: "4 matches in 2 sessions" in screen(pilot))
        assert "3× one" in screen(pilot)
        await until(pilot, lambda: screen(pilot).count("assistant: the Größe is wrong") == 3)
        await pilot.press("down")
        await until(pilot, lambda: "GRÖSSE at the end" in screen(pilot))
        await pilot.press("escape")
        assert titles(app) == ["one", "two", "three"]
        await pilot.press("ctrl+s", *"unsaid", "enter")
        await until(pilot, lambda: "nothing found" in screen(pilot))

    drive(steps)


def test_drills_into_forks_and_back(home: Home) -> None:
    parent = home.talk("the parent")
    home.talk("the fork", fork_of=parent)
    home.talk("alone")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "⑂ the parent" in screen(pilot))
        assert "⑂ alone" not in screen(pilot)
        await pilot.press("right")
        await until(pilot, lambda: "forks of “the parent”" in screen(pilot))
        assert titles(app) == ["the fork"]
        await pilot.press("right")
        await until(pilot, lambda: "↑ ⑂ the parent" in screen(pilot))
        await pilot.press("escape")
        assert len(titles(app)) == 3

    drive(steps)


def test_enter_ends_with_the_session_to_resume(home: Home) -> None:
    home.talk("one")
    wanted = home.talk("two")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        await until(pilot, lambda: not app.is_running)

    result = drive(steps)
    assert result is not None
    assert (result.session.session_id, result.fork) == (wanted, False)


def test_a_fork_is_asked_for_and_can_be_clicked(home: Home) -> None:
    wanted = home.talk("one")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "Fork “one”?" in screen(pilot))
        asked = app.query_one("#question")
        await until(pilot, lambda: asked.region.height == 2)
        await pilot.click("#question", offset=(3, 1))
        await until(pilot, lambda: not app.is_running)

    result = drive(steps)
    assert result is not None
    assert (result.session.session_id, result.fork) == (wanted, True)


def test_a_gone_directory_is_told_before_it_is_resumed_elsewhere(home: Home) -> None:
    gone = home.folder / "was" / "here"
    home.talk("one", cwd=str(gone))

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: "Resume “one” in" in screen(pilot))
        question = app.state.question
        assert isinstance(question, browsing.Elsewhere)
        assert (question.gone, question.nearest) == (str(gone), str(home.folder))
        await pilot.press("escape")
        await until(pilot, lambda: "Resume “one” in" not in screen(pilot))

    assert drive(steps) is None


def observed(session_id: str, path: Path, state: Doing = Doing.WORKING) -> Observation:
    return Observation(
        key="4711:1", pid=4711, state=state, session_id=session_id, transcript=str(path)
    )


def test_a_live_session_is_gone_to(
    home: Home, crew: type[Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = home.talk("one")
    (path,) = home.folder.glob(".claude/projects/*/*.jsonl")
    monkeypatch.setattr(application, "go", lambda past: f"went to {past.pid}")
    monkeypatch.setattr(application, "LOOK_AGAIN", 0.02)
    monkeypatch.setattr(application, "_AT_REST", 0.0)

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        # It becomes live only now: Enter looks for itself.
        crew.observed = (observed(session_id, path),)
        await pilot.press("enter")
        await until(pilot, lambda: "is live in process 4711" in screen(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "went to 4711" in screen(pilot))
        await until(pilot, lambda: "● " in screen(pilot) and "working: one" in screen(pilot))
        crew.observed = ()
        await until(pilot, lambda: "working: one" not in screen(pilot))

    assert drive(steps) is None


def test_the_mouse_points_opens_and_scrolls(home: Home) -> None:
    for number in range(100):
        home.talk(f"title {number}")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.click(Listing, offset=(20, 3))
        assert app.state.cursor == 3
        listing = app.query_one(Listing)
        for _ in range(3):
            listing.post_message(wheel(listing))
        await until(pilot, lambda: listing.top > 0)
        top = listing.top
        await pilot.click(Listing, offset=(20, 2))
        assert app.state.cursor == top + 2
        await pilot.click(Listing, offset=(20, 5), times=2)
        await until(pilot, lambda: not app.is_running)

    result = drive(steps)
    assert result is not None
    assert result.session.title is not None


def wheel(widget: Widget) -> Any:
    from textual.events import MouseScrollDown

    return MouseScrollDown(
        widget, 1, 1, delta_x=0, delta_y=1, button=0, shift=False, meta=False, ctrl=False
    )


def test_copies_the_id_and_opens_the_folder(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = home.talk("one")
    opened: list[Past] = []

    def open_folder(past: Past) -> str:
        opened.append(past)
        return "opened it"

    monkeypatch.setattr(application, "open_folder", open_folder)

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+y")
        assert app.clipboard == session_id
        await until(pilot, lambda: f"copied {session_id}" in screen(pilot))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "opened it" in screen(pilot))
        assert [past.session_id for past in opened] == [session_id]

    drive(steps)


def test_help_fits_a_small_terminal(home: Home) -> None:
    home.talk("one")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await pilot.press("f1")
        await until(pilot, lambda: "Any key goes back." in screen(pilot))
        assert "Keys" in screen(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "Any key goes back." not in screen(pilot))
        assert app.state.level.filter == ""

    drive(steps)


def test_says_that_there_is_nothing_and_takes_all_keys(home: Home) -> None:
    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "no past sessions" in screen(pilot))
        await pilot.press("enter", "right", "ctrl+f", "ctrl+y", "ctrl+o", "end", *"x", "escape")
        await pilot.press("ctrl+s", "x", "enter")
        await until(pilot, lambda: "nothing found" in screen(pilot))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)

    assert drive(steps) is None


def test_shows_what_the_index_remembers_while_it_reads(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.talk("one")
    Archive().scan(lambda done, whole: None, [])
    home.talk("two")
    go_on: list[bool] = []
    scan = Archive.scan

    def slow(self: Archive, progress: Any, problems: Any) -> Any:
        progress(1, 3_000_000)
        while not go_on:
            time.sleep(0.005)
        return scan(self, progress, problems)

    monkeypatch.setattr(Archive, "scan", slow)

    async def run() -> None:
        app = Browser(Archive())
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: titles(app) == ["one"])
            await until(pilot, lambda: "reading 3 MB: 0 %" in screen(pilot))
            await pilot.press("end")  # keys are taken meanwhile
            go_on.append(True)
            await until(pilot, lambda: titles(app) == ["one", "two"])
            await until(pilot, lambda: "reading" not in screen(pilot))

    asyncio.run(run())


def test_what_cannot_be_read_is_said_and_kept_for_the_end(home: Home) -> None:
    home.talk("one")
    (home.folder / "cache" / "sessionbell").mkdir(parents=True)
    (home.folder / "cache" / "sessionbell" / "history.sqlite").mkdir()

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "the index of past sessions is not used" in screen(pilot))
        assert [problem.code for problem in app.problems] == ["history-index"]
        assert titles(app) == ["one"]

    drive(steps)


def test_a_transcript_that_vanishes_is_said_in_the_preview(home: Home) -> None:
    home.talk("one")
    home.talk("two")

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        for path in home.folder.glob(".claude/projects/*/*.jsonl"):
            path.unlink()
        await pilot.press("down")
        await until(pilot, lambda: "cannot be read: No such file" in screen(pilot))
        await pilot.press("f5")
        await until(pilot, lambda: "no past sessions" in screen(pilot))

    drive(steps)


def test_nothing_in_a_transcript_is_taken_for_markup_or_escapes(home: Home) -> None:
    home.talk(EVIL, assistant(text(EVIL)), name=EVIL)

    async def steps(app: Browser, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: screen(pilot).count("[red]not red[/]") >= 4)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "Fork “[red]not red[/]" in screen(pilot))
        await pilot.press("escape", *"red")
        await until(pilot, lambda: "filter: red" in screen(pilot))
        for strip in pilot.app.screen._compositor.render_strips():
            assert "\x1b" not in strip.text
            assert "\u202e" not in strip.text
            assert "owned" not in strip.text

    drive(steps)


@pytest.mark.parametrize("width", [20, 39, 40, 80, 200])
@pytest.mark.parametrize(
    "title", ["plain", "漢字" * 80, "e\u0301" * 100, "👩‍👩‍👧 family" * 9, EVIL, None]
)
def test_a_row_is_as_wide_as_it_is_to_be(title: str | None, width: int) -> None:
    one = Past(
        transcript="/t",
        session_id="0f0e0d0c",
        title=title,
        project="漢字プロジェクト名前とても長い",
        tag="größer",
        live=True,
        state="needs_input",
        reason="permission",
        source="desk",
        name=title,
    )
    line = row(one, width, 0.0, related=True, relation="└ ", query="f", matches=3)
    assert cell_len(line.plain) == width
    assert "\n" not in line.plain


def test_a_row_tells_what_a_session_is() -> None:
    one = Past(
        *("/t", "0f0e0d0c"),
        title="fix it",
        name="fix it",
        project="shop",
        tag="later",
        turns=12,
        modified=1000.0,
        live=True,
        state="needs_input",
        reason="permission",
        source="desk",
    )
    plain = row(one, 100, 1000.0 + 7200, related=True).plain
    assert plain.split() == [
        *("●", "2h", "12", "shop", "★", "⑂", "permission:", "fix", "it", "#later", "@desk"),
    ]


def test_words_hold_whatever_they_are_given() -> None:
    one = Past("/t", "id", title=EVIL, live=True, pid=3, state="working")
    for line in (*about(one), question(GoThere(one)), status(State(notice=EVIL), "x")):
        assert isinstance(line, Text)
        assert "\x1b" not in line.plain
    assert called(one).startswith("[red]not red[/]")


def test_without_a_terminal_it_says_what_to_do() -> None:
    result = CliRunner().invoke(cli, ["browse"])
    assert result.exit_code == 1
    assert "`sessionbell history` prints the list" in result.output


def test_help_has_an_example() -> None:
    result = CliRunner().invoke(cli, ["browse", "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert "sessionbell browse --root" in result.output

"""The table fits its terminal, says everything without colour, and is never fooled by text."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from tray.cli import table
from tray.session import Ask, Observation, Reason, State

NOW = 1_700_000_000.0
SESSIONS = [
    Observation(
        key="1",
        state=State.NEEDS_INPUT,
        reason=Reason.PERMISSION,
        project="shop-api",
        branch="release-2.4",
        detail="Bash: npm publish --access public --tag latest --registry https://example.org",
        since=NOW - 75,
    ),
    Observation(
        key="2",
        state=State.NEEDS_INPUT,
        reason=Reason.QUESTION,
        project="日本語のとても長いプロジェクト名",
        branch="feature/とても長い名前のブランチです",
        detail="どのデータベースを使いますか？" * 8,
        since=NOW - 5000,
    ),
    Observation(key="3", state=State.WORKING, project="👩‍👩‍👧 family", title="❤️ " * 60, since=NOW),
    Observation(key="4", state=State.UNKNOWN, detail="starting, or at a first dialog"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(
    sessions: list[Observation], width: int, height: int | None = None, color: bool = False
) -> str:
    file = Terminal()
    console = table.console(color=color, file=file)
    console.width = width
    console.print(table.listing(sessions, NOW, width, height))
    return file.getvalue()


@pytest.mark.parametrize("width", [1, 20, 40, 59, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = printed(SESSIONS, width).splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert len(lines) == (2 * len(SESSIONS) if width < table.NARROW else len(SESSIONS) + 1)


@pytest.mark.parametrize("width", [40, 80])
def test_what_matters_can_be_read_on_a_small_terminal(width: int) -> None:
    text = printed(SESSIONS, width)
    for word in ("! permission", "shop-api", "1m", "Bash: npm publish", "● working"):
        assert word in text


def test_a_wide_terminal_cuts_nothing() -> None:
    text = printed(SESSIONS[:1], 200)
    assert text.splitlines()[1].split(maxsplit=5) == [
        "!",
        "permission",
        "shop-api",
        "release-2.4",
        "1m",
        SESSIONS[0].detail,
    ]


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("height", [3, 5, 10])
def test_many_sessions_leave_room_for_the_rest_of_the_screen(width: int, height: int) -> None:
    lines = printed(SESSIONS[:1] * 50, width, height).splitlines()
    assert len(lines) <= height
    shown = sum("permission" in line for line in lines)
    assert lines[-1] == f"… {50 - shown} more"


@pytest.mark.parametrize(
    ("state", "reason", "unseen", "mark", "colour"),
    [
        (State.WORKING, None, False, "● working", "32"),
        (State.NEEDS_INPUT, Reason.PERMISSION, False, "! permission", "31"),
        (State.NEEDS_INPUT, Reason.QUESTION, False, "! question", "31"),
        (State.NEEDS_INPUT, Reason.PLAN, False, "! plan", "31"),
        (State.NEEDS_INPUT, Reason.INPUT, False, "! input", "31"),
        (State.NEEDS_INPUT, Reason.TURN_OVER, False, "✓ finished", "33"),
        (State.NEEDS_INPUT, Reason.ERROR, False, "▲ error", "33"),
        (State.IDLE, None, False, "○ idle", "90"),
        (State.IDLE, None, True, "✓ idle", "33"),
        (State.UNKNOWN, None, False, "? unknown", "35"),
        (State.ENDED, None, False, "✗ ended", "90"),
    ],
)
def test_each_state_has_its_word_mark_and_colour(
    monkeypatch: pytest.MonkeyPatch,
    state: State,
    reason: Reason | None,
    unseen: bool,
    mark: str,
    colour: str,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    row = Observation(key="1", state=state, reason=reason, unseen=unseen, project="p")
    coloured = printed([row], 80, color=True).splitlines()[1]
    assert coloured.startswith(("\x1b[1;" if colour == "31" else "\x1b[") + f"{colour}m{mark} ")
    assert printed([row], 80).splitlines()[1].startswith(mark)


@pytest.mark.parametrize("wish", ["option", "NO_COLOR", "pipe"])
def test_no_escape_sequence_without_colours(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if wish == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO() if wish == "pipe" else Terminal()
    table.console(color=wish != "option", file=file).print(table.listing(SESSIONS, NOW, 80))
    assert "\x1b" not in file.getvalue()


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    file = io.StringIO()
    console = table.console(color=True, file=file)
    console.print(table.listing(SESSIONS, NOW, console.width))
    assert SESSIONS[1].detail in file.getvalue()
    assert len(file.getvalue().splitlines()) == len(SESSIONS) + 1
    monkeypatch.setenv("COLUMNS", "70")
    assert table.console(color=True, file=file).width == 70


HOSTILE = "a\x1b[31m\x07b\u202ec\n[red]d[/red]\x9b2J:heart:"
CLEAN = "abc [red]d[/red]"


def test_hostile_text_stays_text() -> None:
    row = Observation(
        key="1",
        state=State.NEEDS_INPUT,
        reason=Reason.INPUT,
        project=HOSTILE,
        branch=HOSTILE,
        detail=HOSTILE,
        preview=HOSTILE,
        background=(HOSTILE,),
        cwd=HOSTILE,
        ask=Ask("s1", Reason.INPUT, text=HOSTILE, options=(HOSTILE,)),
    )
    for width in (40, 200):
        text = printed([row], width)
        assert CLEAN in text
        assert not set(text) & set("\x1b\x07\u202e\x9b")
        assert "❤" not in text
    file = io.StringIO()
    console = table.console(color=True, file=file)
    console.print(table.details(row, NOW, console))
    assert file.getvalue().count("[red]d[/red]") >= 3
    assert not set(file.getvalue()) & set("\x1b\x07\u202e\x9b")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (86399, "23h"),
        (86400, "1d"),
        (1e9, "999d"),
        (None, ""),
    ],
)
def test_ages_are_four_characters_at_most(seconds: float | None, text: str) -> None:
    assert table.age(seconds) == text


def test_without_an_ask_the_row_says_what_the_session_is_about() -> None:
    def said(**fields: object) -> str:
        return table.saying(Observation(key="1", state=State.IDLE, **fields)).plain

    assert said(detail="D", preview="P") == "D"
    assert (
        said(background=("npm run dev", "b", "c"), preview="P") == "running: npm run dev (+2 more)"
    )
    assert said(preview="P", title="T") == "P"
    assert said(title="T") == "T"
    assert said() == ""


@pytest.mark.parametrize("width", [40, 80])
def test_nothing_passes_for_what_is_asked(width: int) -> None:
    asks = Observation(
        key="1",
        state=State.NEEDS_INPUT,
        reason=Reason.PERMISSION,
        preview="All tests pass.",
        title="Fix the tests",
    )
    text = printed([asks], width)
    assert text.splitlines()[-1].rstrip() == "! permission"


def test_a_short_narrow_terminal_is_filled_by_lines() -> None:
    bare = [Observation(key=str(n), state=State.IDLE, project=f"p{n}") for n in range(9)]
    lines = printed([*bare, SESSIONS[0]], 40, 6).splitlines()
    assert [line.split()[:3:2] for line in lines[:-1]] == [["○", f"p{n}"] for n in range(5)]
    assert lines[-1] == "… 5 more"


def test_no_session_is_said_in_words() -> None:
    assert printed([], 80) == "No live Claude Code sessions.\n"


def test_details_are_wrapped_beside_their_names() -> None:
    file = Terminal()
    console = table.console(color=False, file=file)
    console.width = 40
    ask = Ask("s1", Reason.QUESTION, text="Which one?\n" + "日本 " * 20 + "\nB", options=("A", "B"))
    row = Observation(
        key="1", state=State.NEEDS_INPUT, reason=Reason.QUESTION, ask=ask, since=NOW - 60
    )
    console.print(table.details(row, NOW, console))
    lines = file.getvalue().splitlines()
    assert lines[:2] == ["state        ! question for 1m", "asks         Which one?"]
    assert lines[2] == " " * 13 + "日本 日本 日本 日本 日本"
    assert " " * 13 + "B" in lines
    assert max(cell_len(line) for line in lines) <= 40

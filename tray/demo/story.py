"""What happens in the demo: six projects, and everything a session can want of its person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tray.demo.lines import question

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from tray.demo.stage import Session, Stage

LENGTH = 50.0
"""Seconds the whole story takes at its ordinary pace."""

_PLAN = """\
# Split the guides by reader

1. Move the tutorials to `docs/learn`
2. Move the reference to `docs/api`, generated from the docstrings
3. Leave redirects at every old address
"""


@dataclass(frozen=True, slots=True)
class Beat:
    """One event of the story."""

    at: float
    """Seconds from the beginning."""
    who: str
    """The project whose session acts."""
    act: Callable[[Session], None]


def open_scene(stage: Stage) -> dict[str, Session]:
    """Start all sessions, in the middle of their work; return them by project."""
    shop = stage.session("shop-api", "release-2.4")
    shop.title("Publish the client library")
    shop.prompt("Bump the version to 2.4 and publish the client library", ago=95)
    web = stage.session("web-ui")
    web.title("Import contacts")
    web.prompt("Build the import of contacts from a spreadsheet", ago=80)
    docs = stage.session("docs", "restructure")
    docs.title("Restructure the guides")
    docs.prompt("Plan how to split our guides by reader", ago=64)
    billing = stage.session("billing", "fix/rounding")
    billing.title("Fix rounding of invoices")
    billing.prompt("Sums on invoices are off by a cent, find out why", ago=47)
    search = stage.session("search", "faster-index", worktree="search-faster-index")
    search.title("Speed up the index")
    search.prompt("Make the nightly index run in under ten minutes", ago=210)
    infra = stage.session("infra")
    infra.title("Renew certificates")
    infra.prompt("Move the certificates to the new issuer", ago=130)
    notes = stage.session("notes")
    notes.title("Tidy up the notes")
    notes.prompt("Sort these notes by topic", ago=1500)
    notes.finish("All 48 notes are sorted into six topics.", ago=1380)
    cast = {
        "shop-api": shop,
        "web-ui": web,
        "docs": docs,
        "billing": billing,
        "search": search,
        "infra": infra,
        "notes": notes,
    }
    for session in cast.values():
        session.typed(ago=45)
    notes.typed(ago=600)
    return cast


STORY: tuple[Beat, ...] = (
    Beat(2, "shop-api", lambda it: it.ask("Bash", {"command": "npm publish --access public"})),
    Beat(
        5,
        "web-ui",
        lambda it: it.ask(
            "AskUserQuestion",
            question(
                "What should happen to a contact that is already there?",
                {
                    "Update it": "The spreadsheet wins",
                    "Keep it": "Only new contacts are added",
                    "Ask each time": "Show both and let the person choose",
                },
            ),
        ),
    ),
    Beat(8, "search", lambda it: it.finish("The index now takes 6 minutes 40, all tests pass.")),
    Beat(11, "docs", lambda it: it.ask("ExitPlanMode", {"plan": _PLAN})),
    Beat(14, "billing", lambda it: it.fail("API Error: 529 Overloaded")),
    Beat(22, "shop-api", lambda it: it.answered("+ @shop/client@2.4.0")),
    Beat(24, "infra", lambda it: it.kill()),
    Beat(27, "web-ui", lambda it: it.answered("User has answered your question: Update it")),
    Beat(30, "docs", lambda it: it.answered("User has approved your plan.")),
    Beat(33, "billing", lambda it: it.prompt("Try again")),
    Beat(37, "notes", lambda it: it.quit()),
    Beat(44, "shop-api", lambda it: it.finish("Version 2.4.0 is published and tagged.")),
)
"""Times leave each thing on screen for long enough to be read."""


def play(cast: Mapping[str, Session], pace: float, stopped: threading.Event) -> bool:
    """Act the story at `pace` times its ordinary speed; return False if `stopped` on the way."""
    now = 0.0
    for beat in (*STORY, Beat(LENGTH, "", lambda _: None)):
        if stopped.wait((beat.at - now) / pace):
            return False
        now = beat.at
        if beat.who:
            beat.act(cast[beat.who])
    return True

"""What status bars get: waybar's JSON and a person's own template."""

from __future__ import annotations

import pytest

from tray.cli import bars
from tray.session import Kind, Observation, Problem, Reason, State

BLOCKED = Observation(
    "1:1",
    State.NEEDS_INPUT,
    reason=Reason.PERMISSION,
    project="shop-api",
    detail="Bash: a <b> && c",
    since=10.0,
)
WAITED_LONGER = Observation(
    "2:1", State.NEEDS_INPUT, reason=Reason.QUESTION, project="web", detail="Which?", since=5.0
)
WORKING = Observation("3:1", State.WORKING, project="docs", preview="Reading")
FINISHED = Observation(
    "4:1", State.IDLE, project="infra", unseen=True, preview="Done & dusted", since=1.0
)
FAILED = Observation("5:1", State.NEEDS_INPUT, reason=Reason.ERROR, unseen=True, project="ml")
IDLE = Observation("6:1", State.IDLE, project="blog")
HEADLESS = Observation("7:1", State.WORKING, kind=Kind.HEADLESS)


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ((), "0 0 0 none  "),
        ((WORKING, IDLE), "0 0 1 working  "),
        ((WORKING, BLOCKED, WAITED_LONGER), "2 0 1 blocked web question"),
        ((FINISHED, FAILED, HEADLESS), "0 2 0 failed ml failed"),
    ],
)
def test_a_template_is_filled_in(sessions: tuple[Observation, ...], expected: str) -> None:
    template = "{blocked} {unseen} {working} {state} {project} {reason}"
    assert bars.fill(template, sessions) == expected


def test_nothing_in_a_name_is_a_command_to_a_bar() -> None:
    session = Observation(
        "1:1",
        State.NEEDS_INPUT,
        reason=Reason.INPUT,
        project="#[fg=red]#(reboot) %{F#f00} <b>\x1b[31m\nnext",
    )
    assert bars.fill("{project}", (session,)) == "fgredreboot Ff00 b next"


@pytest.mark.parametrize("template", ["{blocked", "}", "{nothing}", "{}", "{0}", "{blocked.real}"])
def test_a_wrong_template_is_refused(template: str) -> None:
    with pytest.raises(bars.TemplateError):
        bars.check(template)


def test_a_refusal_names_what_there_is() -> None:
    with pytest.raises(bars.TemplateError, match=r"no \{waiting\}; there are blocked, failed"):
        bars.check("{waiting}")


def test_every_field_can_be_filled_in() -> None:
    template = " ".join(f"{{{name}}}" for name in bars.FIELDS)
    bars.check(template)
    assert bars.fill(template, (BLOCKED, WORKING)) == "1 0 0 0 1 0 0 2 blocked shop-api permission"


def test_waybar_gets_text_class_and_percentage() -> None:
    told = bars.waybar((WORKING, IDLE, BLOCKED, WAITED_LONGER), ())
    assert {key: told[key] for key in ("text", "alt", "class", "percentage")} == {
        "text": "2",
        "alt": "blocked",
        "class": "blocked",
        "percentage": 50,
    }


def test_waybars_tooltip_is_markup_and_is_escaped() -> None:
    told = bars.waybar((BLOCKED, FINISHED), (Problem("bus", "no <bus>"),))
    assert told["tooltip"] == (
        "1 blocked, 1 finished\n"
        "shop-api: permission: Bash: a &lt;b&gt; &amp;&amp; c\n"
        "infra: finished: Done &amp; dusted\n"
        "⚠ no &lt;bus&gt;"
    )


def test_waybar_hears_that_nothing_can_be_told() -> None:
    told = bars.waybar((WORKING,), (), healthy=False)
    assert told["class"] == "unknown"


def test_waybar_without_a_session() -> None:
    told = bars.waybar((), ())
    assert told == {
        "text": "",
        "alt": "none",
        "class": "none",
        "tooltip": "No Claude Code session",
        "percentage": 0,
    }

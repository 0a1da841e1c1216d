"""How a turn runs and ends, and what of it is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.client.product import ERROR, IDLE, TURN_OVER, WORKING
from tests.client.stub import bash, fail, say, use
from tray.desktop.alerts import AWAY_AFTER
from tray.session import TurnEnd

if TYPE_CHECKING:
    from tests.client.session import Client
    from tests.client.world import World


def test_the_end_of_a_turn_is_told_to_a_person_who_was_away(world: World, client: Client) -> None:
    name = world.ask(client, say("The shed is painted.", gated=True))
    row = world.look.until(client, WORKING)
    assert row.last_act is not None
    away_at = row.last_act + AWAY_AFTER + 1
    client.wait(lambda: time.time() > away_at, "the person to be away")
    world.stub.open_gate(name)
    row = world.look.until(client, TURN_OVER)
    assert row.unseen
    world.bell.wait_shown("desk has finished", "The shed is painted.")
    world.ask(client, say("Again."))
    world.bell.wait_gone("desk has finished")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Again.")


def test_a_failed_turn_is_told_until_the_next_prompt(world: World, client: Client) -> None:
    world.ask(client, fail(400, "invalid_request_error", "no such colour"))
    row = world.look.until(client, ERROR)
    assert row.turn_end is TurnEnd.FAILED
    assert row.detail in ("API error: no such colour", "API error: invalid request")
    world.bell.wait_shown("desk stopped with an error", row.detail)
    world.ask(client, say("Better."))
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Better.")
    world.bell.wait_gone("desk stopped with an error")


def test_an_interrupted_turn_is_over_without_a_word(world: World, client: Client) -> None:
    told = len(world.bell.told)
    world.ask(client, use(bash("sleep 8.75")), say("never said"))
    client.wait(lambda: "sleep 8.75" in client.screen(), "the tool")
    world.look.until(client, WORKING)
    client.press("Escape")
    row = world.look.until(client, IDLE, where=lambda row: row.turn_end is TurnEnd.STOPPED)
    assert not row.unseen
    world.ask(client, fail(400, "invalid_request_error", "something to tell"))
    world.bell.wait_shown("desk stopped with an error")
    assert len(world.bell.told_of("desk", told)) == 1


def test_a_prompt_taken_back_before_any_answer_leaves_it_idle(world: World, client: Client) -> None:
    name = world.ask(client, say("never said", gated=True))
    world.look.until(client, WORKING)
    client.wait(lambda: f"{name}/0" in world.stub.asked, "the request")
    client.press("Escape")
    world.look.until(client, IDLE, where=lambda row: not row.unseen)
    client.keys("C-u")
    client.wait(client.at_prompt, "an empty prompt")


def test_a_prompt_typed_ahead_keeps_it_at_work(world: World, client: Client) -> None:
    told = len(world.bell.told)
    first = world.ask(client, use(bash("sleep 0.125")), say("First.", gated=True))
    client.wait(lambda: f"{first}/1" in world.stub.asked, "the tool's end")
    second = world.ask(client, say("Second.", gated=True))
    world.stub.open_gate(first)
    client.wait(lambda: f"{second}/0" in world.stub.asked, "the second turn")
    world.look.until(client, WORKING)
    world.stub.open_gate(second)
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Second.")
    assert world.bell.told_of("desk", told) == []

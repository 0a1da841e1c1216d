"""How a turn runs and ends, and what of it is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.client.product import ERROR, IDLE, TURN_OVER, WORKING
from tests.client.stub import bash, fail, say, use
from tests.client.world import LEFT_ALONE, LEFT_ALONE_SAYS
from tray.desktop.alerts import AWAY_AFTER
from tray.session import TurnEnd

if TYPE_CHECKING:
    from tests.client.session import Client
    from tests.client.world import World


def test_the_end_of_a_turn_is_told_to_a_person_who_was_away(world: World) -> None:
    client = world.left_alone
    row = world.look.until(client, WORKING)
    assert row.last_act is not None
    away_at = row.last_act + AWAY_AFTER + 1
    client.wait(lambda: time.time() > away_at, "the person to be away")
    world.stub.open_gate(LEFT_ALONE)
    row = world.look.until(client, TURN_OVER)
    assert row.unseen
    world.bell.wait_shown("shed has finished", LEFT_ALONE_SAYS)
    world.ask(client, say("Again."))
    world.bell.wait_gone("shed has finished")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Again.")
    client.kill()


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
    name = world.ask(client, use(bash("sleep 0.25")), say("never said", gated=True))
    world.wait_asked(client, name, step=1)
    world.look.until(client, WORKING)
    client.keys("Escape")
    row = world.look.until(client, IDLE, where=lambda row: row.turn_end is TurnEnd.STOPPED)
    assert not row.unseen
    world.ask(client, fail(400, "invalid_request_error", "something to tell"))
    world.bell.wait_shown("desk stopped with an error")
    assert len(world.bell.told_of("desk", told)) == 1


def test_a_prompt_taken_back_before_any_answer_leaves_it_idle(world: World, client: Client) -> None:
    name = world.ask(client, say("never said", gated=True))
    world.look.until(client, WORKING)
    world.wait_asked(client, name)
    client.keys("Escape")
    world.look.until(client, IDLE, where=lambda row: not row.unseen)
    client.keys("C-u")
    client.wait(client.at_prompt, "an empty prompt")


def test_a_prompt_typed_ahead_keeps_it_at_work(world: World, client: Client) -> None:
    told = len(world.bell.told)
    first = world.ask(client, use(bash("sleep 0.125")), say("First.", gated=True))
    world.wait_asked(client, first, step=1)
    second = world.ask(client, say("Second.", gated=True))
    world.stub.open_gate(first)
    world.wait_asked(client, second)
    world.look.until(client, WORKING)
    world.stub.open_gate(second)
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Second.")
    assert world.bell.told_of("desk", told) == []

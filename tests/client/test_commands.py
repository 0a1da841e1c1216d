"""The client's own commands and dialogs: nothing to tell, and no state of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client.product import IDLE, PERMISSION, TURN_OVER, WORKING
from tests.client.stub import bash, say, use
from tests.client.world import ONLY_NEW

if TYPE_CHECKING:
    from tests.client.session import Client
    from tests.client.world import World


def test_clear_begins_another_session_in_the_same_process(world: World, client: Client) -> None:
    world.ask(client, say("Before."))
    before = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Before.")
    client.command("/clear")
    world.look.until(client, IDLE, where=lambda row: row.preview is None)
    world.ask(client, say("After."))
    after = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "After.")
    assert after.session_id != before.session_id
    assert after.pid == before.pid
    assert len([row for row in world.look.rows() if row.pid == client.pid]) == 1


def test_compact_is_no_turn(world: World, client: Client) -> None:
    world.ask(client, say("Something to remember."))
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Something to remember.")
    client.command("/compact")
    client.wait_for("Compacted")
    world.look.until(client, IDLE)
    world.ask(client, say("And on."))
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "And on.")


def test_rename_gives_the_session_a_name(world: World, client: Client) -> None:
    row = world.look.until(client, TURN_OVER)
    assert row.name is None
    client.type("/rename painter")
    world.look.until(client, IDLE, where=lambda row: row.name == "painter")


@ONLY_NEW
def test_a_dialog_that_the_person_opened_asks_nothing(world: World, client: Client) -> None:
    told = len(world.bell.told)
    client.command("/model")
    client.wait(lambda: client.record().get("status") == "waiting", "the dialog in the record")
    world.look.until(client, IDLE)
    client.press("Escape")
    client.wait(lambda: client.record().get("status") == "idle", "no dialog in the record")
    world.look.until(client, IDLE)
    _tell_something(world, client)
    assert len(world.bell.told_of("desk", told)) == 1


@ONLY_NEW
def test_a_dialog_opened_in_mid_turn_asks_nothing(world: World, client: Client) -> None:
    told = len(world.bell.told)
    name = world.ask(client, say("Configured.", gated=True))
    world.wait_asked(client, name)
    client.command("/config")
    client.wait_for("to navigate")
    world.look.until(client, WORKING)
    world.stub.open_gate(name)
    client.wait(lambda: client.record().get("status") == "waiting", "the dialog in the record")
    world.look.until(client, IDLE, where=lambda row: row.preview == "Configured.")
    while not client.at_prompt():
        client.press("Escape")
    world.look.until(client, TURN_OVER)
    _tell_something(world, client)
    assert len(world.bell.told_of("desk", told)) == 1


def _tell_something(world: World, client: Client) -> None:
    """Have something told, so that nothing told before it never will be."""
    world.ask(client, use(bash("touch told")), say("Told."))
    world.look.until(client, PERMISSION)
    world.bell.wait_shown("desk needs permission")
    client.approve()
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Told.")
    world.bell.wait_gone("desk needs permission")

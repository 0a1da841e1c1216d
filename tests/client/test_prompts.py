"""What a session asks its person, and what their answers make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client.product import PERMISSION, TURN_OVER
from tests.client.stub import bash, say, use

if TYPE_CHECKING:
    from tests.client.conftest import World
    from tests.client.session import Client

PERMISSION_TITLE = "desk needs permission"


def test_a_permission_prompt_is_told_and_taken_back(world: World, client: Client) -> None:
    world.ask(client, use(bash("touch one")), say("Touched."))
    row = world.look.until(client, PERMISSION, detail="Bash: touch one")
    assert row.ask is not None
    assert row.ask.tool == "Bash"
    world.bell.wait_shown(PERMISSION_TITLE, "Bash: touch one")
    client.approve()
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Touched.")
    world.bell.wait_gone(PERMISSION_TITLE)

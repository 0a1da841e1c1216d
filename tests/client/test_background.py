"""What goes on behind the prompt: agents, shells, and sessions sent to the background."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.client.product import IDLE, PERMISSION, TURN_OVER, WORKING
from tests.client.stub import Tool, bash, say, use
from tests.client.world import ONLY_NEW
from tray.session import Kind

if TYPE_CHECKING:
    from tests.client.session import Client
    from tests.client.world import World
    from tray.session import Observation


def agent(prompt: str) -> Tool:
    """Have an agent do something in the background."""
    brief = {"description": "Sub job", "prompt": prompt, "subagent_type": "general-purpose"}
    return Tool("Agent", {**brief, "run_in_background": True})


@ONLY_NEW
def test_an_agent_in_the_background_asks_for_permission(world: World, client: Client) -> None:
    told = len(world.bell.told)
    job = world.stub.teach("job", use(bash("touch agents")), say("The job is done.", gated=True))
    world.ask(client, use(agent(f"do {job}")), say("The agent is at it."))
    detail = 'agent "Sub job": Bash: touch agents'
    world.look.until(client, PERMISSION, detail=detail)
    world.bell.wait_shown("desk needs permission", detail)
    client.approve()
    world.wait_asked(client, "job", step=1)
    world.look.until(client, WORKING)
    world.bell.wait_gone("desk needs permission")
    world.stub.open_gate("job")
    row = world.look.until(client, TURN_OVER, where=lambda row: not row.turn_by_person)
    assert row.preview == "The agent is at it."
    assert {title for title, _ in world.bell.told_of("desk", told)} == {"desk needs permission"}


def test_a_turn_with_a_shell_in_the_background_is_over(world: World, client: Client) -> None:
    command = "touch shell_runs; until test -e shell_may_end; do sleep 0.1; done"
    world.ask(client, use(bash(command, run_in_background=True)), say("It runs."))
    world.look.until(client, PERMISSION)
    client.approve()
    row = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "It runs.")
    if world.version == "2.1.332":
        assert row.background == (command,)
    (client.cwd / "shell_may_end").touch()
    world.look.until(client, TURN_OVER, where=lambda row: not row.turn_by_person)


@ONLY_NEW
def test_a_session_sent_to_the_background_stays_one_session(world: World) -> None:
    client = world.start("garden").wait_for_prompt()
    world.ask(client, say("Planted."))
    front = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Planted.")
    client.wait(client.at_prompt, "the prompt")
    client.press("Left")

    def rows() -> list[Observation]:
        return [row for row in world.look.rows() if row.project == "garden"]

    def in_background() -> Observation | None:
        found = [row for row in rows() if row.kind is Kind.BACKGROUND]
        return found[0] if found else None

    job = client.wait(in_background, "the background job")
    assert job.tty == front.tty
    assert [row.key for row in rows()] == [job.key]
    client.press("Enter", until=re.compile("manual mode on"))
    world.ask(client, use(bash("touch garden")), say("Watered."))
    world.bell.wait_shown("garden needs permission", "Bash: touch garden")
    (row,) = rows()
    assert (row.state, row.reason) == PERMISSION
    client.approve()

    def finished() -> bool:
        (row,) = rows()
        return row.preview == "Watered." and (row.state, row.reason) in (TURN_OVER, IDLE)

    client.wait(finished, "the end of the turn")
    world.bell.wait_gone("garden needs permission")
    client.kill()

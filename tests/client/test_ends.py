"""How sessions begin, stand still and end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.client.product import IDLE, TURN_OVER, WORKING
from tests.client.stub import bash, say, use
from tests.client.world import ONLY_NEW
from tray.session import State

if TYPE_CHECKING:
    from tests.client.world import World

_TRUSTS = re.compile(r"❯ (\d\. )?Yes")


def test_at_the_trust_dialog_nothing_is_known_yet(world: World) -> None:
    client = world.start("stranger", trusted=False)
    client.wait_for("trust this folder")
    row = world.look.until(client, (State.UNKNOWN, None))
    assert row.detail == "starting, or at a first dialog"
    assert row.transcript is None
    client.press("Down", until=_TRUSTS)
    client.press("Enter")
    client.wait_for_prompt()
    world.look.until(client, IDLE, where=lambda row: row.session_id)
    client.kill()


def test_a_suspended_session_rests_until_it_is_continued(world: World) -> None:
    client = world.start("shell", in_shell=True).wait_for_prompt()
    name = world.ask(client, use(bash("sleep 0.375")), say("Continued.", gated=True))
    client.wait(lambda: f"{name}/1" in world.stub.asked, "the tool's end")
    world.look.until(client, WORKING)
    client.press("C-z")
    world.look.until(client, IDLE, detail="suspended")
    client.type("fg")
    world.look.until(client, WORKING)
    world.stub.open_gate(name)
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Continued.")
    client.kill()


def test_a_session_that_exits_is_gone_without_a_word(world: World) -> None:
    client = world.start("porch").wait_for_prompt()
    world.ask(client, say("Swept."))
    world.look.until(client, TURN_OVER)
    client.wait(client.at_prompt, "the prompt")
    client.type("/exit")
    client.wait(lambda: world.look.row(client.pid) is None, "no row")
    _kill_in_mid_turn(world, "attic")
    assert world.bell.told_of("porch") == []


def test_a_closed_terminal_is_an_end_without_a_word(world: World) -> None:
    client = world.start("cellar").wait_for_prompt()
    name = world.ask(client, use(bash("sleep 0.625")), say("never said", gated=True))
    client.wait(lambda: f"{name}/1" in world.stub.asked, "the tool's end")
    world.look.until(client, WORKING)
    client.close_terminal()
    client.wait(lambda: world.look.row(client.pid) is None, "no row")
    _kill_in_mid_turn(world, "loft")
    assert world.bell.told_of("cellar") == []


def test_a_session_that_is_killed_in_mid_turn_is_told(world: World) -> None:
    _kill_in_mid_turn(world, "kitchen")


@ONLY_NEW
def test_one_session_in_two_terminals_is_two_rows(world: World) -> None:
    first = world.start("twice").wait_for_prompt()
    world.ask(first, say("Once."))
    row = world.look.until(first, TURN_OVER, where=lambda row: row.preview == "Once.")
    assert row.session_id is not None
    resuming = ("--permission-mode", "default", "--resume", row.session_id)
    second = world.start("twice", *resuming).wait_for_prompt()
    again = world.look.until(second, IDLE)
    assert again.session_id == row.session_id
    assert again.key != row.key
    first.kill()
    second.kill()


def _kill_in_mid_turn(world: World, project: str) -> None:
    client = world.start(project).wait_for_prompt()
    name = world.ask(client, use(bash("sleep 0.875")), say("never said", gated=True))
    client.wait(lambda: f"{name}/1" in world.stub.asked, "the tool's end")
    world.look.until(client, WORKING)
    client.kill()
    world.look.until(client, (State.ENDED, None), detail="died while working")
    world.bell.wait_shown(f"{project} ended unexpectedly")

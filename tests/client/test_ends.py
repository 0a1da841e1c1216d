"""How sessions begin, stand still and end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.client.product import IDLE, TURN_OVER, WORKING
from tests.client.stub import bash, say, use
from tests.client.world import ONLY_NEW
from tray.session import Kind, State

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
    world.wait_asked(client, name, step=1)
    world.look.until(client, WORKING)
    client.press("C-z")
    world.look.until(client, IDLE, detail="suspended")
    client.type("fg")
    world.look.until(client, WORKING)
    world.stub.open_gate(name)
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Continued.")
    client.kill()


def test_only_an_end_that_nobody_wanted_is_told(world: World) -> None:
    exits, closes, dies = (world.start(name) for name in ("porch", "cellar", "kitchen"))
    for client in (exits, closes, dies):
        client.wait_for_prompt()
        answer = say("Swept.", gated=client is not exits)
        world.wait_asked(client, world.ask(client, use(bash("sleep 0.625")), answer), step=1)
    world.look.until(exits, TURN_OVER)
    exits.wait(exits.at_prompt, "the prompt")
    exits.command("/exit")
    world.look.until(closes, WORKING)
    closes.close_terminal()
    for client in (exits, closes):
        world.look.until_gone(client)
    world.look.until(dies, WORKING)
    dies.kill()
    world.look.until(dies, (State.ENDED, None), detail="died while working")
    world.bell.wait_shown("kitchen ended unexpectedly")
    assert world.bell.told_of("porch") == world.bell.told_of("cellar") == []


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


def test_two_sessions_in_one_folder_are_told_apart(world: World) -> None:
    clients = [world.start("barn").wait_for_prompt() for _ in range(2)]
    for number, client in enumerate(clients):
        world.ask(client, say(f"Number {number}."))
    for number, client in enumerate(clients):
        row = world.look.until(client, TURN_OVER)
        assert row.preview == f"Number {number}."
        client.kill()


@ONLY_NEW
def test_a_session_that_only_prints_calls_nobody(world: World) -> None:
    mark = world.stub.teach("printed", say("Printed.", gated=True))
    client = world.start("press", "-p", f"please {mark}")
    world.wait_asked(client, "printed")
    row = world.look.until(client, WORKING)
    assert row.kind is Kind.HEADLESS
    world.stub.open_gate("printed")
    world.look.until_gone(client)
    assert world.bell.told_of("press") == []

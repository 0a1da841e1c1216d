"""What a session asks its person, and what their answers make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client.product import IDLE, INPUT, PERMISSION, PLAN, QUESTION, TURN_OVER, WORKING
from tests.client.stub import Tool, bash, say, use
from tests.client.world import ONLY_NEW
from tray.session import TurnEnd

if TYPE_CHECKING:
    from tests.client.session import Client
    from tests.client.world import World

NEEDS_PERMISSION = "desk needs permission"
ASKS = "desk asks a question"
HAS_A_PLAN = "desk has a plan to approve"
QUESTIONS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [
                {"label": "Red", "description": "warm"},
                {"label": "Blue", "description": "cold"},
            ],
        }
    ]
}
PLAN_TEXT = "# Paint the shed\n\n1. Buy paint\n2. Paint"


def test_a_permission_prompt_is_told_and_taken_back(world: World, client: Client) -> None:
    world.ask(client, use(bash("touch one")), say("Touched."))
    row = world.look.until(client, PERMISSION, detail="Bash: touch one")
    assert row.ask is not None
    assert row.ask.tool == "Bash"
    world.bell.wait_shown(NEEDS_PERMISSION, "Bash: touch one")
    client.approve()
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Touched.")
    world.bell.wait_gone(NEEDS_PERMISSION)


def test_an_edit_is_named_by_its_file(world: World, client: Client) -> None:
    writes = Tool("Write", {"file_path": str(client.cwd / "src" / "shed.py"), "content": "red = 1"})
    world.ask(client, use(writes), say("Written."))
    world.look.until(client, PERMISSION, detail="Write: src/shed.py")
    world.bell.wait_shown(NEEDS_PERMISSION, "Write: src/shed.py")
    client.approve("Do you want to create")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Written.")
    world.bell.wait_gone(NEEDS_PERMISSION)


def test_two_prompts_in_one_answer_are_two_asks(world: World, client: Client) -> None:
    world.ask(client, use(bash("touch first"), bash("touch second")), say("Both."))
    first = world.look.until(client, PERMISSION, detail="Bash: touch first +1 more")
    world.bell.wait_shown(NEEDS_PERMISSION, "Bash: touch first +1 more")
    client.approve()
    second = world.look.until(client, PERMISSION, detail="Bash: touch second")
    world.bell.wait_shown(NEEDS_PERMISSION, "Bash: touch second")
    assert first.ask is not None
    assert second.ask is not None
    assert first.ask.id != second.ask.id
    client.approve()
    world.look.until(client, TURN_OVER)
    world.bell.wait_gone(NEEDS_PERMISSION)


def test_a_rejected_tool_ends_the_turn_without_a_word(world: World, client: Client) -> None:
    world.ask(client, use(bash("touch rejected")), say("never said"))
    world.look.until(client, PERMISSION, detail="Bash: touch rejected")
    world.bell.wait_shown(NEEDS_PERMISSION, "touch rejected")
    client.wait_for("Do you want to proceed?")
    client.press("Up")
    client.press("Enter")
    row = world.look.until(client, IDLE, where=lambda row: row.turn_end is TurnEnd.STOPPED)
    assert not row.unseen
    world.bell.wait_gone(NEEDS_PERMISSION)


def test_escape_at_a_prompt_is_a_rejection(world: World, client: Client) -> None:
    world.ask(client, use(bash("touch escaped")), say("never said"))
    world.look.until(client, PERMISSION, detail="Bash: touch escaped")
    world.bell.wait_shown(NEEDS_PERMISSION, "touch escaped")
    client.wait_for("Do you want to proceed?")
    client.press("Escape")
    world.look.until(client, IDLE, where=lambda row: row.turn_end is TurnEnd.STOPPED)
    world.bell.wait_gone(NEEDS_PERMISSION)


def test_a_question_is_told_with_its_options(world: World, client: Client) -> None:
    world.ask(client, use(Tool("AskUserQuestion", QUESTIONS)), say("Chosen."))
    row = world.look.until(client, QUESTION, detail="Which colour? (Red / Blue)")
    assert row.ask is not None
    assert row.ask.options == ("Red", "Blue")
    world.bell.wait_shown(ASKS, "Which colour? (Red / Blue)")
    client.wait_for("Enter to select")
    client.press("Enter")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Chosen.")
    world.bell.wait_gone(ASKS)


def test_a_plan_waits_for_approval(world: World) -> None:
    client = world.start("plans", "--permission-mode", "plan").wait_for_prompt()
    world.ask(client, use(Tool("ExitPlanMode", {"plan": PLAN_TEXT})), say("Painted."))
    world.look.until(client, PLAN, detail="Paint the shed")
    world.bell.wait_shown("plans has a plan to approve", "Paint the shed")
    client.wait_for("1. Yes")
    client.press("Enter")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Painted.")
    world.bell.wait_gone("plans has a plan to approve")
    client.kill()


@ONLY_NEW
def test_a_server_may_ask_in_mid_call(world: World) -> None:
    client = world.start("lobby", *world.with_server("desk", "book")).wait_for_prompt()
    world.ask(client, use(Tool("mcp__desk__book", {})), say("Booked."))
    world.look.until(client, PERMISSION, detail="desk: book")
    world.bell.wait_shown("lobby needs permission", "desk: book")
    client.approve()
    world.look.until(client, INPUT, detail="desk: book")
    world.bell.wait_shown("lobby needs input", "desk: book")
    world.bell.wait_gone("lobby needs permission")
    client.wait_for("Which one?")
    client.press("Escape")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Booked.")
    world.bell.wait_gone("lobby needs input")
    client.kill()


def test_a_tool_that_asks_nobody_is_work(world: World, client: Client) -> None:
    told = len(world.bell.told)
    name = world.ask(client, use(bash("sleep 3.25")), say("Slept.", gated=True))
    world.look.until(client, WORKING)
    world.wait_asked(client, name, step=1)
    row = world.look.until(client, WORKING)
    assert row.detail is None
    world.stub.open_gate(name)
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Slept.")
    assert world.bell.told_of("desk", told) == []

"""Hooks that answer in the person's place: nothing is told of what they decide."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.client.product import PERMISSION, QUESTION, TURN_OVER, WORKING
from tests.client.stub import Tool, bash, say, use
from tests.client.test_prompts import QUESTIONS
from tests.client.world import ONLY_NEW

if TYPE_CHECKING:
    from tests.client.world import World

DECISION = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
ALLOW = json.dumps({"hookSpecificOutput": DECISION})


def hook(event: str, command: str, **more: str) -> tuple[str, ...]:
    """Return the arguments that give a client one hook."""
    settings: dict[str, Any] = {
        "hooks": {event: [{**more, "hooks": [{"type": "command", "command": command}]}]}
    }
    return ("--permission-mode", "default", "--settings", json.dumps(settings))


def test_a_hook_that_approves_after_a_while_alarms_nobody(world: World) -> None:
    approving = hook("PermissionRequest", f"sleep 2; echo '{ALLOW}'", matcher="Bash")
    client = world.start("hooked", *approving).wait_for_prompt()
    world.ask(client, use(bash("touch hooked")), say("Approved by a hook."))
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Approved by a hook.")
    world.ask(client, use(Tool("AskUserQuestion", QUESTIONS)), say("Chosen."))
    world.look.until(client, QUESTION)
    world.bell.wait_shown("hooked asks a question")
    assert [title for title, _ in world.bell.told_of("hooked")] == ["hooked asks a question"]
    client.kill()


@ONLY_NEW
def test_a_hook_that_does_not_decide_only_delays_the_alarm(world: World) -> None:
    client = world.start("slow", *hook("PermissionRequest", "sleep 2", matcher="Bash"))
    client.wait_for_prompt()
    world.ask(client, use(bash("touch slow")), say("Approved."))
    world.look.until(client, PERMISSION, where=lambda row: row.ask and row.ask.deciding)
    assert world.bell.told_of("slow") == []
    world.bell.wait_shown("slow needs permission", "Bash: touch slow")
    client.approve()
    world.look.until(client, TURN_OVER)
    world.bell.wait_gone("slow needs permission")
    client.kill()


def test_a_hook_that_makes_claude_go_on_is_no_end(world: World) -> None:
    onwards = world.stub.teach("onwards", say("The second end.", gated=True))
    going_on = hook("Stop", f"test -e ended || {{ touch ended; echo {onwards} >&2; exit 2; }}")
    client = world.start("shed", *going_on).wait_for_prompt()
    world.ask(client, say("The first end."))
    world.wait_asked(client, "onwards")
    world.look.until(client, WORKING, where=lambda row: row.preview == "The first end.")
    world.stub.open_gate("onwards")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "The second end.")
    assert world.bell.told_of("shed") == []
    client.kill()

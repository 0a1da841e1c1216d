"""Past sessions of the real client: what is told of them, and the way back into them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.client.product import IDLE, TURN_OVER
from tests.client.session import Client
from tests.client.stub import say
from tests.client.world import ONLY_NEW
from tray.history.keeping import keep, kept_place
from tray.history.live import mark
from tray.history.past import Past, Place
from tray.history.resuming import Resumption, resumption, way_back
from tray.history.scan import scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.client.world import World

RUN = "from tray.cli.main import main; main()"


def look(world: World) -> dict[str, Past]:
    """Return the past sessions by id."""
    return {past.session_id: past for past in scan([Place(str(world.home.root))])}


def bring_back(world: World, how: Resumption) -> Client:
    """Resume as the product would, with the client of this version."""
    return Client(
        world.terminals,
        world.home,
        [world.program, *how.argv[1:], "--permission-mode", "default"],
        world.home.project(os.path.basename(how.cwd)),
    )


def end(world: World, client: Client) -> None:
    client.close_terminal()
    client.wait(lambda: not client.lives(), "its end")


def until_said(world: World, client: Client, past: Past, text: str) -> bool:
    """Wait until `text` stands in the transcript; whether the client's row must tell it too.

    The record of a resumed 2.1.81 may go on naming another session, so its row may not.
    """
    path = Path(past.transcript)
    client.wait(lambda: text in path.read_text(), f"{text} written")
    if world.version.startswith("2.1.81"):
        return False
    row = world.look.until(client, TURN_OVER, where=lambda row: row.preview == text)
    assert (row.session_id, row.transcript) == (past.session_id, past.transcript)
    return True


@pytest.fixture(scope="module")
def told(world: World) -> Iterator[Past]:
    """A session with a name and two prompts that has ended."""
    client = world.start("atelier").wait_for_prompt()
    world.ask(client, say("Primed."), words="prime the canvas")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Primed.")
    client.type("/rename portrait")
    row = world.look.until(client, IDLE, where=lambda row: row.name == "portrait")
    world.ask(client, say("Painted."), words="paint it")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Painted.")
    end(world, client)
    assert row.session_id is not None
    return look(world)[row.session_id]


def test_a_renamed_session_is_told_as_it_was(world: World, told: Past) -> None:
    assert (told.name, told.title, told.title_source) == ("portrait", "portrait", "custom-title")
    assert (told.turns, told.project, told.version) == (2, "atelier", world.version)
    assert told.first_prompt is not None
    assert told.first_prompt.startswith("prime the canvas")
    assert told.forked_from is None


def test_resume_goes_on_in_the_same_transcript(world: World, told: Past) -> None:
    client = bring_back(world, resumption(told, world.home.environment)).wait_for_prompt()
    client.wait_for("Painted.")
    world.ask(client, say("Varnished."), words="varnish it")
    until_said(world, client, told, "Varnished.")
    end(world, client)
    after = look(world)[told.session_id]
    assert (after.turns, after.name) == (3, "portrait")


def test_a_fork_leaves_its_parent_as_it_was(world: World, told: Past) -> None:
    before = look(world)
    how = resumption(told, world.home.environment, fork=True)
    client = bring_back(world, how).wait_for_prompt()
    world.ask(client, say("Sketched."), words="sketch another")
    row = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Sketched.")
    assert row.session_id not in before
    end(world, client)
    after = look(world)
    fork = after[str(row.session_id)]
    assert (fork.name, fork.forked_from) == ("portrait", told.session_id)
    assert after[told.session_id].forked_from is None
    assert after[told.session_id].messages == before[told.session_id].messages


def test_clear_leaves_two_sessions_and_no_parent(world: World) -> None:
    client = world.start("kitchen").wait_for_prompt()
    world.ask(client, say("Cooked."), words="cook it")
    before = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Cooked.")
    client.command("/clear")
    world.look.until(client, IDLE, where=lambda row: row.preview is None)
    world.ask(client, say("Served."), words="serve it")
    after = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Served.")
    found = look(world)
    first, second = found[str(before.session_id)], found[str(after.session_id)]
    assert (first.turns, second.turns) == (1, 1)
    assert str(first.first_prompt).startswith("cook it")
    assert str(second.first_prompt).startswith("serve it")
    assert second.forked_from is None
    client.command("/compact")
    client.wait_for("Compacted")
    world.look.until(client, IDLE)
    world.ask(client, say("Washed."), words="wash up")
    world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Washed.")
    assert look(world)[str(after.session_id)].turns == 2
    end(world, client)


@ONLY_NEW
def test_a_kept_copy_brings_the_conversation_back(world: World, told: Past, tmp_path: Path) -> None:
    """Once the original is gone the client goes on in the copy itself."""
    keep(look(world)[told.session_id], str(tmp_path / "kept"))
    place = kept_place(str(tmp_path / "kept"))
    (kept,) = scan([place])
    os.rename(told.transcript, f"{told.transcript}.gone")
    try:
        how = way_back(kept, world.home.environment, ())
        assert how.argv == ("claude", "--resume", kept.transcript)
        client = bring_back(world, how).wait_for_prompt()
        client.wait_for("Painted.")
        world.ask(client, say("Framed."), words="frame it")
        client.wait_for("Framed.")
        client.wait(client.at_prompt, "its prompt")
        (live,) = mark(scan([place]), world.look.rows())
        assert (live.live, live.pid) == (True, client.pid)
        end(world, client)
        (after,) = scan([place])
        assert (after.session_id, after.turns) == (told.session_id, kept.turns + 1)
        assert told.session_id not in look(world)
    finally:
        os.rename(f"{told.transcript}.gone", told.transcript)


def run(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        env=world.home.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def in_terminal(world: World, arguments: Sequence[str], bin_folder: Path) -> Client:
    """Run the product's own command in a terminal that is below another client's shell."""
    bin_folder.mkdir()
    (bin_folder / "claude").symlink_to(world.program)
    environment = [
        f"PATH={bin_folder}:{world.home.environment['PATH']}",
        "CLAUDECODE=1",
        "CLAUDE_CODE_CHILD_SESSION=1",
    ]
    command = ["env", *environment, sys.executable, "-c", RUN, "resume", *arguments]
    return Client(world.terminals, world.home, command, world.home.project("elsewhere"))


def test_the_command_resumes_in_its_own_terminal(world: World, told: Past, tmp_path: Path) -> None:
    client = in_terminal(world, [told.session_id[:8]], tmp_path / "bin").wait_for_prompt()
    client.wait_for("Painted.")
    assert client.record()["cwd"] == told.cwd
    world.ask(client, say("Signed."), words="sign it")
    if until_said(world, client, told, "Signed."):
        # Live now: a second process on its transcript would corrupt it.
        again = run(world, "resume", told.session_id)
        assert again.returncode == 1
        assert f"is live in process {client.pid}" in again.stderr
    end(world, client)
    listed = json.loads(run(world, "history", "--json").stdout)
    assert told.session_id in {past["session_id"] for past in listed}


def test_a_fork_of_a_fork_is_told_by_its_direct_parent(world: World, told: Past) -> None:
    """Neither version writes down what was forked, and each fork has all lines before it.

    The last test here: of so many with the same lines 2.1.81 does not tell which one is its own.
    """
    (fork,) = (past for past in look(world).values() if past.forked_from == told.session_id)
    known = look(world)
    client = bring_back(world, resumption(fork, world.home.environment, fork=True))
    client.wait_for_prompt()
    # At a summary of all that was said.
    client.command("/compact")
    client.wait_for("Compacted")
    world.ask(client, say("Etched."), words="etch it")
    row = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Etched.")
    end(world, client)
    second = look(world)[str(row.session_id)]
    assert second.session_id not in known
    assert second.forked_from == fork.session_id
    client = bring_back(world, resumption(second, world.home.environment, fork=True))
    client.wait_for_prompt()
    world.ask(client, say("Printed."), words="print it")
    row = world.look.until(client, TURN_OVER, where=lambda row: row.preview == "Printed.")
    end(world, client)
    assert look(world)[str(row.session_id)].forked_from == second.session_id
    assert look(world)[second.session_id].forked_from == fork.session_id

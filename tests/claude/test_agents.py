"""The prompts of a session's agents, found beside its transcript."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.claude.lines import T0, calls, encoded, prompt, result, tool, user
from tray.claude.agents import Agents
from tray.claude.facts import Child

if TYPE_CHECKING:
    from pathlib import Path

BRIEF = user("go", isSidechain=True)


def asking(command: str, use_id: str = "t1") -> dict[str, Any]:
    return calls(tool("Bash", use_id, command=command), isSidechain=True)


class Session:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "s" / "subagents"
        self.folder.mkdir(parents=True)
        self.agents = Agents(str(folder / "s.jsonl"))
        self._written = 0

    def write(self, name: str, *lines: dict[str, Any], about: object = None) -> None:
        path = self.folder / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.write(b"".join(encoded(line) + b"\n" for line in lines))
        if about is not None:
            path.with_suffix(".meta.json").write_text(json.dumps(about))
        self._written += 1
        os.utime(path, (T0 + self._written, T0 + self._written))

    def asked(self, *children: Child) -> tuple[str | None, Any, int] | None:
        found = self.agents.ask(children)
        return found and (found.title, found.tool.input.get("command"), found.more)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_no_agents(session: Session, tmp_path: Path) -> None:
    assert session.asked() is None
    assert Agents(str(tmp_path / "missing.jsonl")).ask(()) is None


def test_an_open_tool_is_asked_for_until_it_has_a_result(session: Session) -> None:
    session.write("agent-a", BRIEF, asking("make"), about={"description": "Sub job"})
    assert session.asked() == ("Sub job", "make", 0)
    session.write("agent-a", {**result("t1"), "isSidechain": True})
    assert session.asked() is None


def test_the_newest_file_counts(session: Session) -> None:
    session.write("agent-a", BRIEF, asking("make"))
    session.write("agent-b", BRIEF, asking("npm test"))
    assert session.asked() == (None, "npm test", 0)
    session.write("agent-a", prompt("noise"))
    session.write("agent-a", {**asking("make install"), "isSidechain": True})
    assert session.asked() == (None, "make install", 0)


def test_what_visibly_runs_is_not_asked_for(session: Session) -> None:
    session.write("agent-a", BRIEF, asking("make"))
    session.write("agent-b", BRIEF, asking("sleep 60"))
    shell = ("/bin/bash", "-c", "source /h/shell-snapshots/s.sh && eval 'sleep 60'")
    assert session.asked(Child(T0, shell)) == (None, "make", 0)


def test_several_tools_of_one_message(session: Session) -> None:
    both = calls(tool("Bash", "t1", command="a"), tool("Bash", "t2", command="b"), isSidechain=True)
    session.write("agent-a", BRIEF, both)
    assert session.asked() == (None, "a", 1)


@pytest.mark.parametrize("name", ["deeper/agent-a", "agent-x"])
def test_wherever_below_it_lies(session: Session, name: str) -> None:
    session.write(name, BRIEF, asking("make"))
    assert session.asked() is not None


@pytest.mark.parametrize("name", ["journal", "notagent-a"])
def test_what_is_no_agents_file(session: Session, name: str) -> None:
    session.write(name, BRIEF, asking("make"))
    assert session.asked() is None


@pytest.mark.parametrize(
    ("about", "title"),
    [
        ({"description": "Sub job", "agentType": "Explore"}, "Sub job"),
        ({"agentType": "Explore"}, "Explore"),
        ({"description": " ", "name": 7}, None),
        (["not", "an", "object"], None),
    ],
)
def test_what_an_agent_is_for(session: Session, about: object, title: str | None) -> None:
    session.write("agent-a", BRIEF, asking("make"), about=about)
    assert session.asked() == (title, "make", 0)


def test_a_file_that_vanishes(session: Session) -> None:
    session.write("agent-a", BRIEF, asking("make"))
    assert session.asked() is not None
    (session.folder / "agent-a.jsonl").unlink()
    assert session.asked() is None

"""Sessions of which only the prompts are left."""

from __future__ import annotations

import json
import os
import uuid
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tray.history import deleted as module
from tray.history.deleted import as_past, deleted

if TYPE_CHECKING:
    from pathlib import Path

A, B = str(uuid.uuid4()), str(uuid.uuid4())


def line(text: str, at: float, session: str | None = A, project: str = "/src/shop") -> str:
    found = {"display": text, "pastedContents": {}, "timestamp": at * 1000, "project": project}
    return json.dumps(found | ({"sessionId": session} if session is not None else {})) + "\n"


def write(root: Path, *lines: str) -> str:
    root.mkdir(exist_ok=True)
    (root / "history.jsonl").write_text("".join(lines))
    return str(root)


def test_prompts_are_gathered_by_session_the_latest_first(tmp_path):
    root = write(
        tmp_path,
        line("fix the\nshop", 100),
        line("paint", 300, B, "/src/toys"),
        line("/model", 110),
        line("!ls", 115),
        line("and test it", 120),
        line("from an old client", 400, None),
    )
    toys, shop = deleted([root, root], ())
    assert (toys.session_id, shop.session_id) == (B, A)
    assert [prompt.text for prompt in shop.prompts] == ["fix the\nshop", "and test it"]
    past = as_past(shop)
    assert (past.transcript, past.skipped) == ("", module.GONE)
    assert (past.project, past.cwd, past.title) == ("shop", "/src/shop", "fix the shop")
    assert (past.turns, past.first_timestamp, past.last_timestamp) == (2, 100, 120)
    assert past.duration_s == 20


def test_what_is_still_there_or_was_no_more_than_commands_is_not_shown(tmp_path):
    root = write(tmp_path, line("here", 1, A), line("/exit", 2, B))
    assert deleted([root], {A}) == ()
    assert [one.session_id for one in deleted([root], ())] == [A]


def test_what_makes_no_sense_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LINE_LIMIT", 1000)
    root = write(
        tmp_path,
        "{\n",
        "[]\n",
        line("x", 1e300),
        line("x", -1),
        line("x", 1, "../../etc"),
        line("x" * 5000, 1, B),
        line("good", 2, A).rstrip("\n"),
    )
    assert [one.session_id for one in deleted([root], ())] == [A]


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "history.jsonl")
    assert deleted([str(tmp_path), str(tmp_path / "none")], ()) == ()


@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_may_raise(tmp_path_factory, lines):
    root = tmp_path_factory.mktemp("root")
    (root / "history.jsonl").write_bytes(b"\n".join(lines) + b"\n" + line("good", 2).encode())
    assert [one.session_id for one in deleted([str(root)], ())] == [A]

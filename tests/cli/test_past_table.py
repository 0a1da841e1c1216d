"""The table of past sessions: what it says of each of them, in any width."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from tray.cli.past_contract import session
from tray.cli.past_table import listing
from tray.history.past import KEPT, Past

NOW = 1_800_000_000.0
DAY = 86_400.0


def past(title: str = "Fix the flaky test", **fields: Any) -> Past:
    told: dict[str, Any] = {
        "project": "shop",
        "turns": 12,
        "created": NOW - 3 * DAY,
        "modified": NOW - 7200,
    }
    return Past("/t", "0f0e0d0c-0b0a", title=title, **told | fields)


def row(one: Past, **how: Any) -> str:
    return listing([one], NOW, color=False, **how).splitlines()[1]


@pytest.mark.parametrize(
    ("fields", "how", "said"),
    [
        ({}, {}, "Fix the flaky test"),
        ({"name": "Fix the flaky test"}, {}, "★ Fix the flaky test"),
        ({"forked_from": "p"}, {}, "⑂ Fix the flaky test"),
        ({}, {"forked": {"0f0e0d0c-0b0a"}}, "⑂ Fix the flaky test"),
        ({"forked_from": "p"}, {"depths": [2]}, "   └─ Fix the flaky test"),
        (
            {"live": True, "state": "needs_input"},
            {},
            "● Fix the flaky test (needs input)",
        ),
        ({"tag": "bug", "kept": True}, {}, "Fix the flaky test #bug (kept)"),
        ({"source": KEPT, "kept": True}, {}, "Fix the flaky test"),
        ({}, {"expiring": {"/t": NOW + 3.5 * DAY}}, "Fix the flaky test (deleted in 3d)"),
        ({}, {"expiring": {"/t": NOW + 3600}}, "Fix the flaky test (deleted within a day)"),
        ({}, {"expiring": {"/t": NOW - 3600}}, "Fix the flaky test (deleted soon)"),
        ({"skipped": "a sidechain"}, {}, "Fix the flaky test (a sidechain)"),
    ],
)
def test_what_is_known_of_a_session_is_marked(
    fields: dict[str, Any], how: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    source = fields.get("source", "local")
    assert row(past(**fields), **how) == f"  3d   2h    12 {source:6} shop    {said}"


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("title", ["word " * 40, "漢字" * 40, "naïve — " * 20])
def test_marks_stay_where_a_title_is_cut(
    columns: int, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    line = row(past(title, tag="bug", live=True, state="working"), debug=columns > 100)
    assert cell_len(line) <= columns
    if columns >= 80:
        assert line.endswith("… #bug (working)")
        assert cell_len(line) >= columns - 1


def test_a_deleted_session_has_no_transcript_for_scripts() -> None:
    assert session(past())["transcript"] == "/t"
    assert session(Past("", "gone"))["transcript"] is None

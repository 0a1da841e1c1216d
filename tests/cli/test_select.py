"""SESSION means one session, or nothing is done."""

from __future__ import annotations

import pytest

from tray.cli.select import matching, nearest
from tray.session import Observation, State


def session(pid: int, session_id: str | None, name: str | None, project: str) -> Observation:
    return Observation(
        key=f"{pid}:1",
        state=State.IDLE,
        pid=pid,
        session_id=session_id,
        name=name,
        project=project,
    )


SESSIONS = (
    session(100, "1001aaaa", "publish", "shop-api"),
    session(101, "1002bbbb", None, "Web"),
    session(102, "2002cccc", "web", "docs"),
    session(103, "beefdddd", None, "docs"),
    session(104, "feed0000", None, "twice"),
    session(105, "feed0000", None, "twice"),
    session(106, None, None, "beef"),
)


@pytest.mark.parametrize(
    ("wanted", "pids"),
    [
        ("100", [100]),  # a whole pid, though two ids start so
        ("10", [100, 101]),  # no pid: the start of two ids
        ("1001", [100]),
        ("1001aaaa", [100]),
        ("publish", [100]),
        ("shop-api", [100]),
        ("SHOP-API", [100]),
        ("web", [102]),  # a name as it is written, though a project differs by its case alone
        ("WEB", [101, 102]),
        ("docs", [102, 103]),
        ("beef", [103, 106]),  # an id's start and a project: who knows
        ("beefdddd", [103]),
        ("feed0000", [104, 105]),  # one conversation resumed in two terminals
        ("99", []),
        ("", []),
        ("shop", []),
    ],
)
def test_matching(wanted: str, pids: list[int]) -> None:
    assert [found.pid for found in matching(SESSIONS, wanted)] == pids


def test_nearest_names_help_with_a_slip() -> None:
    assert nearest(SESSIONS, "shopapi")[0] == "shop-api"
    assert nearest(SESSIONS, "PUBLIHS") == ["publish"]
    assert nearest(SESSIONS, "zzzz") == []

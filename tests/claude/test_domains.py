"""Records of other pid domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tray.claude import domains
from tray.claude.domains import ForeignProcesses, Sorted
from tray.claude.registry import Record
from tray.system.processes import Process, boot_time, machine_id, pid_domain

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = machine_id()
SEEN = Process(4711, 100, 1.0, "claude", ("claude",), 1, 0, "S", "/w", None, None)


def record(domain: str | None, **fields: object) -> Record:
    found = Record("/c/sessions/7.json", "/c", 7, pid_domain=domain, started_at=boot_time() + 60)
    return replace(found, **fields)  # type: ignore[arg-type]


@pytest.fixture
def sought(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every search for a process; that with the inner number 7 of pid:[1] is found."""
    searches: list[tuple[str, int]] = []

    def find(namespace: str, pid: int) -> Process | None:
        searches.append((namespace, pid))
        return SEEN if (namespace, pid) == ("pid:[1]", 7) else None

    monkeypatch.setattr(domains, "find_in_namespace", find)
    monkeypatch.setattr(domains, "is_alive", lambda *_: True)
    monkeypatch.setattr(domains, "read_process", lambda _: SEEN)
    return searches


@pytest.mark.parametrize("domain", [None, pid_domain()])
def test_of_here(domain: str | None, sought: list[tuple[str, int]]) -> None:
    own = record(domain, started_at=1.0)
    assert ForeignProcesses().sort_out([own]) == Sorted([own])
    assert sought == []


@pytest.mark.parametrize(
    ("domain", "fields", "expected"),
    [
        (f"linux:{MACHINE}:pid:[1]", {}, SEEN),
        (f"linux:{MACHINE}:pid:[1]", {"proc_start": 100}, SEEN),
        (f"linux:{MACHINE}:pid:[1]", {"proc_start": 99}, None),
        (f"linux:{MACHINE}:pid:[2]", {}, None),
        ("linux::pid:[1]", {"proc_start": 100}, SEEN),
        ("linux:other:pid:[1]", {"proc_start": 100}, SEEN),
        ("linux:other:pid:[1]", {"proc_start": 99}, None),
        ("linux:other:pid:[1]", {}, None),
        ("linux:other:pid:[1]", {"started_at": 1.0}, None),
        ("darwin:other", {"started_at": 1.0}, None),
        ("?", {}, None),
    ],
)
def test_of_elsewhere(
    domain: str,
    fields: dict[str, object],
    expected: Process | None,
    sought: list[tuple[str, int]],
) -> None:
    foreign = record(domain, **fields)
    assert ForeignProcesses().sort_out([foreign]) == Sorted([foreign], {foreign.path: expected})


def test_of_this_machine_before_it_was_started(sought: list[tuple[str, int]]) -> None:
    dead = record(f"linux:{MACHINE}:pid:[1]", started_at=boot_time() - 1)
    assert ForeignProcesses().sort_out([dead]) == Sorted()
    lives = replace(dead, proc_start=SEEN.start_ticks)
    found = ForeignProcesses().sort_out([lives])
    assert found == Sorted([lives], {lives.path: SEEN}), "only the clock was put forward"


@pytest.mark.parametrize(
    ("sees_all", "machine", "owned", "gone"),
    [
        (True, MACHINE, True, True),
        (False, MACHINE, True, False),
        (True, "other", True, False),
        (True, MACHINE, False, False),
    ],
)
def test_gone_where_all_of_this_machine_can_be_seen(
    sought: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    sees_all: bool,
    machine: str | None,
    owned: bool,
    gone: bool,
) -> None:
    path = tmp_path / "7.json"
    path.touch()
    if not owned:
        monkeypatch.setattr(domains.os, "geteuid", lambda: path.stat().st_uid + 1)
    monkeypatch.setattr(domains, "sees_all_processes", lambda: sees_all)
    foreign = record(f"linux:{machine}:pid:[2]", path=str(path))
    expected = Sorted([foreign], gone={str(path)}) if gone else Sorted([foreign], {str(path): None})
    assert ForeignProcesses().sort_out([foreign]) == expected


def test_one_that_dies_is_missed_at_once(
    sought: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = ForeignProcesses()
    seen = record(f"linux:{MACHINE}:pid:[1]")
    assert processes.sort_out([seen]).foreign == {seen.path: SEEN}
    monkeypatch.setattr(domains, "is_alive", lambda *_: False)
    processes.sort_out([seen])
    assert sought == [("pid:[1]", 7)] * 2, "looked for anew, not only after a while"


def test_a_search_is_not_made_at_each_look(sought: list[tuple[str, int]]) -> None:
    processes = ForeignProcesses()
    for _ in range(3):
        processes.sort_out([record(f"linux:{MACHINE}:pid:[1]"), record("linux::pid:[2]")])
        processes.sort_out([record(f"linux:{MACHINE}:pid:[2]")])
    assert sorted(sought) == [("pid:[1]", 7), ("pid:[2]", 7)]

"""How long a menu of 200 sessions takes to open: it is made, fetched over the bus, and read.

And what keeping it up to date costs while ten sessions work: nobody looks at it then.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests import session_bus
from tests.session_bus import SessionBus
from tests.tray.tray_host import Host
from tray.claude.recent import Recent
from tray.desktop import icon, menu
from tray.desktop.menu import Controls
from tray.desktop.sni import TrayIcon
from tray.mutes import Mutes
from tray.session import Ask, Observation, Reason, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SESSIONS = 200
RUNS = 30
BUDGET = 0.1
"""Seconds from the click to the whole menu at the host."""
NOW = time.time()


def sessions(number: int) -> list[Observation]:
    """Sessions in thirty projects, every third of which asks."""
    return [_session(place, asks=place % 3 == 0) for place in range(number)]


def _session(place: int, *, asks: bool) -> Observation:
    text = "npm run build && npm publish --access public\n" * 8
    return Observation(
        f"{place}:1",
        State.NEEDS_INPUT if asks else State.WORKING,
        reason=Reason.PERMISSION if asks else None,
        ask=Ask("s1", Reason.PERMISSION, "Bash", text) if asks else None,
        detail="Bash: npm run build && npm publish" if asks else None,
        pid=place,
        session_id=f"00000000-0000-4000-8000-{place:012}",
        project=f"project-{place % 30}",
        cwd=f"/home/me/work/project-{place % 30}",
        branch="main",
        title=f"The work on part {place} of it",
        since=NOW - 60 * place,
    )


def controls() -> Controls:
    recent = tuple(Recent(f"{n}", "/r", "/r/x", NOW - n, "/src/x", f"Talk {n}") for n in range(10))
    return Controls(mutes=Mutes(projects={"/src/a": None}), autostart=True, recent=recent)


def test_opening(tmp_path: Path, report: Callable[[str], None], monkeypatch) -> None:
    if session_bus.MISSING is not None:
        pytest.skip(session_bus.MISSING)
    bus = SessionBus(tmp_path)
    bus.start()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
    try:
        times, shown = asyncio.run(_open(bus.address))
    finally:
        bus.stop()
    report(
        f"menu of {SESSIONS} sessions, {shown} lines, from AboutToShow to the whole layout:"
        f" median {1000 * statistics.median(times):.0f} ms, worst of {RUNS}"
        f" {1000 * max(times):.0f} ms (budget {1000 * BUDGET:.0f} ms)"
    )


async def _open(address: str) -> tuple[list[float], int]:
    all_of_them = sessions(SESSIONS)
    shown = 0

    def draw() -> None:
        nonlocal shown
        shown += 1
        # Since the last time each has changed, as in the worst case.
        now = [replace(one, preview=f"Said {shown}", unseen=shown % 2 == 0) for one in all_of_them]
        made.show(
            icon.look(now, healthy=True),
            badge=icon.badge(now),
            tooltip=menu.tooltip(now, (), NOW),
            entries=menu.build(now, (), NOW, controls=controls()),
        )

    made = TrayIcon(on_change=draw)
    host = await Host().start(address)
    draw()
    await made.start()
    async with asyncio.timeout(10):
        while not host.registered:  # noqa: ASYNC110  (the host has no event to wait for)
            await asyncio.sleep(0.01)
    times, lines = [], 0
    try:
        for _ in range(RUNS):
            start = time.perf_counter()
            await host.call_menu("AboutToShow", "i", 0)
            layout = await host.layout()
            times.append(time.perf_counter() - start)
            lines = len(layout.all()) - 1
            await host.event(0, "closed")
        rows = [line for line in layout.children if "project-" in line.label]
        assert len(rows) == 12
        assert layout.find("188 more").children
    finally:
        await made.close()
        await host.stop()
    return times, lines


def test_keeping_up(report: Callable[[str], None]) -> None:
    """Ten sessions, one of which changes at a time; what the loop's thread spends on the menu."""
    given = controls()
    spent = []
    for bare in (True, False):
        now = sessions(10)
        made = TrayIcon()
        times = []
        for turn in range(200):
            now[turn % 10] = replace(now[turn % 10], preview=f"Said {turn}")
            start = time.perf_counter()
            entries = menu.build(now, (), NOW, controls=None if bare else given)
            made.show(icon.Look.WORKING, badge=0, tooltip="x", entries=entries)
            times.append(time.perf_counter() - start)
        spent.append(1000 * statistics.median(times))
    report(
        f"menu kept up to date, 10 sessions, one changes: {spent[1]:.2f} ms,"
        f" {spent[0]:.2f} ms of it for the rows alone"
    )

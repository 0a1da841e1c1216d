"""What the tray's menu and tooltip say: sessions and problems in, rows out. Pure."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import msgspec

from tray import __version__
from tray.config import Settings
from tray.desktop.entry import Action, Duration, Entry, ends_at
from tray.desktop.mute_menu import mute_menu
from tray.desktop.prose import WIDTH, age, prose
from tray.desktop.rows import NOTHING_MUTED, ROWS, headline, names, order, rows, tooltip
from tray.desktop.session_actions import session_actions
from tray.desktop.settings_menu import about_menu, autostart_line, settings_menu
from tray.mutes import Mutes, expired
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tray.claude.recent import Recent
    from tray.session import Observation, Problem

__all__ = [
    "ROWS",
    "Action",
    "Controls",
    "Duration",
    "Entry",
    "build",
    "ends_at",
    "headline",
    "order",
    "tooltip",
]

_LINES_OF_PROBLEMS = 9


class Controls(msgspec.Struct, frozen=True):
    """What the menu lets a person do, and how that stands now."""

    mutes: Mutes = NOTHING_MUTED
    settings: Settings = Settings()
    autostart: bool | None = None
    """Whether it starts at login; `None`: cannot be told."""
    recent: tuple[Recent, ...] = ()
    quiet_until: str = ""
    """The time of day at which quiet hours end; empty: these are none."""
    version: str = __version__
    page: str = ""
    """Where the project is at home."""


def build(
    sessions: Sequence[Observation],
    problems: Sequence[Problem],
    now: float,
    *,
    message: str | None = None,
    controls: Controls | None = None,
) -> tuple[Entry, ...]:
    """Return the menu's lines; `message` is shown below the head line, whole.

    `now` is Unix seconds. Without `controls` there is nothing but the sessions and `Quit`.
    """
    ranked = sorted(sessions, key=order)
    named = names(ranked, now)
    mutes = expired(controls.mutes, now) if controls is not None else NOTHING_MUTED
    entries = [Entry("head", headline(ranked), enabled=False)]
    if message:
        entries += prose("message", one_line(message, 6 * WIDTH))
    if ranked:
        entries.append(Entry("above-rows", separator=True))
        entries += rows(ranked, named, now, mutes)
    if problems:
        entries.append(Entry("above-problems", separator=True))
        lines = [line for problem in problems for line in _problem(problem)]
        entries += lines[:_LINES_OF_PROBLEMS]
    if controls is not None:
        entries += _controls(controls, mutes, ranked, named, now)
    entries.append(Entry("above-quit", separator=True))
    entries.append(Entry("quit", "Quit sessionbell", action=Action.QUIT))
    return tuple(entries)


def _controls(
    controls: Controls,
    mutes: Mutes,
    ranked: Sequence[Observation],
    named: Sequence[str],
    now: float,
) -> Iterator[Entry]:
    unseen = any(session.unseen for session in ranked)
    yield Entry("above-actions", separator=True)
    yield session_actions(ranked, named, now, mutes)
    yield _recent_menu(controls.recent, now)
    yield Entry("all-seen", "Mark all seen", enabled=unseen, action=Action.MARK_ALL_SEEN)
    yield Entry("above-settings", separator=True)
    yield mute_menu(ranked, named, now, mutes, controls.quiet_until)
    yield settings_menu(controls.settings)
    yield autostart_line(controls.autostart)
    yield about_menu(controls.version, controls.page)


def _recent_menu(recent: tuple[Recent, ...], now: float) -> Entry:
    return _recent_lines(recent, tuple(age(now - one.last_at) for one in recent))


@functools.lru_cache(maxsize=2)
def _recent_lines(recent: tuple[Recent, ...], ages: tuple[str, ...]) -> Entry:
    lines = tuple(
        Entry(
            f"recent:{one.session_id}",
            _recent_label(one, ago),
            action=Action.RESUME,
            session=one.session_id,
        )
        for one, ago in zip(recent, ages, strict=True)
    )
    return Entry("recent", "Recent sessions", enabled=bool(lines), children=lines)


def _recent_label(recent: Recent, ago: str) -> str:
    project = one_line(os.path.basename(recent.cwd or ""), 48) or "no project"
    title = one_line(recent.title or "", 60) or one_line(recent.session_id, 9)
    return left_to_right(f"{project} — {title} ({f'{ago} ago' if ago else 'just now'})")


def _problem(problem: Problem) -> Iterator[Entry]:
    yield from prose(f"problem:{problem.code}", f"⚠ {one_line(problem.message, 3 * WIDTH)}")

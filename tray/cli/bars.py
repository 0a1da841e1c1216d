"""What a status bar shows: waybar's JSON, or one line after a person's own template. Pure."""

from __future__ import annotations

import html
import re
import string
from typing import TYPE_CHECKING

from tray.desktop.looks import Look, counts, look, look_of
from tray.session import order
from tray.untrusted import left_to_right, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tray.session import Observation, Problem

FIELDS: dict[str, str] = {
    "blocked": "sessions that wait for their person",
    "failed": "turns that ended with an error and were not looked at since",
    "finished": "turns that ended well and were not looked at since",
    "unseen": "failed and finished",
    "working": "sessions at work",
    "idle": "sessions at rest",
    "unknown": "sessions whose state cannot be told",
    "total": "all of them",
    "state": "the icon's state in one word",
    "project": "the project of the session that calls first",
    "reason": "what it waits for: permission, question, plan, input, failed, finished",
}
"""What a template may name, and what it means."""
_TOLD = 10
"""Sessions named in waybar's tooltip."""
_NOT_PLAIN = re.compile(r"[^\w .@/+-]")
"""What bars may take for markup or commands of their own (`#[`, `%{`, `<`)."""


class TemplateError(ValueError):
    """A template names something that there is not; the message says what there is."""


def check(template: str) -> None:
    """See that `template` names nothing but `FIELDS`; raise TemplateError otherwise."""
    try:
        named = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
        unknown = next((name for name in named if name not in FIELDS), None)
        if unknown is None:
            fill(template, ())
    except (ValueError, IndexError) as error:
        raise TemplateError(f"{error}; write a brace as {{{{ or }}}}") from None
    if unknown is not None:
        raise TemplateError(f"there is no {{{unknown}}}; there are {', '.join(FIELDS)}")


def fill(template: str, sessions: Sequence[Observation], *, healthy: bool = True) -> str:
    """Return the one line that `template` makes of `sessions`.

    Names from sessions are left with letters, digits and `.@/+-` only: polybar, i3bar and tmux
    each take other signs for their own.
    """
    first = _calls_first(sessions)
    values: dict[str, object] = dict(counts(sessions))
    values["state"] = look(sessions, healthy=healthy).value
    values["project"] = _plain(first.project or "") if first else ""
    values["reason"] = _reason(first) if first else ""
    return " ".join(string.Formatter().vformat(template, (), values).splitlines())


def waybar(
    sessions: Sequence[Observation], problems: Sequence[Problem], *, healthy: bool = True
) -> dict[str, object]:
    """Return what a custom module of waybar reads with `return-type: json` (waybar-custom(5)).

    `text` and `tooltip` are escaped: waybar reads them as Pango markup.
    """
    count = counts(sessions)
    seen = look(sessions, healthy=healthy)
    lines = [html.escape(_line(session), quote=False) for session in _calling(sessions)]
    if len(lines) > _TOLD:
        lines[_TOLD:] = [f"{len(lines) - _TOLD} more"]
    said = [f"{count[name]} {name}" for name in _COUNTED if count[name]]
    head = ", ".join(said) or "No Claude Code session"
    lines += [
        html.escape(f"⚠ {one_line(problem.message, 160)}", quote=False) for problem in problems
    ]
    number = count.get(seen.value, 0)
    total = count["total"]
    return {
        "text": str(number) if number else "",
        "alt": seen.value,
        "class": seen.value,
        "tooltip": "\n".join([head, *lines]),
        "percentage": round(100 * count["blocked"] / total) if total else 0,
    }


_COUNTED = ("blocked", "failed", "finished", "working", "idle", "unknown")
_CALLING = (Look.BLOCKED, Look.FAILED, Look.FINISHED)


def _calling(sessions: Sequence[Observation]) -> list[Observation]:
    """Return the sessions that call for their person, in the order of every list."""
    return [s for s in sorted(sessions, key=order) if look_of(s) in _CALLING]


def _calls_first(sessions: Sequence[Observation]) -> Observation | None:
    calling = _calling(sessions)
    return calling[0] if calling else None


def _reason(session: Observation) -> str:
    if session.blocking and session.reason is not None:
        return session.reason.value
    return look_of(session).value


def _line(session: Observation) -> str:
    where = one_line(session.project or session.name or "a session", 48)
    detail = one_line((session.detail if session.reason else session.preview) or "", 72)
    said = f"{_reason(session)}: {detail}" if detail else _reason(session)
    return left_to_right(f"{where}: {said}")


def _plain(text: str) -> str:
    return _NOT_PLAIN.sub("", one_line(text, 48))

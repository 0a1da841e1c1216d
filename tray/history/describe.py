"""What a list tells of a transcript, from its count. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.claude.counting import title
from tray.history.past import Past
from tray.untrusted import one_line

if TYPE_CHECKING:
    from tray.claude.counting import Tally
    from tray.history.counted import Count
    from tray.history.past import Place

_WORKTREES = "/.claude/worktrees/"
"""Where the client makes worktrees, below the repository."""
_AGENT = "agent-"
"""How the files of subagents begin that old clients wrote beside the sessions'."""
_LINE = 200
"""Characters of a project's name or a summary."""


def describe(path: str, place: Place, count: Count) -> Past:
    """Return all that is told of the transcript at `path`, but whether it is live."""
    tally = count.tally
    session_id = os.path.basename(path).removesuffix(".jsonl")
    named = title(tally)
    first, last = tally.first_timestamp, tally.last_timestamp
    lasted = max(last - first, 0.0) if first is not None and last is not None else None
    return Past(
        transcript=path,
        session_id=session_id,
        project=_project(tally.cwd),
        cwd=tally.cwd,
        branch=tally.branch,
        title=named[0] if named is not None else None,
        title_source=named[1] if named is not None else None,
        name=_given_name(tally),
        tag=tally.tag or None,
        first_prompt=tally.first_prompt or None,
        summary=tally.summary or None,
        turns=tally.turns,
        messages=tally.messages,
        malformed_lines=tally.malformed,
        first_timestamp=first,
        last_timestamp=last,
        duration_s=round(lasted, 3) if lasted is not None else None,
        created=count.created,
        modified=count.modified,
        size=count.size,
        version=tally.version,
        entrypoint=tally.entrypoint,
        forked_from=tally.forked_from if tally.forked_from != session_id else None,
        continued_in=tally.continued_in,
        source=place.source,
        last_cwd=tally.last_cwd,
        config_root=place.path,
        skipped=_skipped(session_id, tally),
        marks=tally.marks,
        starts=tally.starts,
    )


def with_summary(past: Past, summary: str) -> Past:
    """Return a session with a summary that none of its lines has."""
    text = one_line(summary, _LINE)
    if not text or past.summary is not None:
        return past
    if past.title_source in (None, "first-prompt"):
        past = replace(past, title=text, title_source="summary")
    skipped = None if past.skipped == _NOTHING else past.skipped
    return replace(past, summary=text, skipped=skipped)


def _project(cwd: str | None) -> str | None:
    if cwd is None:
        return None
    repository = cwd.partition(_WORKTREES)[0]
    return one_line(os.path.basename(repository.rstrip("/")) or "/", _LINE)


def _given_name(tally: Tally) -> str | None:
    """Return the title that a person gave: the client itself gives a worktree's its name."""
    name = tally.custom_title
    worktree = (tally.cwd or "").partition(_WORKTREES)[2].partition("/")[0]
    return name if name and name != worktree else None


_NOTHING = "neither directory nor prompt nor title"


def _skipped(session_id: str, tally: Tally) -> str | None:
    if session_id.startswith(_AGENT):
        return "a subagent's"
    if tally.sidechain:
        return "a sidechain"
    if tally.team:
        return "a team member's"
    if tally.cwd is None and not tally.turns and title(tally) is None:
        return _NOTHING
    return None

"""From a verdict, and what it was judged by, to the observation that everybody sees."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from tray.claude.conversation import Phase, TitleSource
from tray.claude.domains import MAY_BE_GONE_AFTER
from tray.claude.joining import key_of_record
from tray.session import Kind, Observation, Reason, Source, State
from tray.system.git import checkout
from tray.untrusted import one_line

if TYPE_CHECKING:
    from tray.claude.conversation import Conversation
    from tray.claude.facts import Facts, Verdict
    from tray.claude.joining import Session
    from tray.claude.registry import Record

ENDED_FOR = 600.0
"""Seconds after its last sign of life for which a session that died at work is listed."""
MAY_BE_GONE = "may be gone: not seen from here, and no change for 12 hours"
_OUTCOMES = frozenset({"done", "failed", "blocked"})
"""States of a background job that mean something: it says `working` at rest, too."""
_TITLE = 120
"""Characters of a title or name at most."""
_PREVIEW = 300
"""Characters of the model's last text at most."""
_PATH = 4096
"""Characters of a path at most (PATH_MAX of Linux)."""


def observe(session: Session, facts: Facts, verdict: Verdict, path: str | None) -> Observation:
    """Compose what is seen of a live session."""
    record, process, conversation = session.record, session.process, facts.conversation
    cwd = _first(
        record.cwd if record is not None else None,
        process.cwd if process is not None else None,
        conversation.cwd if conversation is not None else None,
    )
    row = _described(record, conversation, cwd)
    if record is not None and process is None:
        verdict = _unverified(record, verdict, facts.now)
    return replace(
        row,
        key=session.key,
        aliases=session.aliases,
        state=verdict.state,
        pid=process.pid if process is not None else (record.pid if record is not None else None),
        session_id=_safe(_session_id(path), session.session_id),
        name=row.name or (one_line(session.command.name, _TITLE) if session.command.name else None),
        reason=verdict.reason,
        detail=verdict.detail,
        ask=verdict.ask,
        unseen=verdict.unseen,
        background=verdict.background,
        since=verdict.since,
        started=facts.started or row.started,
        kind=_kind(session, headless=facts.headless),
        source=verdict.source,
        transcript=path,
        tty=session.tty,
        turn_end=verdict.turn_end,
        turn_ended_at=verdict.turn_ended_at,
        turn_by_person=verdict.turn_by_person,
        last_act=verdict.last_act,
        error=verdict.error,
        verified=process is not None,
        outcome=_outcome(facts, verdict),
    )


def observe_dead(
    record: Record, conversation: Conversation | None, path: str | None, now: float
) -> Observation | None:
    """Compose the row of a session whose process is gone though its record is not.

    `None` if it was at rest then, or its last sign of life is too long ago.
    """
    if record.status is None:
        at_work = conversation is not None and conversation.phase is Phase.RUNNING
    else:
        at_work = record.status in ("busy", "waiting")
    signs = (
        record.status_updated_at,
        record.updated_at,
        conversation.last_timestamp if conversation is not None else None,
    )
    last_sign = max((sign for sign in signs if sign is not None), default=None)
    parked = record.parked_job_id is not None or record.spare
    if not at_work or parked or last_sign is None or now - last_sign > ENDED_FOR:
        return None
    return replace(
        _described(record, conversation, record.cwd),
        key=key_of_record(record),
        state=State.ENDED,
        detail="died while waiting" if record.status == "waiting" else "died while working",
        pid=record.pid,
        session_id=_safe(_session_id(path), record.session_id),
        since=last_sign,
        kind=Kind.BACKGROUND if record.kind == "bg" or record.job_id else Kind.INTERACTIVE,
        source=Source.REGISTRY if record.status is not None else Source.TRANSCRIPT,
        transcript=path,
    )


def _described(
    record: Record | None, conversation: Conversation | None, cwd: str | None
) -> Observation:
    """Fill in what does not depend on the state."""
    place = checkout(cwd) if cwd is not None else None
    top = (place.repository or place.root) if place is not None else cwd
    branch = (place.branch or place.detached) if place is not None else None
    if place is None and conversation is not None and not (cwd and os.path.isdir(cwd)):
        branch = conversation.git_branch
    title = conversation.title if conversation is not None else None
    name = _given_name(record)
    if name is None and conversation is not None:
        name = conversation.titles.get(TitleSource.CUSTOM)
    return Observation(
        key="",
        state=State.UNKNOWN,
        name=_safe(name),
        title=_safe(title[0] if title is not None else None),
        project=_safe(os.path.basename(top.rstrip("/")) or top if top else None),
        cwd=one_line(cwd, _PATH) if cwd else None,
        worktree=_safe(place.worktree if place is not None else None),
        branch=_safe(branch),
        preview=one_line(conversation.preview, _PREVIEW) or None
        if conversation is not None and conversation.preview
        else None,
        started=record.started_at if record is not None else None,
        entrypoint=_safe(
            record.entrypoint if record is not None else None,
            conversation.entrypoint if conversation is not None else None,
        ),
        version=_safe(
            record.version if record is not None else None,
            conversation.version if conversation is not None else None,
        ),
        config_root=record.config_root if record is not None else None,
        record=record.path if record is not None else None,
        job_id=record.job_id if record is not None else None,
    )


def _given_name(record: Record | None) -> str | None:
    """Return the name that a person gave; others are made from the directory, job or title."""
    if record is None or record.name_source not in (None, "user"):
        return None
    return record.name if record.name != record.job_id else None


def _unverified(record: Record, verdict: Verdict, now: float) -> Verdict:
    """Doubt what nobody here can check, once nothing has changed for long."""
    changed = max(record.updated_at or 0.0, record.status_updated_at or 0.0, record.started_at or 0)
    if now - changed > MAY_BE_GONE_AFTER:
        return replace(
            verdict, state=State.UNKNOWN, reason=None, ask=None, detail=MAY_BE_GONE, unseen=False
        )
    return verdict


def _kind(session: Session, *, headless: bool) -> Kind:
    if headless:
        return Kind.HEADLESS
    return Kind.BACKGROUND if session.background else Kind.INTERACTIVE


def _outcome(facts: Facts, verdict: Verdict) -> str | None:
    """Return how a background job came out, once it is at rest."""
    at_rest = verdict.state is State.IDLE or verdict.reason is Reason.TURN_OVER
    job = facts.job
    return job.state if job is not None and at_rest and job.state in _OUTCOMES else None


def _session_id(path: str | None) -> str | None:
    """Return the session whose transcript that is: a record may still name the one before."""
    return os.path.basename(path).removesuffix(".jsonl") if path is not None else None


def _first(*values: str | None) -> str | None:
    return next((value for value in values if value), None)


def _safe(*values: str | None) -> str | None:
    """Return the first text there is, made safe to show."""
    text = _first(*values)
    return one_line(text, _TITLE) or None if text is not None else None

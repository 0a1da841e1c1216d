"""From a verdict, and what it was judged by, to the observation that everybody sees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from msgspec.structs import replace

from tray.claude.conversation import Phase, TitleSource
from tray.claude.domains import MAY_BE_GONE_AFTER
from tray.claude.joining import key_of_record
from tray.session import Kind, Observation, Reason, Source, State
from tray.untrusted import one_line

if TYPE_CHECKING:
    from tray.claude.conversation import Conversation
    from tray.claude.facts import Facts, Verdict
    from tray.claude.joining import Session
    from tray.claude.registry import Record
    from tray.system.git import Checkout

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


def observe(
    session: Session, facts: Facts, verdict: Verdict, path: str | None, place: Checkout | None
) -> Observation:
    """Compose what is seen of a live session: its transcript is at `path`, its cwd in `place`."""
    record, process, conversation = session.record, session.process, facts.conversation
    if record is not None and process is None:
        verdict = _unverified(record, verdict, facts.now)
    cwd = session.cwd or (conversation.cwd if conversation is not None else None)
    pid = process.pid if process is not None else record.pid if record is not None else None
    return Observation(
        key=session.key,
        state=verdict.state,
        aliases=session.aliases,
        pid=pid,
        session_id=_safe(_session_id(path) or session.session_id),
        name=_safe(_given_name(record, conversation) or session.command.name),
        reason=verdict.reason,
        detail=verdict.detail,
        ask=verdict.ask,
        unseen=verdict.unseen,
        background=verdict.background,
        since=verdict.since,
        started=session.started,
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
        **_described(record, conversation, cwd, place),
    )


def observe_dead(
    record: Record,
    conversation: Conversation | None,
    path: str | None,
    place: Checkout | None,
    now: float,
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
    if not at_work or record.parked_job_id is not None:
        return None
    if last_sign is None or now - last_sign > ENDED_FOR:
        return None
    return Observation(
        key=key_of_record(record),
        state=State.ENDED,
        pid=record.pid,
        session_id=_safe(_session_id(path) or record.session_id),
        name=_safe(_given_name(record, conversation)),
        detail="died while waiting" if record.status == "waiting" else "died while working",
        since=last_sign,
        started=record.started_at,
        kind=Kind.BACKGROUND if record.kind == "bg" or record.job_id else Kind.INTERACTIVE,
        source=Source.REGISTRY if record.status is not None else Source.TRANSCRIPT,
        transcript=path,
        **_described(record, conversation, record.cwd, place),
    )


class _Description(TypedDict):
    """The fields of an observation that do not depend on the state."""

    title: str | None
    project: str | None
    cwd: str | None
    worktree: str | None
    branch: str | None
    preview: str | None
    entrypoint: str | None
    version: str | None
    config_root: str | None
    record: str | None
    job_id: str | None


def _described(
    record: Record | None,
    conversation: Conversation | None,
    cwd: str | None,
    place: Checkout | None,
) -> _Description:
    top = (place.repository or place.root) if place is not None else cwd
    branch = (place.branch or place.detached) if place is not None else None
    title = preview = entrypoint = version = None
    if conversation is not None:
        titled = conversation.title
        title = titled[0] if titled is not None else None
        preview = one_line(conversation.preview or "", _PREVIEW) or None
        entrypoint, version = conversation.entrypoint, conversation.version
        if place is None and not (cwd and os.path.isdir(cwd)):
            branch = conversation.git_branch
    if record is not None:
        entrypoint, version = record.entrypoint or entrypoint, record.version or version
    return _Description(
        title=_safe(title),
        project=_safe(os.path.basename(top.rstrip("/")) or top) if top else None,
        cwd=one_line(cwd, _PATH) if cwd else None,
        worktree=_safe(place.worktree) if place is not None else None,
        branch=_safe(branch),
        preview=preview,
        entrypoint=_safe(entrypoint),
        version=_safe(version),
        config_root=record.config_root if record is not None else None,
        record=record.path if record is not None else None,
        job_id=record.job_id if record is not None else None,
    )


def _given_name(record: Record | None, conversation: Conversation | None) -> str | None:
    """Return the name that a person gave; others are made from the directory, job or title."""
    if record is not None and record.name_source in (None, "user"):
        name = record.name if record.name != record.job_id else None
        if name is not None:
            return name
    return conversation.titles.get(TitleSource.CUSTOM) if conversation is not None else None


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


def _safe(text: str | None) -> str | None:
    """Return a text that is safe to show, if there is one."""
    return one_line(text, _TITLE) or None if text is not None else None

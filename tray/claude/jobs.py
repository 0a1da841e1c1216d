"""A background job's own file, `<config root>/jobs/<job id>/state.json`.

Only `tempo` and `needs` mean something (seen on 2.1.332): `state` says "working" at rest, and
`detail` can be the beginning of the brief.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from tray.claude.files import json_object, read_small, text_of
from tray.untrusted import identifier

_LIMIT = 4 * 1024 * 1024


class Job(msgspec.Struct, frozen=True):
    """What a background job says of itself."""

    job_id: str
    tempo: str | None = None
    needs: str | None = None
    """What it needs of its person, while `tempo` is `blocked`."""
    questions: tuple[str, ...] = ()
    state: str | None = None
    detail: str | None = None


def read_job(config_root: str, job_id: str) -> Job | None:
    """Read a job's state; `None` if there is none to be read."""
    if identifier(job_id) is None:
        return None
    data = read_small(os.path.join(config_root, "jobs", job_id, "state.json"), _LIMIT)
    found = json_object(data) if data is not None else None
    if found is None:
        return None
    block = found.get("block")
    return Job(
        job_id=job_id,
        tempo=text_of(found, "tempo"),
        needs=text_of(found, "needs"),
        questions=_questions(block.get("questions")) if isinstance(block, dict) else (),
        state=text_of(found, "state"),
        detail=text_of(found, "detail"),
    )


def _questions(value: Any) -> tuple[str, ...]:  # noqa: ANN401  (any JSON value)
    if not isinstance(value, list):
        return ()
    texts = (item.get("question") if isinstance(item, dict) else item for item in value)
    return tuple(text for text in texts if isinstance(text, str) and text.strip())

"""What a background job says of itself."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tray.claude.jobs import Job, read_job

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, found: object, job_id: str = "540a544a") -> Path:
    path = root / "jobs" / job_id / "state.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(found if isinstance(found, bytes) else json.dumps(found).encode())
    return path


def test_as_seen_on_2_1_332(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "state": "blocked",
            "detail": "Which port?",
            "tempo": "blocked",
            "inFlight": {"tasks": 0, "queued": 0, "kinds": []},
            "needs": "Which port?",
            "block": {"questions": [{"question": "Which port?", "options": []}]},
            "output": None,
            "sessionId": "540a544a-57fe-45d8-9e3a-8e70d924230d",
        },
    )
    assert read_job(str(tmp_path), "540a544a") == Job(
        job_id="540a544a",
        tempo="blocked",
        needs="Which port?",
        questions=("Which port?",),
        state="blocked",
        detail="Which port?",
    )


@pytest.mark.parametrize(
    ("block", "questions"),
    [
        (None, ()),
        ([], ()),
        ({"questions": "Which?"}, ()),
        ({"questions": ["Which?", 3, None, " ", {"question": 4}, {}]}, ("Which?",)),
    ],
)
def test_questions_of_other_shapes(
    tmp_path: Path, block: object, questions: tuple[str, ...]
) -> None:
    write(tmp_path, {"block": block})
    assert read_job(str(tmp_path), "540a544a") == Job("540a544a", questions=questions)


@pytest.mark.parametrize(
    "job_id", ["", ".", "..", "../540a544a", "a/b", "a\0", "-a", "a" * 101, "/etc"]
)
def test_an_id_leads_nowhere_else(tmp_path: Path, job_id: str) -> None:
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "state.json").write_text("{}")
    assert read_job(str(tmp_path), job_id) is None


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    assert read_job(str(tmp_path), "540a544a") is None
    path = write(tmp_path, b"")
    assert read_job(str(tmp_path), "540a544a") is None
    path.unlink()
    os.mkfifo(path)
    assert read_job(str(tmp_path), "540a544a") is None


@given(st.binary() | st.dictionaries(st.sampled_from(["tempo", "needs", "block"]), st.integers()))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_raise(tmp_path: Path, found: bytes | dict[str, int]) -> None:
    write(tmp_path, found)
    job = read_job(str(tmp_path), "540a544a")
    assert job is None or job.job_id == "540a544a"

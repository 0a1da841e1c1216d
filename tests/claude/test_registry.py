"""Reading registry records: whatever bytes there are, and whatever stands in a record's place."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.claude.registry import Record, Registry, parse_record

if TYPE_CHECKING:
    from pathlib import Path

OF_2_1_81 = {"pid": 4711, "sessionId": "d0374515", "cwd": "/w", "startedAt": 1796091845808}
OF_2_1_332 = {
    **OF_2_1_81,
    "procStart": "633884",
    "version": "2.1.332",
    "kind": "bg",
    "entrypoint": "cli",
    "pidDomain": "linux:3d12:pid:[4026531836]",
    "name": "p1-e8",
    "nameSource": "derived",
    "status": "waiting",
    "waitingFor": "permission prompt",
    "updatedAt": 1796091844119,
    "statusUpdatedAt": 1796091844118,
    "jobId": "540a544a",
    "parkedJobId": "540a544b",
    "spare": True,
    "peerFeatures": ["unknown", "fields"],
}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def parse(found: object, path: str = "/c/sessions/4711.json") -> Record | None:
    data = found if isinstance(found, bytes) else json.dumps(found).encode()
    return parse_record(data, path, "/c")


def test_a_record_with_everything_in_it() -> None:
    assert parse(OF_2_1_332) == Record(
        path="/c/sessions/4711.json",
        config_root="/c",
        pid=4711,
        session_id="d0374515",
        cwd="/w",
        started_at=1796091845.808,
        status="waiting",
        waiting_for="permission prompt",
        updated_at=1796091844.119,
        status_updated_at=1796091844.118,
        status_updated_ms=1796091844118,
        proc_start=633884,
        version="2.1.332",
        kind="bg",
        entrypoint="cli",
        pid_domain="linux:3d12:pid:[4026531836]",
        name="p1-e8",
        name_source="derived",
        job_id="540a544a",
        parked_job_id="540a544b",
        spare=True,
    )


def test_a_record_of_an_old_client_lacks_most() -> None:
    record = parse(OF_2_1_81)
    assert record is not None
    assert (record.session_id, record.cwd, record.started_at) == (
        "d0374515",
        "/w",
        1796091845.808,
    )
    assert (record.status, record.proc_start, record.spare) == (None, None, False)


def test_a_legacy_record_has_its_pid_in_its_name_alone() -> None:
    record = parse({"session_id": "d0374515", "cwd": "/w"}, "/c/sessions/pid-99.json")
    assert record is not None
    assert (record.pid, record.session_id, record.cwd) == (99, "d0374515", "/w")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b'{"pid":4711,"sess',
        b"\0\0\0\0",
        b"\xff\xfe{}",
        b"[]",
        b"null",
        b"4711",
        b'"text"',
        b'{"pid":"4711"}',
        b'{"pid":4712}',
        b'{"pid":-1}',
        b'{"pid":4711.5}',
        b'{"pid":null}',
        b'{"pid":1e999}',
        b"{" * 100_000,
    ],
)
def test_what_is_no_record_of_its_pid_is_none(data: bytes) -> None:
    assert parse(data) is None


@pytest.mark.parametrize("wrong", [None, True, [], {}, -3, 1.5, 10**40, "", "  ", "x" * 10_000])
def test_a_field_of_a_wrong_type_costs_only_itself(wrong: object) -> None:
    for name in OF_2_1_332.keys() - {"pid"}:
        record = parse({**OF_2_1_332, name: wrong})
        assert record is not None
        assert record.pid == 4711


@pytest.mark.parametrize(
    ("field", "value", "name", "expected"),
    [
        ("procStart", 633884, "proc_start", 633884),
        ("procStart", "12a", "proc_start", None),
        ("procStart", "²", "proc_start", None),
        ("procStart", True, "proc_start", None),
        ("startedAt", 9e99, "started_at", None),
        ("startedAt", -1, "started_at", None),
        ("startedAt", True, "started_at", None),
        ("statusUpdatedAt", 1796091844118.7, "status_updated_ms", 1796091844118),
        ("spare", "true", "spare", False),
        ("status", 7, "status", None),
        ("parkedJobId", True, "parked_job_id", None),
        ("parkedJobId", "--help", "parked_job_id", None),
        ("parkedJobId", "540a544a", "parked_job_id", "540a544a"),
        ("jobId", "--help", "job_id", None),
        ("jobId", "../540a544a", "job_id", None),
        ("jobId", "540a544a", "job_id", "540a544a"),
        ("sessionId", "--dangerously-skip-permissions", "session_id", None),
        ("sessionId", "-p", "session_id", None),
        ("sessionId", "two words", "session_id", None),
        ("sessionId", "x" * 101, "session_id", None),
        ("sessionId", "an-id_1", "session_id", "an-id_1"),
    ],
)
def test_values_that_make_sense_are_kept(
    field: str, value: object, name: str, expected: object
) -> None:
    assert getattr(parse({**OF_2_1_332, field: value}), name) == expected


@given(st.binary() | st.dictionaries(st.sampled_from(sorted(OF_2_1_332)), ANY_JSON))
def test_no_bytes_raise(found: bytes | dict[str, Any]) -> None:
    record = parse(found)
    assert record is None or record.pid == 4711


class TestFolder:
    """What may stand in `sessions/`."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "sessions"
        folder.mkdir()
        return folder

    @pytest.fixture
    def registry(self, tmp_path: Path) -> Registry:
        return Registry(str(tmp_path))

    def write(self, folder: Path, pid: int, **fields: object) -> Path:
        path = folder / f"{pid}.json"
        path.write_text(json.dumps({"pid": pid, "sessionId": "a", **fields}))
        return path

    def pids(self, registry: Registry) -> list[int]:
        return sorted(record.pid for record in registry.read())

    def test_a_folder_that_is_made_later(self, tmp_path: Path) -> None:
        registry = Registry(str(tmp_path / "root"))
        assert registry.read() == ()
        (tmp_path / "root" / "sessions").mkdir(parents=True)
        self.write(tmp_path / "root" / "sessions", 7)
        assert self.pids(registry) == [7]

    def test_a_file_in_the_folder_s_place(self, tmp_path: Path, registry: Registry) -> None:
        (tmp_path / "sessions").write_text("?")
        assert registry.read() == ()

    def test_a_folder_that_cannot_be_read_now_has_what_it_had(
        self, folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.write(folder, 7)
        assert self.pids(registry) == [7]
        with monkeypatch.context() as patch:
            patch.setattr(os, "listdir", _too_many_open_files)
            assert self.pids(registry) == [7]
            assert registry.failure == "Too many open files"
        assert self.pids(registry) == [7]
        assert registry.failure is None

    def test_only_records_are_read(self, folder: Path, registry: Registry) -> None:
        self.write(folder, 7)
        (folder / "pid-8.json").write_text('{"session_id": "b"}')
        for name in ("7.json.tmp", "x7.json", "7.JSON", "-7.json", "٧.json", "12345678901.json"):
            (folder / name).write_text('{"pid": 7}')
        assert self.pids(registry) == [7, 8]

    def test_a_credential_is_never_opened(self, folder: Path, registry: Registry) -> None:
        self.write(folder, 7)
        key = folder / "7.1a902e04ae447fc6.key"
        key.write_text("secret")
        long_ago = 1_000_000_000
        os.utime(key, (long_ago, long_ago))
        assert self.pids(registry) == [7]
        assert key.stat().st_atime == long_ago

    def test_what_is_no_readable_file_is_skipped(
        self, tmp_path: Path, folder: Path, registry: Registry
    ) -> None:
        self.write(folder, 7)
        (folder / "1.json").mkdir()
        os.mkfifo(folder / "2.json")
        (folder / "3.json").write_bytes(b'{"pid": 3, "cwd": "' + b"x" * 10_000_000 + b'"}')
        (folder / "4.json").symlink_to("nowhere")
        (folder / "5.json").symlink_to("5.json")
        (folder / "6.json").symlink_to(tmp_path)
        assert self.pids(registry) == [7]
        assert not registry.torn

    def test_an_unreadable_record_is_none(
        self, folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept = self.write(folder, 7)
        self.write(folder, 8).chmod(0)
        opened = os.open

        def denied(path: str, flags: int) -> int:
            # To root, whose own files these may be, nothing is denied.
            if path != str(kept):
                raise PermissionError
            return opened(path, flags)

        monkeypatch.setattr(os, "open", denied)
        assert self.pids(registry) == [7]

    def test_a_record_deleted_after_it_was_listed(
        self, folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = self.write(folder, 7)
        self.write(folder, 8)
        assert self.pids(registry) == [7, 8]
        listed = os.listdir(folder)
        gone.unlink()
        monkeypatch.setattr(os, "listdir", lambda _: listed)
        assert self.pids(registry) == [8]

    @pytest.mark.parametrize("torn", [b"", b'{"pid":7,"sessionId":"a","sta'])
    def test_the_last_good_record_stands_while_it_is_written(
        self, folder: Path, registry: Registry, torn: bytes
    ) -> None:
        path = self.write(folder, 7, status="busy")
        assert [record.status for record in registry.read()] == ["busy"]
        path.write_bytes(torn)
        assert [record.status for record in registry.read()] == ["busy"]
        assert registry.torn
        self.write(folder, 7, status="idle")
        assert [record.status for record in registry.read()] == ["idle"]
        assert not registry.torn

    def test_the_last_good_record_does_not_outlast_a_broken_file(
        self, folder: Path, registry: Registry
    ) -> None:
        path = self.write(folder, 7)
        assert self.pids(registry) == [7]
        path.write_bytes(b"{")
        for age, expected in ((3.0, [7]), (6.0, [])):
            written = time.time() - age
            os.utime(path, (written, written))
            assert self.pids(registry) == expected

    def test_all_writers_are_waited_for_at_once(
        self, folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for pid in range(1, 51):
            (folder / f"{pid}.json").write_bytes(b"{")
        waited: list[float] = []
        monkeypatch.setattr(time, "sleep", waited.append)
        assert registry.read() == ()
        assert registry.torn
        assert sum(waited) <= 0.02

    def test_a_first_look_waits_for_the_writer(self, folder: Path, registry: Registry) -> None:
        path = folder / "7.json"
        path.write_bytes(b"")
        threading.Timer(0.004, self.write, (folder, 7)).start()
        assert self.pids(registry) == [7]

    def test_nobody_waits_for_a_file_that_was_left_torn(
        self, folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = folder / "7.json"
        path.write_bytes(b"{")
        an_hour_ago = time.time() - 3600
        os.utime(path, (an_hour_ago, an_hour_ago))
        monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited"))
        assert registry.read() == ()
        assert not registry.torn

    def test_the_last_good_record_goes_with_its_file(
        self, folder: Path, registry: Registry
    ) -> None:
        path = self.write(folder, 7)
        assert self.pids(registry) == [7]
        path.unlink()
        os.mkfifo(path)
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert registry.read() == ()


def _too_many_open_files(_: str) -> list[str]:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

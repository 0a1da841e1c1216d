"""Records and processes, put together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tray.claude.commandline import Role
from tray.claude.joining import Joined, Session, join, version
from tray.claude.registry import Record
from tray.system.processes import Process

SESSION = "d0374515-4bdd-4ca0-bf83-be675a15b095"


def process(pid: int, *arguments: str, start: int = 100, **fields: object) -> Process:
    found = Process(
        pid=pid,
        start_ticks=start,
        started=1000.0 + start,
        comm="claude",
        argv=("claude", *arguments),
        ppid=1,
        uid=0,
        state="S",
        cwd="/work",
        tty=f"/dev/pts/{pid}",
        exe="/usr/bin/claude",
    )
    return replace(found, **fields)  # type: ignore[arg-type]


def record(pid: int, start: int | None = 100, root: str = "/c", **fields: object) -> Record:
    found = Record(
        path=f"{root}/sessions/{pid}.json",
        config_root=root,
        pid=pid,
        session_id=f"s{pid}",
        cwd="/work",
        proc_start=start,
        status="busy",
        updated_at=1000.0,
    )
    return replace(found, **fields)  # type: ignore[arg-type]


def joined(
    records: list[Record], *processes: Process, foreign: dict[str, Process | None] | None = None
) -> Joined:
    return join(records, processes, foreign or {})


def only(found: Joined) -> Session:
    (session,) = found.live
    return session


def test_a_record_and_its_process_are_one_session() -> None:
    found = joined([record(7)], process(7))
    assert only(found).key == "7:100"
    assert only(found).tty == "/dev/pts/7"
    assert found.dead == ()


def test_a_record_whose_pid_another_process_has_now_is_dead() -> None:
    found = joined([record(7)], process(7, start=200))
    assert [session.key for session in found.live] == ["7:200"]
    assert only(found).record is None
    assert [dead.pid for dead in found.dead] == [7]


@pytest.mark.parametrize(
    ("started_at", "now_there", "alive"),
    [
        (1100.0, process(7), True),
        (1101.0, process(7), True),
        (1096.0, process(7), True),
        (1000.0, process(7, cwd="/elsewhere"), False),
        (1000.0, process(7), True),
        (None, process(7), True),
        (1100.0, process(7, comm="vim", argv=("vim",)), False),
    ],
)
def test_a_record_that_does_not_say_when_its_process_started(
    started_at: float | None, now_there: Process, *, alive: bool
) -> None:
    old = record(7, None, status=None, started_at=started_at)
    found = joined([old], now_there)
    assert any(session.record is old for session in found.live) is alive
    assert all(session.key == "7:100" for session in found.live)
    assert (old in found.dead) is not alive


@pytest.mark.parametrize(
    ("started_at", "expected"),
    [(None, 1100.0), (1101.0, 1100.0), (1099.99, 1100.0), (400.0, 400.0)],
)
def test_a_start_is_no_later_than_its_record_though_the_clock_was_put_forward(
    started_at: float | None, expected: float
) -> None:
    assert only(joined([record(7, started_at=started_at)], process(7))).started == expected


def test_a_client_without_a_record_is_a_session() -> None:
    found = only(joined([], process(7, "--resume", SESSION)))
    assert (found.key, found.record, found.session_id) == ("7:100", None, SESSION)


@pytest.mark.parametrize(
    "arguments",
    [["daemon", "run"], ["bg-pty-host"], ["--bg-spare", "x"], ["mcp", "serve"], ["attach", "j"]],
)
def test_other_roles_are_none(arguments: list[str]) -> None:
    assert joined([], process(7, *arguments)).live == ()


def test_an_unclaimed_spare_is_no_session_and_a_claimed_one_is() -> None:
    spare = process(7, "--bg-spare", "x")
    assert joined([record(7, spare=True)], spare) == Joined((), ())
    assert joined([record(7, kind="daemon-worker")], spare) == Joined((), ())
    claimed = only(joined([record(7, kind="bg", job_id="j")], spare))
    assert (claimed.key, claimed.aliases) == ("job:j", ("7:100",))
    assert claimed.command.role is Role.SPARE


def test_a_leftover_spare_did_not_die() -> None:
    assert joined([record(7, spare=True)]).dead == ()


def test_a_parked_front_and_its_worker_are_one_session() -> None:
    front = record(7, parked_job_id="j", status="busy")
    worker = record(8, kind="bg", job_id="j", status="waiting")
    for records in ([front, worker], [worker, front]):
        found = only(joined(records, process(7), process(8, "--bg-spare", "x")))
        assert found.key == "job:j"
        assert found.record is worker
        assert found.process is not None
        assert found.process.pid == 8
        assert found.tty == "/dev/pts/7"
        assert set(found.aliases) == {"8:100", "7:100"}


def test_a_front_whose_worker_is_gone_says_nothing_of_itself() -> None:
    found = only(joined([record(7, parked_job_id="j")], process(7)))
    assert (found.key, found.silent) == ("7:100", True)


def test_a_background_session_has_no_terminal_until_one_shows_it() -> None:
    job = record(8, kind="bg", job_id="j", name="mine")
    worker = process(8, "--bg-spare", "x")
    assert only(joined([job], worker)).tty is None
    for target in ("j", "mine"):
        assert only(joined([job], worker, process(9, "attach", target))).tty == "/dev/pts/9"
    assert only(joined([job], worker, process(9, "attach", "other"))).tty is None


def test_a_config_root_and_its_copy_make_one_session() -> None:
    mine, copy = record(7, updated_at=1200.0), record(7, root="/copy", updated_at=1100.0)
    for records in ([mine, copy], [copy, mine]):
        assert only(joined(records, process(7))).record is mine


def test_two_records_of_one_old_client_make_one_session() -> None:
    legacy = record(7, None, path="/c/sessions/pid-7.json", updated_at=None)
    assert only(joined([legacy, record(7)], process(7))).record == record(7)


def test_a_job_that_was_started_anew_did_not_die() -> None:
    old, new = record(7, job_id="j"), record(8, job_id="j")
    found = joined([old, new], process(8, "--bg-spare", "x"))
    assert only(found).record is new
    assert found.dead == ()


def test_a_job_that_two_processes_carry_on_is_one_session() -> None:
    old, new = record(7, job_id="j"), record(8, job_id="j", updated_at=1100.0)
    for records in ([old, new], [new, old]):
        found = joined(records, process(7), process(8))
        assert only(found).record is new


class TestForeign:
    """Records of other pid domains."""

    container = record(7, pid_domain="linux:m:pid:[1]")

    def test_one_that_cannot_be_seen_is_no_process_of_that_number_here(self) -> None:
        found = joined([self.container], process(7), foreign={self.container.path: None})
        keys = {session.key: session.process for session in found.live}
        assert keys == {"linux:m:pid:[1]:7:100": None, "7:100": process(7)}

    def test_one_that_was_found_here_is_that_process(self) -> None:
        seen = process(4711)
        found = only(joined([self.container], seen, foreign={self.container.path: seen}))
        assert found.process == seen
        assert found.key == "linux:m:pid:[1]:7:100", "the same as when it is out of sight"
        assert found.aliases == ("4711:100",), "how it was known before its record"


def test_a_client_that_a_program_of_its_name_started_is_one_session() -> None:
    launcher = process(7, exe="/usr/bin/node")
    client = process(8, ppid=7)
    assert [session.key for session in joined([], launcher, client).live] == ["8:100"]
    assert [session.key for session in joined([record(8)], launcher, client).live] == ["8:100"]


def test_a_worker_of_the_daemon_is_none_until_its_record_says_so() -> None:
    host = process(1, "bg-pty-host", "--bg-pty-host", "/run/pty.sock", "160", "50")
    worker = process(7, "--session-id", SESSION, "--agent", "claude", ppid=1)
    assert joined([], host, worker).live == ()
    assert only(joined([record(7, kind="bg", job_id="j")], host, worker)).key == "job:j"
    assert joined([record(7, kind="bg", job_id="j", spare=True)], host, worker).live == ()


def test_a_client_that_starts_a_program_is_not_two() -> None:
    fork = process(8, ppid=7, start=300)
    assert [session.key for session in joined([], process(7), fork).live] == ["7:100"]
    assert [session.key for session in joined([record(7)], process(7), fork).live] == ["7:100"]
    nested = process(9, "-p", "hi", ppid=7)
    assert len(joined([], process(7), nested).live) == 2


@pytest.mark.parametrize(
    ("entrypoint", "transcript_s", "arguments", "tty", "expected"),
    [
        ("cli", None, [], "/dev/pts/1", False),
        ("sdk-py", None, [], None, True),
        ("sdk-cli", None, ["-p"], "/dev/pts/1", True),
        ("claude-vscode", None, ["--input-format", "stream-json"], None, False),
        ("cli", "sdk-cli", [], "/dev/pts/1", False),
        (None, "sdk-cli", [], "/dev/pts/1", True),
        (None, "claude-vscode", ["--input-format", "stream-json"], None, False),
        (None, None, ["-p"], "/dev/pts/1", True),
        (None, None, [], "/dev/pts/1", False),
    ],
)
def test_headless(
    entrypoint: str | None,
    transcript_s: str | None,
    arguments: list[str],
    tty: str | None,
    *,
    expected: bool,
) -> None:
    found = only(joined([record(7, entrypoint=entrypoint)], process(7, *arguments, tty=tty)))
    assert found.headless(transcript_s) is expected


def test_without_a_record_and_a_terminal_nobody_sits_before_it() -> None:
    assert only(joined([], process(7, tty=None))).headless(None)
    assert not only(joined([], process(7))).headless(None)
    assert not only(joined([record(7)], process(7, tty=None))).headless(None)


@pytest.mark.parametrize(
    ("text", "settled"),
    [("2.1.205", True), ("2.1.332", True), ("3.0.0-beta.1", True), ("2.1.204", False)],
)
def test_from_which_version_on_a_record_follows_clear(text: str, *, settled: bool) -> None:
    assert only(joined([record(7, version=text)], process(7))).settled is settled


def test_versions_that_are_none() -> None:
    assert version(None) == version("") == version("x.y") == ()
    assert version("2.1.81") < version("2.1.205") < version("2.2")
    # More digits than Python reads as a number.
    assert version("2." + "9" * 5000) == (2,)

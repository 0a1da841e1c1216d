"""One look at everything, with real processes and real files."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.claude.lines import assistant, calls, prompt, result, text, tool, user
from tests.claude.world import VERSION, World, session_id
from tray.claude import survey
from tray.claude.silent import KEEPS_NO_RECORDS, STARTING, UNREADABLE
from tray.claude.survey import AMBIGUOUS, POLL, TORN, Surveyor
from tray.session import Kind, Observation, Reason, Source, State
from tray.system.processes import (
    boot_time,
    children,
    is_alive,
    machine_id,
    pid_namespace,
    sees_all_processes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OLD = {"version": "2.1.81", "entrypoint": "cli"}
"""What lines of a client say that keeps a record, but publishes no status."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path.resolve()) as world:
        yield world


def only(rows: dict[str, Observation]) -> Observation:
    (row,) = rows.values()
    return row


class TestRecorded:
    """Sessions whose client says what they do."""

    def test_all_that_there_is_to_see(self, world: World) -> None:
        client = world.client(cwd="shop/api", terminal=True)
        (world.folder / "shop" / ".git").mkdir()
        (world.folder / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        now = time.time()
        path = client.record("waiting", waitingFor="permission prompt", name="mine")
        transcript = client.transcript(
            prompt("do it", now - 9),
            {"type": "ai-title", "aiTitle": "A \x1b[31mtitle"},
            calls(text("I will."), tool("Bash", command="npm publish"), at=now - 8),
        )
        row = only(world.rows())
        assert replace(row, ask=None, last_act=None, since=None) == Observation(
            key=client.key,
            state=State.NEEDS_INPUT,
            pid=client.pid,
            session_id=client.session_id,
            name="mine",
            title="A title",
            project="shop",
            cwd=str(client.cwd),
            branch="main",
            reason=Reason.PERMISSION,
            detail="Bash: npm publish",
            preview="I will.",
            started=client.process.started,
            entrypoint="cli",
            version=VERSION,
            source=Source.REGISTRY,
            transcript=str(transcript),
            config_root=str(world.root),
            record=str(path),
            tty=client.process.tty,
        )
        assert row.ask is not None
        assert row.ask.tool == "Bash"
        assert (row.tty or "").startswith("/dev/")

    @pytest.mark.parametrize(
        ("source", "name", "shown"),
        [("user", "mine", "mine"), (None, "mine", "mine"), ("derived", "work-e8", None)],
    )
    def test_only_a_name_that_a_person_gave_is_one(
        self, world: World, source: str | None, name: str, shown: str | None
    ) -> None:
        world.client().record(name=name, nameSource=source)
        assert only(world.rows()).name == shown

    def test_a_status_nobody_knows_is_unknown_and_named(self, world: World) -> None:
        world.client().record("dreaming")
        row = only(world.rows())
        assert (row.state, row.detail) == (State.UNKNOWN, "dreaming")

    def test_without_its_transcript_the_record_decides(self, world: World) -> None:
        world.client().record("waiting", waitingFor="permission prompt")
        row = only(world.rows())
        assert (row.state, row.reason, row.detail) == (
            State.NEEDS_INPUT,
            Reason.PERMISSION,
            None,
        )

    def test_a_transcript_is_found_in_whatever_folder_it_lies(self, world: World) -> None:
        client = world.client()
        client.record("idle")
        elsewhere = world.root / "projects" / "-elsewhere" / f"{client.session_id}.jsonl"
        elsewhere.parent.mkdir(parents=True)
        elsewhere.write_text(json.dumps(prompt("a title")) + "\n")
        assert only(world.rows()).title == "a title"

    def test_a_session_that_moves_to_another_directory_is_followed(self, world: World) -> None:
        client = world.client()
        client.record("idle")
        client.transcript({"type": "ai-title", "aiTitle": "before"})
        surveyor = world.surveyor()
        assert [row.title for row in surveyor.survey().sessions] == ["before"]
        client.cwd = world.folder / "moved"
        client.transcript({"type": "ai-title", "aiTitle": "after"})
        client.record("idle")
        assert [row.title for row in surveyor.survey().sessions] == ["after"]

    def test_a_first_transcript_is_found_though_one_was_sought_before(self, world: World) -> None:
        client = world.client()
        client.record("idle")
        surveyor = world.surveyor()
        assert [row.transcript for row in surveyor.survey().sessions] == [None]
        path = client.transcript(prompt("go"))
        assert [row.transcript for row in surveyor.survey().sessions] == [str(path)]

    def test_one_session_in_two_terminals_is_two_rows(self, world: World) -> None:
        for _ in range(2):
            world.client().record("idle", sessionId=session_id(9))
        rows = world.rows().values()
        assert [row.session_id for row in rows] == [session_id(9)] * 2
        assert len({row.key for row in rows}) == 2

    def test_a_suspended_one_is_idle_whatever_its_record_says(self, world: World) -> None:
        client = world.client()
        client.record("busy")
        client.suspend()
        row = only(world.rows())
        assert (row.state, row.detail, row.source) == (
            State.IDLE,
            "suspended",
            Source.PROCESS,
        )

    def test_headless(self, world: World) -> None:
        world.client().record("busy", entrypoint="sdk-cli")
        assert only(world.rows()).kind is Kind.HEADLESS

    def test_a_pid_that_another_client_has_now(self, world: World) -> None:
        client = world.client()
        path = client.record("waiting", procStart="1")
        snapshot = world.survey()
        rows = {row.key: row for row in snapshot.sessions}
        assert rows[client.key].state is State.UNKNOWN
        assert rows[client.key].record is None
        assert snapshot.leftover == {str(path)}

    def test_torn_while_a_look_is_taken(self, world: World) -> None:
        client = world.client()
        surveyor = world.surveyor()
        client.record("busy")
        assert surveyor.survey().sessions[0].state is State.WORKING
        assert surveyor.next_look is None
        client.record_path.write_bytes(b'{"pid":')
        now = time.time()
        assert surveyor.survey(now).sessions[0].state is State.WORKING
        assert surveyor.next_look == now + TORN


class TestDead:
    """Records that a client left behind."""

    def ended(self, world: World, status: str | None, **fields: object) -> list[Observation]:
        client = world.client()
        path = client.record(status, **fields)
        client.kill()
        snapshot = world.survey()
        assert snapshot.leftover == {str(path)}
        return list(snapshot.sessions)

    @pytest.mark.parametrize("status", ["busy", "waiting"])
    def test_one_that_died_at_work_is_listed(self, world: World, status: str) -> None:
        (row,) = self.ended(world, status)
        assert (row.state, row.detail) == (
            State.ENDED,
            f"died while {'working' if status == 'busy' else 'waiting'}",
        )
        assert row.key == world.clients[0].key

    @pytest.mark.parametrize("status", ["idle", "shell", "dreaming"])
    def test_one_that_died_at_rest_is_not(self, world: World, status: str) -> None:
        assert self.ended(world, status) == []

    def test_nor_one_that_died_long_ago(self, world: World) -> None:
        long_ago = int((time.time() - 601) * 1000)
        assert self.ended(world, "busy", updatedAt=long_ago, statusUpdatedAt=long_ago) == []

    def test_its_transcript_may_have_the_last_sign_of_life(self, world: World) -> None:
        now = time.time()
        long_ago = int((now - 3600) * 1000)
        client = world.client()
        client.record("busy", updatedAt=long_ago, statusUpdatedAt=long_ago)
        client.transcript(prompt(at=now - 3600), calls(tool("Read"), at=now - 30))
        client.kill()
        (row,) = world.survey().sessions
        assert row.state is State.ENDED
        assert row.since == pytest.approx(now - 30, abs=0.01)
        assert world.survey(now + 571).sessions == ()

    def test_nor_one_that_was_resumed_since(self, world: World) -> None:
        dead, resumed = world.client(), world.client()
        dead.record("busy")
        dead.kill()
        resumed.record("idle", sessionId=dead.session_id)
        assert [row.key for row in world.survey().sessions] == [resumed.key]

    @pytest.mark.parametrize("running", [True, False])
    def test_without_a_status_its_transcript_tells(self, world: World, *, running: bool) -> None:
        client = world.client()
        client.record(None)
        client.transcript(prompt(at=time.time()))
        if not running:
            client.transcript(assistant(text("Done."), at=time.time()))
        (live,) = world.survey().sessions
        client.kill()
        rows = world.survey().sessions
        assert [row.state for row in rows] == ([State.ENDED] if running else [])
        assert all(row.record == live.record for row in rows)

    def test_parked_fronts_and_spares_leave_nothing(self, world: World) -> None:
        for field in ({"parkedJobId": "j"}, {"spare": True}):
            client = world.client()
            client.record("busy", **field)
            client.kill()
        assert world.survey().sessions == ()

    def test_a_zombie_is_gone(self, world: World) -> None:
        client = world.client()
        client.record("busy")
        client.popen.kill()
        os.waitid(os.P_PID, client.pid, os.WEXITED | os.WNOWAIT)
        (row,) = world.survey().sessions
        assert row.state is State.ENDED


class TestBackground:
    """Sessions in the background."""

    def test_front_and_worker_are_one_row(self, world: World) -> None:
        front, worker = world.client(terminal=True), world.client(terminal=True)
        front.record("busy", parkedJobId="j")
        worker.record("waiting", kind="bg", jobId="j", waitingFor="permission prompt")
        (world.root / "jobs" / "j").mkdir(parents=True)
        (world.root / "jobs" / "j" / "state.json").write_text(
            json.dumps({"tempo": "blocked", "needs": "a port number", "state": "working"})
        )
        surveyor = world.surveyor()
        (row,) = surveyor.survey().sessions
        assert (row.key, row.pid, row.kind) == ("job:j", worker.pid, Kind.BACKGROUND)
        assert set(row.aliases) == {front.key, worker.key}
        assert (row.state, row.detail) == (State.NEEDS_INPUT, "a port number")
        assert row.tty == front.process.tty
        assert surveyor.pids() == {
            (client.pid, client.process.start_ticks) for client in (front, worker)
        }

    def test_spares_are_none_until_they_are_claimed(self, world: World) -> None:
        client = world.client("--bg-spare", "x")
        assert world.rows() == {}
        client.record("idle", kind="bg", jobId="j", spare=True)
        assert world.rows() == {}
        client.record("idle", kind="bg", jobId="j")
        assert only(world.rows()).key == "job:j"

    @pytest.mark.parametrize(
        ("state", "outcome"), [("done", "done"), ("failed", "failed"), ("working", None)]
    )
    def test_how_a_job_came_out(self, world: World, state: str, outcome: str | None) -> None:
        client = world.client()
        client.record("idle", kind="bg", jobId="j")
        (world.root / "jobs" / "j").mkdir(parents=True)
        (world.root / "jobs" / "j" / "state.json").write_text(json.dumps({"state": state}))
        assert only(world.rows()).outcome == outcome


class TestWithoutRecord:
    """Sessions that are known by their process alone."""

    def test_at_a_first_dialog(self, world: World) -> None:
        client = world.client(terminal=True)
        row = only(world.rows())
        assert (row.state, row.detail, row.source) == (
            State.UNKNOWN,
            STARTING,
            Source.PROCESS,
        )
        assert (row.key, row.pid, row.tty) == (client.key, client.pid, client.process.tty)
        assert (row.project, row.kind) == ("work", Kind.INTERACTIVE)

    def test_started_inside_another_session(self, world: World) -> None:
        client = world.client(environ={"CLAUDE_CODE_CHILD_SESSION": "1"})
        client.transcript(prompt(at=time.time()))
        row = only(world.rows())
        assert (row.detail, row.transcript) == (KEEPS_NO_RECORDS, None)

    def test_never_bound_to_what_a_sibling_left(self, world: World) -> None:
        client = world.client(terminal=True)
        client.transcript({**prompt(at=time.time()), **OLD})
        sibling = world.client()
        sibling.record("busy")
        sibling.transcript(prompt(at=time.time()))
        assert world.rows()[client.key].detail == STARTING

    def test_named_by_its_command_line(self, world: World) -> None:
        client = world.client("--resume", session_id(9))
        client.transcript(prompt(at=time.time() - 3600), of=session_id(9))
        other = world.client("--session-id", session_id(8), "-p", "hi")
        other.transcript(prompt(at=time.time()), of=session_id(8))
        rows = world.rows()
        assert rows[client.key].session_id == session_id(9)
        assert rows[client.key].state is State.IDLE
        assert rows[other.key].session_id == session_id(8)
        assert (rows[other.key].state, rows[other.key].kind) == (State.WORKING, Kind.HEADLESS)

    def test_told_by_directory_and_time(self, world: World) -> None:
        client = world.client(cwd="a.b")
        stale = client.transcript(prompt(at=1.0), of=session_id(8))
        os.utime(stale, (1, 1))
        other = client.transcript(
            {**prompt(at=time.time()), "cwd": str(client.cwd).replace(".", "_")}, of=session_id(7)
        )
        mine = client.transcript(prompt(at=time.time()), of=session_id(9))
        assert world.transcript_path(client.cwd, session_id(7)) == other
        row = only(world.rows())
        assert (row.transcript, row.state) == (str(mine), State.WORKING)

    def test_two_that_cannot_be_told_apart(self, world: World) -> None:
        clients = [world.client(), world.client()]
        for number in (8, 9):
            clients[0].transcript(prompt(at=time.time() + 1), of=session_id(number))
        for row in world.rows().values():
            assert (row.state, row.detail, row.transcript) == (State.UNKNOWN, AMBIGUOUS, None)

    def test_a_member_s_or_agent_s_transcript_is_nobody_s(self, world: World) -> None:
        client = world.client(terminal=True)
        client.transcript({**prompt(at=time.time()), "isSidechain": True}, of=session_id(8))
        client.transcript({**prompt(at=time.time()), "teamName": "t"}, of=session_id(9))
        assert only(world.rows()).detail == STARTING


class TestSilent:
    """Sessions with a record that publishes no status."""

    def test_permission_then_approved(self, world: World) -> None:
        client = world.client()
        client.record(None)
        asked = time.time()
        client.transcript(prompt(at=asked - 1), calls(tool("Bash", command="make"), at=asked))
        surveyor = world.surveyor()
        (row,) = surveyor.survey(asked + 5).sessions
        assert (row.state, row.reason, row.detail) == (
            State.NEEDS_INPUT,
            Reason.PERMISSION,
            "Bash: make",
        )
        client.transcript(result(at=asked + 6))
        (row,) = surveyor.survey(asked + 6).sessions
        assert row.state is State.WORKING

    def test_a_transcript_that_cannot_be_read(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = world.client()
        client.record(None)
        path = client.transcript(prompt(at=time.time()))
        opened = os.open

        def denied(wanted: str, *flags: int, **more: int) -> int:
            # To root, whose own file this may be, nothing is denied.
            if wanted == str(path):
                raise PermissionError
            return opened(wanted, *flags, **more)

        monkeypatch.setattr(os, "open", denied)
        row = only(world.rows())
        assert (row.state, row.detail) == (State.UNKNOWN, UNREADABLE)
        assert row.transcript == str(path)

    def test_asked_before_the_clock_was_put_forward(self, world: World) -> None:
        client = world.client()
        before = client.process.started - 3600
        client.record(None, startedAt=int(before * 1000))
        client.transcript(prompt(at=before + 60), calls(tool("AskUserQuestion"), at=before + 70))
        assert only(world.rows()).reason is Reason.QUESTION

    def test_looked_at_again_while_it_is_not_at_rest(self, world: World) -> None:
        client = world.client()
        client.record(None)
        surveyor = world.surveyor()
        now = time.time()
        surveyor.survey(now)
        assert surveyor.next_look is None
        client.transcript(prompt(at=now - 100), calls(tool("Read"), at=now))
        surveyor.survey(now)
        assert surveyor.next_look == now + POLL

    def test_after_clear_the_history_tells_which_is_whose(self, world: World) -> None:
        one, other = world.client(), world.client()
        now = time.time()
        for client in (one, other):
            client.record(None)
            client.transcript({**prompt(at=now), **OLD})
        cleared = "<command-name>/clear</command-name>"
        other.transcript({**user(cleared, now + 60), **OLD}, of=session_id(9))
        rows = world.rows()
        assert {row.detail for row in rows.values()} == {AMBIGUOUS}
        (world.root / "history.jsonl").write_text(
            json.dumps(
                {
                    "display": "/clear",
                    "timestamp": int((now + 60) * 1000),
                    "sessionId": other.session_id,
                }
            )
        )
        ids = {row.pid: row.session_id for row in world.rows().values()}
        assert ids == {one.pid: one.session_id, other.pid: session_id(9)}

    def test_doubt_about_the_transcript_leaves_a_published_status(self, world: World) -> None:
        clients = [world.client(), world.client()]
        for client in clients:
            client.record("waiting", waitingFor="permission prompt", version="2.1.150")
            client.transcript(calls(tool("Bash", command="make"), at=time.time()))
        clients[0].transcript(
            user("<command-name>/clear</command-name>", time.time() + 60), of=session_id(9)
        )
        for row in world.rows().values():
            assert (row.state, row.detail) == (State.NEEDS_INPUT, None)


class TestRoots:
    """Where it looks."""

    def test_the_roots_of_live_clients(self, world: World) -> None:
        client = world.client(environ={"CLAUDE_CONFIG_DIR": str(world.folder / "link")})
        (world.folder / "link").symlink_to(world.root)
        client.record("busy")
        surveyor = Surveyor(home=str(world.folder / "nobody"), environ={})
        rows = {row.key: row for row in surveyor.survey().sessions}
        assert rows[client.key].config_root == str(world.root)
        assert surveyor.roots.count(str(world.root)) == 1
        assert f"{world.root}/sessions" in surveyor.folders()
        assert f"{world.folder}/nobody/.claude/sessions" in surveyor.folders()

    def test_a_client_that_names_no_root_has_its_home_s(self, world: World) -> None:
        home = world.folder / "home"
        client = world.client(environ={"CLAUDE_CONFIG_DIR": "", "HOME": str(home)})
        surveyor = Surveyor(home=str(world.folder), environ={})
        surveyor.survey()
        assert f"{home}/.claude" in surveyor.roots
        ours = Surveyor(roots=[f"{home}/.claude"]).survey()
        assert [row.key for row in ours.sessions] == [client.key]

    def test_of_other_roots_nothing_is_seen(self, world: World) -> None:
        world.client().record("busy")
        world.client()
        other = Surveyor(roots=[str(world.folder / "other")]).survey()
        assert (other.sessions, other.leftover) == ((), frozenset())

    def test_a_record_in_a_root_that_its_client_does_not_name(self, world: World) -> None:
        client = world.client(environ={"CLAUDE_CONFIG_DIR": str(world.folder / "other")})
        client.record("busy")
        assert only(world.rows()).key == client.key

    def test_made_later_deleted_and_made_again(self, world: World) -> None:
        client = world.client(terminal=True)
        surveyor = world.surveyor()

        def state() -> State:
            (row,) = surveyor.survey().sessions
            return row.state

        assert state() is State.UNKNOWN
        client.record("busy")
        assert state() is State.WORKING
        client.record_path.unlink()
        (world.root / "sessions").rmdir()
        assert state() is State.UNKNOWN
        client.record("idle")
        assert state() is State.IDLE


class TestForeign:
    """Records of containers that share the root."""

    @pytest.fixture
    def container(self, world: World) -> Callable[..., None]:
        def write(domain: str = "other-machine", pid: int = 1, **fields: object) -> None:
            path = world.root / "sessions" / f"{pid}.json"
            path.parent.mkdir(exist_ok=True)
            now = int(time.time() * 1000)
            found = {
                "pid": pid,
                "sessionId": session_id(pid),
                "procStart": "1",
                "pidDomain": f"linux:{domain}:pid:[1]",
                "startedAt": now,
                "updatedAt": now,
                "statusUpdatedAt": now,
                "status": "waiting",
                "waitingFor": "permission prompt",
            }
            path.write_text(json.dumps(found | fields))

        return write

    def test_kept_though_it_cannot_be_seen(
        self, world: World, container: Callable[..., None]
    ) -> None:
        container()
        row = only(world.rows())
        assert (row.state, row.reason, row.verified) == (
            State.NEEDS_INPUT,
            Reason.PERMISSION,
            False,
        )
        assert (row.pid, row.tty) == (1, None)
        assert row.key == "linux:other-machine:pid:[1]:1:1"

    def test_killed_in_sight(
        self, world: World, container: Callable[..., None], wait_until: Callable[..., object]
    ) -> None:
        command = ["unshare", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*command, "true"], check=False).returncode or not sees_all_processes():
            pytest.skip("no pid namespace can be made here, or not all of them be seen")
        program = str(world.folder / "bin" / "claude")
        with subprocess.Popen([*command, program, "86400"], cwd=world.folder) as outer:
            try:
                wait_until(lambda: [p for p in children(outer.pid) if p.argv[:1] == (program,)])
                (inner,) = children(outer.pid)
                record: dict[str, object] = {
                    "procStart": str(inner.start_ticks),
                    "pidDomain": f"linux:{machine_id()}:{pid_namespace(inner.pid)}",
                }
                container(**record)
                surveyor = world.surveyor()
                (row,) = surveyor.survey().sessions
                assert (row.reason, row.verified, row.pid) == (Reason.PERMISSION, True, inner.pid)
            finally:
                outer.kill()
        wait_until(lambda: not is_alive(inner.pid, inner.start_ticks))
        for later in (surveyor, world.surveyor()):
            snapshot = later.survey()
            assert [row.state for row in snapshot.sessions] == [State.ENDED]
            assert snapshot.leftover == {row.record}

    def test_its_number_means_nothing_here(
        self, world: World, container: Callable[..., None]
    ) -> None:
        client = world.client(terminal=True)
        container(pid=client.pid, procStart=str(client.process.start_ticks))
        rows = world.rows()
        assert len(rows) == 2
        assert rows[client.key].detail == STARTING

    def test_from_before_this_boot(self, world: World, container: Callable[..., None]) -> None:
        before = int((boot_time() - 60) * 1000)
        container(machine_id() or "", startedAt=before)
        container("other-machine", pid=2, startedAt=before)
        rows = world.rows()
        assert [row.pid for row in rows.values()] == [2]
        assert world.survey().leftover == frozenset()

    def test_without_a_change_for_long(self, world: World, container: Callable[..., None]) -> None:
        container()
        now = time.time()
        assert only(world.rows(now + 11 * 3600)).state is State.NEEDS_INPUT
        row = only(world.rows(now + 13 * 3600))
        assert (row.state, row.ask) == (State.UNKNOWN, None)
        assert "may be gone" in (row.detail or "")

    def test_two_hundred(self, world: World, container: Callable[..., None]) -> None:
        for pid in range(1, 201):
            container(pid=pid)
        assert len(world.rows()) == 200


class TestWhole:
    """What holds for a look as such."""

    def test_a_first_look_and_a_later_one_agree(self, world: World) -> None:
        clients = [world.client(cwd=f"w{number}") for number in range(4)]
        surveyor = world.surveyor()
        for status in ("idle", "busy", "waiting", "shell"):
            for client in clients[:2]:
                client.record(status, statusUpdatedAt=int(time.time() * 1000))
            clients[2].record(None)
            for client in clients[:3]:
                client.transcript(prompt(at=time.time()), assistant(text("Hi."), at=time.time()))
            now = time.time()
            assert surveyor.survey(now) == world.survey(now)

    def test_when_to_look_again(self, world: World) -> None:
        client = world.client()
        now = time.time()
        since = int(now * 1000)
        surveyor = world.surveyor()
        client.record("waiting", waitingFor="permission prompt", statusUpdatedAt=since)
        surveyor.survey(now)
        assert surveyor.next_look is not None
        assert now < surveyor.next_look <= now + 0.1
        surveyor.survey(now + 5)
        assert surveyor.next_look is None
        client.record("idle", statusUpdatedAt=since)
        client.transcript(prompt(at=now), assistant(text("Done."), at=now))
        surveyor.survey(now)
        assert surveyor.next_look == pytest.approx(now + 60, abs=0.01)
        other = world.client(cwd="other")
        other.record("waiting", waitingFor="permission prompt", statusUpdatedAt=since)
        surveyor.survey(now)
        assert surveyor.next_look <= now + 0.1

    def test_a_fault_costs_one_row(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        good, bad = world.client(cwd="good"), world.client(cwd="bad")
        for client in (good, bad):
            client.record("busy")
        judge = survey.judge

        def faulty(facts: survey.Facts) -> survey.Verdict:
            if facts.cwd == str(bad.cwd):
                raise ZeroDivisionError
            return judge(facts)

        monkeypatch.setattr(survey, "judge", faulty)
        snapshot = world.survey()
        rows = {row.key: row for row in snapshot.sessions}
        assert rows[good.key].state is State.WORKING
        assert (rows[bad.key].state, rows[bad.key].pid) == (State.UNKNOWN, bad.pid)
        assert [problem.code for problem in snapshot.problems] == ["session"]

    def test_a_fault_in_finding_transcripts_costs_details(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.client().record("waiting", waitingFor="permission prompt")
        monkeypatch.setattr(survey.Library, "assign", lambda *_: 1 / 0)
        snapshot = world.survey()
        assert [row.state for row in snapshot.sessions] == [State.NEEDS_INPUT]
        assert [problem.code for problem in snapshot.problems] == ["transcripts"]

    def test_a_folder_that_may_not_be_read_is_told(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = f"{world.root}/sessions"
        listed = os.listdir

        def denied(path: str) -> list[str]:
            if path == folder:
                raise PermissionError(13, "Permission denied")
            return listed(path)

        monkeypatch.setattr(os, "listdir", denied)
        (problem,) = world.survey().problems
        assert problem.code == "registry"
        assert folder in problem.message

    @pytest.mark.parametrize(
        "hostile", ["\x1b]0;x\x07\x1b[2J", "\u202edlrow", "a\nb", "x" * 100_000, "\ud83d", "\0"]
    )
    def test_whatever_stands_in_the_files_is_made_safe(self, world: World, hostile: str) -> None:
        client = world.client()
        fields = dict.fromkeys(("version", "name", "entrypoint", "cwd"), f"a{hostile}b")
        client.record(f"a{hostile}b", **fields)
        client.transcript({**prompt(f"a{hostile}b", time.time()), "gitBranch": f"a{hostile}b"})
        row = only(world.rows())
        for value in (row.detail, row.name, row.title, row.project, row.cwd, row.version):
            assert value is None or (value.isprintable() and len(value) <= 4096), value
            assert value is None or not {"\x1b", "\u202e", "\n"} & set(value)


FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *("sessionId", "cwd", "startedAt", "waitingFor", "updatedAt", "statusUpdatedAt"),
            *("version", "kind", "entrypoint", "pidDomain", "name", "nameSource", "jobId"),
            *("parkedJobId", "spare"),
        ]
    ),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([{}]),
)
STATUS = st.sampled_from(["busy", "waiting", "idle", "shell", "dreaming", None])
LINES = st.lists(st.binary(max_size=80) | st.just(b'{"type":"user","cwd":[]}'), max_size=4)


@given(FIELDS, STATUS, LINES)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nothing_in_the_files_is_a_fault(
    world: World, fields: dict[str, object], status: str | None, lines: list[bytes]
) -> None:
    client = world.clients[0] if world.clients else world.client()
    client.record(status, **fields)
    client.transcript().write_bytes(b"\n".join(lines))
    for now in (None, time.time() + 5, time.time() + 1e6):
        snapshot = world.survey(now)
        assert snapshot.problems == ()
        assert len(snapshot.sessions) <= 1

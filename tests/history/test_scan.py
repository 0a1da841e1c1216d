"""Past sessions found and counted: what is told agrees with the files at that moment."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.bench.trees import Scribe, Truth, write_tree
from tests.claude.lines import assistant, encoded, line, text, user
from tray.history import crew
from tray.history import scan as scanning
from tray.history.counted import count_file, decode, encode
from tray.history.index import Index
from tray.history.past import Past, Place
from tray.history.scan import places, scan
from tray.history.sources import everywhere

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ID = "0f0e0d0c-0b0a-4908-8706-050403020100"
OTHER = "1f0e0d0c-0b0a-4908-8706-050403020100"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "projects" / "-p").mkdir(parents=True)
    return tmp_path / "root"


def write(root: Path, *lines: dict[str, Any] | bytes, name: str = ID, folder: str = "-p") -> Path:
    path = root / "projects" / folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = (one if isinstance(one, bytes) else encoded(one) for one in lines)
    path.write_bytes(b"".join(one + b"\n" for one in data))
    settle(path)
    return path


def settle(path: Path) -> None:
    """Date a file back by an hour: what is only just written is not kept in the index."""
    at = time.time_ns() - 3600 * 10**9
    os.utime(path, ns=(at, at))


def look(root: Path, index: Index | None = None, **how: Any) -> tuple[Past, ...]:
    return scan([Place(str(root))], index=index, **how)


def one(root: Path, index: Index | None = None) -> Past:
    (found,) = look(root, index)
    return found


def assert_line(shown: str | None, whole: str | None) -> None:
    """What is shown is the whole text in one line, or its first 200 characters."""
    line = " ".join((whole or "").split())
    if len(line) <= 200:
        assert (shown or "") == line
    else:
        assert shown == line[:199].rstrip() + "…"


def assert_true(found: Sequence[Past], truths: Sequence[Truth]) -> None:
    by_id = {past.session_id: past for past in found}
    assert by_id.keys() == {truth.session_id for truth in truths}
    for truth in truths:
        past = by_id[truth.session_id]
        assert (past.skipped is not None) == truth.skipped, past
        told = (past.turns, past.messages, past.malformed_lines, past.tag, past.forked_from)
        expected = (
            *(truth.turns, truth.messages, truth.malformed_lines),
            *(truth.tag, truth.forked_from),
        )
        assert told == expected, past
        assert past.continued_in == truth.continued_in
        if truth.skipped:
            continue
        title, source = truth.title
        assert past.title_source == source
        assert_line(past.title, title)
        assert past.name == truth.titles.get("custom-title")
        assert_line(past.first_prompt, truth.first_prompt)
        assert (past.cwd, past.branch) == (truth.cwd, truth.branch)
        assert past.first_timestamp == pytest.approx(truth.first_timestamp)
        assert past.last_timestamp == pytest.approx(truth.last_timestamp)
        assert past.duration_s == pytest.approx(truth.last_timestamp - truth.first_timestamp)
        stat = os.stat(truth.path)
        assert past.size == stat.st_size
        assert past.modified == pytest.approx(stat.st_mtime, abs=1e-6)


def test_all_that_is_told_agrees_with_the_truth(tmp_path: Path) -> None:
    truths = write_tree(tmp_path, 150)
    with Index(str(tmp_path / "index")) as index:
        first = look(tmp_path, index, everything=True)
        assert_true(first, truths)
        assert look(tmp_path, index, everything=True) == first
        assert not index.problems
    listed = look(tmp_path)
    assert {past.session_id for past in listed} == {
        truth.session_id for truth in truths if not truth.skipped
    }
    assert [past.modified for past in listed] == sorted(
        (past.modified for past in listed), reverse=True
    )


def test_several_processes_count_as_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truths = write_tree(tmp_path, 60)
    alone = look(tmp_path, everything=True)
    monkeypatch.setattr(crew, "_ALONE", 0)
    monkeypatch.setattr(crew, "_BATCH_FILES", 8)
    monkeypatch.setattr(crew, "cores", lambda: 2)
    told: list[tuple[int, int]] = []
    together = look(tmp_path, everything=True, progress=lambda *at: told.append(at))
    assert together == alone
    assert_true(together, truths)
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] == sum(past.size for past in alone)


@pytest.mark.parametrize("seed", range(3))
def test_files_that_grow_tell_what_they_would_if_read_anew(tmp_path: Path, seed: int) -> None:
    truths = write_tree(tmp_path / "whole", 12, seed=seed)
    chance = random.Random(seed)
    root = tmp_path / "growing"
    rests = {}
    for truth in truths:
        data = Path(truth.path).read_bytes()
        cut = chance.randrange(len(data))
        path = root / Path(truth.path).relative_to(tmp_path / "whole")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[:cut])
        settle(path)
        rests[path] = data[cut:]
    with Index(str(tmp_path / "index")) as index:
        look(root, index, everything=True)
        for path, rest in rests.items():
            with path.open("ab") as file:
                file.write(rest)
        grown = look(root, index, everything=True)
    renamed = [
        dataclasses.replace(truth, path=str(path))
        for truth, path in zip(truths, rests, strict=True)
    ]
    assert_true(grown, renamed)


def test_only_what_a_file_has_grown_by_is_counted(root: Path) -> None:
    path = write(root, user("one"), user("two"))
    before = count_file(str(path))
    assert before is not None
    # A sum that no reading of the file gives shows that it was gone on from.
    before.progress.state.turns = 40
    kept = decode(encode(before.progress))
    with path.open("ab") as file:
        file.write(encoded(user("three")) + b"\n")
    after = count_file(str(path), kept)
    assert after is not None
    assert after.tally.turns == 41


@pytest.mark.parametrize("place", ["beginning", "middle", "end"])
def test_a_file_that_was_rewritten_and_grew_is_counted_anew(root: Path, place: str) -> None:
    lines = [user(f"prompt {number:05}") for number in range(900)]
    path = write(root, *lines)
    with Index(str(root / "index")) as index:
        assert one(root, index).turns == 900
        number = {"beginning": 0, "middle": 450, "end": 899}[place]
        # In place and of the same length, as a secret that is blacked out.
        changed = path.read_bytes().replace(f"prompt {number:05}".encode(), b"/command abc")
        assert len(changed) == path.stat().st_size
        path.write_bytes(changed + encoded(user("one more")) + b"\n")
        # One less and one more.
        assert one(root, index).turns == 900


def test_a_torn_last_line_counts_as_broken_until_it_is_whole(root: Path) -> None:
    path = write(root, user("one"))
    whole = encoded(user("two"))
    with Index(str(root / "index")) as index:
        with path.open("ab") as file:
            file.write(whole[:20])
        settle(path)
        torn = one(root, index)
        assert (torn.turns, torn.malformed_lines) == (1, 1)
        with path.open("ab") as file:
            file.write(whole[20:])
        found = one(root, index)
        assert (found.turns, found.malformed_lines) == (2, 0)


def test_what_shrank_vanished_or_was_replaced_is_never_stale(root: Path) -> None:
    path = write(root, user("one"), user("two"))
    with Index(str(root / "index")) as index:
        assert one(root, index).turns == 2
        write(root, user("one"))
        assert one(root, index).turns == 1
        stat = path.stat()
        # Another file of the same size and time takes its name.
        other = path.with_name("other")
        other.write_bytes(
            encoded(line("summary", None, summary="x")).ljust(stat.st_size - 1) + b"\n"
        )
        os.utime(other, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
        assert other.stat().st_size == stat.st_size
        other.rename(path)
        assert one(root, index).turns == 0
        path.unlink()
        assert look(root, index) == ()
        assert index.load() == {}


def test_a_file_that_has_only_just_changed_is_not_kept(root: Path) -> None:
    path = write(root, user("one"))
    path.touch()
    with Index(str(root / "index")) as index:
        assert one(root, index).turns == 1
        assert index.load() == {}


def test_a_file_that_is_cut_off_while_it_is_read_is_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root, user("one"), user("two"))
    real, reads = os.pread, []

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        if not reads:
            write(root, user("one"))
        reads.append(offset)
        return real(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    found = count_file(str(path))
    assert found is not None
    assert (found.tally.turns, found.tally.malformed, found.size) == (1, 0, path.stat().st_size)


def test_a_root_is_looked_at_once_under_all_its_names(root: Path, tmp_path: Path) -> None:
    write(root, user("one"))
    (tmp_path / "link").symlink_to(root)
    (root / "projects" / "-again").symlink_to(root / "projects" / "-p")
    (root / "projects" / "loop").symlink_to(root / "projects")
    (root / "projects" / "nowhere").symlink_to(root / "nowhere")
    (root / "projects" / "-p" / f"{OTHER}.jsonl").symlink_to(f"{OTHER}.jsonl")
    assert len(look(root)) == 1
    assert places([str(root), str(tmp_path / "link")]) == (Place(str(root)),)
    both = scan([Place(str(root)), Place(str(tmp_path / "link"))])
    assert len(both) == 1


def test_roots_that_no_process_uses_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".claude-work" / "projects").mkdir(parents=True)
    with Index(str(tmp_path / "index")) as index:
        index.remember_roots([os.fsencode(tmp_path / "far" / "away")])
        found = [place.path for place in places(index=index)]
    assert str(tmp_path / ".claude") in found
    assert str(tmp_path / ".claude-work") in found
    assert str(tmp_path / "far" / "away") in found


def test_a_root_is_found_after_its_last_process_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    used, empty = tmp_path / "far" / "used", tmp_path / "far" / "empty"
    (used / "projects").mkdir(parents=True)
    empty.mkdir()
    with Index(str(tmp_path / "index")) as index:
        found = everywhere(None, index, in_use=[str(used), str(empty)])
        assert {Place(str(used)), Place(str(empty))} < set(found)
    with Index(str(tmp_path / "index")) as index:
        again = everywhere(None, index)
        assert Place(str(used)) in again
        assert Place(str(empty)) not in again
        assert everywhere([str(empty)], index, in_use=[str(used)]) == (Place(str(empty)),)


def test_what_is_no_session_is_told_with_the_reason(root: Path) -> None:
    write(root, user("go", isSidechain=True))
    write(root, user("go", teamName="crew"), name=OTHER)
    write(root, line("permission-mode", None), name=ID.replace("0f", "2f"))
    write(root, user("go", isSidechain=True), name="agent-a1b2")
    (root / "projects" / "-p" / f"{ID}.orphaned-1.jsonl").write_bytes(b"{}\n")
    (root / "projects" / "-p" / "notes.txt").write_bytes(b"{}\n")
    assert look(root) == ()
    reasons = sorted(past.skipped or "" for past in look(root, everything=True))
    assert reasons == [
        *("a sidechain", "a subagent's", "a team member's"),
        "neither directory nor prompt nor title",
    ]


def test_project_name_and_times(root: Path) -> None:
    cwd = "/w/shop/.claude/worktrees/fix-it"
    before = time.time()
    write(
        root,
        user("one", cwd=cwd),
        line("custom-title", None, customTitle="fix-it"),
        folder="-w-shop",
    )
    found = one(root)
    assert (found.project, found.cwd) == ("shop", cwd)
    # The client gives a worktree's session its name by itself.
    assert (found.name, found.title, found.title_source) == (None, "fix-it", "custom-title")
    assert found.created is not None
    assert before - 5 <= found.created <= time.time() + 5 or found.created == found.modified


@pytest.mark.parametrize("form", ["iso", "seconds", "milliseconds"])
@pytest.mark.parametrize(("late", "taken"), [(0.9, True), (1.5, False)])
def test_the_clients_index_gives_a_summary_that_no_line_has(
    root: Path, form: str, late: float, taken: bool
) -> None:
    path = write(root, user("one"))
    at = path.stat().st_mtime - late
    stamp: object = {
        "iso": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f"{at % 1:.3f}"[1:] + "Z",
        "seconds": at,
        "milliseconds": at * 1000,
    }[form]
    entry = {"sessionId": ID, "summary": "told", "modified": stamp, "messageCount": 99}
    (path.parent / "sessions-index.json").write_text(json.dumps({"entries": [entry]}))
    with Index(str(root / "index")) as index:
        for _ in range(2):
            found = one(root, index)
            assert found.summary == ("told" if taken else None)
            assert found.title_source == ("summary" if taken else "first-prompt")
            assert (found.turns, found.messages) == (1, 1)
    write(root, user("one"), line("summary", None, summary="its own"))
    assert one(root).summary == "its own"


def test_names_of_any_bytes_are_told(root: Path) -> None:
    odd = os.fsdecode(b"caf\xe9\n")
    write(root, user("one", cwd="/x"), folder=odd)
    with Index(str(root / "index")) as index:
        first = one(root, index)
        assert first.transcript == str(root / "projects" / odd / f"{ID}.jsonl")
        assert one(root, index) == first
        assert not index.problems


def test_what_cannot_be_read_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, user("one"))
    path = write(root, user("two"), name=OTHER)
    real = os.open

    def forbid(name: str | bytes, *more: Any, **how: Any) -> int:
        if os.fsdecode(name) == str(path):
            raise PermissionError(13, "Permission denied", name)
        return real(name, *more, **how)

    monkeypatch.setattr(os, "open", forbid)
    problems: list[Any] = []
    found = look(root, problems=problems)
    assert [past.session_id for past in found] == [ID]
    assert len(problems) == 1
    assert str(path) in problems[0].message
    assert "Permission denied" in problems[0].message


def test_fifos_and_folders_in_a_transcripts_place_do_not_stop_it(root: Path) -> None:
    write(root, user("one"))
    os.mkfifo(root / "projects" / "-p" / f"{OTHER}.jsonl")
    (root / "projects" / "-p" / f"{ID.replace('0f', '3f')}.jsonl").mkdir()
    assert len(look(root, everything=True)) == 1
    assert count_file(str(root / "projects" / "-p" / f"{OTHER}.jsonl")) is None


def test_lines_of_any_length_count_in_bounded_memory(root: Path) -> None:
    path = root / "projects" / "-p" / f"{ID}.jsonl"
    picture = {"type": "image", "source": {"type": "base64", "data": "@"}}
    head, tail = encoded(user([text("look at this"), picture])).split(b"@")
    with path.open("wb") as file:
        file.write(encoded(user("first")) + b"\n" + head)
        for _ in range(60):
            file.write(b"QUJD" * (1 << 18))
        file.write(tail + b"\n" + encoded(assistant(text("seen"))) + b"\n")
    code = (
        "import sys\n"
        "from tray.history.counted import count_file\n"
        "tally = count_file(sys.argv[1]).tally\n"
        # Not what `getrusage` tells: that begins with the size of who started it.
        "status = open('/proc/self/status').read()\n"
        "peak = int(status.split('VmHWM:')[1].split()[0]) // 1024\n"
        "print(tally.turns, tally.messages, tally.malformed, peak)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    turns, messages, malformed, peak = map(int, done.stdout.split())
    assert (turns, messages, malformed) == (2, 3, 0)
    assert peak < 75, "MB, of a line of 63 MB"


def test_two_scans_at_once_share_an_index(tmp_path: Path) -> None:
    truths = write_tree(tmp_path / "tree", 40)
    results: list[tuple[Past, ...]] = []
    problems: list[object] = []

    def run() -> None:
        with Index(str(tmp_path / "index")) as index:
            results.append(look(tmp_path / "tree", index, everything=True))
            problems.extend(index.problems)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(results) == 4
    for result in results:
        assert_true(result, truths)


def test_killed_in_the_middle_of_writing_nothing_is_lost(
    tmp_path: Path, wait_until: Callable[..., object]
) -> None:
    truths = write_tree(tmp_path / "tree", 20)
    code = (
        "import sys\n"
        "from tray.history.index import Index\n"
        "index = Index(sys.argv[1])\n"
        "index.load()\n"
        "database = index._database\n"
        "database.execute('PRAGMA cache_size = 1')\n"
        "database.execute('BEGIN IMMEDIATE')\n"
        "rows = [(b'/%d' % n, b's' * 40, b'p' * 900, b'q' * 900) for n in range(3000)]\n"
        "database.executemany('INSERT INTO files VALUES (?, ?, ?, ?)', rows)\n"
        "print('written', flush=True)\n"
        "sys.stdin.read()"
    )
    path = tmp_path / "index"
    with Index(str(path)) as index:
        before = look(tmp_path / "tree", index, everything=True)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    with Index(str(path)) as index:
        assert len(index.load()) == 20
        assert look(tmp_path / "tree", index, everything=True) == before
        assert not index.problems
    assert_true(before, truths)


def test_a_scribe_and_the_product_agree_on_a_broken_line(root: Path) -> None:
    scribe = Scribe(ID, "/p", random.Random(3), 1_750_000_000.0)
    for _ in range(30):
        scribe.turn(5)
        scribe.broken()
    scribe.save(root / "projects" / "-p" / f"{ID}.jsonl")
    assert_true(look(root), [scribe.truth])
    assert scanning._SETTLED > 0

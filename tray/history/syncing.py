"""Fetching the transcripts of other machines: rsync over ssh, side by side, each with a limit.

The only part of the product that uses the network, and only for the machines that its person
wrote down (`tray.history.remotes`).
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import glob
import os
import shutil
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from tray.atomic import replace_file
from tray.claude.files import read_small
from tray.history.private import make_folders
from tray.history.remotes import cache_folder
from tray.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tray.history.remotes import Remote

LIMIT = 300.0
"""Seconds for one machine when its person asked for it. What has come by then stays."""
AUTOMATIC_LIMIT = 15.0
"""Seconds for one machine within a listing."""
_SILENT = 20
"""Seconds without any data after which rsync gives up."""
_SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
"""Never asks for anything. Given first, for ssh goes by the first value of an option."""
_AT_ONCE = 8
_CAUSES = {
    12: "it broke off; is rsync installed there?",
    23: "some of it could not be read there",
    30: "it did not answer in time",
    35: "it did not answer in time",
    127: "rsync is not installed there",
}


class Outcome(msgspec.Struct, frozen=True):
    """How it went with one machine."""

    name: str
    ok: bool
    message: str
    """One line for a person."""
    sessions: int = 0
    """Sessions of that machine that are there now."""
    fetched: int = 0
    """Transcripts that were new or had changed."""


class LastSync(msgspec.Struct, frozen=True):
    """When a machine was last asked, and how that went."""

    at: float
    """Unix seconds."""
    ok: bool
    message: str
    succeeded_at: float | None = None
    """When it last went well, Unix seconds."""


def due(remote: Remote, last: LastSync | None, now: float) -> bool:
    """Whether to sync it by itself: so long after it was last asked, however that went."""
    if not remote.auto_sync_minutes:
        return False
    # A clock that was set back must not keep it off for ever.
    return last is None or not 0 <= now - last.at < remote.auto_sync_minutes * 60


def last_sync(remote: Remote, folder: str | None = None) -> LastSync | None:
    """Return when it was last asked; `None` if never."""
    data = read_small(os.path.join(folder or cache_folder(), remote.name, _STATE), 65_536)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=LastSync)
    except msgspec.DecodeError:
        return None


def automatic(
    remotes: Sequence[Remote], now: float, folder: str | None = None
) -> tuple[Remote, ...]:
    """Return the remotes that are to be synced by themselves now."""
    return tuple(remote for remote in remotes if due(remote, last_sync(remote, folder), now))


def sync(
    remotes: Sequence[Remote],
    *,
    folder: str | None = None,
    limit: float = LIMIT,
    progress: Callable[[Outcome], object] | None = None,
) -> tuple[Outcome, ...]:
    """Fetch what is new of all `remotes`, and drop what has vanished there.

    Each has `limit` seconds of its own. `progress` is told of each that is done, from this
    thread. Never raises; the outcomes are in the order of `remotes`.
    """
    into = folder or cache_folder()

    def one(remote: Remote, running: _Running) -> Outcome:
        return _sync(remote, os.path.join(into, remote.name), limit, running)

    return _all(remotes, one, progress)


def check(
    remotes: Sequence[Remote],
    *,
    limit: float = AUTOMATIC_LIMIT,
    progress: Callable[[Outcome], object] | None = None,
) -> tuple[Outcome, ...]:
    """Look whether all `remotes` can be reached and have sessions, in the way that `sync` does."""

    def one(remote: Remote, running: _Running) -> Outcome:
        argv = [*_rsync(remote), "--list-only", "--dirs", "--", _source(remote)]
        code, lines, said = _run(argv, limit, running)
        if code != 0:
            return Outcome(remote.name, ok=False, message=_cause(code, said, limit))
        projects = sum(line.startswith("d") for line in lines) - 1  # and the folder itself
        message = f"all is well: {projects} project{'' if projects == 1 else 's'}"
        return Outcome(remote.name, ok=True, message=message)

    return _all(remotes, one, progress)


def rsync_command(remote: Remote, folder: str) -> list[str]:
    """Return the command that makes `folder` hold the transcripts of a remote, and no others."""
    return [
        *_rsync(remote),
        *("--recursive", "--times", "--prune-empty-dirs", "--delete", "--compress"),
        # Sessions of this person alone; links are left out, so none can lead elsewhere.
        *("--no-perms", "--chmod=D0700,F0600", "--no-links", "--no-devices", "--no-specials"),
        # Nothing but transcripts: other files there may hold anything.
        *("--include=/*/", "--include=/*/*.jsonl", "--exclude=*"),
        "--out-format=%o %n",
        *("--", _source(remote), os.path.join(folder, "")),
    ]


def _rsync(remote: Remote) -> list[str]:
    shell = " ".join(map(_quoted, (*_SSH, *remote.options)))
    return ["rsync", f"--rsh={shell}", f"--timeout={_SILENT}", "--secluded-args"]


def _source(remote: Remote) -> str:
    """Return the folder of projects there, for rsync; a relative path is relative to the home."""
    path = remote.path.removeprefix("~").lstrip("/") if remote.path.startswith("~") else remote.path
    return f"{remote.target}:{os.path.join(path, 'projects', '')}"


def _quoted(word: str) -> str:
    """Quote a word as rsync itself splits them (rsync(1), "--rsh"): there are no backslashes."""
    if word and not any(char in word for char in " '\""):
        return word
    return "'" + word.replace("'", "''") + "'"


class _Running:
    """The processes under way, to be ended with all that they started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    @contextlib.contextmanager
    def started(self, argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        with self._lock:
            if self._ended:
                raise OSError(0, "ended")
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(os.environ),
                start_new_session=True,  # no terminal to ask on, and one group to end
            )
            self._processes.add(process)
        try:
            yield process
        finally:
            self.end(process)
            with process:
                pass
            with self._lock:
                self._processes.discard(process)

    @staticmethod
    def end(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def end_all(self) -> None:
        with self._lock:
            self._ended = True
            for process in self._processes:
                self.end(process)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the programs speak English and nothing changes our options."""
    kept = {name: value for name, value in environ.items() if not name.startswith("RSYNC_")}
    return kept | {"LC_ALL": "C"}


def _all(
    remotes: Sequence[Remote],
    one: Callable[[Remote, _Running], Outcome],
    progress: Callable[[Outcome], object] | None,
) -> tuple[Outcome, ...]:
    missing = next((name for name in ("rsync", "ssh") if shutil.which(name) is None), None)
    if missing is not None:
        message = f"{missing} is not installed on this machine"
        return tuple(Outcome(remote.name, ok=False, message=message) for remote in remotes)
    running = _Running()
    outcomes: dict[str, Outcome] = {}
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            tasks = [pool.submit(_guarded, one, remote, running) for remote in remotes]
            for task in concurrent.futures.as_completed(tasks):
                outcome = task.result()
                outcomes[outcome.name] = outcome
                if progress is not None:
                    progress(outcome)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.end_all()
            raise
    return tuple(outcomes[remote.name] for remote in remotes)


def _guarded(
    one: Callable[[Remote, _Running], Outcome], remote: Remote, running: _Running
) -> Outcome:
    try:
        return one(remote, running)
    except OSError as error:
        said = ": ".join(str(part) for part in (error.filename, error.strerror) if part)
        return Outcome(remote.name, ok=False, message=one_line(said or str(error)))


def _sync(remote: Remote, folder: str, limit: float, running: _Running) -> Outcome:
    make_folders(os.path.dirname(folder))
    projects = make_folders(folder, "projects")
    with open(os.path.join(folder, ".lock"), "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another sync of it is under way"
            return Outcome(remote.name, ok=False, message=message, sessions=_count(folder))
        code, lines, said = _run(rsync_command(remote, projects), limit, running)
        fetched = sum(line.startswith("recv ") and line.endswith(".jsonl") for line in lines)
        sessions = _count(folder)
        ok = code in (0, 24)
        if ok:
            message = f"{sessions} session{'' if sessions == 1 else 's'}, {fetched} of them fetched"
        else:
            message = _cause(code, said, limit)
        _note(folder, ok=ok, message=message)
        return Outcome(remote.name, ok=ok, message=message, sessions=sessions, fetched=fetched)


def _run(argv: Sequence[str], limit: float, running: _Running) -> tuple[int | None, list[str], str]:
    """Run a command; return its exit code (`None`: out of time), its lines, and its last words."""
    with running.started(argv) as process:
        try:
            out, err = process.communicate(timeout=limit)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            running.end(process)
            out, err = process.communicate()
            code = None
    lines = [line.decode(errors="replace") for line in out.splitlines()]
    said = [line for line in err.decode(errors="replace").splitlines() if _tells(line)]
    return code, lines, said[0] if said else ""


def _tells(line: str) -> bool:
    """Whether a line on stderr says what went wrong, and not only that something did."""
    return bool(line.strip()) and not line.startswith(
        ("rsync error:", "rsync: connection unexpectedly closed", "Warning: ")
    )


def _cause(code: int | None, said: str, limit: float) -> str:
    if code is None:
        return f"it was not done within {limit:g} s; what has come stays, so try again"
    known = _CAUSES.get(code)
    words = one_line(said)
    if known is None or (words and code not in (30, 35)):
        known = f"{words} ({known})" if known is not None else words
    return known or f"rsync ended with {code}"


def _count(folder: str) -> int:
    return len(glob.glob(os.path.join(glob.escape(folder), "projects", "*", "*.jsonl")))


_STATE = "sync.json"


def _note(folder: str, *, ok: bool, message: str) -> None:
    now = time.time()
    before = read_small(os.path.join(folder, _STATE), 65_536)
    succeeded = now if ok else None
    if not ok and before is not None:
        with contextlib.suppress(msgspec.DecodeError):
            succeeded = msgspec.json.decode(before, type=LastSync).succeeded_at
    path = os.path.join(folder, _STATE)
    data = msgspec.json.encode(LastSync(now, ok, message, succeeded))
    replace_file(path, data, durable=False)

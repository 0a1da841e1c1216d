"""Other machines, by a real sshd on loopback: a good one, a dead one and one that never answers."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import socket
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.claude.lines import prompt
from tests.conftest import wait_until
from tray.history import syncing
from tray.history.past import Past
from tray.history.remotes import Remote, places
from tray.history.resuming import remote_resumption
from tray.history.scan import scan

if TYPE_CHECKING:
    from collections.abc import Iterator

SSHD = "/usr/sbin/sshd"
RUN = "from tray.cli.main import main; main()"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Machine:
    """A machine of its own behind a real sshd: another home, our user."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home of me"
        self.log = folder / "sshd.log"
        self.port = free_port()
        self.projects = self.home / ".claude" / "projects"
        self.projects.mkdir(parents=True)
        (self.home / "bin").mkdir()
        folder.chmod(0o700)
        for name in ("host", "key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)],
                check=True,
            )
        # Where a client is often found only by what a login shell reads.
        (self.home / ".profile").write_text('PATH="$HOME/bin:$PATH"\n')
        shutil.copy(folder / "key.pub", folder / "authorized")
        shell = folder / "login"
        # What the words of ssh are given to: a shell of another home.
        shell.write_text(
            "#!/bin/sh\n"
            f"export HOME='{self.home}' SHELL=/bin/sh\n"
            'cd "$HOME" && exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
        )
        shell.chmod(0o700)
        public = (folder / "host.pub").read_text().split()
        known = folder / "known hosts"
        known.write_text(f"[127.0.0.1]:{self.port} {public[0]} {public[1]}\n")
        config = folder / "sshd_config"
        config.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {folder}/host\n"
            f"AuthorizedKeysFile {folder}/authorized\nPidFile none\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\n"
            f"PermitRootLogin yes\nForceCommand {shell}\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # as the service's start makes it
        self.options = (
            *("-F", "none", "-p", str(self.port), "-i", str(folder / "key")),
            *("-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile='{known}'"),
        )
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL, stderr=log
            )

    def ready(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def remote(self, name: str = "build", path: str = "~/.claude") -> Remote:
        return Remote(name, "127.0.0.1", path=path, options=self.options)

    def talk(self, words: str, project: str = "-src-shop") -> str:
        session_id = str(uuid.uuid4())
        folder = self.projects / project
        folder.mkdir(exist_ok=True)
        line = json.dumps(prompt(words) | {"cwd": "/src/shop"})
        (folder / f"{session_id}.jsonl").write_text(f"{line}\n")
        return session_id


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sshd")


@pytest.fixture(scope="module")
def machine(folder: Path) -> Iterator[Machine]:
    for needed in (SSHD, "ssh", "rsync"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed: apt-get install openssh-server rsync")
    machine = Machine(folder)
    try:
        wait_until(machine.ready, what="sshd")
        yield machine
    finally:
        machine.close()


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a host that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def titles(remote: Remote, cache: Path) -> set[str | None]:
    found = scan(places((remote,), str(cache)))
    assert {past.source for past in found} <= {remote.name}
    return {past.title for past in found}


def test_what_is_there_comes_and_what_has_gone_goes(machine: Machine, tmp_path: Path) -> None:
    remote = machine.remote()
    first, second = machine.talk("first"), machine.talk("second")
    folder = machine.projects / "-src-shop"
    (folder / "memory").mkdir()
    (folder / "memory" / "MEMORY.md").write_text("a secret")
    (folder / "sessions-index.json").write_text("{}")
    (folder / "4711.key").write_text("a credential")
    (folder / f"{first}").mkdir()
    (folder / f"{first}" / "deep.jsonl").write_text("{}\n")
    (folder / "linked.jsonl").symlink_to("/etc/passwd")
    (machine.home / ".claude" / ".credentials.json").write_text("a token")

    (outcome,) = syncing.sync([remote], folder=str(tmp_path))
    assert (outcome.ok, outcome.sessions, outcome.fetched) == (True, 2, 2), outcome
    assert titles(remote, tmp_path) == {"first", "second"}
    copied = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert copied == {f"{first}.jsonl", f"{second}.jsonl", "sync.json", ".lock"}
    copy = tmp_path / "build" / "projects" / "-src-shop" / f"{first}.jsonl"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert copy.stat().st_mtime == pytest.approx((folder / copy.name).stat().st_mtime, abs=1)

    with (folder / f"{second}.jsonl").open("a") as file:
        file.write(json.dumps({"type": "custom-title", "customTitle": "renamed"}) + "\n")
    (folder / f"{first}.jsonl").unlink()
    (outcome,) = syncing.sync([remote], folder=str(tmp_path))
    assert (outcome.ok, outcome.sessions, outcome.fetched) == (True, 1, 1), outcome
    assert titles(remote, tmp_path) == {"renamed"}

    (outcome,) = syncing.sync([remote], folder=str(tmp_path))
    assert outcome.fetched == 0


def test_a_dead_and_a_slow_machine_do_not_keep_the_others(
    machine: Machine, tmp_path: Path, silent: int
) -> None:
    machine.talk("here")
    common = ("-F", "none", "-p")
    dead = Remote("dead", "127.0.0.1", options=(*common, str(free_port())))
    slow = Remote("slow", "127.0.0.1", options=(*common, str(silent)))
    seen: list[str] = []
    outcomes = syncing.sync(
        [slow, dead, machine.remote()],
        folder=str(tmp_path),
        limit=3.0,
        progress=lambda outcome: seen.append(outcome.name),
    )
    assert [(one.name, one.ok) for one in outcomes] == [
        ("slow", False),
        ("dead", False),
        ("build", True),
    ]
    assert seen[-1] == "slow"
    assert "not done within 3 s" in outcomes[0].message
    assert "Connection refused" in outcomes[1].message
    last = syncing.last_sync(dead, str(tmp_path))
    assert last is not None
    assert (last.ok, last.succeeded_at) == (False, None)


def test_nothing_is_left_running_of_a_slow_machine(tmp_path: Path, machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        slow = Remote("slow", "127.0.0.1", options=("-F", "none", "-p", port))
        syncing.sync([slow], folder=str(tmp_path), limit=1.0)

        def running() -> bool:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    if port.encode() in words:
                        return True
            return False

        wait_until(lambda: not running(), what="ssh to end")


def test_a_key_that_is_refused_asks_for_no_password(machine: Machine, tmp_path: Path) -> None:
    options = list(machine.options)
    options[options.index("-i") + 1] = str(tmp_path / "none")
    (outcome,) = syncing.check([Remote("build", "127.0.0.1", options=tuple(options))])
    assert not outcome.ok
    assert "Permission denied" in outcome.message


def test_check_says_what_is_there_and_what_is_not(machine: Machine, tmp_path: Path) -> None:
    machine.talk("here", "-src-other")
    good, missing = machine.remote(), machine.remote("none", "~/no such folder")
    outcomes = syncing.check([good, missing])
    assert [one.ok for one in outcomes] == [True, False]
    assert "all is well: " in outcomes[0].message
    assert "No such file or directory" in outcomes[1].message


def test_what_was_fetched_stays_if_the_folder_there_is_gone(
    machine: Machine, tmp_path: Path
) -> None:
    machine.talk("here")
    syncing.sync([machine.remote()], folder=str(tmp_path))
    before = titles(machine.remote(), tmp_path)
    moved = machine.projects.rename(machine.projects.with_name("elsewhere"))
    try:
        (outcome,) = syncing.sync([machine.remote()], folder=str(tmp_path))
    finally:
        moved.rename(machine.projects)
    assert not outcome.ok
    assert titles(machine.remote(), tmp_path) == before


def test_the_command_line_tells_how_it_went(machine: Machine, tmp_path: Path, silent: int) -> None:
    machine.talk("from afar")
    config = tmp_path / "config" / "sessionbell"
    config.mkdir(parents=True)
    dead = {"name": "dead", "host": "127.0.0.1", "options": ["-F", "none", "-p", str(free_port())]}
    good = {"name": "build", "host": "127.0.0.1", "options": list(machine.options)}
    tables = [
        "[[remote]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for table in (good, dead)
    ]
    (config / "remotes.toml").write_text("".join(tables))
    environment = os.environ | {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", RUN, "remotes", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run("sync")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("build: ")
    assert "dead: " in done.stderr
    assert run("sync", "--strict").returncode == 1
    assert run("sync", "dead").returncode == 1
    assert run("check", "build").returncode == 0
    listed = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    assert (listed["build"]["ok"], listed["dead"]["ok"]) == (True, False)


def test_a_session_is_resumed_there(machine: Machine) -> None:
    """The real ssh, in a terminal: the words arrive as they were meant, whatever they hold."""
    cwd = machine.home / "a 'quoted' $HOME; touch pwned"
    cwd.mkdir(exist_ok=True)
    said = machine.home / "said"
    client = machine.home / "bin" / "claude"
    client.write_text(
        f"#!/bin/sh\n{{ pwd; test -t 0 && echo terminal; printf '%s\\n' \"$@\"; }} > '{said}.new'\n"
        f"mv '{said}.new' '{said}'\n"
    )
    client.chmod(0o700)
    past = Past("x.jsonl", str(uuid.uuid4()), cwd=str(cwd), source="build")
    how = remote_resumption(past, machine.remote(), os.environ)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(how.argv[0], how.argv)
    try:
        wait_until(said.exists, within=10, what="the client there")
        assert said.read_text().splitlines() == [
            str(cwd),
            "terminal",
            "--resume",
            past.session_id,
        ]
        assert not list(machine.home.rglob("pwned"))
    finally:
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

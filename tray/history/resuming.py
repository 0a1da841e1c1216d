"""How a past session is resumed: the command, where, and with which environment.

The tray's recent sessions and `sessionbell resume` both go by it.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from tray.claude.roots import CONFIG_DIR
from tray.history.keeping import origin
from tray.history.moved import moved_to, nearest
from tray.history.past import KEPT, LOCAL
from tray.untrusted import identifier, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tray.history.past import Past
    from tray.history.remotes import Remote

CLIENT = "claude"
"""The program that resumes, found by PATH."""
_USUAL_ROOT = "~/.claude"


class ResumeError(Exception):
    """A session cannot be resumed; the text is for a person."""


class Resumable(Protocol):
    """What has to be known of a session of this machine."""

    @property
    def session_id(self) -> str:
        """Its id."""

    @property
    def config_root(self) -> str | None:
        """The root it was recorded in."""

    @property
    def cwd(self) -> str | None:
        """Where it was begun."""


class Resumption(msgspec.Struct, frozen=True):
    """How an ended session is resumed in a terminal."""

    argv: tuple[str, ...]
    cwd: str
    environ: dict[str, str]
    warning: str | None = None
    """What is not as it was, for the person."""
    gone: str | None = None
    """The directory it was begun in, if that is gone and `cwd` is only the nearest one left."""


def way_back(
    session: Past, environ: Mapping[str, str], remotes: Iterable[Remote], *, fork: bool = False
) -> Resumption:
    """Return how a past session of any source is resumed; raises `ResumeError` if it cannot be.

    Whether it is live is for the caller to look at: two processes on one transcript corrupt it.
    """
    if not session.transcript:
        raise ResumeError(f"the transcript of {session.session_id} is gone: only prompts are left")
    if session.source == LOCAL:
        return resumption(session, environ, fork=fork)
    if session.source == KEPT:
        made = origin(session)
        root = made.config_root if made is not None and made.source == LOCAL else None
        here = replace(session, config_root=root)
        return resumption(here, environ, transcript=session.transcript, fork=fork)
    for remote in remotes:
        if remote.name == session.source:
            return remote_resumption(session, remote, environ, fork=fork)
    raise ResumeError(f"{session.source} is not among your remotes any more")


def resumption(
    session: Resumable,
    environ: Mapping[str, str],
    *,
    transcript: str | None = None,
    fork: bool = False,
) -> Resumption:
    """Return how a session is resumed from a program with that environment.

    Raises `ResumeError` where its id could be taken for something else.

    With `transcript` it is resumed from that file, whatever is left of the original. `fork` goes
    on in a new session and leaves this one as it is.

    Where its directory is gone, it is resumed where its work tree was moved to, else in the
    nearest directory above that is left. Older clients find a conversation by its directory
    (2.1.81; not 2.1.332), so they may not find it then: the warning says so.
    """
    wanted = session.cwd or environ.get("HOME", "/")
    cwd, gone, warning = wanted, None, None
    if not os.path.isdir(wanted):
        moved = moved_to(wanted)
        cwd = moved or nearest(wanted)
        gone = wanted if moved is None else None
        state = f"was moved to {moved}" if moved is not None else "is gone"
        warning = (
            f"{wanted} {state}, so it is resumed in {cwd}, where Claude Code may not find it;"
            f" to be sure, make the folder again: mkdir -p {shlex.quote(wanted)}"
        )
    argv = (CLIENT, "--resume", transcript or _checked(session.session_id))
    return Resumption(
        (*argv, "--fork-session") if fork else argv,
        cwd,
        resume_environment(session.config_root, environ),
        warning,
        gone,
    )


def resume_environment(config_root: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a session of that root is resumed; `None`: the usual one.

    Without what a client hands to its children (`CLAUDECODE`, `CLAUDE_CODE_*`): a client that
    finds it takes itself for another's child and keeps no records.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name not in ("CLAUDECODE", CONFIG_DIR) and not name.startswith("CLAUDE_CODE_")
    }
    usual = os.path.realpath(os.path.join(environ.get("HOME", ""), ".claude"))
    if config_root is not None and os.path.realpath(config_root) != usual:
        kept[CONFIG_DIR] = config_root
    return kept


def remote_resumption(
    session: Past, remote: Remote, environ: Mapping[str, str], *, fork: bool = False
) -> Resumption:
    """Return how a session of another machine is resumed: there, in this terminal.

    The words go through the login shell of the user there, which may be any: they are quoted in
    single quotes, which all shells read alike. An interactive login shell is asked to run them,
    because the client is often found only by the PATH that one sets.
    """
    argv = [CLIENT, "--resume", _checked(session.session_id), *(["--fork-session"] if fork else [])]
    words = shlex.join(argv)
    if remote.path != _USUAL_ROOT:
        words = f"env {CONFIG_DIR}={_on_remote(remote.path)} {words}"
    if session.cwd is not None:
        words = f"cd {shlex.quote(session.cwd)} && exec {words}"
    else:
        words = f"exec {words}"
    command = f'exec "$SHELL" -lic {shlex.quote(words)}'
    return Resumption(
        ("ssh", "-t", *remote.options, "--", remote.target, command),
        nearest(environ.get("HOME", "/")),
        dict(environ),
    )


def _checked(session_id: str) -> str:
    """Return an id that the client takes for one; raises `ResumeError` if it might not."""
    if identifier(session_id) is None:
        raise ResumeError(f"{one_line(session_id, 100)!r} is no session id")
    return session_id


def _on_remote(path: str) -> str:
    """Return a path for a shell there: one that is relative is so to the home."""
    if path.startswith("/"):
        return shlex.quote(path)
    return f'"$HOME"/{shlex.quote(path.removeprefix("~/"))}'

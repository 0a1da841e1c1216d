"""Finding transcripts: by session id, and those of a directory."""

from __future__ import annotations

import os
import re

ID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
"""Session ids are UUIDs; nothing else may become part of a path."""
_FOLDER_LIMIT = 200
"""Characters at which the client cuts a folder's name and adds a hash."""
_OUTPUT = f"/tmp/claude-{os.getuid()}"  # noqa: S108  (where the client has it)
"""Where the output of running commands is kept: `<project>/<session>/tasks`."""
_UNSAFE = re.compile(r"[^A-Za-z0-9]")


def folder_name(cwd: str) -> str:
    """Return the name of a directory's folder below `projects`, cut where the client cuts it.

    Many directories share a name (`/a/b.c`, `/a/b-c`): it leads to candidates, no more.
    """
    # The client counts UTF-16 code units: an emoji is two (seen on 2.1.332).
    units = "".join("--" if ord(char) > 0xFFFF else char for char in cwd)
    return _UNSAFE.sub("-", units)[:_FOLDER_LIMIT]


def project_folders(config_root: str, cwd: str) -> list[str]:
    """Return the folders that may hold a directory's transcripts."""
    projects = os.path.join(config_root, "projects")
    name = folder_name(cwd)
    if len(name) < _FOLDER_LIMIT:
        folders = [os.path.join(projects, name)]
    else:
        folders = [
            os.path.join(projects, other) for other in _listed(projects) if other.startswith(name)
        ]
    return [folder for folder in folders if os.path.isdir(folder)]


def find_beside(config_root: str, session_id: str, cwd: str) -> str | None:
    """Return the path of a session's transcript, if it lies in the folder of `cwd`."""
    if ID.fullmatch(session_id) is None:
        return None
    for folder in project_folders(config_root, cwd):
        path = os.path.join(folder, f"{session_id}.jsonl")
        if os.path.isfile(path):
            return path
    return None


def find_transcript(config_root: str, session_id: str, cwd: str | None = None) -> str | None:
    """Return the path of a session's transcript, in whatever project's folder it lies.

    The folder of `cwd` is looked into first; of several files the newest counts.
    """
    if ID.fullmatch(session_id) is None:
        return None
    beside = find_beside(config_root, session_id, cwd) if cwd is not None else None
    if beside is not None:
        return beside
    projects = os.path.join(config_root, "projects")
    found: list[tuple[int, str]] = []
    for folder in _listed(projects):
        path = os.path.join(projects, folder, f"{session_id}.jsonl")
        try:
            found.append((os.stat(path).st_mtime_ns, path))
        except OSError:
            continue
    return max(found)[1] if found else None


def transcripts_since(config_root: str, cwd: str, since: float) -> list[str]:
    """Return a directory's transcripts that were written to after `since` (Unix seconds)."""
    found = []
    for folder in project_folders(config_root, cwd):
        for name in _listed(folder):
            if not name.endswith(".jsonl") or ID.fullmatch(name[:-6]) is None:
                continue
            path = os.path.join(folder, name)
            try:
                if os.stat(path).st_mtime >= since:
                    found.append(path)
            except OSError:
                continue
    return sorted(found)


def tool_output_changed_at(session_id: str, cwd: str) -> float | None:
    """Return when a session last began or ended a tool's process, Unix seconds.

    Clients keep the output of a running command in a folder of the session (seen on 2.1.81; not
    on 2.0.76).
    """
    if ID.fullmatch(session_id) is None:
        return None
    try:
        return os.stat(os.path.join(_OUTPUT, folder_name(cwd), session_id, "tasks")).st_mtime
    except (OSError, ValueError):
        return None


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []

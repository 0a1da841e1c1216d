"""What this is run by, and what of its surroundings matters."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING

import msgspec

from tray import __version__
from tray.desktop.doctor.check import Check
from tray.desktop.doctor.finding import Message, Status
from tray.desktop.doctor.session_bus import graphical

if TYPE_CHECKING:
    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.finding import Finding

PACKAGES = (
    "dbus-fast", "desktop-notifier", "msgspec", "pillow", "pystray", "watchdog",
)  # fmt: skip
"""Those whose version is worth knowing in a bug report."""

VERSIONS = Message(
    "versions", Status.OK, "sessionbell {version}, Python {python}, Linux {kernel}; {packages}"
)
SURROUNDINGS = Message(
    "surroundings", Status.OK, "session type {kind}, desktop {desktop}, XDG_RUNTIME_DIR={runtime}"
)
NO_RUNTIME = Message(
    "runtime-dir-missing",
    Status.WARNING,
    "there is no folder for what runs (XDG_RUNTIME_DIR={runtime})",
    "the login did not set it, as after `su` or in a service",
    "the session bus may not be found, and a second tray may not notice the first",
    do="log in properly (machinectl shell, ssh, or at the desktop) instead of with `su`",
)
FLATPAK = Message(
    "sandbox-flatpak",
    Status.NOTE,
    "this runs inside Flatpak",
    "a sandbox hides the processes outside",
    "sessions without a record are not seen, and no terminal can be raised",
    do="install sessionbell with pipx or uv where that matters",
)
CONTAINER = Message(
    "container",
    Status.NOTE,
    "this runs inside a container ({container})",
    "a container hides the processes outside",
    "only sessions inside it are seen in full",
    do="run sessionbell on the host",
)
SSH = Message(
    "ssh",
    Status.NOTE,
    "this is a login over ssh, without a desktop",
    "icon and notifications belong to a desktop's session",
    "they are not shown at your end of the connection",
    run="sessionbell watch --bell",
)


class Facts(msgspec.Struct, frozen=True):
    """What was found."""

    packages: dict[str, str]
    kind: str
    """`$XDG_SESSION_TYPE`."""
    desktop: str
    runtime: str | None
    runtime_usable: bool
    flatpak: bool
    container: str | None
    ssh: bool


def gather(given: Given) -> Facts:
    """Look at the versions and the environment."""
    environ = given.environ
    runtime = environ.get("XDG_RUNTIME_DIR")
    over_ssh = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    return Facts(
        packages={name: _version(name) for name in PACKAGES},
        kind=environ.get("XDG_SESSION_TYPE", ""),
        desktop=environ.get("XDG_CURRENT_DESKTOP", ""),
        runtime=runtime,
        runtime_usable=runtime is not None
        and os.path.isdir(runtime)
        and os.access(runtime, os.W_OK | os.X_OK),
        flatpak=os.path.exists(os.path.join(given.system, ".flatpak-info")),
        container=_container(given),
        ssh=over_ssh and not graphical(environ),
    )


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Say what matters."""
    found = [
        VERSIONS.found(
            version=__version__,
            python=platform.python_version(),
            kernel=platform.release(),
            packages=", ".join(f"{name} {version}" for name, version in facts.packages.items()),
        ),
        SURROUNDINGS.found(
            kind=facts.kind or "not set",
            desktop=facts.desktop or "not set",
            runtime=facts.runtime or "not set",
        ),
    ]
    if not facts.runtime_usable:
        found.append(NO_RUNTIME.found(runtime=facts.runtime or ""))
    if facts.flatpak:
        found.append(FLATPAK.found())
    elif facts.container is not None:
        found.append(CONTAINER.found(container=facts.container))
    if facts.ssh:
        found.append(SSH.found())
    return tuple(found)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "?"


def _container(given: Given) -> str | None:
    """Return the kind of container this is in, by the marks that they leave."""
    if os.path.exists(os.path.join(given.system, "run/.containerenv")):
        return "podman"
    if os.path.exists(os.path.join(given.system, ".dockerenv")):
        return "docker"
    return given.environ.get("container") or None


CHECK = Check("installation", "Installation", gather, findings)

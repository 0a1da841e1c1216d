"""Which distribution this is, and how a package is installed there."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from tray.claude.files import read_small

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 64 * 1024
_INSTALL = {
    "debian": "sudo apt install {}",
    "ubuntu": "sudo apt install {}",
    "fedora": "sudo dnf install {}",
    "rhel": "sudo dnf install {}",
    "arch": "sudo pacman -S {}",
    "suse": "sudo zypper install {}",
    "opensuse": "sudo zypper install {}",
    "alpine": "sudo apk add {}",
    "void": "sudo xbps-install {}",
    "gentoo": "sudo emerge {}",
    "nixos": "nix-shell -p {}",
}


def families(system: str = "/") -> tuple[str, ...]:
    """Return the names of this distribution and of those it derives from, nearest first.

    By os-release(5); empty if there is none.
    """
    for name in ("etc/os-release", "usr/lib/os-release"):
        data = read_small(os.path.join(system, name), _LARGEST)
        if data is not None:
            return parse(data.decode(errors="replace"))
    return ()


def parse(text: str) -> tuple[str, ...]:
    """Return the distributions that an os-release file names."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in ("ID", "ID_LIKE"):
            try:
                values[key] = " ".join(shlex.split(value))
            except ValueError:
                continue
    return tuple(f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".split())


def install(families: tuple[str, ...], packages: Mapping[str, str]) -> str:
    """Return the command that installs a package of the name it has here.

    `packages`: its name by distribution, `""` for all others.
    """
    for family in families:
        if family in _INSTALL:
            package = packages.get(family, packages[""])
            if family == "ubuntu" and family not in packages:
                package = packages.get("debian", package)
            return _INSTALL[family].format(package)
    return f"sudo apt install {packages.get('debian', packages[''])}"

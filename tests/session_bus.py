"""A private message bus that can be started, killed and started again."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MISSING = None if shutil.which("dbus-daemon") else "dbus-daemon is not installed"
"""Why no bus can be had here."""

_CONFIG = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <servicedir>{services}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
"""


class SessionBus:
    """A dbus-daemon with a socket in `folder`, which starts none but the given services."""

    def __init__(self, folder: Path, services: Iterable[Path] = ()) -> None:
        self._socket = folder / "bus"
        self._config = folder / "bus.conf"
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"unix:path={self._socket}"
        offered = folder / "services"
        offered.mkdir()
        for service in services:
            shutil.copy(service, offered)
        self._config.write_text(_CONFIG.format(socket=self._socket, services=offered))

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start, with `environment` for the services it starts; return once it listens."""
        self._process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self._config}", "--nofork", "--print-address"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "dbus-daemon did not start"

    def stop(self) -> None:
        """Kill it, and with it what it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
            self._socket.unlink(missing_ok=True)

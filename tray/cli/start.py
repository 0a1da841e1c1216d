"""What the command `sessionbell` runs: a keyboard shortcut at once, all else by click."""

from __future__ import annotations

import sys

from tray.cli import shortcut


def main() -> None:
    """Run the command line and exit."""
    code = shortcut.main(sys.argv[1:])
    if code is None:
        from tray.cli.main import main as main_of_all

        main_of_all()
    sys.exit(code)

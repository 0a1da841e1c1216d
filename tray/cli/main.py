"""The command `sessionbell`: a group whose sub-commands are imported only when they run."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys

import click

from tray import __version__
from tray.cli import logfile
from tray.cli.options import examples

_COMMANDS = {
    "run": ("tray.cli.run", "run"),
    "list": ("tray.cli.sessions", "list_sessions"),
    "show": ("tray.cli.sessions", "show"),
    "watch": ("tray.cli.watch", "watch"),
    "focus": ("tray.cli.focus", "focus"),
    "autostart": ("tray.cli.autostart", "autostart"),
    "history": ("tray.cli.history", "history"),
    "browse": ("tray.cli.browse", "browse"),
    "resume": ("tray.cli.resume", "resume"),
    "remotes": ("tray.cli.remotes", "remotes"),
    "mute": ("tray.cli.mute", "mute"),
    "doctor": ("tray.cli.doctor", "doctor"),
    "config": ("tray.cli.config", "config"),
    "demo": ("tray.cli.demo", "demo"),
}
"""Each command's module and name; the order is that of `--help`."""

_COMPLETE = "_SESSIONBELL_COMPLETE"
"""The variable by which click's shell completion calls."""
_EPILOG = (
    examples(
        "sessionbell                 put the bell into the tray",
        "sessionbell list            who waits for me right now?",
        "sessionbell watch           the same, live",
        "sessionbell show shop-api   the whole question",
        "sessionbell demo            see it all without Claude Code",
    )
    + "\n\nExit codes: 0 done, 1 failed or not everything could be seen (the cause is on stderr), "
    "2 usage."
)


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's interface
        """Return the command called `cmd_name`."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
@logfile.verbose_option
@click.version_option(__version__, prog_name="sessionbell", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Know which Claude Code session is waiting for you.

    Without a command, sessionbell puts its icon into the tray and calls you back when a
    session asks for a permission, an answer or a plan's approval, and when its turn is over.
    """
    if ctx.invoked_subcommand is None:
        from tray.cli.run import run

        return int(ctx.invoke(run, roots=()) or 0)
    return 0


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed or degraded, 2 usage."""
    _prepare()
    if _COMPLETE in os.environ:  # a shell asks how a command line may go on
        cli.main(prog_name="sessionbell", complete_var=_COMPLETE)
    sys.exit(_run(sys.argv[1:]))


def _prepare() -> None:
    """Make the standard streams, SIGTERM and the log what every command can rely on."""
    if sys.stdout is None:  # started with `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - stays open to the end
    # A terminal without UTF-8 shows a question mark instead of ending the program.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logfile.start()


def _run(arguments: list[str]) -> int:
    """Do what `cli.main` does, but for a broken pipe, which that takes for a failure."""
    try:
        with cli.make_context("sessionbell", arguments) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        _drop_output()
        return 0
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return 0  # rich met the broken pipe, and has dropped the rest
    except OSError as error:
        _drop_output()
        parts = (error.filename, error.strerror)
        said = ": ".join(str(part) for part in parts if part is not None) or str(error)
        click.echo(f"sessionbell: {said}", err=True)
        return 1
    return int(code or 0)


def _drop_output() -> None:
    """See that what is still buffered does not fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

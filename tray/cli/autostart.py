"""`sessionbell autostart`: whether the tray starts at login."""

from __future__ import annotations

import click

from tray.cli.options import examples, json_option


@click.command(
    epilog=examples(
        "sessionbell autostart on", "sessionbell autostart status", "sessionbell autostart off"
    )
)
@click.argument("what", type=click.Choice(("on", "off", "status")), metavar="on|off|status")
@click.option("--force", is_flag=True, help="Replace an entry that sessionbell did not write.")
@json_option
def autostart(*, what: str, force: bool, as_json: bool) -> int:
    """Start the tray at login, or say whether it does.

    Writes an entry into the desktop's autostart folder, where the desktop's own settings show
    it too. At login it waits for the tray and the bus to come up. Where systemd starts the
    programs of a session, the user unit sessionbell.service is the alternative: use one of the
    two.
    """
    from tray.desktop.autostart import AutostartError, Start, current, switch

    try:
        found = current() if what == "status" else switch(on=what == "on", force=force)
    except AutostartError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        from tray.cli import contract

        told = {
            "state": found.state.value,
            "file": _unicode(found.file),
            "command": None if found.command is None else list(map(_unicode, found.command)),
            "reason": _unicode(found.reason),
        }
        click.echo(contract.document(told), nl=False)
    else:
        click.echo(_told(found.state, found.file, found.command, found.reason))
    if found.state is Start.BROKEN:
        click.echo("To write the entry anew, run: sessionbell autostart on", err=True)
        return 1
    return 0


def _unicode(text: str | None) -> str | None:
    """Return what JSON can say of a path, whose bytes may be anything."""
    return text if text is None else text.encode("utf-8", "replace").decode()


def _told(state: str, file: str | None, command: tuple[str, ...] | None, reason: str | None) -> str:
    from tray.untrusted import one_line

    lines = [f"{state}: {one_line(reason, 500)}" if reason else str(state)]
    if file is not None:
        lines.append(f"  file     {one_line(file, 500)}")
    if command:
        lines.append(f"  command  {one_line(' '.join(command), 500)}")
    return "\n".join(lines)

"""`sessionbell config`: where the settings are, what holds, and what is wrong with them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from tray import configfile
from tray.cli.options import examples

if TYPE_CHECKING:
    from tray.config import Settings


@click.group(
    epilog=examples(
        "sessionbell config init      write the file, every setting explained",
        "sessionbell config check     is anything wrong with it?",
        "sessionbell config set remind_after 10",
    )
)
def config() -> None:
    """Look at the settings and change them. None is needed: without a file the defaults hold."""


@config.command(epilog=examples('"$EDITOR" "$(sessionbell config path)"'))
def path() -> None:
    """Print where the settings file is, whether it exists or not."""
    click.echo(configfile.default_path())


@config.command(
    epilog=examples("sessionbell config show", "sessionbell config show --default > config.toml")
)
@click.option("--default", is_flag=True, help="Print the defaults with what each setting means.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts, in a stable form.")
def show(*, default: bool, as_json: bool) -> None:
    """Print the settings that hold now."""
    from tray.config import Settings
    from tray.configtext import default_text

    if default and not as_json:
        click.echo(default_text(), nl=False)
        return
    import msgspec

    values = msgspec.to_builtins(Settings() if default else _load())
    if as_json:
        click.echo(json.dumps(values, indent=2))
        return
    import tomlkit

    click.echo(tomlkit.dumps(values), nl=False)


@config.command(epilog=examples("sessionbell config check", "sessionbell config check new.toml"))
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
def check(file: str | None) -> int:
    """Say whether a settings file can be used, and what is wrong with it if it cannot."""
    found = file or configfile.default_path()
    try:
        configfile.load(found)
    except configfile.ConfigError as error:
        click.echo(error.located(found), err=True)
        return 1
    if os.path.exists(found):
        click.echo(f"{found}: all is well")
    else:
        click.echo(f"{found}: there is none, so the defaults hold (`sessionbell config init`)")
    return 0


@config.command(epilog=examples("sessionbell config init"))
def init() -> None:
    """Write the settings file with every setting explained; an existing one is left alone."""
    from tray import configedit

    try:
        click.echo(configedit.create())
    except FileExistsError as error:
        raise click.ClickException(f"{error} exists already and was left as it is") from None
    except configfile.ConfigError as error:
        raise click.ClickException(str(error)) from None


@config.command(
    "set",
    # A number below zero is a value, not an option.
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "sessionbell config set show_details false",
        "sessionbell config set alerts.permission.sound message-new-instant",
        "sessionbell config set projects.mute '[\"~/play/*\"]'",
        "sessionbell config set quiet_hours.from 22:00 quiet_hours.to 07:30",
    ),
)
@click.argument("pairs", nargs=-1, required=True, metavar="KEY VALUE [KEY VALUE]...")
def set_value(pairs: tuple[str, ...]) -> None:
    """Set each KEY to its VALUE in the file, keeping its comments; VALUE is TOML, or a bare text.

    All are set together, or none.
    """
    from tray import configedit

    if len(pairs) % 2:
        raise click.UsageError(f"{pairs[-1]!r} has no VALUE: name a KEY and a VALUE each time")
    values = {key: _value(value) for key, value in zip(pairs[::2], pairs[1::2], strict=True)}
    try:
        configedit.change(values)
    except configfile.ConfigError as error:
        raise click.ClickException(f"{error}; nothing was changed") from None


def _value(text: str) -> bool | float | str | list[str]:
    import tomllib

    try:
        value: bool | float | str | list[str] = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, KeyError, RecursionError):
        return text
    return value


def _load() -> Settings:
    try:
        return configfile.load()
    except configfile.ConfigError as error:
        raise click.ClickException(error.located(configfile.default_path())) from None

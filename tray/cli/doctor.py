"""`sessionbell doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TYPE_CHECKING

import click

from tray.cli.options import chosen_roots, examples, json_option, no_color_option, roots_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tray.desktop.doctor.check import Given
    from tray.desktop.doctor.examination import Section
    from tray.desktop.doctor.finding import Finding

SCHEMA = 1
"""Of `--json`: raised only if a field's meaning changes."""
WIDTH = 80
"""Columns at most."""
_NARROWEST = 40
_MARKS = {
    "ok": ("ok", "green"),
    "note": ("note", "cyan"),
    "warning": ("warn", "yellow"),
    "broken": ("FAIL", "red"),
}
"""What stands before a finding, which says the same without its colour."""
_INDENT = " " * 7


@click.command(
    epilog=examples(
        "sessionbell doctor",
        "sessionbell doctor --notify    send a test notification, too",
        "sessionbell doctor --json | jq '.findings[] | select(.status != \"ok\")'",
    )
)
@click.option(
    "--notify", is_flag=True, help="Send a test notification and wait 10 s for a click on it."
)
@json_option
@no_color_option
@roots_option
def doctor(*, notify: bool, as_json: bool, no_color: bool, roots: Sequence[str]) -> int:
    """Say what works here, what does not, and what to do about it.

    Looks at the bus, the tray, the notification server, Claude Code's folders and sessions,
    and at sessionbell's own files. It changes nothing. Exit code 1: something is broken.
    """
    from tray.desktop.doctor.examination import Section, examine

    sections = examine(_given(roots))
    colored = not (no_color or as_json or os.environ.get("NO_COLOR"))
    width = max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))
    if not as_json:
        for section in sections:
            _show(section, width, colored=colored)
    if notify:
        from tray.desktop.doctor.trial import WAIT, trial

        if not as_json:
            click.echo("Sending a test notification.")
        waits = f"It was accepted. Click on it: waiting for {WAIT:g} s."
        found = trial(accepted=lambda: None if as_json else click.echo(waits))
        tried = Section("trial", "Test notification", (found,))
        sections = (*sections, tried)
        if not as_json:
            click.echo()
            _show(tried, width, colored=colored)
    if as_json:
        click.echo(document(sections), nl=False)
    else:
        click.echo(summary(sections))
    return int(any(one.status == "broken" for part in sections for one in part.findings))


def document(sections: Sequence[Section]) -> bytes:
    """Return what `--json` prints."""
    import msgspec
    import orjson

    from tray import __version__

    told = {
        "schema": SCHEMA,
        "version": __version__,
        "findings": [
            {"check": section.name, **_unicode(msgspec.to_builtins(finding))}
            for section in sections
            for finding in section.findings
        ],
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def summary(sections: Sequence[Section]) -> str:
    """Return the last line for a person."""
    every = [finding.status for section in sections for finding in section.findings]
    counts = [
        f"{every.count(status)} {word}"  # type: ignore[arg-type]  # a StrEnum is its text
        for status, word in (("broken", "broken"), ("warning", "with a warning"), ("note", "noted"))
        if status in every
    ]
    return f"{', '.join(counts)}, {every.count('ok')} in order." if counts else "All is in order."  # type: ignore[arg-type]


def lines(finding: Finding, width: int) -> Iterator[str]:
    """Write a finding for a person; the mark in front of the first line is left blank."""
    yield from _wrapped(finding.what, width, _INDENT) or [_INDENT]
    if finding.cause is not None:
        yield from _wrapped(finding.cause, width, _label("why"))
    if finding.consequence is not None:
        yield from _wrapped(finding.consequence, width, _label("so"))
    if finding.remedy is None:
        return
    if finding.command:
        yield from _command(finding.remedy, width)
    else:
        yield from _wrapped(finding.remedy, width, _label("do"))


def _label(name: str) -> str:
    return f"{_INDENT}{name}:".ljust(len(_INDENT) + 5)


def _wrapped(text: str, width: int, first: str) -> list[str]:
    # A path that was broken at a hyphen could not be copied.
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )


def _command(command: str, width: int) -> Iterator[str]:
    """Write a command so that it can be copied even where it takes several lines."""
    first = _label("run")
    if len(first) + len(command) <= width:
        yield first + command
        return
    parts = textwrap.wrap(
        command,
        width - len(first) - 2,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for number, part in enumerate(parts):
        end = " \\" if number < len(parts) - 1 else ""
        yield (first if number == 0 else " " * len(first)) + part + end


def _show(section: Section, width: int, *, colored: bool) -> None:
    if not section.findings:
        return

    def styled(text: str, **style: object) -> str:
        return click.style(text, **style) if colored else text  # type: ignore[arg-type]

    click.echo(styled(section.title, bold=True))
    for finding in section.findings:
        mark, color = _MARKS[finding.status]
        first, *rest = lines(finding, width)
        click.echo(f"  {styled(mark.ljust(5), fg=color)}{first[len(_INDENT) :]}")
        for line in rest:
            click.echo(line)
    click.echo()


def _given(roots: Sequence[str]) -> Given:
    from tray.cli import logfile
    from tray.cli.lock import runtime_folder
    from tray.desktop.doctor.check import Given
    from tray.desktop.guide import find_way

    try:
        lock = os.path.join(runtime_folder(os.environ), "sessionbell.lock")
    except OSError:
        lock = None
    return Given(
        environ=os.environ,
        home=os.path.expanduser("~"),
        lock_file=lock,
        log_file=str(logfile.default_path()),
        roots=chosen_roots(roots),
        find_way=find_way,
    )


def _unicode(found: dict[str, object]) -> dict[str, object]:
    """Return what JSON can say: a path's bytes may be anything."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in found.items()
    }

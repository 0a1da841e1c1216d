"""Every message of every check: complete, one of a kind, and fit for a terminal."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tray.cli.doctor import WIDTH, lines
from tray.desktop import doctor
from tray.desktop.doctor.finding import Message, Status

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.iter_modules(doctor.__path__, f"{doctor.__name__}.")
]


def messages() -> list[Message]:
    """All there are, wherever they stand in a module."""
    found: dict[int, Message] = {}
    for module in MODULES:
        for value in vars(module).values():
            one = getattr(value, "missing", value)
            for each in [one, *[d.missing for d in getattr(module, "DESKTOPS", {}).values()]]:
                if isinstance(each, Message):
                    found[id(each)] = each
    return list(found.values())


ALL = messages()
PROBLEMS = [message for message in ALL if message.status is not Status.OK]


def names(*templates: str) -> set[str]:
    return {
        field for text in templates for _, field, _, _ in string.Formatter().parse(text) if field
    }


def filled(message: Message) -> dict[str, str]:
    given = names(message.what, message.cause, message.consequence, message.run, message.do)
    return {name: f"<{name}>" for name in given}


def test_every_check_has_its_messages() -> None:
    assert len(ALL) > 60
    assert {"bus-unreachable", "tray-missing-gnome", "log", "trial-refused"} <= {
        message.code for message in ALL
    }


def test_no_two_messages_have_one_code() -> None:
    codes = [message.code for message in ALL]
    assert sorted(codes) == sorted(set(codes))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in codes)


@pytest.mark.parametrize("message", PROBLEMS, ids=lambda message: message.code)
def test_whatever_is_not_in_order_has_cause_consequence_and_one_remedy(message: Message) -> None:
    found = message.found(**filled(message))
    assert found.what
    assert found.cause
    assert found.consequence
    assert bool(message.run) is not bool(message.do)
    assert found.remedy
    assert found.command is bool(message.run)
    if message.run and not message.run.startswith("{"):
        # One command, of a program: no list of steps.
        shell = message.run.removesuffix(" &")
        assert ";" not in shell
        assert "&&" not in shell
        assert re.fullmatch(r"[a-z][a-z0-9-]*", shlex.split(shell)[0])


@pytest.mark.parametrize(
    "message", [one for one in ALL if one.status is Status.OK], ids=lambda message: message.code
)
def test_what_is_in_order_asks_for_nothing(message: Message) -> None:
    found = message.found(**filled(message))
    assert (found.cause, found.consequence, found.remedy) == (None, None, None)


@pytest.mark.parametrize("message", ALL, ids=lambda message: message.code)
def test_it_fits_a_terminal_of_80_columns(message: Message) -> None:
    for line in lines(message.found(**filled(message)), WIDTH):
        assert len(line) <= WIDTH


def test_a_long_command_can_still_be_copied() -> None:
    message = Message("x", Status.NOTE, "w", "c", "q", run="tail -n 20 {one} {two}")
    found = message.found(one="/a/" + "b" * 40, two="/c/" + "d" * 40)
    printed = [line for line in lines(found, WIDTH) if "run:" in line or line.startswith(" " * 12)]
    assert len(printed) > 1
    assert all(len(line) <= WIDTH for line in printed)
    command = "\n".join(printed).partition("run:")[2].replace("\\\n", " ")
    assert shlex.split(command) == shlex.split(found.remedy)


@given(st.text())
def test_what_is_filled_in_is_plain_text(text: str) -> None:
    found = Message("x", Status.OK, "a{value}b").found(value=text)
    assert found.what[0] + found.what[-1] == "ab"
    assert found.what.isprintable()


def test_braces_in_what_is_filled_in_mean_nothing() -> None:
    assert Message("x", Status.OK, "{one}").found(one="{two} {0!r}").what == "{two} {0!r}"

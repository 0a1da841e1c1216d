"""Finding the config roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tray.claude.roots import ENVIRONMENT, config_roots, root_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_places_where_clients_keep_their_files(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert config_roots(home, {}) == (f"{home}/.claude", f"{home}/.config/claude")
    environ = {"XDG_CONFIG_HOME": f"{home}/xdg", "CLAUDE_CONFIG_DIR": f"{home}/mine"}
    assert config_roots(home, environ, [f"{home}/theirs"]) == (
        f"{home}/.claude",
        f"{home}/xdg/claude",
        f"{home}/mine",
        f"{home}/theirs",
    )


def test_a_root_is_named_once_whatever_links_lead_to_it(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude"
    real.mkdir(parents=True)
    (tmp_path / ".claude").symlink_to(real)
    named = [f"{tmp_path}/.claude/", f"{tmp_path}/dotfiles/../dotfiles/claude", str(real)]
    assert config_roots(str(tmp_path), {"CLAUDE_CONFIG_DIR": str(real)}, named) == (
        str(real),
        f"{tmp_path}/.config/claude",
    )


@pytest.mark.parametrize("value", ["", "relative", "~/.claude", "/nul\0", "./"])
def test_what_is_no_absolute_path_is_no_root(tmp_path: Path, value: str) -> None:
    environ = {"CLAUDE_CONFIG_DIR": value, "XDG_CONFIG_HOME": value}
    assert config_roots(str(tmp_path), environ, [value]) == config_roots(str(tmp_path), {})


def test_a_link_that_leads_in_a_circle_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / ".claude").symlink_to(tmp_path / ".claude")
    assert len(config_roots(str(tmp_path), {})) == 2


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}, "/c"),
        ({"CLAUDE_CONFIG_DIR": "", "HOME": "/h"}, "/h/.claude"),
        ({"HOME": "/h"}, "/h/.claude"),
        ({"HOME": "h"}, None),
        ({"CLAUDE_CONFIG_DIR": "c", "HOME": "/h"}, None),
        ({"CLAUDE_CONFIG_DIR": "/nul\0"}, None),
        ({}, None),
    ],
)
def test_the_root_of_a_client(environment: dict[str, str], expected: str | None) -> None:
    assert root_of(environment) == expected
    assert environment.keys() <= ENVIRONMENT

"""The fixtures of the tests on a real desktop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.desktop import xfce

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def xfce_desktop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xfce.Xfce]:
    """An XFCE desktop for all tests of a module; start its notification daemon yourself."""
    absent = xfce.missing()
    if absent is not None:
        pytest.skip(absent)
    started = xfce.Xfce(tmp_path_factory.mktemp("xfce")).start()
    yield started
    started.stop()


@pytest.fixture
def desktop(xfce_desktop: xfce.Xfce, monkeypatch: pytest.MonkeyPatch) -> Iterator[xfce.Xfce]:
    """The module's XFCE desktop, to which this process belongs for one test."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", xfce_desktop.bus_address)
    monkeypatch.setenv("DISPLAY", xfce_desktop.display)
    yield xfce_desktop
    xfce_desktop.close_menus()

"""What doctor finds on a real desktop, and that doing what it says helps."""

from __future__ import annotations

import shlex
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.xfce import NOTIFYD_SERVICE, SERVICES
from tray.desktop.doctor import notifications, tray_host, trial
from tray.desktop.doctor.check import Given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.desktop.xfce import Box, Xfce
    from tray.desktop.doctor.finding import Finding


@pytest.fixture
def given(desktop: Xfce, tmp_path: Path) -> Given:
    environ = {**desktop.environment, "XDG_CURRENT_DESKTOP": "XFCE"}
    return Given(environ, str(tmp_path), None, str(tmp_path / "log"), ())


@pytest.fixture
def notifyd(desktop: Xfce) -> Iterator[Xfce]:
    if not (SERVICES / NOTIFYD_SERVICE).is_file():
        pytest.skip("xfce4-notifyd is not installed")
    desktop.start_notification_daemon()
    yield desktop
    desktop.kill_notification_daemon()


def tray(given: Given) -> Finding:
    (found,) = tray_host.findings(tray_host.gather(given))
    return found


def test_the_panels_tray_is_found(given: Given) -> None:
    wait_until(lambda: tray(given).code == "tray-host", within=10, what="the panel's tray")
    assert "systray shows tray icons" in tray(given).what


def test_the_notification_server_is_found(notifyd: Xfce, given: Given) -> None:
    facts = notifications.gather(given)
    assert facts.name == "Xfce Notify Daemon"
    assert {"actions", "body", "body-markup"} <= facts.features
    assert notifications.findings(facts)[0].code == "notifications"


def test_do_not_disturb_is_told(notifyd: Xfce, given: Given) -> None:
    setting = ["xfconf-query", "-c", "xfce4-notifyd", "-p", "/do-not-disturb"]
    subprocess.run(
        [*setting, "-n", "-t", "bool", "-s", "true"], env=notifyd.environment, check=True
    )
    try:
        found = [one.code for one in notifications.findings(notifications.gather(given))]
    finally:
        subprocess.run([*setting, "-r"], env=notifyd.environment, check=True)
    assert "notifications-inhibited" in found


@pytest.mark.parametrize(
    ("place", "code"),
    [
        (lambda box: (box.x + box.width - 56, box.y + box.height - 32), "trial-pressed"),
        (lambda box: (box.x + 150, box.y + 20), "trial-dismissed"),
    ],
    ids=["button", "body"],
)
def test_a_click_on_the_test_notification_comes_back(
    notifyd: Xfce, place: Callable[[Box], tuple[int, int]], code: str
) -> None:
    found: list[Finding] = []
    asking = threading.Thread(target=lambda: found.append(trial.trial(wait=30.0)))
    asking.start()
    wait_until(notifyd.bubbles, within=10, what="the test notification")
    notifyd.steady_screenshot()
    notifyd.click(*place(notifyd.bubbles()[0].box))
    asking.join()
    assert [one.code for one in found] == [code]
    wait_until(lambda: not notifyd.bubbles(), what="it is gone")


def test_what_it_says_brings_the_tray_back(desktop: Xfce, given: Given) -> None:
    panel = ["xfconf-query", "-c", "xfce4-panel"]
    plugins = [*panel, "-p", "/panels/panel-1/plugin-ids"]

    def run(argv: list[str]) -> None:
        subprocess.run(argv, env=desktop.environment, check=True, capture_output=True)

    desktop.kill_panel()
    run([*plugins, "-r"])
    run([*panel, "-p", "/plugins/plugin-7", "-n", "-t", "string", "-s", "separator"])
    run([*plugins, "-n", "-a", "-t", "int", "-s", "7"])
    desktop.start_panel()
    missing = wait_until(
        lambda: (found := tray(given)).code == "tray-missing-xfce" and found, what="no tray"
    )
    run(shlex.split(missing.remedy))
    wait_until(lambda: tray(given).code == "tray-host", within=15, what="the tray is back")

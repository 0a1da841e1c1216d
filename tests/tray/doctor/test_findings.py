"""What the facts of each check come to: tables, without any of the things themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tray import __version__
from tray.desktop.autostart import Start
from tray.desktop.autostart import Status as Entry
from tray.desktop.doctor import (
    autostart,
    config_roots,
    files,
    inotify,
    installation,
    log_file,
    notifications,
    running,
    session_bus,
    sessions,
    terminal,
    tray_host,
    trays,
    trial,
)
from tray.desktop.doctor.distribution import install, parse
from tray.desktop.doctor.health import Health, decode, encode
from tray.session import Kind, Observation, Problem, Source, State

if TYPE_CHECKING:
    from tray.desktop.doctor.finding import Finding


def codes(found: tuple[Finding, ...]) -> list[str]:
    return [one.code for one in found]


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (session_bus.Facts("unix:path=/x", None, False, True), "bus-reached"),
        (session_bus.Facts(None, "gone", False, True), "bus-unreachable"),
        (session_bus.Facts(None, "gone", False, False), "bus-none-here"),
        (session_bus.Facts("unix:path=/x", None, True, True), "bus-hangs"),
    ],
)
def test_the_bus(facts: session_bus.Facts, code: str) -> None:
    assert codes(session_bus.findings(facts)) == [code]


@pytest.mark.parametrize(
    ("current", "code"),
    [
        ("GNOME", "tray-missing-gnome"),
        ("ubuntu:GNOME", "tray-missing-gnome"),
        ("Budgie:GNOME", "tray-missing-budgie"),
        ("Budgie", "tray-missing-budgie"),
        ("KDE", "tray-missing-kde"),
        ("XFCE", "tray-missing-xfce"),
        ("LXQt", "tray-missing-lxqt"),
        ("MATE", "tray-missing-mate"),
        ("X-Cinnamon", "tray-missing-cinnamon"),
        ("COSMIC", "tray-missing-cosmic"),
        ("sway", "tray-missing-sway"),
        ("Hyprland", "tray-missing-hyprland"),
        ("niri", "tray-missing-niri"),
        ("labwc:wlroots", "tray-missing-wlroots"),
        ("i3", "tray-missing-i3"),
        ("Enlightenment", "tray-missing"),
        ("", "tray-missing"),
    ],
)
def test_each_desktop_has_its_own_way_to_a_tray(current: str, code: str) -> None:
    facts = tray_host.Facts(reached=True, graphical=True, current=current)
    assert codes(tray_host.findings(facts)) == [code]


def test_the_way_to_a_tray_is_named_for_the_distribution() -> None:
    def remedy(current: str, family: str) -> str:
        facts = tray_host.Facts(True, True, current=current, families=(family,))
        return tray_host.findings(facts)[0].remedy

    package = "gnome-shell-extension-appindicator"
    assert f"sudo apt install {package}" in remedy("GNOME", "ubuntu")
    assert f"sudo dnf install {package}" in remedy("GNOME", "fedora")
    assert f"sudo pacman -S {package}" in remedy("GNOME", "arch")
    assert "sudo pacman -S waybar" in remedy("Hyprland", "arch")


def test_an_extension_that_is_installed_is_turned_on() -> None:
    extension = trays.GNOME_EXTENSIONS[0]
    facts = tray_host.Facts(True, True, current="GNOME", extension=extension)
    (found,) = tray_host.findings(facts)
    assert (found.remedy, found.command) == (f"gnome-extensions enable {extension}", True)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"owned": True, "host": True}, "tray-host"),
        ({"owned": True, "host": False}, "tray-host-unregistered"),
        ({"owned": True, "host": None}, "tray-host-hangs"),
        ({"graphical": False}, "tray-host-none-here"),
        ({"reached": False}, None),
    ],
)
def test_the_tray(more: dict[str, object], code: str | None) -> None:
    facts = tray_host.Facts(**{"reached": True, "graphical": True, "current": "XFCE", **more})
    assert codes(tray_host.findings(facts)) == ([code] if code else [])


def test_the_environment_tells_a_desktop_that_names_itself_nowhere() -> None:
    assert tray_host.current_desktop({"SWAYSOCK": "/x"}) == "sway"
    assert tray_host.current_desktop({"XDG_CURRENT_DESKTOP": "KDE", "SWAYSOCK": "/x"}) == "KDE"


FULL = frozenset({"actions", "body", "body-markup", "persistence"})


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"owned": True}, [""]),
        ({"owned": True, "inhibited": True}, ["", "-inhibited"]),
        ({"owned": True, "features": FULL - {"actions"}}, ["", "-without-actions"]),
        ({"owned": True, "features": FULL - {"persistence"}}, ["", "-without-persistence"]),
        ({"owned": True, "features": FULL - {"body"}}, ["", "-without-body"]),
        ({"owned": True, "hangs": True}, ["-hang"]),
        ({"startable": True}, ["-startable"]),
        ({}, ["-absent"]),
        ({"graphical": False}, ["-none-here"]),
        ({"reached": False}, []),
    ],
)
def test_the_notification_server(more: dict[str, object], found: list[str]) -> None:
    plain = {"reached": True, "graphical": True, "features": FULL}
    facts = notifications.Facts(**{**plain, **more})
    assert codes(notifications.findings(facts)) == [f"notifications{end}" for end in found]


WELL = Health(__version__, 7, 0.0, surveyed_ago=1.0, sessions=3)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (running.Facts(), ["tray-not-running"]),
        (running.Facts(holder=7), ["tray-runs"]),
        (running.Facts(holder=7, bus=True), ["tray-not-on-bus"]),
        (running.Facts(7, 7, True, __version__), ["tray-runs"]),
        (running.Facts(7, 7, True, __version__, health=WELL), ["tray-runs", "tray-well"]),
        (running.Facts(7, 7, True, "0.0", health=None), ["tray-runs", "tray-outdated"]),
        (running.Facts(7, 7, True, None, hangs=True), ["tray-hangs"]),
        (
            running.Facts(7, 7, True, __version__, health=Health(__version__, 7, 0.0, 60.0)),
            ["tray-runs", "tray-stalled"],
        ),
        (
            running.Facts(
                7,
                7,
                True,
                __version__,
                health=Health(
                    __version__, 7, 0.0, 1.0, restarts=2, problems=(Problem("no-bus", "x"),)
                ),
            ),
            ["tray-runs", "tray-threads-restarted", "tray-complains"],
        ),
    ],
)
def test_the_running_tray(facts: running.Facts, found: list[str]) -> None:
    assert codes(running.findings(facts)) == found


def test_health_is_read_as_it_was_told() -> None:
    assert decode(encode(WELL)) == WELL
    assert decode('{"version": "9", "pid": 1, "started": 1, "new": {}}').version == "9"
    assert decode("[]") is None
    assert decode("\ud800") is None


@pytest.mark.parametrize(
    ("facts", "code", "remedy"),
    [
        (Entry(Start.ON, "/f"), "autostart-on", None),
        (Entry(Start.OFF), "autostart-off", "sessionbell autostart on"),
        (Entry(Start.BROKEN, "/f", ours=True), "autostart-broken", "sessionbell autostart on"),
        (Entry(Start.BROKEN, "/f"), "autostart-broken", "sessionbell autostart on --force"),
    ],
)
def test_the_start_at_login(facts: Entry, code: str, remedy: str | None) -> None:
    (found,) = autostart.findings(facts)
    assert (found.code, found.remedy) == (code, remedy)


def test_the_folders_of_claude_code() -> None:
    Root = config_roots.Root  # noqa: N806
    facts = config_roots.Facts(
        (Root("/a", "/a", 2), Root("/b", "/c", 0), Root("/d", "/d"), Root("/e", "/e", error="no")),
        (),
    )
    assert codes(config_roots.findings(facts)) == [
        "config-root",
        "config-root-linked",
        "config-root-without-sessions",
        "config-root-unreadable",
    ]
    assert codes(config_roots.findings(config_roots.Facts((), ("/a",)))) == ["config-root-none"]


def session(**more: object) -> Observation:
    return Observation(
        **{
            "key": "7:1",
            "state": State.IDLE,
            "pid": 7,
            "project": "shop",
            "version": "2.1.80",
            **more,
        }
    )


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (session(source=Source.REGISTRY, version="2.1.119"), "session-tells"),
        (session(), "session-silent-old"),
        (session(version="2.1.118"), "session-silent-old"),
        (session(version="2.1.119"), "session-silent"),
        (session(version=None), "session-silent"),
        (session(version="2.2.0", entrypoint="claude-vscode"), "session-silent-embedded"),
        (session(version="2.2.0", kind=Kind.HEADLESS), "session-headless"),
        (session(state=State.ENDED), "sessions-none"),
    ],
)
def test_which_sessions_tell_their_status(seen: Observation, code: str) -> None:
    assert codes(sessions.findings(sessions.Facts((seen,)))) == [code]


def test_a_stopped_session_still_has_its_status() -> None:
    seen = session(version="2.2.0", detail="suspended")
    facts = sessions.Facts((seen,), published=frozenset({seen.key}))
    assert codes(sessions.findings(facts)) == ["session-tells"]


def test_a_session_is_named_without_its_contents() -> None:
    seen = session(title="SECRET", name="SECRET", preview="SECRET", detail="SECRET",
                   source=Source.TRANSCRIPT)  # fmt: skip
    (found,) = sessions.findings(sessions.Facts((seen,)))
    assert "SECRET" not in repr(found)
    assert "shop (7)" in found.what


def test_what_could_not_be_read_is_broken() -> None:
    facts = sessions.Facts((), (Problem("unreadable", "no"),))
    assert [one.status for one in sessions.findings(facts)] == ["broken"]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"opened": "foot"}, ["terminal"]),
        ({"opened": "foot", "chosen": "foot", "chosen_path": "/foot"}, ["terminal"]),
        ({"opened": "gone", "chosen": "gone"}, ["terminal-gone"]),
        ({"opened": "foot", "named": "foot", "named_path": "/foot"}, ["terminal"]),
        ({"opened": "xterm", "named": "gone"}, ["terminal-gone", "terminal"]),
        ({}, ["terminal-none"]),
        ({"graphical": False}, []),
    ],
)
def test_the_terminal_that_is_opened(more: dict[str, object], found: list[str]) -> None:
    facts = terminal.Facts(**{"graphical": True, **more})
    assert codes(terminal.findings(facts)) == found


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (None, "inotify"),
        (Problem("inotify-watches", ""), "inotify-watches"),
        (Problem("inotify-instances", ""), "inotify-instances"),
        (Problem("inotify", "no"), "inotify-fails"),
    ],
)
def test_inotify(problem: Problem | None, code: str) -> None:
    facts = inotify.Facts(8192, 128, "/f", problem)
    assert codes(inotify.findings(facts)) == [code]


def test_a_network_folder_is_told() -> None:
    found = inotify.findings(inotify.Facts(1, 1, "/f", network="nfs4"))
    assert codes(found) == ["inotify", "inotify-network"]


def test_the_log() -> None:
    def code(**facts: object) -> str:
        return log_file.findings(
            log_file.Facts(**{"path": "/l", "size": 9, "writable": True, **facts})
        )[0].code

    assert code() == "log-quiet"
    assert code(size=None) == "log"
    assert code(recent=2) == "log-warnings"
    assert code(writable=False) == "log-unwritable"


def test_the_settings_and_mutes() -> None:
    def found(**more: object) -> list[str]:
        plain = {"config_path": "/c", "config": True, "config_error": None}
        plain |= {"mutes_path": "/m", "mutes": 0}
        return codes(files.findings(files.Facts(**{**plain, **more})))

    assert found() == ["config", "mutes-none"]
    assert found(config=False, mutes=2) == ["config-none", "mutes"]
    assert found(config_error="line 3: x", mutes=None) == ["config-broken", "mutes-broken"]


def test_the_surroundings() -> None:
    def found(**more: object) -> list[str]:
        plain = {
            "packages": {},
            "kind": "x11",
            "desktop": "XFCE",
            "runtime": "/run/user/1",
            "runtime_usable": True,
            "flatpak": False,
            "container": None,
            "ssh": False,
        }
        return codes(installation.findings(installation.Facts(**{**plain, **more})))[2:]

    assert found() == []
    assert found(runtime=None, runtime_usable=False) == ["runtime-dir-missing"]
    assert found(flatpak=True, container="docker") == ["sandbox-flatpak"]
    assert found(container="docker", ssh=True) == ["container", "ssh"]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (trial.Outcome(3.0, clicked=True, reason=2), "trial-clicked"),
        (trial.Outcome(3.0, pressed=True), "trial-pressed"),
        (trial.Outcome(10.0), "trial-untouched"),
        (trial.Outcome(1.0, gone=True), "trial-server-ended"),
        (trial.Outcome(3.0, reason=2), "trial-dismissed"),
        (trial.Outcome(0.1, reason=4), "trial-closed-early"),
        (trial.Outcome(5.0, reason=1), "trial-expired"),
    ],
)
def test_what_became_of_the_test_notification(outcome: trial.Outcome, code: str) -> None:
    assert trial.finding(outcome).code == code


@pytest.mark.parametrize(
    ("text", "families"),
    [
        ("ID=ubuntu\nID_LIKE=debian\n", ("ubuntu", "debian")),
        ('NAME=x\nID="opensuse-leap"\nID_LIKE="suse x"', ("opensuse-leap", "suse", "x")),
        ('ID="torn', ()),
        ("", ()),
    ],
)  # fmt: skip
def test_the_distribution_names_itself(text: str, families: tuple[str, ...]) -> None:
    assert parse(text) == families


def test_an_unknown_distribution_gets_the_debian_command() -> None:
    assert install((), {"": "waybar"}) == "sudo apt install waybar"
    assert install(("mint", "ubuntu"), {"": "a", "debian": "b"}) == "sudo apt install b"

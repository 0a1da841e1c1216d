"""Do not disturb, as each notification server says it."""

from __future__ import annotations

import os

import pytest
from dbus_fast import Variant

from tests.tray.person.desktop_service import until
from tray.desktop.person import inhibited

pytestmark = pytest.mark.asyncio

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
XFCONF = "org.xfce.Xfconf"


def server(service, name):
    service.answer(PATH, "GetServerInformation", "ssss", name, "vendor", "1.0", "1.2")
    return service


@pytest.mark.parametrize(
    ("name", "interface", "member"),
    [
        pytest.param("Plasma", NAME, "Inhibited", id="kde"),
        pytest.param("anything", NAME, "Inhibited", id="another"),
        pytest.param("dunst", "org.dunstproject.cmd0", "paused", id="dunst"),
    ],
)
async def test_a_property_of_the_server_is_followed(name, interface, member, on_session, followed):
    server(on_session, name).properties[PATH, interface] = {member: Variant("b", True)}
    await on_session.appear(NAME)
    person = await followed.start()
    await until(lambda: person.inhibited)
    on_session.change(PATH, interface, **{member: Variant("b", False)})
    await until(lambda: not person.inhibited)
    on_session.change(PATH, interface, **{member: Variant("b", True)})
    await until(lambda: person.inhibited)
    on_session.vanish()
    await until(lambda: not person.inhibited)
    assert not person.away


async def test_a_server_that_says_no_more_is_not_taken_at_its_old_word(on_session, followed):
    server(on_session, "Plasma").properties[PATH, NAME] = {"Inhibited": Variant("b", True)}
    await on_session.appear(NAME)
    person = await followed.start()
    await until(lambda: person.inhibited)
    on_session.properties.clear()
    on_session.change(PATH, "org.example.Another")
    await until(lambda: not person.inhibited)


async def test_the_setting_of_xfce_is_followed(on_session, followed):
    server(on_session, "Xfce Notify Daemon")
    await on_session.appear(NAME, XFCONF)
    person = await followed.start()
    await until(lambda: on_session.called("GetProperty"))
    assert on_session.called("GetProperty")[0].body == ["xfce4-notifyd", "/do-not-disturb"]
    on_session.answer("/org/xfce/Xfconf", "GetProperty", "v", Variant("b", True))
    on_session.emit(
        "/org/xfce/Xfconf", XFCONF, "PropertyChanged", "ssv",
        "xfce4-notifyd", "/do-not-disturb", Variant("b", True),
    )  # fmt: skip
    await until(lambda: person.inhibited)
    on_session.answers["/org/xfce/Xfconf", "GetProperty"] = f"{XFCONF}.Error.PropertyNotFound"
    on_session.emit(
        "/org/xfce/Xfconf", XFCONF, "PropertyRemoved", "ss", "xfce4-notifyd", "/do-not-disturb"
    )
    await until(lambda: not person.inhibited)


async def test_other_settings_of_xfce_are_not_even_heard(on_session, followed):
    server(on_session, "Xfce Notify Daemon")
    await on_session.appear(NAME, XFCONF)
    person = await followed.start()
    await until(lambda: len(on_session.called("GetProperty")) == 1)
    on_session.answer("/org/xfce/Xfconf", "GetProperty", "v", Variant("b", True))
    for channel, setting in (("xfwm4", "/do-not-disturb"), ("xfce4-notifyd", "/theme")):
        on_session.emit(
            "/org/xfce/Xfconf", XFCONF, "PropertyChanged", "ssv", channel, setting,
            Variant("b", True),
        )  # fmt: skip
    # Emitted, heard, and asked about, if it were.
    for bus in (on_session.bus, person._session._bus, person._session._bus, on_session.bus):
        await bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")
    assert len(on_session.called("GetServerInformation")) == 1
    assert not person.inhibited


@pytest.fixture
def gsettings(tmp_path, monkeypatch):
    """A stand-in of gsettings that prints what it is told to, or hangs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "gsettings"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def prints(text):
        action = "exec sleep 60" if text is None else f"printf '%s\\n' '{text}'"
        program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n{action}\n')
        program.chmod(0o755)
        return tmp_path / "asked"

    return prints


def banners_changed(service, path="/org/gnome/desktop/notifications/show-banners"):
    service.emit(
        "/ca/desrt/dconf/Writer/user", "ca.desrt.dconf.Writer", "Notify", "sass", path, [""], "1"
    )


async def test_the_setting_of_gnome_is_read_and_followed(on_session, followed, gsettings):
    asked = gsettings("false")
    await server(on_session, "gnome-shell").appear(NAME)
    person = await followed.start()
    await until(lambda: person.inhibited)
    assert asked.read_text() == "get org.gnome.desktop.notifications show-banners\n"
    gsettings("true")
    banners_changed(on_session)
    await until(lambda: not person.inhibited)


@pytest.mark.parametrize("text", ["", "perhaps", None])
async def test_gsettings_that_does_not_say_leaves_it_unknown(
    text, on_session, followed, gsettings, monkeypatch
):
    monkeypatch.setattr(inhibited, "_GSETTINGS_LIMIT", 0.1)
    gsettings("false")
    await server(on_session, "gnome-shell").appear(NAME)
    person = await followed.start()
    await until(lambda: person.inhibited)
    gsettings(text)
    banners_changed(on_session)
    await until(lambda: not person.inhibited)


async def test_a_server_that_knows_no_such_thing_is_no_problem(on_session, followed):
    await server(on_session, "mako").appear(NAME)
    person = await followed.start()
    await until(lambda: on_session.called("Get"))
    assert (person.inhibited, person.problems, followed.told) == (False, (), [])


@pytest.mark.parametrize("name", [NAME, XFCONF])
async def test_nothing_is_ever_started_for_this(name, on_session, buses, followed, tmp_path):
    started = tmp_path / "started"
    (tmp_path / "session" / "services" / "n.service").write_text(
        f"[D-BUS Service]\nName={name}\nExec=/usr/bin/touch {started}\n"
    )
    buses.session.stop()
    buses.session.start()
    others = {NAME, "org.gnome.ScreenSaver"} - {name}
    await server(on_session, "Xfce Notify Daemon").appear(*others)
    person = await followed.start()
    await until(lambda: on_session.called("GetActive"))
    if name == XFCONF:
        # The server has been asked, and then xfconf, or nobody.
        await until(lambda: on_session.called("GetServerInformation"))
        await until(
            lambda: (
                not person._session._looks
                or all(look.done() for look in person._session._looks.values())
            )
        )
    assert not person.inhibited
    assert not started.exists()

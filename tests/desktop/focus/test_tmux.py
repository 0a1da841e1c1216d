"""The whole way to panes of the real tmux, in real xterms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import wait_until
from tests.desktop.focus.panes import Tmux, Xterms, check_active, check_arrival, observed, way
from tests.desktop.focus.tabs import ARRANGEMENTS, Terminals, randomness, terminals
from tray.desktop.focus import route

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 8
"""Sessions at once."""


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminals]:
    # A socket's path is short.
    for on in terminals(tmp_path_factory.mktemp("tmux"), "xterm", "tmux"):
        on.desktop.environment["TMUX_TMPDIR"] = on.desktop.environment["XDG_RUNTIME_DIR"]
        yield on


@pytest.fixture
def xterms(on: Terminals) -> Iterator[Xterms]:
    made = Xterms(on)
    made.set_workspaces()
    yield made
    made.close()


@pytest.fixture
def servers(on: Terminals, xterms: Xterms) -> Iterator[list[Tmux]]:
    made = [Tmux(on), Tmux(on, "-L", "other")]
    yield made
    for server in made:
        server.kill()


def attach(xterms: Xterms, server: Tmux, target: str, *environment: str) -> int:
    """Open an xterm with a client."""
    before = server.clients()
    window = xterms.run("env", *environment, *server.command("attach-session", "-t", target))
    wait_until(lambda: server.clients() > before, what="the client is attached")
    return window


def disturb(chance, server: Tmux, on: Terminals) -> None:
    """Move panes and windows about, and show others."""
    panes = server.ask("list-panes", "-a", "-F", "#{pane_id}").split()
    sessions = server.ask("list-sessions", "-F", "#{session_id}").split()
    if len(on.sessions) < MOST:
        chance.choice((server.window, server.pane))(chance.choice(sessions) + ":")
    elif len(panes) > 3:
        ttys = server.ask("list-panes", "-a", "-F", "#{pane_tty}").split()
        on.end(chance.choice([one for one in on.sessions if observed(one).tty in ttys]))
        gone = lambda: len(server.ask("list-panes", "-a").splitlines()) < len(panes)  # noqa: E731
        wait_until(gone, what="the pane is closed")
        panes = server.ask("list-panes", "-a", "-F", "#{pane_id}").split()
        sessions = server.ask("list-sessions", "-F", "#{session_id}").split()
    pane, other = chance.choices(panes, k=2)
    match chance.randrange(5):
        case 0 if int(server.ask("display", "-p", "-t", pane, "#{window_panes}")) > 1:
            server.ask("break-pane", "-d", "-s", pane)
        case 1:
            if pane != other:
                server.ask("swap-pane", "-d", "-s", pane, "-t", other)
        case 2:
            server.ask("resize-pane", "-Z", "-t", pane)
        case _:
            pass
    server.ask("select-window", "-t", other, ";", "select-pane", "-t", other)
    clients = server.ask("list-clients", "-F", "#{client_name}").split()
    if clients and chance.random() < 0.5:
        server.ask("switch-client", "-c", chance.choice(clients), "-t", chance.choice(sessions))


def test_fifty_random_arrangements(
    on: Terminals, xterms: Xterms, servers: list[Tmux], capsys: pytest.CaptureFixture[str]
) -> None:
    chance = randomness()
    server, other = servers
    for name in ("one", "two", "three"):
        server.start(name)
    other.start("one")
    for each in servers:
        # Where its session ends, a client goes on with another.
        each.ask("set-option", "-g", "detach-on-destroy", "off")
    for target in ("one", "two"):
        attach(xterms, server, target)
    attach(xterms, other, "one")
    on.open(lambda command: xterms.run(*command))
    arrived = 0
    for _ in range(ARRANGEMENTS):
        for each in servers:
            if each is server or chance.random() < 0.3:
                disturb(chance, each, on)
        xterms.shuffle(chance)
        check_arrival(on, chance.choice(on.sessions), chance)
        arrived += 1
    with capsys.disabled():
        print(f"\ntmux: {arrived} of {ARRANGEMENTS}")


def test_nested(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    """A client of one tmux in a pane of another, beside other panes and windows of it."""
    chance = randomness()
    inner, outer = servers
    inner.start("in")
    inner.pane("in:")
    inner.window("in:")
    outer.start("out")
    client = ["env", "-u", "TMUX", *inner.command("attach-session", "-t", "in")]
    outer.ask("new-window", "-d", "-t", "out:", *client)
    wait_until(lambda: inner.clients() == 1, what="the inner client is attached")
    outer.pane("out:1")
    attach(xterms, outer, "out")
    on.open(lambda command: xterms.run(*command))
    for _ in range(12):
        xterms.shuffle(chance)
        check_arrival(on, chance.choice(on.sessions), chance)


def test_two_clients_of_one_session(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    """Both show the same; the one that the person looks at is the one to stay at."""
    server = servers[0]
    server.start("shared")
    server.pane("shared:")
    windows = [attach(xterms, server, "shared") for _ in range(2)]
    first, second = on.sessions
    for window in windows * 2:
        assert way(on, first).go().done
        on.activate(window)
        check_active(on, first)
        check_arrival(on, first)
        assert on.focused() == window
        check_arrival(on, second)
        assert on.focused() in windows


def test_what_two_clients_show_apart(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    """One window in two sessions of a group: each client has its own current window."""
    server = servers[0]
    first = server.start("one")
    second = server.window("one:")
    server.ask("new-session", "-d", "-t", "one", "-s", "two")
    windows = [attach(xterms, server, name) for name in ("one", "two")]
    server.ask("select-window", "-t", "one:0", ";", "select-window", "-t", "two:1")
    for window, session in zip(windows, (first, second), strict=True):
        on.activate(window)
        check_active(on, session)
    for session in (first, second, first):
        check_arrival(on, session)


def test_a_detached_session_is_offered(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    server = servers[1]
    detached = server.start("away")
    server.window("away:")
    plain = on.open(lambda command: xterms.run(*command))
    assert way(on, plain).go().done
    found = way(on, detached)
    assert not found.complete
    assert found.active() is not True
    outcome = found.go()
    assert not outcome.done
    assert "no terminal is attached" in outcome.message
    assert on.who_has_the_keyboard() == plain
    # What is offered leads there.
    server.ask("select-window", "-t", "away:1")
    xterms.run(*outcome.argv)
    wait_until(lambda: server.clients() == 1, what="the client is attached")
    check_arrival(on, detached)


def test_a_killed_pane(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    server = servers[0]
    first = server.start("one")
    second = server.pane("one:")
    attach(xterms, server, "one")
    assert way(on, first).go().done
    found, seen = way(on, second), observed(second)
    server.ask("set-option", "-g", "remain-on-exit", "on")
    on.end(second)
    for stale in (found, route.find(seen, on.desktop.environment)):
        outcome = stale.go()
        assert not outcome.done
        assert stale.active() is not True
    assert on.who_has_the_keyboard() == first


def test_a_client_that_has_left(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    server = servers[0]
    session = server.start("one")
    attach(xterms, server, "one")
    plain = on.open(lambda command: xterms.run(*command))
    assert way(on, session).go().done
    found = way(on, session)
    assert way(on, plain).go().done
    server.ask("detach-client", "-s", "one")
    wait_until(lambda: server.clients() == 0, what="the client is gone")
    assert found.active() is not True
    outcome = found.go()
    assert not outcome.done
    assert "has left" in outcome.message
    assert on.who_has_the_keyboard() == plain


def test_a_locale_without_utf_8(on: Terminals, xterms: Xterms, servers: list[Tmux]) -> None:
    """A tray that was started by the login may have no locale at all."""
    session = servers[0].start("one")
    attach(xterms, servers[0], "one")
    environment = {**on.desktop.environment, "LC_ALL": "C", "LANG": "C"}
    assert route.find(observed(session), environment).go().done
    assert route.find(observed(session), environment).active() is True

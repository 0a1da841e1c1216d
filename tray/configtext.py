"""The settings file as it is given to a person: every setting with its default and its meaning."""

from __future__ import annotations

from tray.config import EVENTS, Settings

_TOP = """\
# sessionbell's settings. Every line below says what holds anyway: change what you like, leave or
# delete the rest. The file is read again as soon as it is saved; `sessionbell config check` tells
# what is wrong with it.

# Whether there are notifications at all. The icon and the menu go on without them.
notifications = true

# Whether notifications say what is asked (the command, the question), or only that something is.
show_details = true

# A finished turn is shown as "needs input: turn over" for this many seconds, then as idle.
idle_after = 60

# The end of a turn is told if it comes this many seconds after you last did something there.
turn_over_after = 20

# A question that is still open is told again every so many minutes. 0: never.
remind_after = 0

# A command of yours (see [alerts.*]) is ended after this many seconds.
command_timeout = 10

# The terminal to open sessions in: a program and the arguments before the command it is to run,
# for example ["foot", "-e"]. Empty: xdg-terminal-exec, $TERMINAL, else one that is found.
terminal = []

# Seconds that something must last before it is told.
[holds]
# A question, a permission, a plan, an error.
ask = 0.3
# A permission, at most, while a hook of yours may be answering it.
hook = 10
# A finished turn.
turn_over = 1
# At most, while you are at that very terminal. 0: told at once wherever you are.
presence = 30

# The time of day without notifications, for example from = "22:00", to = "07:30". What still
# waits at its end is told then.
[quiet_hours]
from = ""
to = ""

# Globs against a project's directory (~ is your home) or its name, for example ["~/play/*", "tmp"].
[projects]
# Not shown, counted or told at all.
ignore = []
# Shown, but never told in a notification.
mute = []

# Which kinds of sessions colour the icon, are counted and told.
[sessions]
# Background jobs.
background = true
# `claude -p` and sessions of the SDK.
headless = false

# The icon's colours, for example "#e5322d". Empty: the built-in one.
[colors]
blocked = ""
failed = ""
finished = ""
working = ""
idle = ""
none = ""
unknown = ""

# One table for each kind of notification:
#   enabled   whether it is told at all
#   urgency   "low", "normal" or "critical" (critical is shown in spite of "do not disturb")
#   sound     a name of the freedesktop sound theme ("message-new-instant", "dialog-warning",
#             "complete"), or "" for none
#   timeout   seconds on the screen; 0: until it is answered or dismissed; -1: as your desktop likes
#   command   a program of yours and its arguments, run when it is told, without a shell; what it is
#             about stands in its environment (SESSIONBELL_EVENT, SESSIONBELL_PROJECT,
#             SESSIONBELL_DETAIL and more)
"""
_MEANINGS = {
    "permission": "Claude asks for a permission.",
    "question": "Claude asks a question.",
    "plan": "Claude has a plan to approve.",
    "input": "Claude waits for something else.",
    "turn_over": "A turn is over, or a background job is done.",
    "error": "A turn or a background job failed.",
    "died": "A session ended unexpectedly.",
}


def default_text() -> str:
    """Return the file that says in full what holds without any file."""
    return _TOP + "".join(f"\n{table(event)}" for event in EVENTS)


def table(event: str) -> str:
    """Return the commented table of one kind of notification."""
    found = getattr(Settings().alerts, event)
    return (
        f"# {_MEANINGS[event]}\n"
        f"[alerts.{event}]\n"
        f"enabled = {str(found.enabled).lower()}\n"
        f'urgency = "{found.urgency}"\n'
        f'sound = "{found.sound}"\n'
        f"timeout = {found.timeout:g}\n"
        "command = []\n"
    )

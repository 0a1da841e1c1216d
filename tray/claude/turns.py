"""What a turn that is over means: finished, failed, stopped, and whether it was seen. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tray.claude.conversation import Phase
from tray.claude.errors import describe_failure
from tray.claude.facts import Verdict
from tray.session import Reason, State, TurnEnd

if TYPE_CHECKING:
    from tray.claude.facts import Facts
    from tray.session import Source

_ENDING = 600.0
"""Seconds that may pass between a turn's last line and its end, while Stop hooks run. A status
that is younger changed for another reason: a background shell came to its end, a dialog was
closed."""
_LEEWAY = 1.0
"""Seconds by which a keystroke may seem to come after the look that found it."""


def judge_turn(facts: Facts, source: Source, over_since: float | None = None) -> Verdict:
    """Judge a session that is at its prompt; `over_since` is when it got there, if known.

    A turn that ended by itself needs its person for `idle_after` seconds; one that failed until
    the next prompt; one they stopped themselves, or a command of their own, not at all; nor does
    a headless session, at which nobody sits. An end from before the process started was told by
    another one.
    """
    conversation = facts.conversation
    idle = Verdict(State.IDLE, source=source, since=over_since, last_act=last_act(facts))
    if conversation is None or conversation.phase is not Phase.OVER or facts.headless:
        return idle
    ended_at = conversation.turn_ended_at
    if ended_at is not None and facts.started is not None and ended_at < facts.started:
        return idle
    since = over_since if over_since is not None else ended_at
    if since is not None and ended_at is not None and since - ended_at > _ENDING:
        since = ended_at
    over = replace(
        idle,
        since=since,
        turn_end=conversation.turn_end,
        turn_ended_at=ended_at,
        turn_by_person=conversation.turn_by_person,
    )
    if conversation.turn_end is TurnEnd.STOPPED:
        return over
    over = replace(over, unseen=_unseen(facts, ended_at))
    if conversation.turn_end is TurnEnd.FAILED:
        failure = describe_failure(conversation.error or "")
        return replace(
            over,
            state=State.NEEDS_INPUT,
            reason=Reason.ERROR,
            detail=failure.detail,
            error=failure.key,
        )
    idle_at = (since if since is not None else facts.now) + facts.idle_after
    if facts.now >= idle_at:
        return over
    return replace(over, state=State.NEEDS_INPUT, reason=Reason.TURN_OVER, recheck_at=idle_at)


def last_act(facts: Facts) -> float | None:
    """Return the person's last prompt, answer or keystroke in the session."""
    acts = [facts.tty_access]
    if facts.conversation is not None:
        acts.append(facts.conversation.last_act)
    return max((act for act in acts if act is not None), default=None)


def _unseen(facts: Facts, ended_at: float | None) -> bool:
    # The kernel rounds a keystroke's time down, so one that counts was certainly later; one that
    # is still to come is from before the clock was set back.
    key = facts.tty_access
    if key is None or ended_at is None or key > facts.now + _LEEWAY:
        return True
    return key < ended_at

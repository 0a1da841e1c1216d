"""A machine as a year of daily use leaves it: thousands of transcripts, and live sessions.

The live sessions are those of `tray.demo.stage`; this adds the weight of the past to them.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import os
import random
import shutil
import statistics
import sys
import time
import uuid
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tray.demo import lines
from tray.demo.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tray.demo.stage import Session

TRANSCRIPTS = 3103
"""Transcripts below `projects/`, the live sessions' own among them."""
MEDIAN_SIZE = 22_000
SPREAD = 1.9
"""Log-normal sizes of this median (bytes) and sigma: most are short, a few are most of 500 MB."""
MAX_SIZE = 40_000_000
LIVE_MEDIAN, LIVE_SPREAD = 300_000, 1.3
"""The same of live sessions: they are in the middle of a day's work."""
PROJECTS = 60

_ID = "00000000-0000-4000-8000-000000000000"
_CWD = "/somewhere/or/other"
_DAY = "2026-01-01"
_TURNS = 24


def sizes(number: int, median: int = MEDIAN_SIZE, spread: float = SPREAD) -> list[int]:
    """Return the sizes of `number` transcripts: their distribution's quantiles, not a sample."""
    normal = statistics.NormalDist(sigma=spread)
    quantiles = (normal.inv_cdf((place + 0.5) / number) for place in range(number))
    return [min(int(median * math.exp(quantile)), MAX_SIZE) for quantile in quantiles]


def write_history(projects: Path, number: int) -> int:
    """Write `number` finished conversations below `projects`; return the sum of their bytes."""
    chance = random.Random(20_260_101)
    every = sizes(number)
    chance.shuffle(every)
    writer = _Writer()
    now = time.time()
    total = 0
    for size in every:
        # A few projects have most of the conversations.
        project = f"/home/me/work/project-{int(PROJECTS * chance.random() ** 2.5):02}"
        folder = projects / project.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        session_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        path = folder / f"{session_id}.jsonl"
        then = now - chance.uniform(0.1, 30) * 86_400
        total += writer.write(path, lines.Origin(session_id, project, "main"), size, then)
        os.utime(path, (then, then))
    return total


@contextlib.contextmanager
def world(history: Path) -> Iterator[Stage]:
    """An empty stage with the conversations of `history` in it."""
    with Stage() as stage:
        # A copy: a link to the Python that runs the tray would share its memory with it.
        os.unlink(stage.program)
        shutil.copy(os.path.realpath(sys.executable), stage.program)
        for folder in history.iterdir():
            into = Path(stage.root, "projects", folder.name)
            into.mkdir()
            for transcript in folder.iterdir():
                os.link(transcript, into / transcript.name)
        yield stage


def start_sessions(stage: Stage, number: int, *, past: bool = True) -> list[Session]:
    """Start sessions in projects of their own, at rest; with a `past` they are long already."""
    writer = _Writer()
    sessions = []
    for place, size in enumerate(sizes(number, LIVE_MEDIAN, LIVE_SPREAD)):
        session = stage.session(f"project-{place:02}")
        if past:
            writer.write(Path(session.transcript), session.origin, size, time.time() - 86_400)
        session.title(f"The work on project {place}")
        session.prompt("Go on with it", ago=900)
        session.finish("It is done, and all tests pass.", ago=600)
        session.typed(ago=300)
        sessions.append(session)
    return sessions


def without_status(session: Session) -> None:
    """Rewrite a record as older clients write it (2.1.81)."""
    path = Path(session.record)
    whole = json.loads(path.read_text(encoding="utf-8"))
    known = ("pid", "sessionId", "cwd", "startedAt")
    path.write_text(json.dumps({key: whole[key] for key in known}), encoding="utf-8")


class _Writer:
    """Writes conversations fast: the turns are composed once, then only dated and renamed."""

    def __init__(self) -> None:
        chance = random.Random(1)
        parent = count()
        at = dt.datetime.fromisoformat(f"{_DAY}T08:00:00+00:00").timestamp()
        self._turns = [
            "".join(json.dumps(line) + "\n" for line in _turn(chance, parent, at + 60 * place))
            for place in range(_TURNS)
        ]
        self._starts = sorted(range(_TURNS), key=lambda place: len(self._turns[place]))

    def write(self, path: Path, origin: lines.Origin, size: int, then: float) -> int:
        """Write whole turns until the file has about `size` bytes; return how many it has."""
        # All turns are of one day; those who go through them again come to the next one.
        days = size // sum(map(len, self._turns))
        first = dt.datetime.fromtimestamp(then, dt.UTC).date() - dt.timedelta(days=days + 1)
        # A short conversation begins with the longest turn that is not too long for it.
        fitting = [place for place in self._starts if len(self._turns[place]) <= size]
        place = fitting[-1] if fitting else self._starts[0]
        written = 0
        with path.open("a", encoding="ascii") as file:
            while not written or written < size:
                text = self._turns[place % _TURNS]
                text = text.replace(_ID, origin.session_id).replace(_CWD, origin.cwd)
                day = first + dt.timedelta(days=place // _TURNS)
                written += file.write(text.replace(_DAY, day.isoformat()))
                place += 1
        return written


def _turn(chance: random.Random, parent: Iterator[int], at: float) -> list[lines.Line]:
    """A prompt, some tools with their results, an answer, and the client's bookkeeping."""
    origin = lines.Origin(_ID, _CWD, "main")
    uuids = [str(uuid.UUID(int=next(parent) + 1)) for _ in range(40)]
    turn: list[lines.Line] = []

    def say(kind: str, content: lines.Line) -> None:
        own = uuids[len(turn)]
        before = uuids[len(turn) - 1] if turn else None
        turn.append(lines.message(origin, kind, own, before, at + len(turn)) | content)

    say("user", lines.prompt(_words(chance, 8, 60)))
    for step in range(chance.choice((0, 1, 3, 8))):
        call = f"toolu_{uuids[step][:8]}{chance.getrandbits(32):08x}"
        tool_input = {"command": _words(chance, 3, 12), "description": _words(chance, 4, 8)}
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": tool_input}
        say("assistant", lines.answer(f"msg_{call}", block, "tool_use"))
        say("user", lines.tool_result(call, _words(chance, 10, chance.choice((40, 400, 2500)))))
    block = {"type": "text", "text": _words(chance, 20, 200)}
    say("assistant", lines.answer(f"msg_{chance.getrandbits(64):016x}", block, "end_turn"))
    say("system", lines.turn_duration(int(len(turn) * 1000)))
    turn.append({"type": "last-prompt", "lastPrompt": "and so on", "sessionId": _ID})
    turn.append({"type": "permission-mode", "permissionMode": "default", "sessionId": _ID})
    return turn


_WORDS = (
    *("the", "index", "of", "a", "file", "that", "was", "read", "before", "it", "and", "test"),
    *("src/app/main.py", "line", "42:", '"unexpected', 'token"', "\n", "", "return", "await"),
    *("self.client.get(url)\n", "é", "ü", "漢字", "{'key':", "[1,", "2]}", "error:", "build"),
    "https://example.org/path?query=1#part",
)


def _words(chance: random.Random, least: int, most: int) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randint(least, most)))


def percentile(figures: Sequence[float], percent: int) -> float:
    """The value that `percent` of the figures do not exceed."""
    return statistics.quantiles(figures, n=100, method="inclusive")[percent - 1]

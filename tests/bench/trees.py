"""Config roots full of past sessions as clients leave them, with the truth beside the files.

Each line that is written says by itself what it adds to the truth, so that nothing here shares
a rule with the product. `write_tree` makes any number of them, of any size.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import math
import os
import random
import statistics
import uuid
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

TRUTH = "truth.json"
START = 1_750_000_000.0
_SYLLABLES = (
    *("ba", "co", "di", "fu", "ga", "he", "ji", "ko", "lu", "me"),
    *("ni", "po", "qua", "re", "sa", "tu", "vo", "wi", "xe", "zu"),
)
_FOREIGN = ("Straße", "naïve", "漢字", "Привет", "✓", "—", "🙂", "cafe\u0301", "ﬁne")
_NOT_TYPED = (
    "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
    "<command-message>review</command-message>\n<command-name>/review</command-name>",
    "<local-command-stdout>Set model to opus</local-command-stdout>",
    "<bash-input>ls -la</bash-input>",
    "<bash-stdout>total 0</bash-stdout><bash-stderr></bash-stderr>",
    "<ide_opened_file>The user opened a.py</ide_opened_file>",
    "<system-reminder>Remember the rules</system-reminder>",
    "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
    "/compact keep the tests",
)
_BOOKKEEPING = (
    {"type": "permission-mode", "permissionMode": "default"},
    {"type": "queue-operation", "operation": "enqueue", "content": "more"},
    {"type": "attachment", "attachment": {"type": "todo"}},
    {"type": "system", "subtype": "turn_duration", "durationMs": 5},
    {"type": "something-new", "value": [1, {"type": "user"}]},
)
_BROKEN = (b'{"type":"user","message":{"role":"us', b"\xff\xfe\x00", b"[1, 2", b"not json", b"7")


_POOL_SIZE = 20_000


@functools.cache
def _pool() -> list[str]:
    """Words to take texts from: made once, for a tree may have 500 MB of them."""
    chance = random.Random(7)
    return [
        chance.choice(_FOREIGN)
        if chance.random() < 0.03
        else "".join(chance.choices(_SYLLABLES, k=chance.randint(1, 3)))
        for _ in range(_POOL_SIZE)
    ]


@dataclass
class Truth:
    """What a list has to tell of one file."""

    session_id: str
    path: str = ""
    turns: int = 0
    messages: int = 0
    malformed_lines: int = 0
    cwd: str | None = None
    branch: str | None = None
    first_prompt: str | None = None
    titles: dict[str, str] = field(default_factory=dict)
    tag: str | None = None
    forked_from: str | None = None
    continued_in: str | None = None
    first_timestamp: float | None = None
    last_timestamp: float | None = None
    skipped: bool = False

    @property
    def title(self) -> tuple[str | None, str | None]:
        for source in ("custom-title", "ai-title", "last-prompt", "summary", "first-prompt"):
            text = self.first_prompt if source == "first-prompt" else self.titles.get(source)
            if text:
                return text, source
        return None, None


class Scribe:
    """Writes one transcript, and what it comes to."""

    def __init__(self, session_id: str, cwd: str, chance: random.Random, at: float) -> None:
        self.truth = Truth(session_id)
        self.lines: list[bytes] = []
        self.size = 0
        self._cwd, self._chance, self._at = cwd, chance, at
        self._branch = chance.choice(("main", "fix/it", "HEAD", "ä-branch"))
        self._more: dict[str, Any] = {}

    def words(self, least: int, most: int) -> str:
        number = self._chance.randint(least, most)
        start = self._chance.randrange(_POOL_SIZE - number)
        return " ".join(_pool()[start : start + number])

    def raw(self, data: bytes) -> None:
        self.lines.append(data)
        self.size += len(data) + 1

    def line(self, found: dict[str, Any]) -> None:
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        self.raw(text.encode("utf-8", "surrogatepass").replace(b"\xed\xa0\xbd", b"\\ud83d"))

    def message(self, kind: str, content: object, **fields: Any) -> None:
        """Write a message line; what it counts for is for the caller to say."""
        chance = self._chance
        self._at += chance.uniform(0.5, 60)
        # Times can run backwards.
        at = round(self._at - (120 if chance.random() < 0.02 else 0), 3)
        written = dt.datetime.fromtimestamp(at, dt.UTC).isoformat(timespec="milliseconds")
        frame: dict[str, Any] = {
            "parentUuid": str(uuid.UUID(int=chance.getrandbits(128))),
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self.truth.session_id,
            "version": "2.1.332",
            "gitBranch": self._branch,
            "type": kind,
            "message": {"role": kind, "content": content},
            "uuid": str(uuid.UUID(int=chance.getrandbits(128))),
            "timestamp": written.replace("+00:00", "Z"),
            **self._more,
            **fields,
        }
        self.line(frame)
        if frame["isSidechain"] and not self.truth.skipped:
            return
        truth = self.truth
        truth.cwd = truth.cwd or frame.get("cwd")
        truth.branch = frame.get("gitBranch") or truth.branch
        truth.first_timestamp = truth.first_timestamp or at
        truth.last_timestamp = max(at, truth.last_timestamp or at)

    def prompt(self, text: str | None = None) -> None:
        text = text if text is not None else self.words(5, 40)
        shown = text
        if self._chance.random() < 0.1:
            text = f"<system-reminder>\nIt is late.\n</system-reminder>\n{text}"
        self.message("user", text)
        self.truth.turns += 1
        self.truth.messages += 1
        if self.truth.first_prompt is None:
            self.truth.first_prompt = shown

    def prompt_with_picture(self) -> None:
        picture = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 200}}
        text = self.words(3, 9)
        self.message("user", [{"type": "text", "text": text}, picture])
        self.truth.turns += 1
        self.truth.messages += 1
        self.truth.first_prompt = self.truth.first_prompt or text

    def not_typed(self) -> None:
        kind = self._chance.randrange(len(_NOT_TYPED) + 2)
        if kind < len(_NOT_TYPED):
            self.message("user", _NOT_TYPED[kind])
        elif kind == len(_NOT_TYPED):
            self.message("user", self.words(3, 9), isMeta=True)
        else:
            self.message("user", "This session is being continued", isCompactSummary=True)
        self.truth.messages += 1

    def tool(self, words: int) -> None:
        call = f"toolu_{self._chance.getrandbits(64):016x}"
        given = {"command": self.words(2, 9), "description": self.words(2, 5)}
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": given}
        self.message("assistant", [use])
        said = self.words(words // 2 + 1, words + 1)
        result = {"type": "tool_result", "tool_use_id": call, "content": said}
        self.message("user", [result], toolUseResult={"stdout": said, "stderr": ""})
        self.truth.messages += 2

    def answer(self) -> None:
        self.message("assistant", [{"type": "thinking", "thinking": self.words(5, 60)}])
        text = {"type": "text", "text": self.words(10, 120)}
        self.message("assistant", [text])
        self.truth.messages += 2

    def bookkeeping(self) -> None:
        chance = self._chance
        kind = chance.randrange(10)
        truth = self.truth
        if kind == 0:
            self.line({"type": "progress", "data": {"type": "hook_progress"}})
            truth.messages += 1
        elif kind == 1:
            self.line({"type": "file-history-snapshot", "snapshot": {"files": {}}})
            truth.messages += 1
        elif kind == 2:
            truth.titles["summary"] = self.words(3, 8)
            self.line({"type": "summary", "summary": truth.titles["summary"]})
            truth.messages += 1
        elif kind == 3:
            truth.titles["last-prompt"] = self.words(2, 8)
            self.line({"type": "last-prompt", "lastPrompt": truth.titles["last-prompt"]})
        elif kind == 4:
            self.message("assistant", [{"type": "text", "text": "aside"}], isSidechain=True)
            truth.messages += 1
        else:
            self.line(dict(chance.choice(_BOOKKEEPING)))

    def broken(self) -> None:
        self.raw(self._chance.choice(_BROKEN))
        self.truth.malformed_lines += 1

    def settings(self) -> None:
        """What stands in some sessions: names, tags, successors."""
        chance, truth = self._chance, self.truth
        if chance.random() < 0.5:
            truth.titles["ai-title"] = self.words(3, 7)
            self.line({"type": "ai-title", "aiTitle": "an older one"})
            self.line({"type": "ai-title", "aiTitle": truth.titles["ai-title"]})
        if chance.random() < 0.2:
            truth.titles["custom-title"] = self.words(2, 4)
            self.line({"type": "custom-title", "customTitle": truth.titles["custom-title"]})
        elif chance.random() < 0.1:
            self.line({"type": "custom-title", "customTitle": "taken off again"})
            self.line({"type": "custom-title", "customTitle": "  "})
        if chance.random() < 0.2:
            truth.tag = chance.choice(("later", "bug", "größer"))
            self.line({"type": "tag", "tag": truth.tag})
        elif chance.random() < 0.1:
            self.line({"type": "tag", "tag": "gone"})
            self.line({"type": "tag", "tag": ""})
        if chance.random() < 0.05:
            truth.continued_in = str(uuid.UUID(int=chance.getrandbits(128), version=4))
            self.line({"type": "continued-in", "continuedInSessionId": truth.continued_in})

    def turn(self, words: int) -> None:
        """A prompt and all that follows from it."""
        chance = self._chance
        if chance.random() < 0.1:
            self.prompt_with_picture()
        elif chance.random() < 0.05:
            self.prompt("<Button> is broken")
        else:
            self.prompt()
        for _ in range(chance.choice((0, 1, 2, 5))):
            self.tool(words)
        if chance.random() < 0.2:
            self.not_typed()
        self.answer()
        for _ in range(chance.randrange(4)):
            self.bookkeeping()

    def fork_of(self, parent: str) -> None:
        """Write further messages as the lines of a fork are that were copied."""
        self.truth.forked_from = parent
        self._more = {"forkedFrom": {"sessionId": parent, "messageUuid": "0" * 8}}

    def own(self) -> None:
        """Write further messages as the fork's own."""
        self._more = {}

    def save(self, path: Path) -> None:
        self.truth.path = str(path)
        path.write_bytes(b"".join(line + b"\n" for line in self.lines))


def sizes(number: int, median: float, spread: float, limit: float) -> list[int]:
    """Return the sizes of `number` files: the quantiles of a log-normal distribution."""
    normal = statistics.NormalDist(sigma=spread)
    quantiles = (normal.inv_cdf((place + 0.5) / number) for place in range(number))
    return [int(min(median * math.exp(quantile), limit)) for quantile in quantiles]


def write_tree(
    root: Path,
    number: int,
    *,
    median: float = 2_000,
    spread: float = 1.0,
    limit: float = 40_000_000,
    seed: int = 1,
) -> list[Truth]:
    """Write `number` transcripts below `root` and the truth beside them; return that too."""
    chance = random.Random(seed)
    wanted = sizes(number, median, spread, limit)
    chance.shuffle(wanted)
    truths: list[Truth] = []
    for place, size in enumerate(wanted):
        truth = _write_one(root, chance, size, truths, place)
        truths.append(truth)
    (root / TRUTH).write_text(json.dumps([asdict(truth) for truth in truths]), encoding="utf-8")
    return truths


def _write_one(
    root: Path, chance: random.Random, size: int, before: list[Truth], place: int
) -> Truth:
    cwd = f"/home/me/work/project-{int(40 * chance.random() ** 2):02}"
    session_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    begun = START + place * 1000
    scribe = Scribe(session_id, cwd, chance, begun)
    kind = chance.random()
    if kind < 0.02:
        scribe.line({"type": "file-history-snapshot", "snapshot": {}})
        scribe.truth.messages, scribe.truth.skipped = 1, True
    elif kind < 0.04:
        scribe.truth.skipped = True
        scribe.message("user", "look into it", isSidechain=True)
        scribe.truth.messages = 1
    elif kind < 0.06:
        scribe.truth.skipped = True
        scribe.message("user", "<teammate-message>go on</teammate-message>", teamName="crew")
        scribe.truth.messages = 1
    else:
        if before and chance.random() < 0.08:
            scribe.fork_of(chance.choice(before).session_id)
            scribe.turn(20)
            scribe.own()
        if chance.random() < 0.2:
            scribe.not_typed()
        while scribe.truth.turns == 0 or scribe.size < size:
            # A few long outputs are most of a long session.
            words = 30 if size < 100_000 or chance.random() < 0.8 else 1500
            scribe.turn(words)
            if chance.random() < 0.02:
                scribe.broken()
        scribe.settings()
    folder = root / "projects" / cwd.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_id}.jsonl"
    scribe.save(path)
    os.utime(path, (begun + 500, begun + 500))
    return scribe.truth

"""A stub of the Messages API on 127.0.0.1, which answers as a test has taught it.

A prompt that contains `go:NAME` is answered with the first answer taught for NAME. An answer's
tool uses have ids that say which answer they belong to, so their results are answered with the
one after it. Prompts without a mark, and side questions (titles), get a few words.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARK = re.compile(r"\bgo:([a-z0-9]+)")
_TOOL_ID = re.compile(r"toolu_([a-z0-9]+)_(\d+)_")
_USAGE = {"input_tokens": 100, "output_tokens": 10}


@dataclass(frozen=True)
class Tool:
    """One tool use of an answer."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the stub answers to one request."""

    text: str = ""
    tools: tuple[Tool, ...] = ()
    gated: bool = False
    """Held back until `Stub.open_gate`, or until the stub stops."""
    error: tuple[int, str, str] | None = None
    """HTTP status, error type and message, in place of an answer."""

    @property
    def blocks(self) -> list[dict[str, Any]]:
        text = [{"type": "text", "text": self.text}] if self.text else []
        return text + [{"type": "tool_use", "name": t.name, "input": t.input} for t in self.tools]


def say(text: str, *, gated: bool = False) -> Answer:
    """Answer with words: the turn is over."""
    return Answer(text=text, gated=gated)


def use(*tools: Tool, text: str = "", gated: bool = False) -> Answer:
    """Answer with tool uses."""
    return Answer(text=text, tools=tools, gated=gated)


def bash(command: str, **more: object) -> Tool:
    """Run a command."""
    return Tool("Bash", {"command": command, "description": "Run it", **more})


def fail(status: int, kind: str, message: str) -> Answer:
    """Answer with an API error that is not to be tried again."""
    return Answer(error=(status, kind, message))


class Stub:
    """The server, on threads of its own; a context manager."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[Answer, ...]] = {}
        self.asked: list[str] = []
        """`NAME/step` of every request that was recognised, in the order in which they came."""
        self._ids = itertools.count(1)
        self._gate = threading.Condition()
        self._opened: set[str] = set()
        self._stopped = False
        stub = self

        class Handler(_Handler):
            owner = stub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._gate:
            self._stopped = True
            self._gate.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def teach(self, name: str, *answers: Answer) -> str:
        """Teach what to answer to `go:NAME`, step by step; return that mark."""
        self.answers[name] = answers
        return f"go:{name}"

    def open_gate(self, name: str) -> None:
        """Let the gated answers of NAME go, now and from now on."""
        with self._gate:
            self._opened.add(name)
            self._gate.notify_all()

    def wait_for_gate(self, name: str) -> None:
        """Wait until the gate of NAME is open, or the stub stops."""
        with self._gate:
            self._gate.wait_for(lambda: self._stopped or name in self._opened)

    def answer_to(self, request: dict[str, Any]) -> tuple[str, int, Answer]:
        """Find the answer to one request, and whose and which it is."""
        name, step = _asked(request)
        if not request.get("tools") or name not in self.answers:
            return "other", 0, say("Some words")
        self.asked.append(f"{name}/{step}")
        taught = self.answers[name]
        return name, step, taught[step] if step < len(taught) else say("All done.")

    def message(self, request: dict[str, Any], name: str, step: int, answer: Answer) -> Any:
        """Return an answer as a message of the API, with ids of its own."""
        number = next(self._ids)
        blocks = answer.blocks
        for index, block in enumerate(blocks):
            if block["type"] == "tool_use":
                block["id"] = f"toolu_{name}_{step}_{number}x{index}"
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "none"),
            "content": blocks,
            "stop_reason": "tool_use" if answer.tools else "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }


def _asked(request: dict[str, Any]) -> tuple[str, int]:
    """Read which answer is wanted, from the last block that says so."""
    for message in reversed(request.get("messages", [])):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in reversed(blocks):
            if block.get("type") == "tool_result":
                found = _TOOL_ID.match(block.get("tool_use_id", ""))
                if found is not None:
                    return found[1], int(found[2]) + 1
            elif block.get("type") == "text":
                marks = _MARK.findall(block.get("text", ""))
                if marks:
                    return marks[-1], 0
    return "other", 0


class _Handler(BaseHTTPRequestHandler):
    owner: Stub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        self._send_json(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # A client that was interrupted no longer reads.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._answer(json.loads(body or b"{}"))

    def _answer(self, request: dict[str, Any]) -> None:
        if self.path.partition("?")[0].endswith("/count_tokens"):
            self._send_json(200, {"input_tokens": 100})
            return
        name, step, answer = self.owner.answer_to(request)
        if answer.gated:
            self.owner.wait_for_gate(name)
        if answer.error is not None:
            status, kind, text = answer.error
            self._send_json(status, {"type": "error", "error": {"type": kind, "message": text}})
            return
        message = self.owner.message(request, name, step, answer)
        if request.get("stream"):
            events = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _events(message))
            self._send(200, "text/event-stream", "".join(events).encode())
        else:
            self._send_json(200, message)

    def _send_json(self, status: int, value: object) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status >= 400:
            self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Spread a message over the events of a stream."""
    blocks: Sequence[dict[str, Any]] = message["content"]
    start = message | {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty = block | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}

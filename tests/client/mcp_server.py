"""A server of the Model Context Protocol over stdio; its one tool asks back when it is called.

`python mcp_server.py NAME TOOL`
"""

from __future__ import annotations

import json
import sys
from typing import Any

NAME, TOOL = sys.argv[1:]
QUESTION = {
    "message": "Which one?",
    "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; `None` if there is none yet."""
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": NAME, "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": TOOL, "inputSchema": {"type": "object", "properties": {}}}]}
        case "tools/call":
            return None
    return {}


def send(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


called = None
for line in sys.stdin:
    received = json.loads(line)
    if "method" not in received:
        text = json.dumps(received.get("result"))
        send(id=called, result={"content": [{"type": "text", "text": text}]})
    elif "id" in received:
        result = answer(received)
        if result is None:
            called = received["id"]
            send(id="asked", method="elicitation/create", params=QUESTION)
        else:
            send(id=received["id"], result=result)

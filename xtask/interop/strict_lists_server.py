"""A server on standard input and output that lists the definitions of strict_lists.json, good and bad ones mixed."""

import json
import sys
from pathlib import Path

LISTS = json.loads((Path(__file__).parent / "strict_lists.json").read_text())
METHODS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def answer(method):
    if method == "initialize":
        capabilities = {"tools": {}, "prompts": {}, "resources": {}}
        about = {"name": "strict", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": about}
    if method in METHODS:
        member = METHODS[method]
        return {member: LISTS[member]["left_out"] + LISTS[member]["listed"]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "good"}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"])
        error = {"error": {"code": -32601, "message": "unknown method"}}
        body = error if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)

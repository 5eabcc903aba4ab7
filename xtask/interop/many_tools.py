"""A server on standard input and output with 265 tools, more than any model wants in its prompt. One of them computes."""

import json
import sys

VERBS = "list create read update delete archive share export import rename copy move".split()
NOUNS = (
    "invoice contract customer ticket calendar photo playlist recipe vehicle parcel room course patient "
    "harvest ship satellite poem recording painting garden bridge violin"
).split()


def tool(name, description, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    hints = {"readOnlyHint": True, "openWorldHint": False}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool(f"{verb}_{noun}", f"Handles the records of each {noun}: {verb} one of them, by the id that another tool gave.", "id")
    for noun in NOUNS
    for verb in VERBS
] + [tool("calculate", "Evaluates an arithmetic expression and returns the number.", "expression")]


def answer(method, params):
    if method == "initialize":
        about = {"name": "many", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        left, right = params["arguments"]["expression"].split("*")
        return {"content": [{"type": "text", "text": f"The result is {int(left) * int(right)}."}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        known = message["method"] in ("initialize", "ping", "tools/list", "tools/call")
        body = (
            {"result": answer(message["method"], message.get("params", {}))}
            if known
            else {"error": {"code": -32601, "message": "unknown method"}}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)

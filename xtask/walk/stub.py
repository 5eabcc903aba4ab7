#!/usr/bin/env python3
"""A server on standard input and output whose tools, named by its arguments, take anything and do nothing."""

import json
import sys

SCHEMA = {"type": "object"}
TOOLS = [{"name": name, "description": name.replace("_", " ").capitalize(), "inputSchema": SCHEMA} for name in sys.argv[1:]]


def answer(method, params):
    if method == "initialize":
        info = {"name": "stub", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"did {params['name']}"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)

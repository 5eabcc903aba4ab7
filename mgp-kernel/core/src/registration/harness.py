

def _answer(message):
    method = message.get("method")
    if method == "initialize":
        return {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": NAME, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": NAME, "description": DESCRIPTION, "inputSchema": INPUT_SCHEMA}]}
    if method == "tools/call":
        try:
            text, failed = json.dumps(run(message["params"].get("arguments") or {})), False
        except Exception as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {}


def _serve():
    while True:
        try:
            line = input()
        except EOFError:
            return
        message = json.loads(line)
        if "id" in message and message.get("method") == "server/discover":
            error = {"code": -32601, "message": "there are only sessions here"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        elif "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": _answer(message)}
            print(json.dumps(answer), flush=True)


_serve()

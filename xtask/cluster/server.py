"""A server that notes what it ran: server.py NOTES [PORT [guarded]]. With a port it speaks HTTP, and else on standard input and output;
guarded, it lets in who has a token, which it issues itself for a moment, and notes the refresh tokens that it was sent."""

import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

TOOLS = [
    {"name": name, "description": about, "annotations": {"readOnlyHint": reads},
     "inputSchema": {"type": "object", "properties": {"order": {"type": "string"}, "seconds": {"type": "number"}}}}
    for name, about, reads in [
        ("read", "Reads an order.", True),
        ("wait", "Reads an order after a time.", True),
        ("pay", "Notes a payment.", False),
    ]
]
LOCK = threading.Lock()
IS_GUARDED = len(sys.argv) > 3
# The pairs of tokens that were issued, the last of which may be renewed.
ISSUED = []


def note(line):
    with LOCK, open(sys.argv[1], "a") as notes:
        notes.write(line + "\n")


def run(name, arguments):
    time.sleep(arguments.get("seconds", 0))
    if name == "pay":
        note(f"pay {arguments['order']}")
    return {"content": [{"type": "text", "text": f"{name} {arguments.get('order', '')} by {os.getpid()}"}]}


def answer(message):
    """Returns the answer to a request; `None` to a notification."""
    if "id" not in message:
        return None
    results = {
        "initialize": lambda: {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "payments", "version": "1"}},
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: run(message["params"]["name"], message["params"].get("arguments", {})),
        "ping": dict,
    }
    result = results.get(message["method"])
    end = {"result": result()} if result else {"error": {"code": -32601, "message": "unknown"}}
    return {"jsonrpc": "2.0", "id": message["id"], **end}


def issued(form):
    """Returns the status and the answer of the token endpoint."""
    refresh = form.get("refresh_token")
    if refresh:
        note(refresh[0])
    with LOCK:
        if refresh and refresh != [f"refresh-{len(ISSUED)}"]:
            return 400, {"error": "invalid_grant"}
        number = len(ISSUED) + 1
        ISSUED.append(f"Bearer access-{number}")
    # Kernels renew a token ten seconds before its end.
    return 200, {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}", "token_type": "Bearer", "expires_in": 12}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if IS_GUARDED and self.path == "/register":
            status, told = 201, {"client_id": "kernel", "token_endpoint_auth_method": "none"}
        elif IS_GUARDED and self.path == "/token":
            status, told = issued(urllib.parse.parse_qs(body.decode()))
        elif IS_GUARDED and self.headers["Authorization"] not in ISSUED:
            status, told = 401, None
        else:
            told = answer(json.loads(body))
            status = 200 if told else 202
        text = json.dumps(told).encode() if told else b""
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        page, _, query = self.path.partition("?")
        is_login = IS_GUARDED and page == "/authorize"
        self.send_response(302 if is_login else 405)
        if is_login:
            asked = urllib.parse.parse_qs(query)
            answered = urllib.parse.urlencode({"code": "code", "state": asked["state"][0]})
            self.send_header("Location", f"{asked['redirect_uri'][0]}?{answered}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


if len(sys.argv) > 2:
    Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
note(f"start {os.getpid()}")
for line in sys.stdin:
    asked = json.loads(line)
    params = asked.get("params") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    if params.get("name") == "wait" and token is not None:
        progress = {"progressToken": token, "progress": 1, "total": 2}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}), flush=True)
    told = answer(asked)
    if told:
        print(json.dumps(told), flush=True)

"""Measures the page of a kernel with much to show: large.py MGP FOLDER

100 servers with 10,000 tools, a record of a million events, 256 questions (as many as may wait). Each page is asked for 100
times on one connection, while the kernel has one core. Prints a table, and ends with 1 where a page takes longer than it
may."""

import hashlib
import http.client
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.parse

MGP, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]) / "large"
SERVERS, TOOLS, EVENTS, AGENTS, CALLS, TIMES = 100, 100, 1_000_000, 16, 16, 100
P99_MS, MOST_MIB = 50.0, 400.0

SERVER = r"""while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\n' "$id" "$(cat tools.json)" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
  esac
done
"""


def mgp(*words, **options):
    ran = subprocess.run([MGP, *words], cwd=FOLDER, env=ENV, text=True, capture_output=True, **options)
    if ran.returncode:
        sys.exit(f"mgp {' '.join(words)}: {ran.stdout}{ran.stderr}")
    return ran.stdout


def start():
    """Starts a kernel that has one core, and returns its process once it knows all tools."""
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["taskset", "-c", "0", MGP, "serve", "--background"], cwd=FOLDER, env=ENV, **silent)
    # A command that finds no kernel starts one.
    while not (FOLDER / "state/kernel.json").exists():
        time.sleep(0.05)
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if sum(1 for one in json.loads(mgp("servers", "--json", "--wait"))["servers"] if one["tools"]) >= SERVERS:
            return json.loads(mgp("status", "--json"))["pid"]
    sys.exit("the servers are not there")


def fill(path):
    """Adds events to the record, linked as the kernel links them, the newest now."""
    store = sqlite3.connect(path)
    seq, link = store.execute("SELECT seq, hash FROM audit_head").fetchone()
    began, rows = int(time.time() * 1000) - EVENTS * 500, []
    for number in range(1, EVENTS + 1):
        millis = began + number * 500
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis / 1000)) + f".{millis % 1000:03}Z"
        blocked = number % 25 == 0
        kind, result = ("TOOL_BLOCKED", "BLOCKED") if blocked else ("TOOL_EXECUTED", "SUCCESS")
        trace, agent, server = number.to_bytes(16, "big"), f"agent.{number % 20}", f"s{number % SERVERS}"
        hexed = trace.hex()
        chain = f"{hexed[:8]}-{hexed[8:12]}-{hexed[12:16]}-{hexed[16:20]}-{hexed[20:]}"
        event = (
            f'{{"timestamp":"{moment}","trace_id":"{chain}","event_type":"{kind}","actor":{{"type":"agent","id":"{agent}"}},'
            f'"target":{{"server_id":"{server}","tool_name":"list_things_{number % TOOLS}"}},"result":"{result}","details":{{"duration_ms":{number % 900}}}}}'
        ).encode()
        prev, seq = link, seq + 1
        link = hashlib.sha256(prev + seq.to_bytes(8, "big") + event).digest()
        rows.append((seq, millis, len(event), kind, agent, server, result, trace, event.decode(), prev, link))
    store.executemany("INSERT INTO audit_events VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
    store.execute("UPDATE audit_head SET seq = ?, hash = ?", (seq, link))
    store.commit()
    store.close()


def ask(port):
    """Has each agent make calls that wait for a person."""
    for agent in range(AGENTS):
        key = json.loads(mgp("keys", "new", f"agent.{agent}", "--allow", "call:*", "--force", "--json"))["secret"]
        line = http.client.HTTPConnection("127.0.0.1", port)
        head = {"authorization": f"Bearer {key}", "content-type": "application/json", "accept": "application/json, text/event-stream"}

        def post(message):
            line.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), head)
            answer = line.getresponse()
            answer.read()
            return answer

        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "large", "version": "1"}}
        head["mcp-session-id"] = post({"id": 1, "method": "initialize", "params": hello}).headers["mcp-session-id"]
        post({"method": "notifications/initialized"})
        for call in range(CALLS):
            params = {"name": f"s{agent}__delete_thing", "arguments": {"text": f"{agent} {call} " + "x" * 2000}, "_mgp": {"approval_wait_ms": 0}}
            post({"id": 2 + call, "method": "tools/call", "params": params})


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
schema = {"type": "object", "properties": {"text": {"type": "string", "description": "What it is about."}}}
tools = [{"name": f"list_things_{n}", "description": f"Lists the things of shelf {n}, the newest first.", "inputSchema": schema} for n in range(TOOLS - 1)]
tools.append({"name": "delete_thing", "description": "Deletes a thing for good.", "inputSchema": schema})
(FOLDER / "tools.json").write_text(json.dumps(tools))
(FOLDER / "server.sh").write_text(SERVER)
servers = "".join(f'[[servers]]\nid = "s{n}"\ncommand = "/bin/sh"\nargs = ["server.sh"]\ncwd = "{FOLDER}"\n' for n in range(SERVERS))
with http.client.socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]
(FOLDER / "mgp.toml").write_text(f'[listen]\nhttp = "127.0.0.1:{PORT}"\n[kernel]\nstate = "{FOLDER}/state"\n[access]\ndefault = "opt-out"\n{servers}')
ENV = {"HOME": str(FOLDER), "PATH": os.environ["PATH"], "MGP_CONFIG_PATH": str(FOLDER / "mgp.toml")}
mgp("operators", "passphrase", "--without-proof")
start()
mgp("stop")
fill(next((FOLDER / "state").rglob("audit.db")))
kernel = start()
try:
    ask(PORT)
    waiting = json.loads(mgp("permissions", "pending", "--json"))["questions"]
    before = resident(kernel)
    opened = json.loads(mgp("ui", "--no-browser", "--json"))
    line = http.client.HTTPConnection(opened["address"].removeprefix("http://"))
    line.request("POST", "/login", urllib.parse.urlencode({"code": opened["code"]}), {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"})
    answer = line.getresponse()
    answer.read()
    cookie = answer.headers["set-cookie"].split(";")[0]
    pages = ["/", f"/questions/{waiting[0]['id']}", "/servers", "/servers/s7", "/tools", "/tools?words=shelf+42", "/tools?_task=list+the+things+of+a+shelf",
             "/tools/s7.delete_thing", "/definitions", "/access", "/access?server_id=s7", "/record", "/record?agent_id=agent.7", "/record?result=BLOCKED&server_id=s75", "/kernel"]
    slow = []
    print(f"{len(waiting)} questions, {SERVERS * TOOLS:,} tools, {EVENTS:,} events, one core\n\n| page | ms p50 | ms p99 | KB |\n|---|---|---|---|")
    for page in pages:
        times = []
        for _ in range(TIMES):
            began = time.perf_counter()
            line.request("GET", page, headers={"cookie": cookie})
            answer = line.getresponse()
            body = answer.read()
            times.append((time.perf_counter() - began) * 1000)
            if answer.status != 200:
                sys.exit(f"{page}: {answer.status} {body[:500]}")
        times.sort()
        p99 = times[TIMES * 99 // 100 - 1]
        slow += [page] if p99 > P99_MS else []
        print(f"| {page} | {times[TIMES // 2]:.1f} | {p99:.1f} | {len(body) / 1000:.1f} |")
    after = resident(kernel)
    print(f"\nMiB resident before and after: {before:.0f}, {after:.0f}")
    if slow or after > MOST_MIB:
        sys.exit(f"missed: {', '.join(slow)}" if slow else "missed: memory")
finally:
    mgp("stop")
    shutil.rmtree(FOLDER, ignore_errors=True)

"""A day of a team with real parts: team.py MGP FOLDER NODE ISSUER [--short]

The parts are an identity provider (`oidc-provider`, started by ISSUER), Prometheus and rsyslog. With --short there are fewer
people and upgrades, and parts that are not installed are left out, which is said. Ends with 1 where something is not as it
should be."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

MGP, FOLDER, NODE, ISSUER = sys.argv[1], pathlib.Path(sys.argv[2]).absolute(), sys.argv[3], sys.argv[4]
SHORT = "--short" in sys.argv
REPOSITORY = pathlib.Path(__file__).absolute().parents[2]
PEOPLE, UPGRADES, SECONDS = (20, 2, 0) if SHORT else (250, 10, 60)
SECRET = "a-secret-of-the-team-and-of-nobody-else"
PATIENCE = 90
ENV = {
    **os.environ,
    "HOME": str(FOLDER),
    "XDG_RUNTIME_DIR": str(FOLDER),
    # The keyring of whoever runs this is left alone.
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
}

LEDGER = r"""
import json, sys
TOOLS = [{"name": name, "description": about, "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}
         for name, about in [("read_invoice", "Read an invoice"), ("list_invoices", "List the invoices")]]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = {
        "initialize": lambda: {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "ledger", "version": "1"}},
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: {"content": [{"type": "text", "text": message["params"]["name"]}]},
        "ping": dict,
    }
    answer = results.get(message["method"])
    end = {"result": answer()} if answer else {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}), flush=True)
"""


def check(holds, what):
    """Ends the day where something is not as it should be."""
    if not holds:
        sys.exit(f"error: {what}")


def until(what, is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        check(time.monotonic() < deadline, f"waited {PATIENCE} s in vain for {what}")
        time.sleep(0.1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(*words, **options):
    return subprocess.run(words, cwd=FOLDER, env=ENV, text=True, capture_output=True, **options)


def mgp(*words, ends=0):
    """Runs a command of the kernel's operators, and returns what it prints."""
    ran = run(MGP, "--config", str(FOLDER / "mgp.toml"), "--state", str(FOLDER / "state"), *words)
    check(ran.returncode == ends, f"mgp {' '.join(words)} ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout


def done(answer):
    """Returns whether a tool was called: refusals are results, too."""
    return "result" in (answer or {}) and not answer["result"].get("isError")


class Part:
    """A program beside the kernel, whose output is in a file."""

    def __init__(self, name, *words):
        with open(FOLDER / f"{name}.log", "a") as log:
            self.process = subprocess.Popen(words, cwd=FOLDER, env=ENV, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        PARTS.append(self)

    def end(self, by=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(by)
        self.process.wait(PATIENCE)


PARTS = []


def installed(program):
    """Returns a program's path; a day that lacks a part is no whole one."""
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    check(path or SHORT, f"`{program}` is missing: apt-get install prometheus rsyslog rsyslog-gnutls")
    if not path:
        print(f"left out: {program} is not installed")
    return path


class Team:
    """The kernel, the identity provider, and the people of the team."""

    def __init__(self):
        self.port, self.syslog_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        issuer_port = free_port()
        self.issuer = f"http://127.0.0.1:{issuer_port}"
        Part("issuer", NODE, ISSUER, str(issuer_port), str(PEOPLE), SECRET)
        until("the identity provider", lambda: self.fetch(f"{self.issuer}/.well-known/openid-configuration")[0] == 200)
        ran = run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                  "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
                  "-keyout", "key.pem", "-out", "cert.pem")
        check(ran.returncode == 0, ran.stderr)
        has_tls = any(pathlib.Path("/usr/lib").glob("**/rsyslog/lmnsd_gtls.so"))
        self.rsyslogd = installed("rsyslogd" if has_tls else "rsyslog-gnutls")
        push = f'push = {{ url = "syslog+tls://localhost:{self.syslog_port}", ca = "{FOLDER}/cert.pem" }}'
        groups = "".join(
            f'[[groups]]\nname = "{name}"\nclaim = "groups"\nissuer = "{self.issuer}"\n' for name in ("payments", "support")
        )
        (FOLDER / "mgp.toml").write_text(
            f"""[kernel]
drain_secs = 20
[listen]
public_url = "{self.url}"
oauth = {{ issuers = [{{ issuer = "{self.issuer}", agents = "any" }}], scopes = ["mgp:use"] }}
{groups}[access]
default = "opt-in"
rules = [{{ agent = "@payments", server = "ledger", permission = "allow" }}]
[permissions]
policy = "auto_approve"
[confirmation]
dangerous = false
[audit]
{push if self.rsyslogd else ""}
[telemetry]
metrics = true
[[servers]]
id = "ledger"
command = {json.dumps(sys.executable)}
args = ["ledger.py"]
cwd = {json.dumps(str(FOLDER))}
sharing = "shared"
"""
        )
        (FOLDER / "ledger.py").write_text(LEDGER)
        mgp("operators", "passphrase", "--without-proof")
        self.kernel = None
        self.start()

    def start(self):
        self.kernel = Part("kernel", MGP, "--config", str(FOLDER / "mgp.toml"), "--state", str(FOLDER / "state"), "serve",
                           "--foreground", "--no-stdio", "--http", f"127.0.0.1:{self.port}")
        until("the kernel", lambda: self.fetch(f"http://127.0.0.1:{self.port}/readyz")[0] == 200)
        mgp("servers", "--wait")

    def fetch(self, url, headers=(), body=None):
        """Returns the status and the body of an answer; 0 where there is none."""
        request = urllib.request.Request(url, data=body, headers=dict(headers))
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def token(self, number):
        form = {"grant_type": "client_credentials", "client_id": f"person-{number}", "client_secret": SECRET,
                "resource": self.url, "scope": "mgp:use"}
        status, text = self.fetch(f"{self.issuer}/token", body=urllib.parse.urlencode(form).encode())
        check(status == 200, f"no token for person {number}: {text}")
        return json.loads(text)["access_token"]

    def call(self, secret, tool="ledger.read_invoice", connection=None):
        """Makes a call of 2026-07-28, and returns its result, or the error; `None` where nothing came back."""
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in [
            ("protocolVersion", "2026-07-28"), ("clientInfo", {"name": "team", "version": "1"}), ("clientCapabilities", {})]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": meta}}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
                   "Authorization": f"Bearer {secret}"}
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", "/mcp", json.dumps(body), headers)
            text = connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return None
        found = re.search(r"\{.*\}", text)
        return json.loads(found.group(0)) if found else None


def people_and_groups(team):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(team.token, range(PEOPLE)))
        answers = list(pool.map(team.call, tokens))
    for number, answer in enumerate(answers):
        check(answer, f"person {number} got no answer")
        may = number % 4 == 0
        check(done(answer) == may, f"person {number} in {'payments' if may else 'another group'}: {answer}")
    groups = mgp("access", "groups")
    check("payments" in groups and "oauth/" in groups, groups)
    print(f"ok: of {PEOPLE} people those of one group may call, and nobody was listed")
    return tokens


def keys_as_code(team):
    decisions = FOLDER / "decisions.toml"
    decisions.write_text(
        '[[access]]\nagent = "agent.build"\nserver = "ledger"\ntool = "read_*"\npermission = "allow"\n'
        '[[keys]]\nowner = "agent.build"\nallow = ["list", "call:ledger.*"]\nlabel = "reports"\n'
        '[[keys]]\nowner = "prometheus"\nallow = ["list"]\n'
    )
    mgp("apply", str(decisions), "--diff", ends=5)
    applied = json.loads(mgp("--json", "apply", str(decisions)))
    keys = {key["owner"]: key for key in applied["keys"]}
    mgp("apply", str(decisions), "--diff")
    build = keys["agent.build"]
    check(done(team.call(build["secret"])), "the key does not hold")
    check(not done(team.call(build["secret"], "ledger.list_invoices")), "the key's agent may call what it may not")
    rotated = json.loads(mgp("--json", "keys", "rotate", build["id"], "--former-until", "1h"))
    check(done(team.call(build["secret"])) and done(team.call(rotated["secret"])), "both keys hold for an hour")
    mgp("keys", "revoke", build["id"])
    check(not done(team.call(build["secret"])), "a revoked key holds")
    print("ok: access and keys are those of a file, and a key was rotated")
    return keys["prometheus"]["secret"], rotated


def what_the_one_on_call_sees(team, key):
    rules = REPOSITORY / "contrib/prometheus"
    status, text = team.fetch(f"http://127.0.0.1:{team.port}/metrics", [("Authorization", f"Bearer {key}")])
    check(status == 200 and "mcp_server_operation_duration_seconds" in text, f"/metrics: {status} {text[:200]}")
    if not (installed("prometheus") and installed("promtool")):
        return
    for words in (["check", "rules", str(rules / "alerts.yml")], ["test", "rules", str(rules / "alerts.test.yml")]):
        ran = run("promtool", *words)
        check(ran.returncode == 0, f"promtool {' '.join(words)}: {ran.stdout}{ran.stderr}")
    port = free_port()
    (FOLDER / "key").write_text(key)
    (FOLDER / "prometheus.yml").write_text(
        f"""global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: ["{rules}/alerts.yml"]
scrape_configs:
  - job_name: mgp
    authorization: {{ credentials_file: "{FOLDER}/key" }}
    static_configs: [{{ targets: ["127.0.0.1:{team.port}"] }}]
"""
    )
    Part("prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=metrics",
         f"--web.listen-address=127.0.0.1:{port}", "--log.level=error")

    def query(expression):
        status, text = team.fetch(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        return json.loads(text)["data"]["result"] if status == 200 else None

    until("Prometheus to scrape the kernel", lambda: query('up{job="mgp"} == 1'))
    dashboard = json.loads((REPOSITORY / "contrib/grafana/mgp.json").read_text())
    panels = [inner for panel in dashboard["panels"] for inner in [panel, *panel.get("panels", [])]]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    for expression in expressions:
        plain = re.sub(r"\$__\w+", "1m", re.sub(r"\$\{?\w+(:\w+)?\}?(?=[\"'])", ".*", expression))
        check(query(plain) is not None, f"Prometheus does not read the panel's `{expression}`")
    check(query("mgp_servers_none_of_which") == [], "a query for nothing finds something")
    check(query('sum(mcp_server_operation_duration_seconds_count{server="ledger"}) > 0'), "no call of the ledger is counted")
    check(query("sum(mgp_refusals_total) > 0"), "no refusal is counted")
    print(f"ok: Prometheus reads the metrics, the rules hold their tests, and all {len(expressions)} panels can be drawn")


def the_record_at_syslog(team, key):
    if not team.rsyslogd:
        return
    (FOLDER / "rsyslog.conf").write_text(
        f"""global(workDirectory="{FOLDER}" maxMessageSize="256k" defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="{FOLDER}/cert.pem" defaultNetstreamDriverCertFile="{FOLDER}/cert.pem"
  defaultNetstreamDriverKeyFile="{FOLDER}/key.pem")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")
input(type="imtcp" address="127.0.0.1" port="{team.syslog_port}")
template(name="plain" type="string" string="%msg%\\n")
action(type="omfile" file="{FOLDER}/events.log" template="plain")
"""
    )

    def receiver():
        return Part("rsyslog", team.rsyslogd, "-n", "-f", str(FOLDER / "rsyslog.conf"), "-i", str(FOLDER / "rsyslog.pid"))

    def seen():
        log = FOLDER / "events.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return {event["_mgp"]["seq"] for event in map(json.loads, filter(None, lines))}

    listening = receiver()
    until("the first events at the receiver", seen)
    for _ in range(20):
        team.call(key)
    team.kernel.end()
    team.start()
    listening.end(signal.SIGTERM)
    for _ in range(20):
        team.call(key)
    receiver()
    head = json.loads(mgp("--json", "audit", "verify"))["head"]["seq"]
    until(f"event {head} at the receiver", lambda: head in seen())
    missing = set(range(1, head + 1)) - seen()
    check(not missing, f"events are missing at the receiver: {sorted(missing)[:10]}")
    print(f"ok: all {head} events are at the receiver, after a kernel that was killed and a receiver that was away")


def upgrades(team, key):
    counts, lock, over = {"calls": 0, "failed": []}, threading.Lock(), threading.Event()

    def load():
        while not over.is_set():
            answer = team.call(key)
            with lock:
                counts["calls"] += 1
                if not done(answer):
                    counts["failed"].append(answer)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    for number in range(UPGRADES):
        while time.monotonic() - began < SECONDS * (number + 0.5) / UPGRADES:
            time.sleep(0.05)
        mgp("restart")
    while time.monotonic() - began < SECONDS:
        time.sleep(0.05)
    over.set()
    for thread in threads:
        thread.join()
    check(not counts["failed"], f"{len(counts['failed'])} of {counts['calls']} calls failed: {counts['failed'][:3]}")
    check(counts["calls"] > UPGRADES, "there was no load")
    print(f"ok: of {counts['calls']} calls over {UPGRADES} upgrades none failed")


def backup_and_restore(team, key):
    copy = FOLDER / "copy"
    mgp("backup", str(copy))
    mgp("keys", "revoke", key["id"])
    team.kernel.end(signal.SIGTERM)
    told = mgp("restore", str(copy))
    check(key["id"] in told or "revoked" in told, told)
    team.start()
    check(not done(team.call(key["secret"])), "a key that was revoked after the copy holds again")
    mgp("audit", "verify")
    print("ok: a copy was restored, what was revoked since stays so, and the record holds")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        team = Team()
        people_and_groups(team)
        scrape_key, build = keys_as_code(team)
        what_the_one_on_call_sees(team, scrape_key)
        upgrades(team, build["secret"])
        the_record_at_syslog(team, build["secret"])
        backup_and_restore(team, build)
    finally:
        for part in PARTS:
            part.end()


main()

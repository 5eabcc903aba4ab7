"""The parts of a cluster as processes: PostgreSQL, kernels, haproxy, and the servers behind the kernels."""

import atexit
import contextlib
import glob
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
import tempfile
import threading
import time
import urllib.error
import urllib.request

MGP, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()
# A server that a kernel starts changes nothing beside the files of that kernel.
NOTES = FOLDER / "notes"
SCRIPTS = pathlib.Path(__file__).absolute().parent
PATIENCE = 60
ENV = {
    **os.environ,
    "HOME": str(FOLDER),
    "XDG_RUNTIME_DIR": str(FOLDER),
    "MGP_SECRETS_DIR": str(FOLDER / "secrets"),
    # The keyring of whoever runs this is left alone.
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
}
PARTS = []


class Failed(Exception):
    """Something is not as it should be."""


def check(holds, what):
    if not holds:
        raise Failed(what)


def until(what, is_so, patience=PATIENCE):
    """Waits until something is so, and returns how long that took, in seconds."""
    began = time.monotonic()
    while not is_so():
        check(time.monotonic() - began < patience, f"waited {patience} s in vain for {what}")
        time.sleep(0.02)
    return time.monotonic() - began


def listens(port):
    """Returns whether a program listens at a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(*names):
    """Returns the path of the first program that is there."""
    folders = os.environ["PATH"] + ":/usr/sbin:/sbin:" + ":".join(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True))
    found = next(filter(None, (shutil.which(name, path=folders) for name in names)), None)
    check(found, f"`{names[0]}` is missing: apt-get install postgresql haproxy openssl wrk")
    return found


def run(*words, env=ENV, **options):
    return subprocess.run(words, cwd=FOLDER, env=env, text=True, capture_output=True, **options)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


class Part:
    """A program whose output is in a file."""

    def __init__(self, name, *words, env=ENV, parts=PARTS):
        with open(FOLDER / f"{name}.log", "a") as log:
            self.process = subprocess.Popen(words, cwd=FOLDER, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        parts.append(self)

    def is_running(self):
        return self.process.poll() is None

    def end(self, by=signal.SIGKILL):
        if self.is_running():
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(by)
        self.process.wait(PATIENCE)


class Postgres:
    """A server of PostgreSQL with the database that kernels share."""

    def __init__(self):
        self.port = free_port()
        self.folder, self.part = pathlib.Path(tempfile.mkdtemp(prefix="mgp-cluster-")), None
        atexit.register(self.remove)
        # PostgreSQL refuses to be run by root.
        self.as_user = [program("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if self.as_user:
            shutil.chown(self.folder, "postgres")
        made = run(*self.as_user, program("initdb"), "-D", str(self.folder / "data"), "-A", "trust", "-U", "postgres", "-N")
        check(made.returncode == 0, made.stderr)
        self.start()
        self.sql("CREATE ROLE mgp LOGIN PASSWORD 'only-here'", "postgres")
        self.create("mgp")

    def url(self, database="mgp"):
        return f"postgres://mgp:only-here@127.0.0.1:{self.port}/{database}"

    def create(self, database):
        self.sql(f"CREATE DATABASE {database} OWNER mgp", "postgres")

    def start(self):
        self.part = Part("postgres", *self.as_user, program("postgres"), "-D", str(self.folder / "data"), "-p", str(self.port),
                         "-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", parts=[])
        until("PostgreSQL", lambda: self.sql("SELECT 1", "postgres", fails=True) == "1")

    def restart(self):
        """Ends the server as a loss of power would, and starts it again."""
        self.part.end(signal.SIGQUIT)
        self.start()

    def signal(self, which):
        first = self.part.process.pid
        # The first starts no others once it has stopped.
        os.kill(first, which)
        for process in pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), which)

    @contextlib.contextmanager
    def stopped(self):
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def cut(self):
        self.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'mgp'", "postgres")

    def sql(self, statement, database="mgp", fails=False):
        ran = run(program("psql"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database, "-XAtqc", statement)
        check(fails or ran.returncode == 0, f"{statement}: {ran.stderr}")
        return ran.stdout.strip()

    def remove(self):
        if self.part and self.part.is_running():
            self.signal(signal.SIGCONT)
            self.part.end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)


class Kernel:
    """A kernel with a state of its own."""

    def __init__(self, number, cluster, database="mgp"):
        self.name, self.env, self.part = f"kernel-{number}", ENV, None
        self.port, self.peer_port = free_port(), free_port()
        self.config, self.state = FOLDER / f"{self.name}.toml", FOLDER / self.name
        certificate(self.name)
        secret = "STORE_URL" if database == "mgp" else f"STORE_URL_{database}"
        (FOLDER / "secrets" / secret).write_text(cluster.postgres.url(database))
        os.chmod(FOLDER / "secrets" / secret, 0o600)
        self.text = f"""[kernel]
drain_secs = 10
[listen]
require_keys = true
[store]
url = "${{secret:{secret}}}"
key = "${{secret:STORE_KEY}}"
@STORE@
[cluster]
listen = "127.0.0.1:{self.peer_port}"
certificate = "{FOLDER}/{self.name}.pem"
key = "{FOLDER}/{self.name}.key"
authority = "{FOLDER}/authority.pem"
[access]
default = "opt-out"
[confirmation]
dangerous = false
[effects]
enabled = true
[telemetry]
metrics = true
[[servers]]
id = "payments"
url = "http://127.0.0.1:{cluster.payments_port}/mcp"
[[servers]]
id = "notes"
url = "http://127.0.0.1:{cluster.payments_port}/mcp"
security = {{ permissions = ["memory.write"] }}
[[servers]]
id = "echo"
url = "http://127.0.0.1:{cluster.echo_port}/mcp"
[[servers]]
id = "ledger"
command = {json.dumps(sys.executable)}
args = ["{SCRIPTS}/server.py", "{NOTES}/ledger"]
sharing = "shared"
[[servers]]
id = "desk"
command = {json.dumps(sys.executable)}
args = ["{SCRIPTS}/server.py", "{NOTES}/desk"]
"""
        self.configure()

    def configure(self, store=""):
        """Writes the configuration, with lines for its section of the store."""
        self.config.write_text(self.text.replace("@STORE@", store))

    def start(self):
        self.part = Part(self.name, MGP, "--config", str(self.config), "--state", str(self.state), "serve", "--foreground",
                         "--no-stdio", "--http", f"127.0.0.1:{self.port}", env=self.env)
        began = time.monotonic()
        until(f"{self.name} to be ready", lambda: self.is_ready() or not self.is_running())
        check(self.is_running(), f"{self.name} ended: {self.log_end()}")
        return time.monotonic() - began

    def is_running(self):
        return self.part is not None and self.part.is_running()

    def log_end(self):
        log = FOLDER / f"{self.name}.log"
        return log.read_text()[-300:] if log.exists() else ""

    def is_ready(self):
        return self.readiness()[0] == 200

    def readiness(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def mgp(self, *words, fails=False):
        """Runs a command of this kernel's operators, and returns what it prints; `None` if it fails and may."""
        ran = run(MGP, "--config", str(self.config), "--state", str(self.state), *words)
        check(fails or ran.returncode == 0, f"mgp {' '.join(words)} at {self.name}: {ran.stdout}{ran.stderr}")
        return ran.stdout if ran.returncode == 0 else None

    def until_connected(self):
        """Waits until each server is connected; one that lost its lease or its peer is restarted after a pause."""
        until(f"the servers of {self.name}", lambda: self.mgp("servers", "--wait", fails=True) is not None)

    def json(self, *words, **options):
        return json.loads(self.mgp("--json", *words, **options) or "null")

    def status(self):
        """Returns what `mgp status` prints; its exit code says whether all is well."""
        return run(MGP, "--config", str(self.config), "--state", str(self.state), "status").stdout

    def new_key(self, owner, *rights):
        words = [word for right in rights or ["list", "call:*"] for word in ("--allow", right)]
        return self.json("keys", "new", owner, *words)

    def call(self, key, tool, **options):
        return call(self.port, key, tool, **options)

    def memory(self):
        """Returns the memory of the process, in MiB."""
        status = pathlib.Path(f"/proc/{self.part.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024


def call(port, key, tool, arguments=None, meta=None, connection=None, patience=PATIENCE):
    """Makes a call of 2026-07-28, and returns the answer; `None` where none came."""
    meta = {**{f"io.modelcontextprotocol/{name}": value for name, value in [
        ("protocolVersion", "2026-07-28"), ("clientInfo", {"name": "cluster", "version": "1"}), ("clientCapabilities", {})]},
        **(meta or {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}, "_meta": meta}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
               "Authorization": f"Bearer {key}"}
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        own.request("POST", "/mcp", json.dumps(body), headers)
        answer = own.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        own.close()
        return None
    finally:
        if not connection:
            own.close()
    messages = re.findall(r"^(?:data: ?)?(\{.*\})$", text, re.M)
    if answer.status != 200 or not messages:
        return {"error": {"status": answer.status, "message": text[:300]}}
    return json.loads(messages[-1])


def done(answer):
    """Returns whether a tool was called: refusals are results, too."""
    return "result" in (answer or {}) and not answer["result"].get("isError")


class Load:
    """Calls of one tool at some ports, made by some threads until the end of the block."""

    def __init__(self, ports, key, tool="payments.read", threads=4, keep_alive=True):
        self.ports, self.key, self.tool, self.keep_alive = ports, key, tool, keep_alive
        self.calls, self.failed, self.last_passed = 0, [], 0
        self.lock, self.over = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.make_calls, args=(number,)) for number in range(threads)]

    def make_calls(self, number):
        port = self.ports[number % len(self.ports)]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE) if self.keep_alive else None
        while not self.over.is_set():
            began = time.monotonic()
            answer = call(port, self.key, self.tool, connection=connection)
            with self.lock:
                self.calls += 1
                if done(answer):
                    self.last_passed = max(self.last_passed, began)
                else:
                    self.failed.append((port, began, time.monotonic(), answer))
            if not answer:
                # Nobody is there, and finds more processor time to come back.
                time.sleep(0.01)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


@contextlib.contextmanager
def heavy_load(ports, key, seconds, connections=32):
    """Has `wrk` make as many calls as it can at each of these ports, and yields a function that returns calls a second."""
    runs = [subprocess.Popen(
        [program("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(SCRIPTS / "calls.lua"), f"http://127.0.0.1:{port}/mcp", "--", key],
        stdout=subprocess.PIPE, text=True) for port in ports]

    def rate():
        told = [each.communicate()[0] for each in runs]
        refused = [line for each in told for line in each.splitlines() if line.startswith("refused")]
        check(set(refused) == {"refused 0"}, f"calls of the load were {refused}: {told[0]}")
        return sum(float(re.search(r"Requests/sec:\s*([\d.]+)", each).group(1)) for each in told)

    try:
        yield rate
    finally:
        for each in runs:
            each.kill()
            each.wait()


def certificate(name, authority="authority", subject=None):
    """Makes a certificate of an authority, which is made with its first one."""
    def openssl(*words):
        made = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", *words)
        check(made.returncode == 0, made.stderr)

    if not (FOLDER / f"{authority}.pem").exists():
        openssl("-subj", f"/CN={authority}", "-keyout", f"{authority}.key", "-out", f"{authority}.pem")
    openssl("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-subj", f"/CN={subject or name}",
            "-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName=DNS:{subject or name},IP:127.0.0.1",
            "-addext", "extendedKeyUsage=serverAuth,clientAuth", "-keyout", f"{name}.key", "-out", f"{name}.pem")


class Cluster:
    """Three kernels that share a database, behind haproxy."""

    def __init__(self):
        self.payments_port, self.echo_port, self.port = free_port(), free_port(), free_port()
        (FOLDER / "secrets").mkdir(mode=0o700)
        (FOLDER / "secrets" / "STORE_KEY").write_text("a-secret-of-all-kernels-and-of-nobody-else")
        os.chmod(FOLDER / "secrets" / "STORE_KEY", 0o600)
        self.postgres = Postgres()
        Part("payments", sys.executable, str(SCRIPTS / "server.py"), str(NOTES / "payments"), str(self.payments_port))
        self.kernels = [Kernel(number, self) for number in (1, 2, 3)]
        servers = "\n".join(f"    server {kernel.name} 127.0.0.1:{kernel.port}" for kernel in self.kernels)
        template = (SCRIPTS / "haproxy.cfg").read_text()
        for name, value in [("PORT", self.port), ("ECHO", self.echo_port), ("SERVERS", servers)]:
            template = template.replace(f"@{name}@", str(value))
        (FOLDER / "haproxy.cfg").write_text(template)
        self.balancer = Part("haproxy", program("haproxy"), "-f", "haproxy.cfg")
        self.kernels[0].mgp("store", "init")
        for kernel in self.kernels:
            kernel.mgp("operators", "passphrase", "--without-proof")
        self.heal()
        self.key = self.kernels[0].new_key("agent.load")["secret"]
        self.until_all_take(self.key)
        check(self.balancer.is_running(), f"haproxy ended: {(FOLDER / 'haproxy.log').read_text()}")

    def heal(self):
        """Starts the kernels that do not run, and waits until all are ready."""
        if not self.postgres.part.is_running():
            self.postgres.start()
        for kernel in self.kernels:
            if not kernel.is_running():
                kernel.start()
        for kernel in self.kernels:
            until(f"{kernel.name} to be ready", kernel.is_ready)
            kernel.until_connected()

    def until_all_take(self, key, tool="payments.read", takes=True):
        """Waits until the key is good (or not) at all kernels, and returns how long that took."""
        return until("all kernels to know of a key", lambda: all(done(kernel.call(key, tool)) == takes for kernel in self.kernels))

    def status(self, kernel=0):
        return self.kernels[kernel].json("cluster", "status")


def lines(name):
    """Returns what a server noted."""
    notes = NOTES / name
    return notes.read_text().splitlines() if notes.exists() else []

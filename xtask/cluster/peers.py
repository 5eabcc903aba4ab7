"""What kernels do for each other: sessions of earlier revisions, servers that run once, and who may ask."""

import contextlib
import json
import os
import pathlib
import random
import socket
import ssl
import urllib.error
import urllib.request

from parts import FOLDER, certificate, check, done, lines, until


class Session:
    """A session of 2025-06-18, through the balancer or at a kernel."""

    def __init__(self, cluster, at=None):
        self.key, self.at, self.id = cluster.key, at or cluster, None
        self.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}})
        self.send("notifications/initialized")

    def send(self, method, params=None):
        """Sends a message over a new connection, and returns the status and the body of the answer."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if not method.startswith("notifications/"):
            message["id"] = 1
        return self.request("POST", message)

    def request(self, verb, message=None):
        """Makes a request of HTTP. Of a stream of no call only the status is of interest: it has no end."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "Authorization": f"Bearer {self.key}"}
        if self.id:
            headers.update({"Mcp-Session-Id": self.id, "Mcp-Protocol-Version": "2025-06-18"})
        body = json.dumps(message).encode() if message else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.at.port}/mcp", body, headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                self.id = answer.headers.get("Mcp-Session-Id") or self.id
                return answer.status, "" if verb == "GET" else answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def call(self, tool):
        return self.send("tools/call", {"name": tool, "arguments": {"order": "old"}})


def sessions_go_through_the_balancer(cluster, short):
    """30 calls of a session of 2025-06-18 through haproxy, which sticks to its kernel: all are answered; its death gives 404"""
    for _ in range(2 if short else 10):
        session = Session(cluster)
        answers = [session.call("payments.read") for _ in range(30)]
        failed = [answer for answer in answers if answer[0] != 200 or "read old" not in answer[1]]
        check(not failed, f"{len(failed)} of 30 calls failed: {failed[:2]}")
    sessions, kernel = [Session(cluster) for _ in range(9)], random.choice(cluster.kernels)
    kernel.part.end()
    try:
        until("haproxy to notice", lambda: all(session.call("payments.read")[0] in (200, 404) for session in sessions), 5)
        gone = [session for session in sessions if session.call("payments.read")[0] == 404]
        check(0 < len(gone) < 9, f"of 9 sessions {len(gone)} ended with one of three kernels")
        check(all(Session(cluster).call("payments.read")[0] == 200 for _ in gone), "a client cannot begin anew")
    finally:
        cluster.heal()
    return f"{len(gone)} of 9 sessions ended with their kernel"


def sessions_are_used_at_any_kernel(cluster, short):
    """a session of 2025-06-18 is used at a kernel that did not begin it, streams included, by its agent alone; its kernel's death gives 404"""
    stranger = cluster.kernels[0].new_key("agent.stranger")["secret"]
    cluster.until_all_take(stranger)
    pairs = [(one, other) for one in cluster.kernels for other in cluster.kernels if one is not other]
    for one, other in pairs[:2] if short else pairs:
        session = Session(cluster, one)
        session.at = other
        for _ in range(10):
            answer = session.call("payments.read")
            check(answer[0] == 200 and "read old" in answer[1], f"{answer}")
        called = {"name": "ledger.wait", "arguments": {"order": "old", "seconds": 0.2}, "_meta": {"progressToken": "token"}}
        status, text = session.send("tools/call", called)
        check(status == 200 and "wait old" in text, f"a call with progress: {status} {text}")
        check("notifications/progress" in text and text.index("notifications/progress") < text.index("wait old"), f"no progress: {text}")
        check(session.request("GET")[0] == 200, "no stream of messages that belong to no call")
        session.key = stranger
        check(session.call("payments.read")[0] == 404, "another agent uses the session")
        session.key, known = cluster.key, session.id
        session.id = ("A" if known[0] != "A" else "B") + known[1:]
        check(session.call("payments.read")[0] == 404, "an id that was made up is taken")
        session.id = known
        check(session.request("DELETE")[0] == 204, "the session does not end")
        session.at = one
        check(session.call("payments.read")[0] == 404, "the session goes on where it began")
    session = Session(cluster, one)
    session.at = other
    check(session.call("payments.read")[0] == 200, "no answer")
    one.part.end()
    try:
        answer = session.call("payments.read")
        check(answer[0] == 404, f"the kernel of a session was killed: {answer}")
        check(Session(cluster, other).call("payments.read")[0] == 200, "a client cannot begin anew")
    finally:
        cluster.heal()
    return ""


def running():
    """Returns the processes of the server on standard input and output that run."""
    started = {line.split()[1] for line in lines("ledger") if line.startswith("start ")}
    return {process for process in started if pathlib.Path(f"/proc/{process}/cmdline").exists()}


def owner_of(cluster, process):
    """Returns the kernel that started a process."""
    kernels = {str(kernel.part.process.pid): kernel for kernel in cluster.kernels}
    while process not in kernels:
        check(process != "0", "a server belongs to no kernel")
        process = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1]
    return kernels[process]


def a_server_runs_once(cluster, short):
    """a server on standard input and output runs once; when its kernel is killed, another one starts it (target: 15 s)"""
    took = []
    for _ in range(1 if short else 5):
        for kernel in cluster.kernels:
            answer = kernel.call(cluster.key, "ledger.read")
            check(done(answer), f"{kernel.name}: {answer}")
        until("one process", lambda: len(running()) == 1, 10)
        owner = owner_of(cluster, *running())
        owned = cluster.status()["leases"]
        check(any(lease["server"].startswith("ledger") for lease in owned), f"nobody has a lease: {owned}")
        owner.part.end()
        others = [kernel for kernel in cluster.kernels if kernel is not owner]
        took.append(until("the others", lambda: all(done(kernel.call(cluster.key, "ledger.read")) for kernel in others), 15))
        cluster.heal()
        until("one process", lambda: len(running()) == 1, 10)
    return f"at most {max(took):.1f} s"


def an_agent_without_sessions_has_one_instance(cluster, short):
    """calls of a stateless agent reach one instance of a server whichever kernel takes them; another agent has its own"""
    def instances(key):
        answers = [kernel.call(key, "desk.read") for _ in range(3) for kernel in cluster.kernels]
        check(all(map(done, answers)), f"{answers}")
        return {answer["result"]["content"][0]["text"] for answer in answers}

    other = cluster.kernels[1].new_key("agent.other")["secret"]
    cluster.until_all_take(other)
    first, second = instances(cluster.key), instances(other)
    check(len(first) == len(second) == 1 and first != second, f"instances: {first} and {second}")
    return ""


def a_lease_that_another_took_is_given_up(cluster, short):
    """the lease of a server is given to another kernel by hand: its owner stops, and the server never runs twice"""
    for kernel in cluster.kernels:
        check(done(kernel.call(cluster.key, "ledger.read")), f"no answer at {kernel.name}")
    until("one process", lambda: len(running()) == 1, 10)
    before = running()
    cluster.postgres.sql("UPDATE mgp_lease SET owner = 'nobody', epoch = epoch + 1, until = now() + interval '3 s' WHERE name LIKE 'ledger%'")
    seen = []
    until("the owner to stop", lambda: seen.append(running()) or not before & seen[-1], 15)
    until("another one to start it", lambda: seen.append(running()) or all(done(kernel.call(cluster.key, "ledger.read")) for kernel in cluster.kernels), 15)
    check(max(map(len, seen)) == 1, f"it ran {max(map(len, seen))} times at once")
    return ""


def orders_of_a_killed_owner_run_once(cluster, short):
    """the owner of a server is killed while it pays: no order is sent twice, unanswered ones end with an error"""
    import policy

    for number in range(2 if short else 20):
        cluster.kernels[0].call(cluster.key, "ledger.read")
        until("one process", lambda: len(running()) == 1, 10)
        owner = owner_of(cluster, *running())
        orders = [f"orphan-{number}-{at}" for at in range(3)]
        futures = [policy.AT_ONCE.submit(kernel.call, cluster.key, "ledger.pay", arguments={"order": order, "seconds": 0.3})
                   for kernel, order in zip(cluster.kernels, orders)]
        until("an order at the server", lambda: any(f"pay {order}" in lines("ledger") for order in orders), 5)
        owner.part.end()
        answers = [future.result() for future in futures]
        for order, answer in zip(orders, answers):
            check(lines("ledger").count(f"pay {order}") <= 1, f"{order} was paid twice")
            check(not done(answer) or f"pay {order}" in lines("ledger"), f"{order} was answered, and not paid")
        cluster.heal()
    return ""


def only_kernels_pass_calls_to_each_other(cluster, short):
    """`[cluster] listen` takes no key of an agent, no connection without a certificate, and none of another authority"""
    certificate("forged", "another-authority", "kernel-1")
    kernel = cluster.kernels[1]
    with contextlib.closing(socket.create_connection(("127.0.0.1", kernel.peer_port), 5)):
        pass
    for name in (None, "forged"):
        context = ssl.create_default_context(cafile=str(FOLDER / "authority.pem"))
        context.check_hostname = False
        if name:
            context.load_cert_chain(FOLDER / f"{name}.pem", FOLDER / f"{name}.key")
        request = (f"POST /mcp HTTP/1.1\r\nHost: kernel-2\r\nAuthorization: Bearer {cluster.key}\r\nContent-Length: 2\r\n"
                   "Connection: close\r\n\r\n{}").encode()
        answer = b""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", kernel.peer_port), 5) as plain, \
                context.wrap_socket(plain, server_hostname="kernel-2") as secured:
            secured.sendall(request)
            answer = secured.recv(1000)
        check(not answer, f"an answer to a peer with {name or 'no'} certificate: {answer[:200]}")
    return ""


def the_record_is_one(cluster, short):
    """events of all kernels are in the database, and one that is changed there is found"""
    count = "SELECT count(DISTINCT writer) FROM mgp_event"
    until("the events of three kernels", lambda: int(cluster.postgres.sql(count)) >= 3, 10)
    cluster.kernels[0].mgp("audit", "verify")
    change = "UPDATE mgp_event SET body = {} WHERE (writer, seq) = (SELECT writer, min(seq) FROM mgp_event GROUP BY writer ORDER BY writer LIMIT 1)"
    cluster.postgres.sql(change.format("body || ' '"))
    found = cluster.kernels[0].mgp("audit", "verify", fails=True) is None
    cluster.postgres.sql(change.format("rtrim(body)"))
    check(found, "`mgp audit verify` finds nothing")
    return f"{cluster.postgres.sql('SELECT count(*) FROM mgp_event')} events"

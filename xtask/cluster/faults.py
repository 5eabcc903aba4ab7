"""What happens when the database or a kernel stops, and how the cluster goes on."""

import contextlib
import glob
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import threading
import time

from parts import (
    ENV, FOLDER, MGP, PATIENCE, Kernel, Load, Part, call, check, done, free_port, heavy_load, lines, percentile, program, run, until,
)
from policy import paid

# The age at which decisions that the database does not confirm hold no more, and what a busy machine adds.
STALE, MORE = 2, 0.5


def a_stopped_database_stops_decisions(cluster, short):
    """the database stops: no call passes after 2 s, changes end with an error in 10 s, and all heals alone"""
    ports = [kernel.port for kernel in cluster.kernels]
    with Load(ports, cluster.key, threads=6) as load:
        time.sleep(0.5)
        with cluster.postgres.stopped():
            stopped = time.monotonic()
            said = cluster.kernels[0].mgp("access", "deny", "agent.nobody", "payments", fails=True)
            took = time.monotonic() - stopped
            check(said is None and took < 10, f"a change that is stored nowhere: {said}, after {took:.1f} s")
            until("all kernels to say that they are not ready", lambda: not any(kernel.is_ready() for kernel in cluster.kernels), 10)
            readiness = cluster.kernels[0].readiness()
            told = cluster.kernels[0].status()
            check("store" in told or "database" in told, f"`mgp status` does not say why: {told}")
            time.sleep(max(0, 8 - (time.monotonic() - stopped)))
            passed = load.last_passed - stopped
            check(passed < STALE + MORE, f"a call passed {passed:.2f} s after the database stopped")
        continued = time.monotonic()
        healed = until("all kernels to be ready", lambda: all(kernel.is_ready() for kernel in cluster.kernels))
    check(healed < 5, f"healed after {healed:.1f} s")
    failed = [answer for _, began, _, answer in load.failed if began > continued + healed or began < stopped + STALE / 2]
    check(not failed, f"calls failed while decisions were confirmed: {failed[:3]}")
    check(all(answer and "error" in str(answer) for *_, answer in load.failed), f"calls without an answer: {load.failed[:3]}")
    cluster.kernels[0].mgp("access", "deny", "agent.nobody", "payments")
    return f"last call after {passed:.2f} s, error of a change after {took:.1f} s, healed after {healed:.1f} s; {readiness[1][:60]}"


def a_pooler_that_keeps_no_connections_is_found(cluster, short):
    """PgBouncer: `mgp store check` refuses its transaction mode, and takes its session mode"""
    if not shutil.which("pgbouncer") and short:
        return "left out"
    postgres, kernel = cluster.postgres, cluster.kernels[0]
    for mode, is_found in [("transaction", True), ("session", False)]:
        port, settings = free_port(), postgres.folder / f"{mode}.ini"
        settings.write_text(f"""[databases]
mgp = host=127.0.0.1 port={postgres.port} user=mgp password=only-here
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
""")
        pooler = Part(f"pgbouncer-{mode}", *postgres.as_user, program("pgbouncer"), str(settings))
        (FOLDER / "secrets" / "STORE_URL_POOLED").write_text(postgres.url().replace(str(postgres.port), str(port)))
        os.chmod(FOLDER / "secrets" / "STORE_URL_POOLED", 0o600)
        config = FOLDER / "pooled.toml"
        config.write_text(kernel.config.read_text().replace("STORE_URL", "STORE_URL_POOLED"))
        try:
            until("PgBouncer", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
            ran = run(MGP, "--config", str(config), "--state", str(kernel.state), "store", "check")
            told = "session mode" in ran.stderr
            check((ran.returncode != 0 and told) == is_found, f"{mode}: {ran.returncode} {ran.stdout}{ran.stderr}")
        finally:
            pooler.end()
    return ""


def reads_go_on_where_the_configuration_says_so(cluster, short):
    """`[store] stale_reads`: calls that only read go on without the database, others do not"""
    kernel = cluster.kernels[2]
    kernel.part.end(signal.SIGTERM)
    kernel.configure("stale_reads = true")
    try:
        cluster.heal()
        with cluster.postgres.stopped():
            time.sleep(STALE + 1)
            check(done(kernel.call(cluster.key, "payments.read")), "a call that only reads was refused")
            answer = kernel.call(cluster.key, "payments.pay", arguments={"order": "stale"})
            check(not done(answer) and not paid("stale"), f"a payment on stale decisions: {answer}")
    finally:
        kernel.part.end()
        kernel.configure()
    return ""


def lost_connections_are_made_again(cluster, short):
    """connections are cut and the database restarted under load: no call fails, changes go on"""
    outages, took = [], []
    with Load([kernel.port for kernel in cluster.kernels], cluster.key, threads=6) as load:
        for number in range(3 if short else 20):
            cluster.postgres.cut()
            key = change_in_the_end(random.choice(cluster.kernels), "keys", "new", f"agent.cut-{number}", "--allow", "call:*")
            took.append(cluster.until_all_take(json.loads(key)["secret"]))
        for _ in range(1 if short else 5):
            began = time.monotonic()
            cluster.postgres.restart()
            until("all kernels to be ready", lambda: all(kernel.is_ready() for kernel in cluster.kernels))
            outages.append((began, time.monotonic()))
            time.sleep(1)

    def is_excused(began):
        """Decisions were stale where the database took longer for its start than they hold."""
        return any(down + STALE - MORE < began < up + MORE for down, up in outages)

    failed = [failure for failure in load.failed if not is_excused(failure[1])]
    check(not failed, f"{len(failed)} of {load.calls} calls failed: {failed[:3]}")
    check(max(took) < 1, f"a key was known to all after {max(took):.2f} s")
    longest = max(up - down for down, up in outages)
    return f"{load.calls} calls; restarts took {longest:.1f} s at most, keys were known to all after {max(took):.2f} s"


@contextlib.contextmanager
def small_disk(postgres):
    """Has the database store changes on a disk of 8 MiB, and yields its folder; `None` where nothing can be mounted."""
    disk = postgres.folder / "small"
    disk.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)).returncode:
        yield None
        return
    try:
        shutil.chown(disk, "postgres")
        postgres.sql(f"CREATE TABLESPACE small LOCATION '{disk}'")
        postgres.sql("ALTER TABLE mgp_entry SET TABLESPACE small")
        yield disk
    finally:
        (disk / "filler").unlink(missing_ok=True)
        postgres.sql("ALTER TABLE mgp_entry SET TABLESPACE pg_default", fails=True)
        postgres.sql("DROP TABLESPACE IF EXISTS small", fails=True)
        run("umount", "--lazy", str(disk))


def a_full_disk_of_the_database_stops_changes_only(cluster, short):
    """the disk of the database is full: calls go on, changes end with an error, and all heals alone"""
    postgres, kernel = cluster.postgres, cluster.kernels[1]
    with small_disk(postgres) as disk:
        if not disk:
            return "left out: nothing can be mounted here"
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass

        def change():
            number = random.randrange(10**9)
            return kernel.mgp("access", "deny", f"agent.full-{number}", "payments", "--because", "x" * 400, fails=True)

        until("a change to find no room", lambda: change() is None)
        began = time.monotonic()
        check(change() is None and time.monotonic() - began < 10, "a change on a full disk")
        time.sleep(STALE + 1)
        check(all(done(each.call(cluster.key, "payments.read")) for each in cluster.kernels), "calls are refused, and nothing is stale")
        (disk / "filler").unlink()
        healed = until("changes to be made again", lambda: change() is not None, 10)
    return f"healed after {healed:.1f} s"


def change_in_the_end(kernel, *words):
    """Makes a change that may fail at first, and returns what it prints."""
    made = []
    until(f"mgp {' '.join(words)}", lambda: made.append(kernel.mgp("--json", *words, fails=True)) or made[-1], 15)
    return made[-1]


class Kills:
    """Payments and changes of operators while kernels are killed, and what was acknowledged of them."""

    def __init__(self, cluster):
        self.cluster, self.over, self.lock = cluster, threading.Event(), threading.Lock()
        self.paid, self.unknown, self.unanswered, self.keys, self.revoked, self.windows = [], [], [], [], [], []
        self.threads = [threading.Thread(target=self.pay, args=(number,)) for number in range(4)]
        self.threads.append(threading.Thread(target=self.decide))

    def pay(self, thread):
        for number in range(10**9):
            if self.over.is_set():
                return
            order = f"killed-{thread}-{number}"
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                answer = call(self.cluster.port, self.cluster.key, "payments.pay", patience=random.choice([0.2, 5]),
                              arguments={"order": order, "seconds": 0.02}, meta={"idempotency_key": order})
                if done(answer) or "outcome_unknown" in str(answer) or "nobody knows" in str(answer):
                    with self.lock:
                        (self.paid if done(answer) else self.unknown).append(order)
                    break
                time.sleep(0.05)
            else:
                self.unanswered.append((order, answer))

    def decide(self):
        number = 0
        while not self.over.is_set():
            number += 1
            kernel = random.choice(self.cluster.kernels)
            made = kernel.mgp("--json", "keys", "new", f"agent.kill-{number}", "--allow", "call:*", fails=True)
            if made:
                self.keys.append(json.loads(made))
            if number % 3 == 0 and self.keys:
                key = self.keys.pop(0)
                gone = kernel.mgp("keys", "revoke", key["id"], fails=True)
                # A command whose kernel was killed may have revoked it or not.
                if gone is not None:
                    self.revoked.append(key)

    def is_excused(self, port, began, ended):
        return any(port == at and began < up and down < ended for at, down, up in self.windows)


def kills_lose_nothing(cluster, short):
    """kill -9 of any kernel under load: nothing acknowledged is lost, nothing runs twice, others answer"""
    kills, count = Kills(cluster), cluster.kills
    ports = [kernel.port for kernel in cluster.kernels]
    with Load(ports, cluster.key, threads=6, keep_alive=False) as load:
        for thread in kills.threads:
            thread.start()
        for _ in range(count):
            kernel = random.choice(cluster.kernels)
            time.sleep(random.uniform(0, 0.3))
            down = time.monotonic()
            kernel.part.end()
            kernel.start()
            kernel.until_connected()
            kills.windows.append((kernel.port, down, time.monotonic()))
        kills.over.set()
        for thread in kills.threads:
            thread.join()
    failed = [(port, answer) for port, began, ended, answer in load.failed if not kills.is_excused(port, began, ended)]
    check(not failed, f"{len(failed)} of {load.calls} calls failed at kernels that ran: {failed[:3]}")
    notes = [line for line in lines("payments") if line.startswith("pay killed-")]
    twice = {line for line in notes if notes.count(line) > 1}
    check(not twice, f"paid twice: {sorted(twice)[:5]}")
    check(not kills.unanswered, f"repeated for {PATIENCE} s in vain: {kills.unanswered[:3]}")
    lost = [order for order in kills.paid if f"pay {order}" not in notes]
    check(not lost, f"acknowledged and not paid: {lost[:5]}")
    for keys, is_good in [(kills.keys, True), (kills.revoked, False)]:
        for key in keys[-30:]:
            for kernel in cluster.kernels:
                check(done(kernel.call(key["secret"], "payments.read")) == is_good,
                      f"the key {key['id']} was {'made' if is_good else 'revoked'}, and {kernel.name} does not know it")
    for kernel in cluster.kernels:
        kernel.mgp("audit", "verify")
    check(kills.paid and kills.keys and kills.revoked, "there was no load")
    return (f"{count} kills, {load.calls} calls, {len(kills.paid)} payments, of {len(kills.unknown)} nobody knows the end, "
            f"{len(kills.keys)} keys made, {len(kills.revoked)} revoked")


def a_rolling_restart_loses_no_call(cluster, short):
    """all kernels are restarted in turn behind haproxy: no call fails"""
    with Load([cluster.port], cluster.key, threads=4) as load, Load([cluster.port], cluster.key, keep_alive=False) as others:
        for _ in range(1 if short else 5):
            for kernel in cluster.kernels:
                kernel.part.end(signal.SIGTERM)
                cluster.heal()
                time.sleep(0.5)
    failed = [*load.failed, *others.failed]
    check(not failed, f"{len(failed)} of {load.calls + others.calls} calls failed: {[answer for *_, answer in failed[:3]]}")
    return f"{load.calls + others.calls} calls"


def what_no_kernel_wrote_is_not_carried_out(cluster, short):
    """an entry forged in the database: no kernel carries it out, all refuse decisions and say why"""
    postgres, kernel = cluster.postgres, cluster.kernels[1]
    postgres.sql("""UPDATE mgp_order SET version = version + 1 WHERE name = 'policy';
        INSERT INTO mgp_entry (name, version, body) SELECT name, version, decode(repeat('ab', 99), 'hex') FROM mgp_order
        WHERE name = 'policy'; NOTIFY mgp""")
    try:
        took = until("all kernels to refuse", lambda: not any(done(kernel.call(cluster.key, "payments.read")) for kernel in cluster.kernels), 10)
        check("[store] key" in json.dumps(cluster.status()) + kernel.status(), "no kernel says why")
    finally:
        postgres.sql("""DELETE FROM mgp_entry WHERE name = 'policy' AND version = (SELECT version FROM mgp_order WHERE name = 'policy');
            UPDATE mgp_order SET version = version - 1 WHERE name = 'policy'""")
    healed = until("all kernels to be ready", lambda: all(kernel.is_ready() for kernel in cluster.kernels), 10)
    return f"after {took:.1f} s; healed after {healed:.1f} s"


def changed_rows_are_found(cluster, short):
    """an entry that was changed by hand is found by `mgp store check`"""
    # Entries before the copy of all tables, which stay for a while, are nobody's basis any more.
    change = "UPDATE mgp_entry SET body = {} WHERE name = 'policy' AND version = (SELECT version FROM mgp_order WHERE name = 'policy')"
    cluster.until_all_take(cluster.kernels[0].new_key("agent.changed")["secret"])
    cluster.kernels[0].mgp("store", "check")
    cluster.postgres.sql(change.format("set_byte(body, 20, get_byte(body, 20) # 1)"))
    try:
        found = cluster.kernels[0].mgp("store", "check", fails=True) is None
    finally:
        cluster.postgres.sql(change.format("set_byte(body, 20, get_byte(body, 20) # 1)"))
    check(found, "it says that all is well")
    cluster.kernels[0].mgp("store", "check")
    return ""


def a_wrong_clock_changes_nothing(cluster, short):
    """the clock of one kernel is 30 s ahead: it decides as the others, and the status says so"""
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
    if not library:
        return "left out: libfaketime is not installed"
    kernel = cluster.kernels[2]
    kernel.part.end(signal.SIGTERM)
    kernel.env = {**ENV, "LD_PRELOAD": library, "FAKETIME": "+30s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    try:
        cluster.heal()
        key = kernel.json("keys", "new", "agent.clock", "--allow", "call:*")
        cluster.until_all_take(key["secret"])
        order = "of-another-time"
        answers = [each.call(cluster.key, "payments.pay", arguments={"order": order}, meta={"idempotency_key": order})
                   for each in (kernel, *cluster.kernels)]
        check(all(map(done, answers)) and paid(order) == 1, f"paid {paid(order)} times: {answers}")
        cluster.kernels[0].mgp("keys", "revoke", key["id"])
        cluster.until_all_take(key["secret"], takes=False)
        ahead = []
        until("the status to say so", lambda: ahead.append(max(
            row.get("clock_ms") or 0 for row in cluster.status()["kernels"])) or 29_000 < ahead[-1] < 31_000, 10)
    finally:
        kernel.env = ENV
        kernel.part.end()
    return f"{ahead[-1] / 1e3:.1f} s ahead"


def capacity(cluster, short):
    """calls a second at 1, 2 and 4 kernels on this machine"""
    fourth = Kernel(4, cluster)
    fourth.start()
    fourth.until_connected()
    told = []
    try:
        for count in (1, 2, 4):
            ports = [kernel.port for kernel in [*cluster.kernels, fourth][:count]]
            with heavy_load(ports, cluster.key, 2 if short else 10) as rate:
                told.append(f"{count}: {rate():.0f}")
    finally:
        fourth.part.end()
    return ", ".join(told)


def many_entries(cluster, short):
    """100,000 access entries of 10,000 agents: start (target: 2 s), a change at another kernel (target: 1 s)"""
    agents = 1_000 if short else 10_000
    cluster.postgres.create("many")
    first, second = Kernel("many-1", cluster, "many"), Kernel("many-2", cluster, "many")
    text = first.config.read_text()
    # A kernel that decides alone makes the tables, and stops.
    first.config.write_text(text[:text.index("[store]")] + text[text.index("[access]"):])
    first.start()
    first.part.end(signal.SIGTERM)
    with contextlib.closing(sqlite3.connect(first.state / "mgp.db")) as database, database:
        fill(database, agents)
    first.configure()
    first.mgp("store", "init")
    first.mgp("store", "copy")
    first.mgp("operators", "passphrase", "--without-proof")
    try:
        first.start()
        fresh = second.start()
        again = []
        for _ in range(3):
            second.part.end(signal.SIGTERM)
            again.append(second.start())
        second.until_connected()
        key = first.new_key("agent.1")["secret"]
        until("the key at the other kernel", lambda: done(second.call(key, "payments.read")), 10)
        took = []
        for _ in range(5):
            first.mgp("access", "deny", "agent.1", "payments")
            took.append(until("the denial", lambda: not done(second.call(key, "payments.read")), 10))
            first.mgp("access", "revoke", "agent.1", "payments")
            took.append(until("its end", lambda: done(second.call(key, "payments.read")), 10))
        figure = (f"{agents * 10} entries: first start {fresh:.1f} s, start {percentile(again, 50):.1f} s, change after "
                  f"{max(took):.2f} s, {second.memory()} MiB")
    finally:
        for kernel in (first, second):
            if kernel.part:
                kernel.part.end()
    check(percentile(again, 50) < 2 and max(took) < 1, figure)
    return figure


def fill(database, agents):
    """Adds ten entries for each agent."""
    rows = ((f"agent.{agent}", "echo", f"tool-{tool}") for agent in range(agents) for tool in range(10))
    database.executemany("INSERT INTO access_entries (agent, server, tool, permission, granted_by, granted_at) "
                         "VALUES (?, ?, ?, 'allow', 'operator', 1700000000000)", rows)

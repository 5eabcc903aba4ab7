"""What each page presumes, what is typed where a command of it asks, and which commands cannot run here."""

import glob
import json
import pathlib
import re
import shutil
import socket
import time

PASSPHRASE = "walked by a program"
# What a person types where the program asks.
ANSWERS = [
    (r"passphrase[^\n]*: $", PASSPHRASE),
    (r"(?i)type (\S+) to approve[^\n]*: $", "write_file"),
    (r"\[y/N\][^\n]*$", "y"),
]


class Expected:
    """How a command ends. One that serves runs on, in the background, once it has shown what it is to show."""

    def __init__(self, code=0, shows=None, serves=False):
        self.code, self.shows, self.serves = code, shows, serves


class Page:
    def __init__(self, file, begin=None, expects=None, left_out=None, takes=None, answers=(), fills=(), needs_root=False):
        self.file, self.begin, self.takes, self.needs_root = file, begin, takes or {}, needs_root
        self.name = file.removeprefix("docs/").removesuffix(".md").lower()
        self.answers, self.fills = [*answers, *ANSWERS], fills
        self.expects, self.left_out = expects or {}, left_out or {}

    def expected(self, command):
        """How a command is to end: what is said of its longest known beginning."""
        known = [beginning for beginning in self.expects if command.startswith(beginning)]
        return self.expects[max(known, key=len)] if known else Expected()

    def reason(self, command):
        """Why a command cannot run here; None if it can."""
        return next((reason for beginning, reason in self.left_out.items() if command.startswith(beginning)), None)

    def filled(self, world, command):
        """The command with what stands for an example of the page."""
        for example, value in self.fills:
            if re.search(example, command):
                command = re.sub(example, value(world), command)
        return command


def clone(world):
    """The README is read in a clone."""
    world.write("mgp/README.md", (world.checkout / "README.md").read_text())
    world.done('cd mgp && mkdir target && ln -s "$CARGO_STAND_IN" target/debug')


def new_user(world):
    """What somebody has who reads how to begin: a text, a client, and a program that is a server."""
    world.write("Documents/plan.txt", "Monday: write the report\n")
    world.write(".cursor/mcp.json", json.dumps({"mcpServers": {}}))
    world.program("github-mcp-server", '#!/bin/sh\nexec mgp demo-server office\n')


def user(world):
    """What somebody has who has followed the first page."""
    new_user(world)
    world.done("cargo install --path mgp-kernel")
    world.done("mgp operators passphrase")


def kernel(world):
    """A kernel in the background."""
    user(world)
    world.done("mgp servers")


def decider(world):
    """Servers of the kinds that the page on decisions speaks of, and a question that waits."""
    user(world)
    for name, tools in (("notes", ["remove_note", "list_notes"]), ("db", ["query"]), ("git", ["push", "status"]), ("mail", ["send"])):
        world.program(f"{name}-server", (world.checkout / "xtask/walk/stub.py").read_text())
        world.done(f"mgp add {name} -- {name}-server {' '.join(tools)}")
    world.done("mgp add shell -- mgp demo-server shell")
    world.done("mgp servers --wait")


def question(world):
    """The id of a call that waits for approval; it is made if none waits. One that was answered is still `world.asked`."""
    def waiting():
        return json.loads(world.done("mgp permissions pending --json"))["questions"]

    asked = waiting()
    if not asked:
        said, _ = world.run("mgp call notes.remove_note id=1 </dev/null 2>&1 | cat")
        asked = waiting()
        if not asked:
            raise world.failed(f"no question waits after: {said}")
    world.asked = asked[0]["id"]
    return world.asked


def checked(world, text):
    """Adds a block of settings to the configuration, which has to be a valid one with it."""
    file = world.home / ".config/mgp/servers.toml"
    before = file.read_text() if file.exists() else ""
    world.write(".config/mgp/servers.toml", f"{before}\n{text}")
    world.done("mgp config check")
    world.write(".config/mgp/servers.toml", before)


def administrator(world):
    """A machine with systemd, on which root has the program, a certificate, and the secret of a server."""
    world.stand_in("systemctl", "systemctl.py")
    if not shutil.which("sudo"):
        world.stand_in("sudo", "sudo.sh")
    world.done("mkdir -p team && cd team && cp \"$CARGO_STAND_IN/mgp\" . && echo tracker-token > TRACKER && echo hook-secret-of-the-walk > HOOK", is_root=True)
    world.done("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=mgp.example -keyout tls.key -out tls.crt", is_root=True)
    world.done("id ada || useradd --create-home ada", is_root=True)


def of_team(world, text):
    """The page has two files: the kernel's configuration, and decisions."""
    if "[listen]" in text:
        path = pathlib.Path("/etc/mgp/mgp.toml")
    else:
        path = pathlib.Path.home() / "team/decisions.toml"
    path.write_text(text)


def service_settings(world, text):
    pathlib.Path("/etc/systemd/system/mgp.service.d/team.conf").write_text(text)


def key(world):
    """The id of a key of the agent that the page's decisions name."""
    keys = json.loads(world.done("mgp --socket /run/mgp/mgp.sock keys list --owner agent.build --json", is_root=True))["keys"]
    return keys[0]["id"]


def database(world):
    """A PostgreSQL of the account's own, which its commands find."""
    user(world)
    world.port = free_port()
    folders = ":".join(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True))
    world.done(f"PATH=$PATH:{folders} PGHOST=$HOME/pg PGPORT={world.port}; export PGHOST PGPORT")
    world.done("initdb -D pg -A trust -N >/dev/null")
    world.done(f'pg_ctl -D pg -w -l pg.log -o "-p {world.port} -k $HOME/pg" start && createdb')


def of_cluster(world, text):
    """The page's configuration, with files of the account and addresses of this machine."""
    text = text.replace("/etc/mgp/", f"{world.home}/").replace("10.0.0.5:7334", f"127.0.0.1:{free_port()}")
    world.done("cp kernels.pem database-authority.pem")
    world.write(".config/mgp/servers.toml", text)
    world.done("mgp config check")


def balancer(world, text):
    """The part of a configuration of haproxy that the page shows is a valid one."""
    if "backend kernels" in text:
        world.write("haproxy.cfg", f"defaults\n    mode http\n    timeout client 1h\nfrontend all\n    bind 127.0.0.1:{free_port()}\n    default_backend kernels\n{text}")
        world.done("haproxy -c -f haproxy.cfg")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def today(world):
    return time.strftime("%Y-%m-%d")


PAGES = [
    Page("README.md", begin=clone, expects={"mgp call": Expected(shows="# MGP"), "mgp search": Expected(shows="files.read_text_file")}),
    Page(
        "docs/getting-started.md",
        begin=new_user,
        expects={"mgp call files.read_text_file": Expected(shows="Monday"), "mgp call files.write_file": Expected(shows="wrote")},
        answers=[(r"GITHUB_TOKEN[^\n]*: $", "ghp_walked")],
    ),
    Page(
        "docs/clients.md",
        begin=kernel,
        expects={"mgp status": Expected(shows="mgp .* runs since"), "mgp serve": Expected(shows="listening at http://127.0.0.1:7332/mcp", serves=True)},
    ),
    Page("docs/permissions.md", begin=decider, fills=[(r"(?<=reset )k7fm", lambda world: world.asked), (r"\bk7fm\b", question)], takes={"toml": checked}),
    Page(
        "docs/team.md",
        needs_root=True,
        begin=administrator,
        takes={"toml": of_team, "ini": service_settings},
        expects={
            "mgp --socket /run/mgp/mgp.sock apply decisions.toml --diff": Expected(code=5),
            # There is no tracker behind the example's address.
            "mgp --socket /run/mgp/mgp.sock servers --wait": Expected(code=4, shows="tracker"),
        },
        fills=[(r"(?<=rotate )ID", key), ("2026-10-01", today)],
    ),
    Page(
        "docs/replicas.md",
        begin=database,
        expects={"mgp stop": Expected(code=None)},
        takes={"toml": of_cluster, "": balancer},
        answers=[
            (r"(new role|Enter it again)[^\n]*: $", "only-here"),
            (r"STORE_URL[^\n]*: $", lambda world: f"postgres://mgp:only-here@127.0.0.1:{world.port}/mgp"),
            (r"STORE_KEY[^\n]*: $", "9f" * 32),
        ],
    ),
]

#!/usr/bin/env python3
"""Stands in for systemctl where no systemd runs: starts the units of /etc/systemd/system as they say, with their sockets, user and folders.

It does what the documents' units need and nothing else: it knows no confinement, and nobody restarts a service that ended."""

import configparser
import grp
import os
import pathlib
import pwd
import shlex
import shutil
import signal
import socket
import sys
import time

UNITS = pathlib.Path("/etc/systemd/system")
PIDS = pathlib.Path("/run/walk-systemctl")


class Repeated(dict):
    """A key of a unit may stand more than once."""

    def __setitem__(self, key, value):
        if key in self and isinstance(value, list):
            self[key].extend(value)
        else:
            super().__setitem__(key, value)


def unit(name):
    parser = configparser.RawConfigParser(strict=False, dict_type=Repeated, delimiters=("=",), comment_prefixes=("#",), interpolation=None)
    parser.optionxform = str
    files = [UNITS / name, *sorted((UNITS / f"{name}.d").glob("*.conf"))]
    parser.read(file for file in files if file.exists())
    return parser


def setting(parser, section, key, default=""):
    return parser.get(section, key, fallback=default).split("\n")[0]


def settings(parser, section, key):
    return [value for value in parser.get(section, key, fallback="").split("\n") if value]


def listeners(name):
    if not (UNITS / name).exists():
        return []
    found = []
    for address in settings(unit(name), "Socket", "ListenStream"):
        host, _, port = address.rpartition(":")
        listener = socket.create_server((host or "0.0.0.0", int(port)))
        found.append(listener)
    return found


def start(name):
    service = unit(name)
    user, group = setting(service, "Service", "User", "root"), setting(service, "Service", "Group", "root")
    uid, gid = pwd.getpwnam(user).pw_uid, grp.getgrnam(group).gr_gid
    for kind, base in (("State", "/var/lib"), ("Runtime", "/run"), ("Configuration", "/etc")):
        if folder := setting(service, "Service", f"{kind}Directory"):
            path = pathlib.Path(base) / folder
            path.mkdir(exist_ok=True)
            if kind != "Configuration":
                os.chown(path, uid, gid)
                path.chmod(int(setting(service, "Service", f"{kind}DirectoryMode", "0755"), 8))
    environment = {"PATH": os.environ["PATH"], "HOME": pwd.getpwnam(user).pw_dir, "LANG": "C.UTF-8"}
    if credentials := settings(service, "Service", "LoadCredential"):
        folder = pathlib.Path("/run/credentials") / name
        folder.mkdir(parents=True, exist_ok=True)
        for credential in credentials:
            key, _, file = credential.partition(":")
            shutil.copy(file, folder / key)
            os.chown(folder / key, uid, gid)
        os.chown(folder, uid, gid)
        environment["CREDENTIALS_DIRECTORY"] = str(folder)
    sockets = listeners(name.replace(".service", ".socket"))
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(f"\0walk-{os.getpid()}")
    environment["NOTIFY_SOCKET"] = f"@walk-{os.getpid()}"
    child = os.fork()
    if child == 0:
        os.setsid()
        log = os.open(f"/var/log/{name}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        for number, listener in enumerate(sockets, 3):
            # The copies keep clear of the numbers that they are moved to.
            os.set_inheritable(os.dup2(listener.fileno(), 100 + number), False)
        for number in range(3, 3 + len(sockets)):
            os.dup2(100 + number, number, inheritable=True)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.initgroups(user, gid)
        os.setgid(gid)
        os.setuid(uid)
        os.umask(int(setting(service, "Service", "UMask", "0022"), 8))
        if sockets:
            environment |= {"LISTEN_FDS": str(len(sockets)), "LISTEN_PID": str(os.getpid())}
        command = shlex.split(setting(service, "Service", "ExecStart"))
        os.execvpe(command[0], command, environment)
    PIDS.mkdir(exist_ok=True)
    (PIDS / name).write_text(str(child))
    notify.settimeout(60)
    try:
        while "READY=1" not in notify.recv(4096).decode():
            pass
    except TimeoutError:
        sys.exit(f"{name} is not ready after a minute:\n{pathlib.Path(f'/var/log/{name}.log').read_text()}")


def stop(name):
    file = PIDS / name
    if not file.exists():
        return
    pid = int(file.read_text())
    file.unlink()
    try:
        os.kill(pid, signal.SIGTERM)
        while True:
            os.kill(pid, 0)
            time.sleep(0.05)
    except ProcessLookupError:
        pass


def main():
    verb, *units = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    services = [name if "." in name else f"{name}.service" for name in units if not name.endswith(".socket")]
    for name in services:
        if verb in ("stop", "restart"):
            stop(name)
        if verb in ("start", "restart") or (verb == "enable" and "--now" in sys.argv):
            start(name)


main()

"""Does what the documents say, word for word, as an account that has nothing yet.

documents.py MGP CHECKOUT FOLDER [PAGE…]

Every command of a page's `sh` and `console` blocks is typed at a terminal of the fresh account; a line that begins with `#` is typed as root.
Every configuration of its `toml` blocks is checked by the program. A page in pages.py says what it presumes, what is typed where the program
asks, and which commands cannot run here and why. A command that pages.py does not know must exit with 0.

As root, all of it runs in a mount namespace of its own, in which the account, the packages' folders, and the home directories are copies, so
the machine stays as it is. Otherwise the account is this one with an empty home, and pages for root are left out.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import pages

LIMIT_SECONDS = 120
READY = "\x1e"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Block:
    def __init__(self, language, text, line):
        self.language, self.text, self.line = language, text, line

    def commands(self):
        """The commands with the account that types them and their comment: (is root's, command)."""
        if self.language == "sh":
            for line in self.text.splitlines():
                if line and not line.startswith("#"):
                    yield False, line
            return
        lines = iter(self.text.splitlines())
        for line in lines:
            if line[:2] not in ("$ ", "# "):
                continue  # what a command prints
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            yield line[0] == "#", command


def blocks(text):
    found = []
    for match in re.finditer(r"^```(\S*)\n(.*?)^```$", text, re.M | re.S):
        found.append(Block(match[1].split(",")[0], match[2], text[: match.start()].count("\n") + 2))
    return found


class Shell:
    """An interactive shell at a pseudo-terminal, as an account has it after a login."""

    def __init__(self, command, environment):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], command, environment)
        self.read([])

    def read(self, answers):
        """Reads until the shell is ready for the next command, and types what is asked for; returns the text and the exit code."""
        shown, answered = "", 0
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            readable, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                os.write(self.terminal, b"\x03")
                raise Failed(f"it did not end within {LIMIT_SECONDS} s:\n{shown}")
            try:
                shown += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                raise Failed(f"the shell ended:\n{shown}") from None
            if ended := re.search(f"{READY}(\\d+){READY}", shown):
                lines = CONTROL.sub("", shown[: ended.start()]).replace("\r\n", "\n").split("\n")
                # Progress is written over itself.
                return "\n".join(line.rpartition("\r")[2] for line in lines), int(ended[1])
            for asked, answer in answers:
                if match := re.search(asked, shown[answered:]):
                    answered += match.end()
                    os.write(self.terminal, (answer + "\n").encode())
                    break

    def run(self, command, answers=()):
        os.write(self.terminal, (command + "\n").encode())
        text, code = self.read(answers)
        return text, code

    def close(self):
        os.close(self.terminal)
        try:
            os.kill(self.process, signal.SIGHUP)
        except ProcessLookupError:
            pass
        os.waitpid(self.process, 0)


class Failed(Exception):
    pass


class World:
    """The machine as the account finds it."""

    ACCOUNT = "mgp-walk"
    failed = Failed

    def __init__(self, mgp, checkout, folder):
        self.checkout = checkout
        self.is_root = os.geteuid() == 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if self.is_root:
            isolate(folder)
            base = pathlib.Path("/usr/local")
            self.home = pathlib.Path("/home") / self.ACCOUNT
        else:
            base, self.home = folder, folder / "home"
        # What cargo's stand-in hands out is on no PATH.
        self.built, self.programs = base / "built", base / "bin"
        self.built.mkdir()
        self.programs.mkdir(exist_ok=True)
        for name in ("mgp", "mgp-patterns", "examples/streaming", "examples/supervise", "examples/echo", "examples/two_layers"):
            if (program := mgp.parent / name).exists():
                (self.built / name).parent.mkdir(exist_ok=True)
                shutil.copy(program, self.built / name)
        self.stand_in("cargo", "cargo.sh")

    def begin(self):
        """Gives the account an empty home and the shells of a new login."""
        self.end()
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        if self.is_root:
            subprocess.run(["userdel", self.ACCOUNT], stderr=subprocess.DEVNULL)
            subprocess.run(["useradd", "--home-dir", self.home, "--shell", "/bin/bash", self.ACCOUNT], check=True, stderr=subprocess.DEVNULL)
            shutil.chown(self.home, self.ACCOUNT, self.ACCOUNT)
        self.home.chmod(0o700)
        self.shells = {}

    def end(self):
        for shell in getattr(self, "shells", {}).values():
            shell.close()
        self.shells = {}
        if self.is_root:
            for account in (self.ACCOUNT, "mgp"):
                patience = time.monotonic() + 20
                # An account can go once nothing runs under it.
                while subprocess.run(["pkill", "-KILL", "-u", account], stderr=subprocess.DEVNULL).returncode == 0:
                    if time.monotonic() > patience:
                        break
                    time.sleep(0.1)

    def login(self, is_root):
        """The command and the environment of a new shell."""
        user = "root" if is_root or not self.is_root else self.ACCOUNT
        home = "/root" if is_root else str(self.home)
        environment = {
            "HOME": home, "USER": user, "LOGNAME": user, "SHELL": "/bin/bash", "TERM": "xterm", "LANG": "C.UTF-8",
            "PATH": f"{home}/.cargo/bin:{self.programs}:{os.environ['PATH']}",
            "PS1": "\\036$?\\036", "CARGO_STAND_IN": str(self.built),
        }
        shell = ["bash", "--noprofile", "--norc", "--noediting", "-i"]
        if self.is_root and not is_root:
            shell = ["setpriv", "--reuid", self.ACCOUNT, "--regid", self.ACCOUNT, "--init-groups", *shell]
        return shell, environment

    def stand_in(self, name, script):
        """Puts a script of this folder in the place of a program of the system that cannot run here."""
        shutil.copy(pathlib.Path(__file__).with_name(script), self.programs / name)
        (self.programs / name).chmod(0o755)

    def run(self, command, answers=pages.ANSWERS, is_root=False):
        """Types a command, and what is asked for; returns what was shown and the exit code."""
        if is_root not in self.shells:
            self.shells[is_root] = Shell(*self.login(is_root))
            self.shells[is_root].run("stty -echo; cd")
        return self.shells[is_root].run(command, answers)

    def done(self, command, answers=pages.ANSWERS, is_root=False):
        """Types a command that has to succeed; returns what was shown."""
        text, code = self.run(command, answers, is_root)
        if code != 0:
            raise Failed(f"`{command}` exits with {code}:\n{text}")
        return text

    def write(self, name, text):
        """Writes a file of the account."""
        file = self.home / name
        for folder in reversed([folder for folder in file.parents if not folder.exists()]):
            folder.mkdir()
            self.own(folder)
        file.write_text(text)
        self.own(file)

    def program(self, name, text):
        """Writes a program of the account, which its PATH finds."""
        self.write(f".cargo/bin/{name}", text)
        (self.home / ".cargo/bin" / name).chmod(0o755)

    def own(self, file):
        if self.is_root:
            shutil.chown(file, self.ACCOUNT, self.ACCOUNT)


def isolate(folder):
    """Puts copies over the folders that accounts, packages, and services change; they go when this process ends."""
    layers = folder / "layers"
    layers.mkdir()
    for path in (layers, "/run"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", path], check=True)
    for path in ("/etc", "/home", "/root", "/usr/local", "/var/lib", "/var/log", "/var/backups"):
        name = path[1:].replace("/", "-")
        upper, work = layers / name, layers / f"{name}.work"
        upper.mkdir()
        work.mkdir()
        os.makedirs(path, exist_ok=True)
        options = f"lowerdir={path},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, path], check=True)
    # Interpreters may lie in it.
    os.chmod("/root", 0o711)


def walk(world, page, report):
    name = page.name
    text = (world.checkout / page.file).read_text()
    world.begin()
    if page.begin and not step(report, page.file, "what it presumes", lambda: page.begin(world)):
        return
    for block in blocks(text):
        place = f"{page.file}:{block.line}"
        if block.language in page.takes:
            step(report, place, f"{block.language} block", lambda: page.takes[block.language](world, block.text))
        if block.language not in ("sh", "console"):
            continue
        for is_root, command in block.commands():
            shown = re.split(r"\s\s+# ", command)[0].strip()
            if reason := page.reason(shown):
                report.append((place, shown, f"left out: {reason}", True))
                continue
            step(report, place, shown, lambda: typed(world, page, shown, is_root))


def typed(world, page, command, is_root):
    expected = page.expected(command)
    command = page.filled(world, command)
    if expected.serves:
        log = world.home / "served.log"
        world.done(f"{command} > {log} 2>&1 &", is_root=is_root)
        deadline = time.monotonic() + LIMIT_SECONDS
        while not (log.exists() and re.search(expected.shows, log.read_text())):
            if time.monotonic() > deadline:
                raise Failed(f"it does not show {expected.shows!r}:\n{log.read_text()}")
            time.sleep(0.1)
        world.done("kill %1; wait %1 || true", is_root=is_root)
        return "serves"
    answers = [(asked, answer(world) if callable(answer) else answer) for asked, answer in page.answers]
    text, code = world.run(command, answers, is_root)
    if expected.code is not None and code != expected.code:
        raise Failed(f"it exits with {code}:\n{text}")
    if expected.shows and not re.search(expected.shows, text):
        raise Failed(f"it does not show {expected.shows!r}:\n{text}")
    return f"exits with {code}"


def step(report, place, what, action):
    began = time.monotonic()
    try:
        outcome, is_good = action() or "done", True
    except Failed as failure:
        outcome, is_good = "FAILED", False
        print(f"{place}: {what} FAILED: {failure}", flush=True)
    report.append((place, what, f"{outcome} ({time.monotonic() - began:.1f} s)", is_good))
    return is_good


def main():
    if os.geteuid() == 0 and "WALK_ISOLATED" not in os.environ:
        os.environ["WALK_ISOLATED"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    mgp, checkout, folder, *only = sys.argv[1:]
    world = World(pathlib.Path(mgp).resolve(), pathlib.Path(checkout).resolve(), pathlib.Path(folder).resolve())
    report = []
    try:
        for page in pages.PAGES:
            if only and page.name not in only:
                continue
            if page.needs_root and not world.is_root:
                report.append((page.file, "the page", "left out: it is for root", True))
                continue
            walk(world, page, report)
    finally:
        world.end()
    for place, what, outcome, _ in report:
        print(f"{place:32} {what[:72]:72} {outcome}")
    failed = sum(not is_good for *_, is_good in report)
    print(f"{len(report) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

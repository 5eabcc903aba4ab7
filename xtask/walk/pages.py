"""What each page presumes, what is typed where a command of it asks, and which commands cannot run here."""

import json
import re

PASSPHRASE = "walked by a program"
# What a person types where the program asks.
ANSWERS = [
    (r"new operators?'? ?passphrase( again)?[^\n]*: $", PASSPHRASE),
    (r"passphrase[^\n]*: $", PASSPHRASE),
    (r"type (\w+) to approve[^\n]*: $", "write_file"),
    (r"\[y/N\][^\n]*$", "y"),
]


class Expected:
    def __init__(self, code=0, shows=None):
        self.code, self.shows = code, shows


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
        """The command with what stands for a placeholder of the page."""
        for placeholder, value in self.fills:
            if re.search(placeholder, command):
                command = re.sub(placeholder, value(world) if callable(value) else value, command)
        return command


def installed(world):
    world.done("cargo install --path mgp-kernel")


def clone(world):
    """The README is read in a clone."""
    world.write("mgp/README.md", (world.checkout / "README.md").read_text())
    world.done("cd mgp && mkdir target && ln -s \"$CARGO_STAND_IN\" target/debug")


def documents(world):
    world.write("Documents/plan.txt", "Monday: write the report\n")
    world.write(".cursor/mcp.json", json.dumps({"mcpServers": {}}))


PAGES = [
    Page("README.md", begin=clone, expects={"mgp call": Expected(shows="# MGP"), "mgp search": Expected(shows="files.read_text_file")}),
    Page(
        "docs/getting-started.md",
        begin=documents,
        expects={
            "mgp call files.read_text_file": Expected(shows="Monday"),
            "mgp call files.write_file": Expected(shows="wrote"),
            "mgp add github": Expected(),
        },
        answers=[(r"GITHUB_TOKEN[^\n]*: $", "ghp_walked"), (r"Write|write it|\[y/N\]", "y")],
    ),
]

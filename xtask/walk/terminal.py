"""Runs a command in a pseudo-terminal: terminal.py PROMPT ANSWER COMMAND…

Types ANSWER when the terminal shows PROMPT, prints all that was shown, and ends as the command ended."""

import os
import pty
import select
import sys
import time

PROMPT, ANSWER, *COMMAND = sys.argv[1:]
LIMIT_SECONDS = 60

child, terminal = pty.fork()
if child == 0:
    os.execvp(COMMAND[0], COMMAND)

shown = b""
typed = False
deadline = time.monotonic() + LIMIT_SECONDS
while True:
    readable, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
    if not readable:
        os.kill(child, 9)
        print(f"it neither ended nor asked {PROMPT!r} within {LIMIT_SECONDS} s", file=sys.stderr)
        break
    try:
        read = os.read(terminal, 4096)
    except OSError:  # Linux says so when the other side is closed.
        break
    if not read:
        break
    shown += read
    if not typed and PROMPT.encode() in shown:
        os.write(terminal, ANSWER.encode() + b"\n")
        typed = True

_, status = os.waitpid(child, 0)
sys.stdout.write(shown.decode(errors="replace").replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(status) if typed else 3)

"""Serves the published Python example over standard input and output."""

import asyncio
import importlib.util
import sys

spec = importlib.util.spec_from_file_location("reference", sys.argv[1])
reference = importlib.util.module_from_spec(spec)
sys.modules["reference"] = reference
spec.loader.exec_module(reference)
for line in sys.stdin:
    if answer := asyncio.run(reference.process_jsonrpc(line)):
        print(answer, flush=True)

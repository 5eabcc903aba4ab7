"""Runs named checks one after the other and prints a JSON line for each:
{"check":"tools/list","ok":true,"detail":"…"}. Tells whether all of them passed."""

import json

import anyio

LIMIT_SECONDS = 15


async def run(checks):
    passed = True
    for check, work in checks.items():
        try:
            with anyio.fail_after(LIMIT_SECONDS):
                line = {"check": check, "ok": True, "detail": str(await work() or "")}
        except Exception as error:
            line = {"check": check, "ok": False, "detail": f"{type(error).__name__}: {error}"}
            passed = False
        print(json.dumps(line), flush=True)
    return passed


def expect(actual, wanted):
    if actual != wanted:
        raise AssertionError(f"expected {wanted!r}, got {actual!r}")
    return actual

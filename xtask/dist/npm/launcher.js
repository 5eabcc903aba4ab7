#!/usr/bin/env node
// Becomes the program that the package of this platform holds.
"use strict";

const { spawn } = require("node:child_process");

const platform = `@mgp/cli-${process.platform}-${process.arch}`;
const ending = process.platform === "win32" ? ".exe" : "";

let program;
try {
  program = require.resolve(`${platform}/bin/mgp${ending}`);
} catch {
  console.error(`error: the package ${platform} is not installed
hint: install @mgp/cli again without --omit=optional; if there is no such package, see @repository@`);
  process.exit(1);
}

const args = process.argv.slice(2);
if (process.platform !== "win32" && process.execve) {
  process.execve(program, [program, ...args], process.env);
}
const child = spawn(program, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});

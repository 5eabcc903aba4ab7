#!/usr/bin/env node
// Becomes the program that the package of this platform holds.
"use strict";

const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const platform = `@mgp/cli-${process.platform}-${process.arch}`;
const ending = process.platform === "win32" ? ".exe" : "";

let program;
try {
  program = require.resolve(`${platform}/bin/mgp${ending}`);
} catch {
  const way = "install @mgp/cli again without --omit=optional; if there is no such package, see @repository@";
  console.error(`error: the package ${platform} is not installed\nhint: ${way}`);
  process.exit(1);
}

const args = process.argv.slice(2);
if (process.platform !== "win32" && process.execve) {
  process.execve(program, [program, ...args], process.env);
}
// A signal may come as soon as the program runs.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"]) {
  // A key that interrupts reaches the program from the terminal; a second signal would end it before it is done.
  const isKey = signal === "SIGINT" || signal === "SIGQUIT";
  process.on(signal, () => (isKey && isatty(0)) || child.kill(signal));
}
const child = spawn(program, args, { stdio: "inherit" });
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

#!/usr/bin/env node
// Starts gatehouse, a native program in a separate package per system. Shares its streams, forwards signals and exits
// like the program.
"use strict";

const { spawn } = require("node:child_process");

const name = `gatehouse-mcp-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/gatehouse`);
} catch {
  console.error(
    `gatehouse-mcp: the package ${name} is not installed. If it exists for this system, reinstall without ` +
      "--omit=optional. Otherwise, build gatehouse from source.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// A terminal also signals the child, and a second signal would end it immediately.
const terminal = process.stdin.isTTY || process.stderr.isTTY;
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"]) {
  process.on(signal, () => {
    if (!terminal || signal === "SIGTERM") child.kill(signal);
  });
}

child.on("error", (error) => {
  console.error(`gatehouse-mcp: cannot start ${program}: ${error.message}`);
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

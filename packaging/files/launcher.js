#!/usr/bin/env node
// Starts gatehouse, which is a native program in a package of its own for each system. Streams are shared, signals are
// passed on, and this process ends as the program ended.
"use strict";

const { spawn } = require("node:child_process");

const name = `gatehouse-mcp-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/gatehouse`);
} catch {
  console.error(
    `gatehouse-mcp: the package ${name} is not installed. If it exists for this system, optional dependencies were ` +
      "left out: install again without --omit=optional. Else build gatehouse from its source.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// What a terminal sends goes to the child as well, and a second signal would end it at once.
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

// Runs the programs that setting up needs, quietly, and says what they printed when they fail.
import { spawn } from "node:child_process";

/**
 * Runs a program to its end with its output kept back.
 * Rejects with the last lines of that output when it fails.
 */
export function command(program, args, { cwd, env = process.env, input } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.once("error", (error) =>
      reject(new Error(error.code === "ENOENT" ? `${program} is not installed` : error.message)),
    );
    child.once("close", (code, signal) => {
      const output = Buffer.concat(chunks).toString("utf8");
      if (code === 0) return resolve(output);
      const tail = output.trimEnd().split("\n").slice(-15).join("\n");
      reject(new Error(`${program} ${args.join(" ")} ended with ${code ?? signal}\n${tail}`));
    });
    if (input !== undefined) child.stdin.end(input);
  });
}

/**
 * Runs `work` and shows on stderr that it goes on when it takes more than a second: a line that counts seconds on a
 * terminal, a line every half minute elsewhere.
 */
export async function progress(title, work) {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const terminal = process.stderr.isTTY === true;
  let shown = false;
  let lastLine = 0;
  const tick = setInterval(() => {
    if (terminal) process.stderr.write(`\r\u001b[K${title} … ${seconds()} s`);
    else if (!shown || seconds() - lastLine >= 30) {
      lastLine = seconds();
      process.stderr.write(shown ? `${title} … ${lastLine} s\n` : `${title} …\n`);
    }
    shown = true;
  }, 1000);
  try {
    return await work();
  } finally {
    clearInterval(tick);
    if (shown) process.stderr.write(`${terminal ? "\r\u001b[K" : ""}${title}: ${seconds()} s\n`);
  }
}

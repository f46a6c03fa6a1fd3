// `npm test`: sets up what is missing, builds, runs every suite and ends with the line `N passed, N failed`.
//   npm test                  everything
//   npm test -- unit host     only these steps
// Files of a suite that failed run once more, alone: what passes then hung on the machine's load. It is named at the end.
// Plain Node without packages: on a fresh clone there are none yet.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { progress } from "./command.mjs";
import { checkNode, root, setupModules } from "./setup.mjs";
import { agentNames, setupAgent } from "./setupAgents.mjs";
import { setupConformance } from "./setupConformance.mjs";
import { setupEditor } from "./setupEditor.mjs";
import { setupPackages, toRun, toTest } from "./setupPackages.mjs";

const minute = 60_000;

const parallel = ["--parallel", "--jobs", "2"];

/** A suite of mocha's: each folder under test/ is one, and counts its own tests. */
const suite = (name, minutes, ...options) => ({
  name,
  deadline: minutes * minute,
  folder: path.join("test", name),
  command: [
    "node_modules/.bin/mocha",
    ...["--config", ".config/mocharc.json", "--reporter", ".config/mochaReporter.cjs"],
    ...options,
    // Two files at a time: most tests wait for programs more than they compute.
    ...(name === "unit" ? [] : parallel),
    // Where everything that a test may need is installed, a test that skips itself hides something.
    ...(process.env.CI === undefined ? [] : ["--forbid-pending"]),
    `test/${name}/**/*.test.ts`,
  ],
});

/** A tool that either is content or not counts as one test. */
const tool = (name, ...words) => ({ name, deadline: 10 * minute, command: words });

/** Runs beside the steps after it, up to the next suite that runs programs; what it prints comes when it has ended. */
const beside = (step) => ({ ...step, beside: true });

const steps = [
  tool("build", process.execPath, ".config/build.mjs"),
  tool("types", "node_modules/.bin/tsc", "-b"),
  beside(
    tool(
      "lint",
      "node_modules/.bin/eslint",
      "-c",
      ".config/eslint.config.mjs",
      "--max-warnings",
      "0",
      ".",
    ),
  ),
  tool("format", "node_modules/.bin/prettier", "--check", "--log-level", "warn", "."),
  tool("tidy", "node_modules/.bin/knip", "--config", ".config/knip.json"),
  suite("unit", 3),
  suite("integration", 60, "--timeout", "90000"),
  suite("attack", 20, "--timeout", "90000"),
  suite("crash", 22, "--timeout", "180000"),
  {
    name: "host",
    deadline: 25 * minute,
    folder: path.join("test", "host"),
    command: [process.execPath, ".config/host.mjs"],
  },
];

/**
 * Runs one step to its end. Gives what it counted, for a suite by file too; an ending that does not fit the counts is one
 * more failure.
 */
async function run(step, resultFile) {
  fs.rmSync(resultFile, { force: true });
  const [program, ...args] = step.command;
  const printed = [];
  const way = step.beside ? "pipe" : "inherit";
  // Every Node process that has more certificates to read starts later by a tenth of a second or two; a suite starts
  // thousands. What is installed by now came with them; no test leaves this machine.
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["ignore", way, way],
    env: { ...environment, HOLDFAST_TEST_RESULT: resultFile },
    // Its own process group, so that the deadline ends whatever it started.
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (b) => printed.push(b));
  const endGroup = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  const timer = setTimeout(() => {
    console.error(`${step.name}: ended after ${step.deadline / minute} minutes`);
    endGroup();
  }, step.deadline);
  process.once("exit", endGroup);
  const code = await new Promise((resolve) => {
    child.once("error", (error) => {
      console.error(`${step.name}: ${error.message}`);
      resolve(1);
    });
    child.once("close", resolve);
  });
  clearTimeout(timer);
  process.off("exit", endGroup);
  if (step.beside) console.log(`\n── ${step.name}\n${Buffer.concat(printed)}`.trimEnd());
  if (step.folder === undefined)
    return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  if (!fs.existsSync(resultFile)) return { passed: 0, failed: 1 };
  const counted = JSON.parse(fs.readFileSync(resultFile, "utf8"));
  const disagrees = counted.passed + counted.failed === 0 || (code !== 0 && counted.failed === 0);
  return { ...counted, failed: counted.failed + (disagrees ? 1 : 0), disagrees };
}

/** So many files may fail by load alone; more of them, and something is broken. */
const mostSecondTries = 6;

/** Runs the step; the files of a suite that failed once more, alone. Gives the counts and what to say at the end. */
async function runTwice(step, resultFile) {
  const first = await run(step, resultFile);
  const failing = Object.entries(first.files ?? {}).filter(([, counts]) => counts.failed > 0);
  const told = (tries) => tries.flatMap(([file, { failures }]) => failures.map((f) => [file, f]));
  const files = failing.map(([file]) => file);
  const worth = failing.length > 0 && failing.length <= mostSecondTries && !files.includes("");
  if (!worth || first.disagrees) return { ...first, failures: told(failing), flaky: [] };
  console.log(`\n── ${step.name}: once more, alone: ${files.join(" ")}`);
  const words = step.command.slice(0, -1).filter((word) => !parallel.includes(word));
  const again = { ...step, command: [...words, ...files] };
  const second = await run(again, resultFile);
  const before = failing.reduce((sum, [, counts]) => sum + counts.passed, 0);
  const stillFailing = Object.entries(second.files ?? {}).filter(([, counts]) => counts.failed > 0);
  return {
    passed: first.passed - before + second.passed,
    failed: second.failed,
    failures: told(second.files === undefined ? failing : stillFailing),
    flaky: told(failing.filter(([file]) => second.files?.[file]?.failed === 0)),
  };
}

function hasTests({ folder }) {
  if (folder === undefined) return true;
  if (!fs.existsSync(path.join(root, folder))) return false;
  return fs
    .readdirSync(path.join(root, folder), { recursive: true })
    .some((name) => name.endsWith(".test.ts"));
}

async function setUp() {
  checkNode();
  await setupPackages([...toRun, ...toTest]);
  await setupModules();
  await progress("setting up the editor (about 800 MB, once)", setupEditor);
  await progress("setting up the MCP conformance suite (once)", setupConformance);
  for (const name of agentNames)
    await progress(`setting up ${name} (once)`, () => setupAgent(name));
}

async function main(names) {
  const unknown = names.find((name) => !steps.some((step) => step.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no step ${unknown}: ${steps.map((step) => step.name).join(" ")}`);
  await setUp();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-test-"));
  const sum = { passed: 0, failed: 0 };
  const summary = [];
  /** What a reader of the end alone has to know. */
  const last = [];
  const one = async (step) => {
    const begun = Date.now();
    const { passed, failed, ...told } = await runTwice(
      step,
      path.join(folder, `${step.name}.json`),
    );
    sum.passed += passed;
    sum.failed += failed;
    for (const [file, text] of told.flaky) last.push(`passed at the second try: ${file}: ${text}`);
    for (const [file, text] of told.failures) last.push(`failed: ${file}: ${text}`);
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    summary.push(`${step.name.padEnd(12)} passed ${passed}, failed ${failed}, ${seconds} s`);
    console.log(`── ${summary.at(-1)}`);
  };
  let running = [];
  for (const step of steps) {
    // Every suite that runs something runs what was built.
    const wanted = names.length === 0 || names.includes(step.name) || step.name === "build";
    if (!wanted || !hasTests(step)) continue;
    if (step.beside) {
      running.push(one(step));
      continue;
    }
    // Unit tests run nothing that another program could slow down.
    if (step.folder !== undefined && step.name !== "unit") {
      await Promise.all(running);
      running = [];
    }
    console.log(`\n── ${step.name}`);
    await one(step);
  }
  await Promise.all(running);
  fs.rmSync(folder, { recursive: true, force: true });
  console.log(`\n${[...last, summary.join("\n")].join("\n\n")}\n`);
  return sum;
}

// Leaving through exit ends the step that runs.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));
const sum = await main(process.argv.slice(2)).catch((error) => {
  console.error(`test: ${error.message}`);
  return { passed: 0, failed: 1 };
});
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1;
console.log(`${sum.passed} passed, ${sum.failed} failed`);

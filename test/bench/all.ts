/**
 * `npm run bench`: runs every bench beside this file and writes one report for people and one for programs,
 * `docs/figures.md` and `docs/figures.json`. A bench that fails is told of in its place; the others are measured all the same.
 *   npm run bench -- startup fork     only these, printed and not written
 *   npm run bench -- fork --write     these anew, the others as they were written
 * Ends with 1 when a bench failed or a target was missed.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Bench } from "../support/bench.ts";
import { benchMarkdown, type BenchGroup, type BenchReport } from "../support/benchReport.ts";
import { judgeFigure, unanswered } from "../support/benchTargets.ts";
import { readRepositoryFile, root } from "../support/repository.ts";

function output(program: string, ...args: string[]): string {
  try {
    return execFileSync(program, args, { encoding: "utf8" }).trim();
  } catch {
    return "not there"; // one line of the report, not a reason to have none
  }
}

/** What the figures were taken on: nothing that names the machine or its owner. */
function machine(): Record<string, string> {
  const { version } = JSON.parse(readRepositoryFile("package.json")) as { version: string };
  const cpu = os.cpus()[0]?.model.trim() ?? "unknown";
  return {
    holdfast: version,
    commit: output("git", "-C", root, "rev-parse", "--short", "HEAD"),
    processor: `${cpu} (${os.cpus().length} cores)`,
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    "temporary files on": output("stat", "-f", "-c", "%T", os.tmpdir()),
    user: process.getuid?.() === 0 ? "root" : "ordinary",
    "load before": os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(", "),
    node: process.version,
    git: output("git", "--version").replace("git version ", ""),
    bubblewrap: output("bwrap", "--version").replace("bubblewrap ", ""),
    coreutils: output("cp", "--version").split("\n")[0]?.replace("cp (GNU coreutils) ", "") ?? "",
    "C compiler": output("cc", "--version").split("\n")[0] ?? "",
  };
}

async function runBench(file: string): Promise<BenchGroup> {
  const name = file.replace(/\.bench\.ts$/, "");
  try {
    const { bench } = (await import(path.join(import.meta.dirname, file))) as { bench: Bench };
    const group = { name, title: bench.title, figures: [], unanswered: [] };
    const unavailable = bench.unavailable?.();
    if (unavailable !== undefined) return { ...group, unavailable };
    process.stderr.write(`bench: ${name} …\n`);
    const figures = await bench.run();
    return {
      ...group,
      ...(bench.peers === undefined ? {} : { peers: bench.peers() }),
      figures: figures.map((figure) => judgeFigure(name, figure)),
      unanswered: unanswered(name, figures),
    };
  } catch (error) {
    const failed = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `bench: ${name} failed: ${error instanceof Error ? error.stack : failed}\n`,
    );
    const [line = ""] = failed.split("\n");
    return { name, title: name, failed: line, figures: [], unanswered: unanswered(name, []) };
  }
}

/** The report that was written before, with these groups taken anew; what failed now keeps its figures. */
function amended(file: string, report: BenchReport): BenchReport {
  const before = JSON.parse(fs.readFileSync(file, "utf8")) as BenchReport;
  const whole = `${before.date.slice(0, 10)}, ${before.machine["processor"] ?? "another machine"}`;
  const groups = before.groups.map((group) => {
    const anew = report.groups.find(({ name }) => name === group.name);
    return anew?.failed === undefined && anew !== undefined
      ? anew
      : { ...group, taken: group.taken ?? whole };
  });
  return { ...report, groups };
}

const wanted = process.argv.slice(2).filter((word) => word !== "--write");
const writes = wanted.length === 0 || process.argv.includes("--write");
const files = fs
  .readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".bench.ts"))
  .filter((file) => wanted.length === 0 || wanted.includes(file.replace(/\.bench\.ts$/, "")))
  .sort();
const missing = wanted.filter((name) => !files.includes(`${name}.bench.ts`));
if (missing.length > 0) {
  process.stderr.write(`bench: there is no bench ${missing.join(", ")}\n`);
  process.exit(2);
}
const facts = machine();
const groups: BenchGroup[] = [];
for (const file of files) groups.push(await runBench(file));
const report: BenchReport = { date: new Date().toISOString(), machine: facts, groups };
process.stdout.write(benchMarkdown(report));
if (writes) {
  const docs = path.join(root, "docs");
  const whole = wanted.length === 0 ? report : amended(path.join(docs, "figures.json"), report);
  fs.writeFileSync(path.join(docs, "figures.md"), benchMarkdown(whole));
  fs.writeFileSync(path.join(docs, "figures.json"), `${JSON.stringify(whole, null, 2)}\n`);
  execFileSync(
    "npx",
    ["prettier", "--write", "--log-level", "warn", "docs/figures.md", "docs/figures.json"],
    {
      cwd: root,
      stdio: "inherit",
    },
  );
}
const kept = groups.every(
  ({ failed, figures }) => failed === undefined && figures.every(({ met }) => met !== false),
);
// Sockets and browsers of a bench that failed must not keep it.
process.exit(kept ? 0 : 1);

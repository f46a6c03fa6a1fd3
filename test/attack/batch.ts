import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { builtCommand } from "../support/holdfastCommand.ts";
import type { Attack, Outcome } from "./attack.ts";
import type { AttackWorld } from "./world.ts";

/**
 * `direct`: as the person's own shell in the workspace. `unsafe`: `holdfast run --unsafe-no-sandbox`, so that there is a
 * transaction to attack. `confined`: `holdfast run` as anybody would. What the commit at the end takes is its default.
 */
export type How = "direct" | "unsafe" | "confined";

const driver = `
. ./.attack/context.sh
for case in .attack/cases/*.sh; do
  id=$(basename $case .sh)
  echo "BEGIN $id"
  timeout -k 1 8 bash $case < /dev/null 2>&1 | head -c 20000
  echo "
END $id \${PIPESTATUS[0]}"
done
`;

/** Longer than one attack, the start and the end of a transaction take: what says nothing for so long hangs. */
const silenceMs = 45_000;

/** The scripts and their driver, in the workspace. */
export function placeScripts(workspace: string, attacks: readonly Attack[]): void {
  const cases = path.join(workspace, ".attack/cases");
  mkdirSync(cases, { recursive: true });
  attacks.forEach(({ id, script }, index) => {
    writeFileSync(path.join(cases, `${String(index).padStart(3, "0")}-${id}.sh`), `${script}\n`);
  });
  writeFileSync(path.join(workspace, ".attack/driver.sh"), driver);
}

/** What each script did, by attack; one that is not in it did not run. */
export function outcomesIn(output: string): ReadonlyMap<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const [, id = "", said = "", code = ""] of output.matchAll(
    /^BEGIN \d{3}-(\S+)\n([^]*?)\nEND \d{3}-\1 (\d+)$/gm,
  )) {
    outcomes.set(id, { exitCode: Number(code), output: said });
  }
  return outcomes;
}

/** Runs a batch of attacks, one after the other, in a world; `end` is what happens with the transaction. */
export async function runBatch(
  world: AttackWorld,
  attacks: readonly Attack[],
  how: How,
  end: "commit" | "discard",
): Promise<ReadonlyMap<string, Outcome>> {
  placeScripts(world.workspace, attacks);
  world.own();
  const unsafe = how === "unsafe" ? ["--unsafe-no-sandbox"] : [];
  const command = process.env["HOLDFAST_TEST_COMMAND"] ?? builtCommand;
  const run = [command, "run", ...unsafe, "--on-exit", end, "--", "bash", ".attack/driver.sh"];
  const program = how === "direct" ? "bash" : process.execPath;
  const args = how === "direct" ? [".attack/driver.sh"] : run;
  const child = spawn(program, args, {
    cwd: world.workspace,
    env: {
      PATH: process.env["PATH"],
      HOME: world.home,
      HOLDFAST_HOME: world.state,
      XDG_CONFIG_HOME: path.join(world.root, "config"),
    },
    stdio: ["ignore", "pipe", "pipe"],
    ...world.identity,
  });
  let output = "";
  let errors = "";
  const watch = { silent: false };
  const silence = setTimeout(() => {
    watch.silent = true;
    child.kill("SIGKILL");
  }, silenceMs);
  child.stdout.on("data", (bytes: Buffer) => {
    output += bytes.toString("utf8");
    silence.refresh();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    errors += bytes.toString("utf8");
    silence.refresh();
  });
  await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(silence);
  if (watch.silent) {
    const last = [...output.matchAll(/^(?:BEGIN|END) .*$/gm)].at(-1)?.[0] ?? "nothing had run";
    throw new Error(`silent for ${silenceMs} ms (${how}), last: ${last}; it said: ${errors}`);
  }
  const outcomes = outcomesIn(output);
  if (outcomes.size === 0) throw new Error(`no attack ran (${how}): ${errors}${output}`);
  return outcomes;
}

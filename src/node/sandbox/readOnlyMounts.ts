import { type Stats, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { PlanRecord } from "./plan.ts";
import { within } from "./within.ts";

/** Shown anyway. */
const system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Files and directories with credentials that lie in the directories of tools; covered where such a directory is shown. */
const credentials = [
  "credentials",
  "credentials.toml",
  ".credentials.json",
  "auth.json",
  ".netrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".git-credentials",
  ".docker",
  ".aws",
  ".azure",
  ".config",
  ".gnupg",
  ".kube",
  ".ssh",
  "share/keyrings",
  "share/holdfast",
  "state/holdfast",
];

/** The directory itself; or, where it holds the person's home or our own state, its `bin` alone. */
function narrow(directory: string, forbidden: readonly string[]): string | undefined {
  if (!forbidden.some((one) => within(directory, one))) return directory;
  const programs = path.join(directory, "bin");
  const fits = existsSync(programs) && !forbidden.some((one) => within(programs, one));
  return directory !== "/" && fits ? programs : undefined;
}

/** What this user cannot look at, nobody inside can. */
function lookAt(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function cover(directory: string): readonly PlanRecord[] {
  if (!statSync(directory).isDirectory()) return [];
  return credentials.flatMap((name): readonly PlanRecord[] => {
    const target = path.join(directory, name);
    const stat = lookAt(target);
    if (stat === undefined || stat.isSymbolicLink()) return [];
    return stat.isDirectory() ? [["tmpfs", target, "0555"]] : [["read", "/dev/null", target]];
  });
}

/**
 * Directories of the agent's program and of tools, read-only at their own paths, outermost first. One that would show the
 * person's home or the state of Holdfast is narrowed or left out, which a note says; credentials in the others are covered.
 */
export function readOnlyRecords(
  directories: readonly string[],
  workspace: string,
  home: string,
  state: string,
): { readonly records: readonly PlanRecord[]; readonly notes: readonly string[] } {
  const records: PlanRecord[] = [];
  const notes: string[] = [];
  const forbidden = [home, state].flatMap((one) =>
    existsSync(one) ? [one, realpathSync.native(one)] : [one],
  );
  const shown = new Set<string>();
  for (const directory of [...directories].sort((a, b) => a.length - b.length)) {
    const seenAnyway = [...system, workspace, ...shown].some((one) => within(one, directory));
    if (seenAnyway || !existsSync(directory)) continue;
    const narrowed = narrow(directory, forbidden);
    if (narrowed === undefined) {
      notes.push(`${directory} is not shown in the sandbox: it holds the home or state directory`);
      continue;
    }
    if (narrowed !== directory)
      notes.push(`of ${directory}, only ${narrowed} is shown in the sandbox`);
    shown.add(narrowed);
    records.push(["read", narrowed, narrowed], ...cover(narrowed));
  }
  return { records, notes };
}

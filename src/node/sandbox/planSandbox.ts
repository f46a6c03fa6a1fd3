import path from "node:path";
import type { OverlayMount, SandboxSpec } from "../../runtime/ports.ts";
import { sandboxEnvironment } from "./environment.ts";
import { bridgePort, doorInside, hookProgram, nativeInside, sandboxHome } from "./insidePaths.ts";
import { idsInside, type Machine } from "./machine.ts";
import type { PlanRecord } from "./plan.ts";
import { readOnlyRecords } from "./readOnlyMounts.ts";
import { etcRecords, procRecords, systemRecords } from "./systemMounts.ts";
import { within } from "./within.ts";

const hostname = "holdfast";

export function overlayRecords(
  shadow: string,
  overlays: readonly OverlayMount[],
  readOnly: boolean,
): readonly PlanRecord[] {
  return overlays.map(({ at, lower, upper, work }): PlanRecord => {
    const target = path.join(shadow, at);
    return readOnly
      ? ["overlay-read", target, lower, upper]
      : ["overlay", target, lower, upper, work];
  });
}

export function limitRecords(limits: SandboxSpec["limits"]): readonly PlanRecord[] {
  return Object.entries(limits ?? {})
    .filter((entry): entry is [string, number] => entry[1] !== undefined)
    .map(([name, value]): PlanRecord => ["limit", name, String(Math.floor(value))]);
}

/** What runs: program, environment, directory, terminal, limits. */
function commandRecords(
  spec: SandboxSpec,
  env: Readonly<Record<string, string>>,
  cwd: string,
): readonly PlanRecord[] {
  const { terminal, launch } = spec;
  const records: PlanRecord[] = launch.argv.map((text) => ["argument", text]);
  for (const [name, value] of Object.entries(env)) records.push(["variable", name, value]);
  records.push(["cwd", cwd]);
  if (terminal !== undefined) {
    records.push(["terminal", String(terminal.columns), String(terminal.rows)]);
  }
  for (const name of spec.allow ?? []) records.push(["allow", name]);
  return [...records, ...limitRecords(spec.limits)];
}

/** Everything that the sandbox holds, in the order of mounting, and what runs in it. Reads the host's /etc and /. */
export function planSandbox(
  spec: SandboxSpec,
  machine: Machine,
): { readonly records: readonly PlanRecord[]; readonly notes: readonly string[] } {
  const { workspace, fork, paths, launch } = spec;
  const door = spec.door !== false;
  const { uid, gid } = idsInside(machine);
  const inEtc = launch.files.filter((file) => within("/etc", file.path));
  const elsewhere = launch.files.filter((file) => !within("/etc", file.path));
  const shown = readOnlyRecords(launch.readOnly, workspace, machine.home, paths.root);
  const records: PlanRecord[] = [
    ["bwrap", machine.bwrapPath],
    ["uid", String(uid)],
    ["gid", String(gid)],
    ["hostname", hostname],
    ...overlayRecords(fork.shadow, fork.overlays, spec.shadowReadOnly === true),
    ...systemRecords(),
    ...procRecords(machine.uid === 0 || spec.allow?.includes("user-namespaces") !== true),
    ["dev", "/dev"],
    ["tmpfs", "/tmp", "1777"],
    ["tmpfs", "/var/tmp", "1777"],
    ["tmpfs", sandboxHome, "0700"],
    ...etcRecords({ uid, gid, home: sandboxHome, hostname, resolver: door }, inEtc),
    ...shown.records,
    ...elsewhere.map(({ path: target, content, mode }): PlanRecord => [
      "file",
      target,
      mode.toString(8).padStart(4, "0"),
      content,
    ]),
    [spec.shadowReadOnly === true ? "read" : "write", fork.shadow, workspace],
  ];
  if (door) {
    records.push(["read", paths.door, doorInside]);
    records.push(["symlink", path.basename(nativeInside), hookProgram]);
    records.push(["bridge", String(bridgePort), `${doorInside}/door.sock`], ["transparent"]);
  }
  records.push(["seal", "/"]);
  const env = sandboxEnvironment(launch.env, door);
  return { records: [...records, ...commandRecords(spec, env, spec.cwd)], notes: shown.notes };
}

/** The launch's variables without the sandbox: no bridge that a proxy variable could name, the door at its own place. */
function outside(env: Readonly<Record<string, string>>, door: string): Record<string, string> {
  const kept = Object.entries(env).filter(
    ([, value]) => !value.includes(`127.0.0.1:${bridgePort}`),
  );
  return Object.fromEntries(
    kept.map(([name, value]) => [name, value.replaceAll(`${doorInside}/`, `${door}/`)]),
  );
}

/** The person's own variables that a command needs, and the launch's. */
export function bareEnvironment(
  { paths, launch }: SandboxSpec,
  own: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const name of ["HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR"]) {
    const value = own[name];
    if (value !== undefined) kept[name] = value;
  }
  return {
    ...kept,
    HOLDFAST_AGENT_SOCK: path.join(paths.door, "agent.sock"),
    ...outside(launch.env, paths.door),
  };
}

/** The command on the shadow directory itself, with nothing around it but the overlays that the fork needs. */
export function planBare(spec: SandboxSpec, machine: Machine): readonly PlanRecord[] {
  const { fork, workspace } = spec;
  return [
    ["bare"],
    ...overlayRecords(fork.shadow, fork.overlays, false),
    ...commandRecords(
      spec,
      bareEnvironment(spec, machine.env),
      path.join(fork.shadow, path.relative(workspace, spec.cwd)),
    ),
  ];
}

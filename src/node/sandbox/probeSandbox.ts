import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";
import { Failure, messageOf } from "../../base/errors.ts";
import { parseJson } from "../../base/jsonl.ts";
import { findBwrap } from "./bwrap.ts";
import { inContainer, installFix, sysctl } from "./distribution.ts";
import { nativeFix, userNamespaceFix } from "./refusals.ts";
import type { SandboxOptions } from "./sandboxes.ts";

/** One line of `holdfast doctor`: `missing` keeps the sandbox from being built, `weaker` takes a layer or a feature. */
export interface DoctorRow {
  readonly name: string;
  readonly state: "ok" | "missing" | "weaker";
  readonly detail: string;
  readonly fix?: string;
}

const finding = z.object({ ok: z.boolean(), reason: z.string() });

const findings = z.object({
  root: z.boolean(),
  userNamespaces: finding,
  overlay: finding,
  denials: finding,
  execNotification: finding,
  pidfd: finding,
  transparent: finding,
  landlock: z.number(),
});

type Findings = z.infer<typeof findings>;

const run = promisify(execFile);

/** Everything the sandbox needs of this machine, each found by doing it; never throws for what is missing. */
export async function probeSandbox(options: SandboxOptions): Promise<readonly DoctorRow[]> {
  const rows: DoctorRow[] = [];
  const found = await probeNative(options.nativePath, rows);
  const bwrap = await probeBwrap(options.bwrapPath, rows);
  if (found !== undefined) rows.push(...rowsOf(found));
  if (bwrap !== undefined) rows.push(await tryBwrap(bwrap));
  rows.push(...surroundings());
  return rows;
}

async function probeNative(nativePath: string, rows: DoctorRow[]): Promise<Findings | undefined> {
  const name = "native program";
  try {
    const { stdout } = await run(nativePath, ["probe"], { timeout: 10_000 });
    const found = findings.parse(parseJson(stdout));
    rows.push({ name, state: "ok", detail: nativePath });
    return found;
  } catch (error) {
    const detail = `${nativePath}: ${messageOf(error).split("\n")[0] ?? ""}`;
    rows.push({ name, state: "missing", detail, fix: nativeFix });
    return undefined;
  }
}

async function probeBwrap(
  given: string | undefined,
  rows: DoctorRow[],
): Promise<string | undefined> {
  const name = "bubblewrap";
  try {
    const bwrap = findBwrap(given);
    const { stdout } = await run(bwrap, ["--version"], { timeout: 10_000 });
    const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
    const fits = Number(major) > 0 || Number(minor) >= 8;
    const detail = `${bwrap}, ${stdout.trim()}`;
    const fix = `version 0.8 or newer is needed: ${installFix(name)}`;
    rows.push(fits ? { name, state: "ok", detail } : { name, state: "missing", detail, fix });
    return fits ? bwrap : undefined;
  } catch (error) {
    const fix = error instanceof Failure ? error.fix : undefined;
    rows.push({ name, state: "missing", detail: messageOf(error), fix: fix ?? installFix(name) });
    return undefined;
  }
}

/** The isolation that every run uses, around `true`. */
async function tryBwrap(bwrap: string): Promise<DoctorRow> {
  const name = "sandbox";
  const flags = ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"];
  const mounts = [
    "--uid",
    "1000",
    "--gid",
    "1000",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
  ];
  const isolation = ["--die-with-parent", "--new-session", "--as-pid-1"];
  try {
    await run(bwrap, [...flags, ...isolation, ...mounts, "true"], { timeout: 10_000 });
    return { name, state: "ok", detail: "namespaces, mounts, own /proc and /dev can be built" };
  } catch (error) {
    const said = messageOf(error).split("\n").slice(1).join(" ").trim();
    return {
      name,
      state: "missing",
      detail: said === "" ? messageOf(error) : said,
      fix: userNamespaceFix(),
    };
  }
}

function row(
  name: string,
  { ok, reason }: z.infer<typeof finding>,
  good: string,
  bad: "missing" | "weaker",
  fix: string,
): DoctorRow {
  return ok ? { name, state: "ok", detail: good } : { name, state: bad, detail: reason, fix };
}

function rowsOf(found: Findings): readonly DoctorRow[] {
  const kernel = (version: string): string => `use a kernel of version ${version} or newer`;
  return [
    row(
      "user namespaces",
      found.userNamespaces,
      "can be made by this user",
      "missing",
      userNamespaceFix(),
    ),
    row(
      "overlay mounts",
      found.overlay,
      "work in a user namespace",
      "weaker",
      `${kernel("5.11")}, or use --backend copy`,
    ),
    row(
      "system-call denials",
      found.denials,
      "seccomp filters",
      "missing",
      "use a kernel built with CONFIG_SECCOMP_FILTER",
    ),
    row(
      "exec observation",
      found.execNotification,
      "seccomp notification",
      "missing",
      kernel("5.9"),
    ),
    row("process handles", found.pidfd, "pidfd", "missing", kernel("5.3")),
    row(
      "connections without a proxy",
      found.transparent,
      "lead to the broker from any port",
      "weaker",
      "ports 22, 80 and 443 alone lead there; use a kernel with nf_tables and nft_tproxy",
    ),
    found.landlock >= 2
      ? { name: "Landlock", state: "ok", detail: `version ${found.landlock}` }
      : {
          name: "Landlock",
          state: "weaker",
          detail: "none: the mounts stand without their second layer",
          fix: `${kernel("5.19")} with landlock in its lsm= list`,
        },
    {
      name: "an agent's own sandbox",
      state: "ok",
      detail: "kept from it; --allow user-namespaces gives it, and makes ours weaker",
    },
    {
      name: "user",
      state: "ok",
      detail: found.root ? "root (an ordinary user inside)" : "an ordinary user",
    },
  ];
}

/** What commonly stands in the way, as information. */
function surroundings(): readonly DoctorRow[] {
  const settings = [
    "kernel.unprivileged_userns_clone",
    "kernel.apparmor_restrict_unprivileged_userns",
    "user.max_user_namespaces",
  ].flatMap((name) => {
    const value = sysctl(name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
  const container = inContainer() ? ["in a container"] : [];
  return [
    {
      name: "surroundings",
      state: "ok",
      detail: [...container, ...settings].join(", ") || "nothing special",
    },
  ];
}

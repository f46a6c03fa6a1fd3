// Installs the system packages that are missing, where this person may: as root, or through sudo without a password.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { command, progress } from "./command.mjs";
import { findBrowser, programOnPath } from "./setupBrowser.mjs";

const program = (name) => () => programOnPath(name) !== undefined;

/** The parts of a system that running and building Holdfast needs. */
export const toRun = [
  { package: "git", present: program("git") },
  { package: "make", present: program("make") },
  {
    package: "gcc",
    present: () => programOnPath("cc") !== undefined || programOnPath("gcc") !== undefined,
  },
  { package: "libc6-dev", present: () => fs.existsSync("/usr/include/stdio.h") },
  { package: "bubblewrap", present: program("bwrap") },
];

/** What the browser editor needs on top: its native modules are compiled here. */
export const toEdit = [
  { package: "g++", present: program("g++") },
  { package: "python3", present: program("python3") },
];

/** What the tests need on top. */
export const toTest = [
  ...toEdit,
  { package: "chromium", present: () => findBrowser() !== undefined },
  { package: "xfsprogs", present: program("mkfs.xfs") },
  { package: "btrfs-progs", present: program("mkfs.btrfs") },
  { package: "attr", present: program("setfattr") },
  // Checkers that the check suites run for real.
  { package: "cargo", present: program("cargo") },
  { package: "golang-go", present: program("go") },
  { package: "mypy", present: program("mypy") },
];

/** Installs what is missing of `wanted`. Throws with the exact command when this person may not. */
export async function setupPackages(wanted) {
  const missing = wanted.filter(({ present }) => !present()).map((one) => one.package);
  if (missing.length === 0) return;
  const install = ["apt-get", "install", "-y", "--no-install-recommends", ...missing];
  if (process.platform !== "linux" || programOnPath("apt-get") === undefined)
    throw new Error(`please install with your package manager: ${missing.join(" ")}`);
  const prefix = rightsToInstall();
  if (prefix === undefined) throw new Error(`please run: sudo ${install.join(" ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = (args) => {
    const [name, ...rest] = [...prefix, ...args];
    return command(name, rest, { env });
  };
  await progress(`installing ${missing.join(" ")}`, async () => {
    await run(["apt-get", "update"]);
    await run(install);
  });
  const still = wanted.filter(({ present }) => !present()).map((one) => one.package);
  if (still.length > 0) throw new Error(`installed, but still not found: ${still.join(" ")}`);
}

/** The words to put before an installing command, or undefined when this person may not install. */
function rightsToInstall() {
  if (process.getuid() === 0) return [];
  return spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0
    ? ["sudo", "-n"]
    : undefined;
}

import { existsSync, readFileSync } from "node:fs";

/** What this system calls itself, lower case: `debian`, `ubuntu`, `fedora`… with what it is like. */
function names(): readonly string[] {
  if (!existsSync("/etc/os-release")) return [];
  const text = readFileSync("/etc/os-release", "utf8");
  return [...text.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap((match) =>
    (match[1] ?? "").split(" "),
  );
}

const commands: readonly (readonly [distribution: string, command: string])[] = [
  ["debian", "sudo apt install"],
  ["ubuntu", "sudo apt install"],
  ["fedora", "sudo dnf install"],
  ["rhel", "sudo dnf install"],
  ["suse", "sudo zypper install"],
  ["arch", "sudo pacman -S"],
  ["alpine", "sudo apk add"],
];

/** The command that installs a package here. */
export function installFix(name: string): string {
  const here = names();
  const command = commands.find(([distribution]) => here.includes(distribution))?.[1];
  return command === undefined ? `install the package ${name}` : `${command} ${name}`;
}

/** Whether this system runs in a container, by the marks that engines leave. */
export function inContainer(): boolean {
  return (
    existsSync("/.dockerenv") ||
    existsSync("/run/.containerenv") ||
    process.env["container"] !== undefined
  );
}

/** A sysctl's value, or undefined where this kernel has none of that name. */
export function sysctl(name: string): string | undefined {
  const file = `/proc/sys/${name.replaceAll(".", "/")}`;
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

import { execFile } from "node:child_process";
import { Failure } from "../../base/errors.ts";

/** No secret is longer, bytes. */
const mostPrinted = 1024 * 1024;

/** Keeps values by name outside our files: the OS keyring, or the editor's secret storage. */
export interface ValueStore {
  read(name: string): Promise<string | undefined>;
  write(name: string, value: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Values that are in memory alone: those that the editor keeps and has given for one transaction. */
export function givenValues(values: Readonly<Record<string, string>>): ValueStore {
  const given = new Map(Object.entries(values));
  return {
    read: (name) => Promise.resolve(given.get(name)),
    write: (name, value) => Promise.resolve(void given.set(name, value)),
    remove: (name) => Promise.resolve(void given.delete(name)),
  };
}

/** Runs a program with `input` on its standard input, never through a shell. */
export type RunProgram = (
  argv: readonly string[],
  input: string,
) => Promise<{ readonly exitCode: number; readonly stdout: string }>;

export const runProgram: RunProgram = async ([program = "", ...args], input) =>
  await new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { encoding: "utf8", maxBuffer: mostPrinted },
      (error, stdout) => {
        if (typeof error?.code === "string" && child.pid === undefined) {
          const fix = `install it, or keep the secret in a file or a variable`;
          reject(new Failure("failed", "no-keyring", `${program} cannot be run`, fix, error));
        } else resolve({ exitCode: error === null ? 0 : (child.exitCode ?? 1), stdout });
      },
    );
    child.stdin?.on("error", () => undefined); // it ended without reading
    child.stdin?.end(input);
  });

/** The Secret Service of the desktop through `secret-tool` (libsecret); on macOS the Keychain through `security`. The
 * value travels on standard input, except that `security` takes it in its own command language there. */
export function keyringStore(run: RunProgram, platform: NodeJS.Platform): ValueStore {
  return platform === "darwin" ? keychain(run) : secretService(run);
}

function secretService(run: RunProgram): ValueStore {
  const attributes = (name: string): string[] => ["application", "holdfast", "name", name];
  return {
    async read(name) {
      const { exitCode, stdout } = await run(["secret-tool", "lookup", ...attributes(name)], "");
      return exitCode === 0 && stdout !== "" ? stdout : undefined;
    },
    async write(name, value) {
      const argv = ["secret-tool", "store", `--label=Holdfast ${name}`, ...attributes(name)];
      const { exitCode } = await run(argv, value);
      if (exitCode !== 0) throw refused("secret-tool");
    },
    async remove(name) {
      await run(["secret-tool", "clear", ...attributes(name)], "");
    },
  };
}

function keychain(run: RunProgram): ValueStore {
  const place = (name: string): string[] => ["-a", name, "-s", "holdfast"];
  return {
    async read(name) {
      const argv = ["security", "find-generic-password", ...place(name), "-w"];
      const { exitCode, stdout } = await run(argv, "");
      return exitCode === 0 ? stdout.replace(/\n$/, "") : undefined;
    },
    async write(name, value) {
      // Hexadecimal needs no quoting, and standard input is no argument that other processes can list.
      const hex = Buffer.from(value, "utf8").toString("hex");
      const line = `add-generic-password -U ${place(name).join(" ")} -X ${hex}\n`;
      const { exitCode } = await run(["security", "-i"], line);
      if (exitCode !== 0) throw refused("security");
    },
    async remove(name) {
      await run(["security", "delete-generic-password", ...place(name)], "");
    },
  };
}

function refused(program: string): Failure {
  const fix = "unlock the keyring, or keep the secret in a file or a variable";
  return new Failure("failed", "keyring-refused", `${program} did not take the value`, fix);
}

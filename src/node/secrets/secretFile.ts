import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import { Failure, messageOf } from "../../base/errors.ts";

const binding = z.strictObject({
  host: z.string(),
  port: z.number().int().optional(),
  path: z.string().optional(),
  positions: z
    .array(z.enum(["header", "query", "path", "body"]))
    .readonly()
    .optional(),
});

/** Where a value comes from: kept in this file (0600), in the keyring of the operating system, in the editor's secret
 * storage, in a variable of the supervisor's environment, or printed by a command. */
const source = z.discriminatedUnion("from", [
  z.strictObject({ from: z.literal("file"), value: z.string() }),
  z.strictObject({ from: z.literal("keyring") }),
  z.strictObject({ from: z.literal("editor") }),
  z.strictObject({ from: z.literal("environment"), variable: z.string() }),
  z.strictObject({ from: z.literal("command"), argv: z.array(z.string()).min(1) }),
]);

const record = z.strictObject({
  name: z.string(),
  bindings: z.array(binding).min(1),
  source,
});

const content = z.strictObject({ version: z.literal(1), secrets: z.array(record) });

/** One secret as it is written down. */
export type SecretRecord = z.infer<typeof record>;

function fileIn(home: string): string {
  return path.join(home, "secrets.json");
}

/** Reads all records; none when there is no file. Refuses a file that is not private, not ours, or not a file. */
export async function readSecretFile(home: string): Promise<readonly SecretRecord[]> {
  const file = fileIn(home);
  let text: string;
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { mode, uid } = await handle.stat();
      if ((mode & 0o077) !== 0 || (process.getuid !== undefined && uid !== process.getuid())) {
        const fix = `chmod 600 ${file}`;
        throw new Failure("refused", "secrets-not-private", `others can read ${file}`, fix);
      }
      text = await handle.readFile("utf8");
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    if (error instanceof Failure) throw error;
    throw unreadable(file, messageOf(error));
  }
  return parse(file, text);
}

function parse(file: string, text: string): readonly SecretRecord[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(file, "it is not JSON"); // The parser's own message would quote the content.
  }
  const parsed = content.safeParse(value);
  if (!parsed.success) {
    const place = parsed.error.issues[0]?.path.join(".") ?? "";
    throw unreadable(file, `its member ${place} is not as it must be`);
  }
  return parsed.data.secrets;
}

function unreadable(file: string, why: string): Failure {
  const fix = "repair it, or remove it and set the secrets again";
  return new Failure("failed", "secrets-unreadable", `${file} cannot be read: ${why}`, fix);
}

/** Replaces the file as a whole: written beside, synced, renamed. */
export async function writeSecretFile(
  home: string,
  secrets: readonly SecretRecord[],
): Promise<void> {
  const file = fileIn(home);
  const beside = `${file}.${String(process.pid)}.new`;
  await rm(beside, { force: true });
  const handle = await open(beside, "wx", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify({ version: 1, secrets }, undefined, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, file);
}

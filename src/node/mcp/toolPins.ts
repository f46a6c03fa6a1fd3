import { createHash, createHmac, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as z from "zod";
import { findProgram } from "../agents/findProgram.ts";
import type { McpServer } from "./mcpSettings.ts";

/**
 * What a person's trust in an MCP server is bound to: how it is started and every tool that it offers. A tool is its
 * name, title, description, schemas and annotations, whole; a renamed tool is a new tool.
 */
export interface Pin {
  /** Keyed hash of command, arguments, working directory and environment, or of address and headers. */
  readonly definition: string;
  /** SHA-256 of each tool's definition; several where the server says different things to different questions. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
}

const pinSchema = z.object({
  definition: z.string(),
  tools: z.record(z.string(), z.array(z.string())),
});
const pinFile = z.object({ version: z.literal(1), servers: z.record(z.string(), pinSchema) });

/** JSON with the members of objects in the order of their names. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === undefined) return "null";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

export function toolHash(tool: unknown): string {
  return createHash("sha256").update(canonicalJson(tool)).digest("hex");
}

/** How a server is started, hashed under a key: values of its environment cannot be guessed from the file of pins. */
export function definitionHash(
  server: McpServer,
  env: Readonly<Record<string, string | undefined>>,
  key: Uint8Array,
): string {
  const secret = (values: Readonly<Record<string, string>>): object =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        createHmac("sha256", key).update(value).digest("hex"),
      ]),
    );
  const parts =
    "url" in server
      ? { url: server.url, headers: secret(server.headers) }
      : {
          program: findProgram(server.command, env, server.cwd ?? "/") ?? server.command,
          command: server.command,
          args: server.args,
          cwd: server.cwd ?? null,
          env: secret(server.env),
        };
  return createHmac("sha256", key).update(canonicalJson(parts)).digest("hex");
}

/** The same trust covers both. */
export function samePin(a: Pin, b: Pin): boolean {
  return canonicalJson(sorted(a)) === canonicalJson(sorted(b));
}

function sorted(pin: Pin): Pin {
  const tools = Object.entries(pin.tools).map(([name, hashes]) => [name, [...hashes].sort()]);
  return { ...pin, tools: Object.fromEntries(tools) as Pin["tools"] };
}

/** A tool may have the name of what every object has, such as `constructor`. */
function hashesOf({ tools }: Pin, name: string): string {
  return Object.hasOwn(tools, name) ? [...(tools[name] ?? [])].sort().join() : "";
}

/** What differs from what was trusted before, for the person who decides. */
export function pinDifference(before: Pin, now: Pin): string {
  const names = [...new Set([...Object.keys(before.tools), ...Object.keys(now.tools)])].sort();
  const which = (test: (was: string, is: string) => boolean): string =>
    names.filter((one) => test(hashesOf(before, one), hashesOf(now, one))).join(", ");
  const added = which((was, is) => was === "" && is !== "");
  const removed = which((was, is) => was !== "" && is === "");
  const changed = which((was, is) => was !== "" && is !== "" && was !== is);
  return [
    before.definition === now.definition ? "" : "its command, environment or address",
    added === "" ? "" : `new tools ${added}`,
    removed === "" ? "" : `tools gone ${removed}`,
    changed === "" ? "" : `changed tools ${changed}`,
  ]
    .filter((part) => part !== "")
    .join("; ");
}

/** The pins that a person approved for good, in `$HOLDFAST_HOME/mcp`: `pins.json` and the key of their hashes. */
export class PinFile {
  readonly #directory: string;

  constructor(home: string) {
    this.#directory = path.join(home, "mcp");
  }

  /** Made at first use; 32 bytes. */
  key(): Uint8Array {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const file = path.join(this.#directory, "key");
    try {
      writeFileSync(file, randomBytes(32), { mode: 0o600, flag: "wx" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    return readFileSync(file);
  }

  of(server: string): Pin | undefined {
    return this.#read()[server];
  }

  keep(server: string, pin: Pin): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const servers = { ...this.#read(), [server]: sorted(pin) };
    const file = path.join(this.#directory, "pins.json");
    const beside = `${file}.${process.pid}.new`;
    writeFileSync(beside, `${JSON.stringify({ version: 1, servers }, null, 2)}\n`, { mode: 0o600 });
    renameSync(beside, file);
  }

  /** A file that is missing or damaged pins nothing: every server is then new again. */
  #read(): Readonly<Record<string, Pin>> {
    try {
      const text = readFileSync(path.join(this.#directory, "pins.json"), "utf8");
      return pinFile.parse(JSON.parse(text)).servers;
    } catch {
      return {}; // missing or not ours to read: held as first use, never trusted
    }
  }
}

import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { parse } from "jsonc-parser";
import * as z from "zod";
import { Failure, messageOf } from "../../base/errors.ts";
import { readConfig } from "../../core/config/readConfig.ts";
import { problemLine } from "../state/configFile.ts";
import { ownServer } from "./mcpConfiguration.ts";

/** Written by people: a file larger than this, in bytes, is something else. */
const largest = 1024 * 1024;

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "a name has letters, digits, dashes and underscores")
  .refine((one) => one !== ownServer, `"${ownServer}" is the name of Holdfast's own server`);

const workspaces = z.array(z.string().startsWith("/")).optional();

const programServer = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  /** Absolute; left out: the person's home directory. */
  cwd: z.string().startsWith("/").optional(),
  /** The workspaces that it is for; left out: all. */
  workspaces,
});

const addressServer = z.strictObject({
  type: z.enum(["http", "streamable-http"]).optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  workspaces,
});

const server = z
  .record(z.string(), z.unknown())
  .refine(
    (one) => "command" in one !== "url" in one,
    "a server is either a program (command, args, env, cwd) or an address (url, headers)",
  )
  .pipe(z.union([programServer, addressServer]));

const settings = z.strictObject({
  $schema: z.string().optional(),
  mcpServers: z.record(name, server),
});

/** One MCP server as the person configured it: a program on this machine, or an address. Values of `env` and `headers`
 * may hold `$HOLDFAST_SECRET_NAME`. */
export type McpServer = { readonly name: string } & (
  z.output<typeof programServer> | z.output<typeof addressServer>
);

/** The person's own file: `$XDG_CONFIG_HOME/holdfast/mcp.json`, else `~/.config/holdfast/mcp.json`. */
export function mcpSettingsPath(env: Readonly<Record<string, string | undefined>>): string {
  const configured = env["XDG_CONFIG_HOME"];
  const base =
    configured !== undefined && path.isAbsolute(configured)
      ? configured
      : path.join(homedir(), ".config");
  return path.join(base, "holdfast", "mcp.json");
}

/**
 * The servers that the person configured for a workspace, by name. Comments and trailing commas are allowed; no file means none.
 *
 * @throws Failure `mcp-invalid` naming the file and what is wrong; `mcp-foreign` when others can write the file; `mcp-in-workspace`
 *   where it lies in the workspace: a change of an agent that was committed would start programs outside of the sandbox.
 */
export function readMcpServers(
  env: Readonly<Record<string, string | undefined>>,
  workspace: string,
): readonly McpServer[] {
  const file = mcpSettingsPath(env);
  const text = readOwn(file);
  if (text === undefined) return [];
  const real = realpathSync(file);
  if (real.startsWith(`${workspace}/`)) {
    const message = `${file} lies in the workspace (${real}), which may not name MCP servers`;
    throw new Failure("refused", "mcp-in-workspace", message, "keep it outside of the workspace");
  }
  const all = parseMcpSettings(text, file);
  return all.filter(
    ({ workspaces: given }) => given?.some((one) => isSameFolder(one, workspace)) !== false,
  );
}

/** People write a last slash, or the name of a link to it. */
function isSameFolder(given: string, workspace: string): boolean {
  if (path.resolve(given) === workspace) return true;
  try {
    return realpathSync(given) === workspace;
  } catch {
    return false; // it is not there: another machine's
  }
}

/** Parses the text of such a file. Throws a Failure `mcp-invalid` that tells everything by its line and column. */
export function parseMcpSettings(text: string, file: string): readonly McpServer[] {
  const { found, problems } = readConfig(text, file, settings);
  if (found === undefined || problems.length > 0)
    throw invalid(problems.map(problemLine).join("; "));
  return Object.entries(found.value.mcpServers).map(([called, one]) => ({ name: called, ...one }));
}

function invalid(message: string): Failure {
  return new Failure("failed", "mcp-invalid", message, "correct the file; docs/mcp.md shows one");
}

/** The file's text; undefined when there is none. Whoever can write it decides what runs on this machine. */
function readOwn(file: string): string | undefined {
  const descriptor = openIfThere(file, 0);
  if (descriptor === undefined) return undefined;
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > largest) throw invalid(`${file} is not a file of settings`);
    const ours = process.getuid === undefined || found.uid === process.getuid() || found.uid === 0;
    if (!ours || (found.mode & 0o022) !== 0) {
      const fix = `chmod go-w ${file}, and own it yourself`;
      throw new Failure("refused", "mcp-foreign", `others can write ${file}`, fix);
    }
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function openIfThere(file: string, flags: number): number | undefined {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
    throw invalid(`${file} cannot be read: ${messageOf(error)}`);
  }
}

/** A server that a workspace's `.mcp.json` asks for. It is not run: a person may take it over into their own file. */
export interface OfferedServer {
  readonly name: string;
  /** Its entry, as it stands there. */
  readonly entry: unknown;
}

const offers = z.looseObject({ mcpServers: z.record(z.string(), z.unknown()) });

/** What the workspace's `.mcp.json` offers; a file that cannot be read offers nothing. Never a link. */
export function readOffers(workspace: string): readonly OfferedServer[] {
  const descriptor = openIfThere(path.join(workspace, ".mcp.json"), constants.O_NOFOLLOW);
  if (descriptor === undefined) return [];
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > largest) return [];
    const parsed = offers.safeParse(parse(readFileSync(descriptor, "utf8")));
    if (!parsed.success) return [];
    return Object.entries(parsed.data.mcpServers).map(([offered, entry]) => ({
      name: offered,
      entry,
    }));
  } finally {
    closeSync(descriptor);
  }
}

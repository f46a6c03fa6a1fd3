import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import * as z from "zod";
import { Failure, messageOf } from "../../base/errors.ts";
import { parseJson } from "../../base/jsonl.ts";
import { userPolicyPath } from "../policy/policyFiles.ts";
import { loadSecrets } from "../secrets/secretStore.ts";

/** Where traces go while a transaction runs. */
export interface TraceTarget {
  /** Whole address, e.g. `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const header = z.union([z.string(), z.strictObject({ secret: z.string() })]);

const settings = z.strictObject({
  version: z.literal(1),
  endpoint: z.string(),
  headers: z.record(z.string(), header).optional(),
});

/** The user's own file, beside the policy: `$XDG_CONFIG_HOME/holdfast/traces.json`. There is none for a workspace. */
export function traceSettingsPath(env: NodeJS.ProcessEnv): string {
  return path.join(path.dirname(userPolicyPath(env)), "traces.json");
}

/**
 * Where traces go: `endpoint` (the editor's setting) before the user's file; undefined when neither is there, as by default.
 * Values of headers may be secrets of the store, bound to the endpoint's host. Throws a Failure for what cannot be used.
 */
export async function traceTarget(
  endpoint: string | undefined,
  home: string,
  env: NodeJS.ProcessEnv,
): Promise<TraceTarget | undefined> {
  const file = readSettings(env);
  const chosen = endpoint ?? file?.endpoint;
  if (chosen === undefined) return undefined;
  const url = addressOf(chosen);
  // The file's headers belong to the file's endpoint.
  const wanted =
    file !== undefined && addressOf(file.endpoint).href === url.href ? file.headers : {};
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(wanted ?? {})) {
    headers[name] =
      typeof value === "string" ? value : await boundSecret(value.secret, url.hostname, home, env);
  }
  return { url: url.href, headers };
}

function readSettings(env: NodeJS.ProcessEnv): z.infer<typeof settings> | undefined {
  const file = traceSettingsPath(env);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(file, messageOf(error));
  }
  const { uid, mode } = statSync(file);
  const foreign = process.getuid !== undefined && uid !== process.getuid() && uid !== 0;
  if (foreign || (mode & 0o022) !== 0) throw unusable(file, "others can write it");
  const parsed = settings.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unusable(file, `${issue?.path.join(".") ?? ""} ${issue?.message ?? "not JSON"}`.trim());
}

/** The address of the endpoint; the customary path where it names none. */
function addressOf(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "") {
    const fix = "an address like http://127.0.0.1:4318, without a user name";
    throw new Failure("failed", "bad-endpoint", `no endpoint: ${JSON.stringify(endpoint)}`, fix);
  }
  if (url.pathname === "/") url.pathname = "/v1/traces";
  return url;
}

async function boundSecret(
  name: string,
  host: string,
  home: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const [secret] = await loadSecrets(home, [name], env);
  if (secret?.bindings.some((binding) => binding.host === host) === true) return secret.value;
  const fix = `holdfast secret set ${name} --host ${host}`;
  throw new Failure("failed", "secret-elsewhere", `${name} is not bound to ${host}`, fix);
}

function unusable(file: string, why: string): Failure {
  return new Failure(
    "failed",
    "traces-file",
    `${file} cannot be used: ${why}`,
    "correct or remove it",
  );
}

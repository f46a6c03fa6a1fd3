import { Failure } from "../../base/errors.ts";
import { canonicalHost } from "../broker/names.ts";
import { isSecretName } from "./placeholder.ts";
import { keyringStore, runProgram, type ValueStore } from "./keyring.ts";
import { readSecretFile, writeSecretFile, type SecretRecord } from "./secretFile.ts";
import type { Secret, SecretBinding } from "./vault.ts";

/** What `setSecret` keeps: a value and where to keep it, or where it comes from each time. */
export type SecretOrigin =
  | { readonly keep: "file" | "keyring" | "editor"; readonly value: string }
  | { readonly variable: string }
  | { readonly command: readonly string[] };

/** A secret without its value. */
export interface SecretSummary {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly from: SecretRecord["source"]["from"];
}

/** Places outside our file; the command line knows the keyring, the extension adds the editor's storage. */
export interface ValueStores {
  readonly keyring?: ValueStore;
  readonly editor?: ValueStore;
}

/** Keeps a secret under a name for some hosts (`host`, `*.host`, `host:port`, `host/path/`), replacing one of the same
 * name. `home` is the state directory. Throws a Failure for a bad name, host or an empty value. */
export async function setSecret(
  home: string,
  name: string,
  hosts: readonly string[],
  origin: SecretOrigin,
  stores: ValueStores = {},
): Promise<SecretSummary> {
  if (!isSecretName(name)) {
    const fix = "use upper-case letters, digits and underscores, e.g. STRIPE_KEY";
    throw new Failure("usage", "bad-secret-name", `${name} is not a name for a secret`, fix);
  }
  if (hosts.length === 0) {
    const fix = "name them with --host; a secret without a host goes nowhere";
    throw new Failure("usage", "no-secret-host", `${name} is bound to no host`, fix);
  }
  const record: SecretRecord = {
    name,
    bindings: hosts.map(parseBinding),
    source: await keep(name, origin, stores),
  };
  const others = (await readSecretFile(home)).filter((one) => one.name !== name);
  await writeSecretFile(home, [...others, record]);
  return summaryOf(record);
}

/** All secrets, without values, by name. */
export async function listSecrets(home: string): Promise<readonly SecretSummary[]> {
  const records = await readSecretFile(home);
  return records.map(summaryOf).sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Removes a secret and its value, and tells what it was. A value that is kept by a store that is not given stays there
 * (see {@link forgetRemoved}). Throws a Failure when there is none of that name. */
export async function removeSecret(
  home: string,
  name: string,
  stores: ValueStores = {},
): Promise<SecretSummary> {
  const records = await readSecretFile(home);
  const found = records.find((one) => one.name === name);
  if (found === undefined) throw unknownSecret(name);
  await writeSecretFile(
    home,
    records.filter((one) => one !== found),
  );
  await storeFor(found.source.from, stores)?.remove(name);
  return summaryOf(found);
}

/** Removes from the editor's store the values of secrets that are no longer kept there: the command line removes names, and
 * cannot reach the values. `stored` are the names whose values the editor has; gives those that it still has. */
export async function forgetRemoved(
  home: string,
  stored: readonly string[],
  editor: ValueStore,
): Promise<readonly string[]> {
  const kept = new Set<string>();
  for (const { name, source } of await readSecretFile(home))
    if (source.from === "editor") kept.add(name);
  for (const name of stored) if (!kept.has(name)) await editor.remove(name);
  return stored.filter((name) => kept.has(name));
}

/** The named secrets with their values, for one transaction. Throws a Failure that names the first one that cannot be
 * had, and never its value. */
export async function loadSecrets(
  home: string,
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  stores: ValueStores = {},
): Promise<readonly Secret[]> {
  const records = await readSecretFile(home);
  return await Promise.all(
    [...new Set(names)].map(async (name) => {
      const record = records.find((one) => one.name === name);
      if (record === undefined) throw unknownSecret(name);
      const value = await valueOf(record, env, stores);
      if (value === undefined || value === "") {
        const fix = `set it again: holdfast secret set ${name} --host HOST`;
        throw new Failure(
          "failed",
          "secret-missing",
          `${name} has no value (${record.source.from})`,
          fix,
        );
      }
      return { name, value, bindings: record.bindings.map(withoutAbsent) };
    }),
  );
}

/** zod gives absent members as `undefined`; ours are left out. */
function withoutAbsent(binding: SecretRecord["bindings"][number]): SecretBinding {
  const { host, port, path, positions } = binding;
  return {
    host,
    ...(port === undefined ? {} : { port }),
    ...(path === undefined ? {} : { path }),
    ...(positions === undefined ? {} : { positions }),
  };
}

async function keep(
  name: string,
  origin: SecretOrigin,
  stores: ValueStores,
): Promise<SecretRecord["source"]> {
  if ("variable" in origin) return { from: "environment", variable: origin.variable };
  if ("command" in origin) return { from: "command", argv: [...origin.command] };
  if (origin.value === "") {
    const fix = "give it on standard input, or name a variable with --from-env";
    throw new Failure("usage", "empty-secret", `the value of ${name} is empty`, fix);
  }
  if (origin.keep === "file") return { from: "file", value: origin.value };
  await requiredStore(origin.keep, stores).write(name, origin.value);
  return { from: origin.keep };
}

async function valueOf(
  record: SecretRecord,
  env: Readonly<Record<string, string | undefined>>,
  stores: ValueStores,
): Promise<string | undefined> {
  const { source } = record;
  switch (source.from) {
    case "file":
      return source.value;
    case "environment":
      return env[source.variable];
    case "command": {
      const { exitCode, stdout } = await runProgram(source.argv, "");
      return exitCode === 0 ? stdout.replace(/\r?\n$/, "") : undefined;
    }
    case "keyring":
    case "editor":
      return await requiredStore(source.from, stores).read(record.name);
  }
}

function storeFor(
  from: SecretRecord["source"]["from"],
  stores: ValueStores,
): ValueStore | undefined {
  if (from === "keyring") return stores.keyring ?? keyringStore(runProgram, process.platform);
  return from === "editor" ? stores.editor : undefined;
}

function requiredStore(from: "keyring" | "editor", stores: ValueStores): ValueStore {
  const store = storeFor(from, stores);
  if (store !== undefined) return store;
  const fix = "start the transaction from the editor, or set the secret again from the terminal";
  throw new Failure("failed", "no-secret-storage", "the editor keeps this secret", fix);
}

/** `host`, `*.host`, either with `:port` and `/path`. */
function parseBinding(text: string): SecretBinding {
  const match = /^(\*\.)?(\[[^\]]+\]|[^:/]+)(?::(\d{1,5}))?(\/\S*)?$/.exec(text);
  const host = canonicalHost(match?.[2] ?? "");
  if (match === null || host === undefined || (match[1] !== undefined && !host.includes("."))) {
    const fix = "write a name such as api.example.com, *.example.com or api.example.com:8443/v1/";
    throw new Failure("usage", "bad-secret-host", `${text} is not a host`, fix);
  }
  return {
    host: `${match[1] ?? ""}${host}`,
    ...(match[3] === undefined ? {} : { port: Number(match[3]) }),
    ...(match[4] === undefined || match[4] === "/" ? {} : { path: match[4] }),
  };
}

function summaryOf(record: SecretRecord): SecretSummary {
  const hosts = record.bindings.map(({ host, port, path }) => {
    return `${host}${port === undefined ? "" : `:${String(port)}`}${path ?? ""}`;
  });
  return { name: record.name, hosts, from: record.source.from };
}

function unknownSecret(name: string): Failure {
  const fix = `holdfast secret set ${name} --host HOST`;
  return new Failure("usage", "no-secret", `there is no secret ${name}`, fix);
}
